//! A watch in which a change may be missing: it goes on, and the state is read again soon.

use super::backoff::{Cause, Wait};
use super::open::Open;
use super::{Failure, FailureReport, Operation, Reaction, Reflector, State, Step, Then};
use crate::object::Version;
use crate::time::{Instant, earliest};
use core::time::Duration;

impl Reflector {
    /// When the watch gives way to a relist.
    pub(super) fn relists_at(&self) -> Option<Instant> {
        let doubted = self.open.as_ref().filter(|_| self.state == State::Watching)?.relist_at;
        earliest(doubted, self.due_for_room())
    }

    /// An item or an event is older than what is known of its object. A list that has such an item is not of the known
    /// history; an event that is dropped may have been one of another history.
    pub(super) fn on_outdated(&mut self, version: &str, known: &str) -> Step {
        let versions = Version::copied(version).zip(Version::copied(known));
        if matches!(self.state, State::Watching | State::WatchListing) {
            self.plan_relist();
        }
        if let Some(open) = &mut self.open {
            open.outdated = open.outdated.take().or(versions);
        }
        Step::Nothing
    }

    /// An audit lists the most recent state, so the relist does the same, by a list.
    pub(super) fn on_drifted(&mut self, objects: usize) -> Step {
        match (&mut self.state, &mut self.open) {
            (State::Watching, Some(open)) => open.drifted = objects,
            (State::Waiting { then: then @ Then::Watch, .. }, _) => *then = Then::Relist,
            _ => return Step::Nothing,
        }
        (self.relist.most_recent, self.watch_list.skipped) = (true, true);
        self.plan_relist();
        Step::Nothing
    }

    /// Lets a relist follow the first doubt of a watch. If the list before it had the same fault, another list would show no
    /// more.
    pub(super) fn doubt(&mut self) {
        if self.open.as_ref().is_some_and(|open| !open.doubtful) {
            self.plan_relist();
        }
    }

    /// Lets one relist follow, while the watch goes on. Each that follows another one within minutes waits for longer.
    fn plan_relist(&mut self) {
        let Some(open) = self.open.as_mut().filter(|open| open.relist_at.is_none()) else { return };
        open.doubtful = true;
        let asked = open.retry_after.unwrap_or_default();
        let wait = Wait { cause: Cause::Relist, asked, spread: self.config.reconnect_jitter };
        open.relist_at = Some(self.now + self.delays.next(self.now, wait));
    }

    /// The watch gives way to a relist.
    pub(super) fn relist_in_watch(&mut self) {
        if let Some(open) = self.abandon() {
            self.note_health(&open, open.answered);
            if open.relist_at.is_some_and(|at| at <= self.now) {
                self.report_doubt(open, Duration::ZERO);
            }
        }
        self.synchronize();
    }

    /// A watch has ended that was to give way at `until`.
    pub(super) fn relist_as_planned(&mut self, open: Open, until: Instant) -> Step {
        self.note_health(&open, true);
        let until = until.max(self.now);
        self.report_doubt(open, until.saturating_since(self.now));
        self.state = State::Waiting { until, then: Then::Relist };
        Step::Nothing
    }

    /// Reports why the watch gave way.
    fn report_doubt(&mut self, open: Open, retry_in: Duration) {
        let failure = match (open.drifted, open.outdated) {
            (0, None) => Failure::Unreadable,
            (0, Some((version, last))) => Failure::BackInTime { version, last },
            (objects, _) => Failure::Drifted { objects },
        };
        let (operation, reaction) = (Operation::Watch, Reaction::Relist);
        let request = open.request;
        self.report = Some(FailureReport { operation, request, failure, reaction, attempts: 1, retry_in });
    }
}
