use crate::time::Instant;
use core::time::Duration;

/// Gathers the changes of a key before it is reconciled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Debounce {
    /// A key is ready when it has not changed for this time.
    pub quiet: Duration,
    /// A key that does not come to rest is ready this time after its first change.
    pub longest: Duration,
}

impl Debounce {
    /// When a key is ready that changed first at `first` and last at `now`.
    pub(super) fn end(self, first: Instant, now: Instant) -> Instant {
        (now + self.quiet).min(first + self.longest)
    }
}
