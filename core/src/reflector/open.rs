use super::ReflectorConfig;
use crate::time::Instant;
use crate::wire::RequestId;
use core::time::Duration;

/// The request of the present state.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) id: RequestId,
    /// The transport has it.
    pub(super) sent: bool,
    /// After how long the server ends the answer by itself.
    pub(super) timeout: Option<Duration>,
    /// How long the server asked to wait.
    pub(super) retry_after: Option<Duration>,
    /// Something came that shows that this watch works.
    pub(super) proven: bool,
    /// Something came that could not be read: what it said is missing.
    pub(super) doubtful: bool,
    /// The answer is a stream of changes, which may be silent.
    pub(super) quiet: bool,
    since: Instant,
    active: Instant,
}

/// A watch that lived this long works, even if nothing happened (client-go's limit of a very short watch).
pub(super) const VERY_SHORT: Duration = Duration::from_secs(1);

impl Open {
    pub(super) fn new(id: RequestId, now: Instant, timeout: Option<Duration>) -> Self {
        Self {
            id,
            sent: false,
            timeout,
            retry_after: None,
            proven: false,
            doubtful: false,
            quiet: false,
            since: now,
            active: now,
        }
    }

    /// Bytes came.
    pub(super) fn touch(&mut self, now: Instant) {
        self.active = now;
    }

    /// Whether a watch that ends now has shown that it works.
    pub(super) fn is_sound(&self, now: Instant) -> bool {
        self.proven || (!self.doubtful && self.since + VERY_SHORT <= now)
    }

    /// When nobody can be there any more. A stream of changes may be silent until the server ends it; anything else is
    /// answered without long pauses.
    pub(super) fn stalled_at(&self, config: &ReflectorConfig) -> Option<Instant> {
        if self.quiet {
            return Some((self.since + self.timeout?).max(self.active) + config.watch_margin);
        }
        Some(self.active + config.answer_timeout?)
    }
}
