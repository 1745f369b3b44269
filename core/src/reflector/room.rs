//! A cache that has no room for some objects: the watch goes on, and the state is read again later.

use super::call::{Call, Purpose};
use super::{Activity, Failure, FailureClass, FailureReport, Operation, Outage, Reflector, RetryRule};
use crate::time::Instant;
use core::time::Duration;

/// After how long the state is read again although no object has left the cache: an index value may have.
const SLOWLY: (Duration, Duration) = (Duration::from_secs(600), Duration::from_secs(900));

/// What the cache lacks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lacking {
    /// How many objects the cache would have to hold, at least.
    wanted: usize,
    /// The most that was reported.
    reported: usize,
    since: Instant,
    /// How many states in a row did not fit.
    states: u32,
    /// When the state is read again.
    until: Instant,
    /// An object has left the cache since the state was read.
    has_room: bool,
    /// A state was read since, which the cache has yet to take.
    is_stale: bool,
}

impl Reflector {
    /// How many objects the cache would have to hold, while it lacks some.
    pub(crate) fn wanted(&self) -> Option<usize> {
        self.lacking.map(|lacking| lacking.wanted)
    }

    /// When the state is read again for want of room, in place of the watch. A server that asked for time gets it, once its
    /// answer has ended.
    pub(super) fn due_for_room(&self) -> Option<Instant> {
        self.call().filter(|call| call.watch().is_some() && call.retry_after.is_none())?;
        self.lacking.map(|lacking| lacking.until)
    }

    pub(super) fn is_due_for_room(&self) -> bool {
        self.lacking.is_some_and(|lacking| lacking.until <= self.now)
    }

    /// The outage as which the status shows that objects are lacking.
    pub(super) fn lack(&self) -> Option<Outage> {
        let Lacking { since, states, .. } =
            self.lacking.filter(|_| !matches!(self.activity, Activity::Idle | Activity::Stopped))?;
        let (class, again) = (FailureClass::DoesNotFit, self.due_for_room());
        Some(Outage { since, attempts: states, class, status: None, interrupted: false, again })
    }

    pub(super) fn on_does_not_fit(&mut self, wanted: usize) {
        let until = self.slowly();
        let first =
            Lacking { wanted, reported: 0, since: self.now, states: 1, until, has_room: false, is_stale: false };
        self.lacking = Some(Lacking { wanted, is_stale: false, ..self.lacking.unwrap_or(first) });
        self.report_lack();
    }

    pub(super) fn on_room(&mut self) {
        if let Some(mut lacking) = self.lacking.filter(|lacking| !lacking.has_room) {
            let soon = self.now + self.delays.for_room(lacking.states.saturating_sub(1));
            (lacking.has_room, lacking.until) = (true, lacking.until.min(soon));
            self.lacking = Some(lacking);
        }
    }

    /// A whole state was read, and the cache has yet to take it.
    pub(super) fn note_read(&mut self) {
        if let Some(mut lacking) = self.lacking {
            lacking.states = lacking.states.saturating_add(1);
            (lacking.has_room, lacking.is_stale, lacking.until) = (false, true, self.slowly());
            self.lacking = Some(lacking);
        }
    }

    /// Reports what is lacking, once there is a watch, if it still is, and if that is more than was reported.
    pub(super) fn report_lack(&mut self) {
        let Activity::Requesting(Call { request, purpose: Purpose::Watch(_), .. }) = &self.activity else { return };
        let is_news = |lacking: &Lacking| !lacking.is_stale && lacking.reported < lacking.wanted;
        let Some(lacking) = self.lacking.as_mut().filter(|lacking| is_news(lacking)) else { return };
        lacking.reported = lacking.wanted;
        self.report = Some(FailureReport {
            operation: Operation::Watch,
            request: request.clone(),
            failure: Failure::DoesNotFit { wanted: lacking.wanted },
            reaction: RetryRule::of(Operation::Watch, FailureClass::DoesNotFit).reaction,
            attempts: lacking.states,
            retry_in: lacking.until.saturating_since(self.now),
        });
    }

    fn slowly(&mut self) -> Instant {
        self.now + self.delays.between(SLOWLY.0, SLOWLY.1)
    }
}
