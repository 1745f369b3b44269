use super::{Failure, FailureClass, Reflector};
use crate::time::Instant;

/// A time in which requests fail. It ends when a watch brings an event, ends properly, or lives for long. The delays
/// remember earlier outages too.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outage {
    /// When it began.
    pub(crate) since: Instant,
    /// How many times in a row the reflector backed off.
    pub(crate) attempts: u32,
    /// The class of the last failure.
    pub(crate) class: FailureClass,
    /// The HTTP status, where there was one.
    pub(crate) status: Option<u16>,
    /// A whole state arrived since, so the outage may be over.
    pub(super) interrupted: bool,
    /// When the next attempt follows, if that is not the end of a back-off.
    pub(crate) again: Option<Instant>,
}

impl Outage {
    /// The outage that a failure begins or continues.
    pub(super) fn with(before: Option<Self>, failure: &Failure, now: Instant) -> Self {
        Self {
            since: before.map_or(now, |before| before.since),
            attempts: before.map_or(0, |before| before.attempts).saturating_add(1),
            class: failure.class(),
            status: failure.status().map(|status| status.code),
            interrupted: false,
            again: None,
        }
    }
}

impl Reflector {
    /// The outage, unless the last request is being answered, or a whole state arrived. Else that the cache lacks objects.
    pub(crate) fn outage(&self) -> Option<Outage> {
        let answered = self.open.as_ref().is_some_and(|open| open.answered);
        self.outage.filter(|outage| !answered && !outage.interrupted).or_else(|| self.lack())
    }
}
