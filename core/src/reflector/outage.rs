use super::{Failure, FailureClass, Reflector};
use crate::time::Instant;

/// A time in which requests fail. It is over when a watch has brought something, or ended as it should, or lived for long;
/// the delays remember more.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outage {
    /// When it began.
    pub(crate) since: Instant,
    /// How many times in a row it was waited after a failure.
    pub(crate) attempts: u32,
    /// What failed last.
    pub(crate) class: FailureClass,
    /// The HTTP status, where there was one.
    pub(crate) status: Option<u16>,
    /// The whole state has come since, so there may be no more of it.
    pub(super) interrupted: bool,
}

impl Outage {
    /// The outage that a failure begins, or goes on.
    pub(super) fn with(before: Option<Self>, failure: &Failure, now: Instant) -> Self {
        Self {
            since: before.map_or(now, |before| before.since),
            attempts: before.map_or(0, |before| before.attempts).saturating_add(1),
            class: failure.class(),
            status: failure.status().map(|status| status.code),
            interrupted: false,
        }
    }
}

impl Reflector {
    /// The outage, unless what was asked for last is being answered, or came whole.
    pub(crate) fn outage(&self) -> Option<Outage> {
        let answered = self.open.as_ref().is_some_and(|open| open.answered);
        self.outage.filter(|outage| !answered && !outage.interrupted)
    }
}
