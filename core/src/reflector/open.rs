use super::ReflectorConfig;
use crate::time::Instant;
use crate::transport::Head;
use crate::wire::{Request, RequestId};
use core::time::Duration;

/// The request of the present state.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) id: RequestId,
    pub(super) request: Request,
    /// The transport has it.
    pub(super) sent: bool,
    /// After how long the server ends the answer by itself.
    pub(super) timeout: Option<Duration>,
    /// How long the server asked to wait.
    pub(super) retry_after: Option<Duration>,
    /// An answer has begun, and is no refusal.
    pub(super) answered: bool,
    /// Since when the answer is a stream of changes, which may be silent.
    pub(super) watching: Option<Instant>,
    /// An event or a bookmark came.
    pub(super) proven: bool,
    /// Something came that could not be read: what it said is missing.
    pub(super) doubtful: bool,
    since: Instant,
    active: Instant,
}

/// A watch that lived this long works, even if nothing happened (client-go's limit of a very short watch).
pub(super) const VERY_SHORT: Duration = Duration::from_secs(1);
/// A watch that lived this long shows that the server is well. One that brought something at once and then broke shows
/// nothing: it could go on like that all day.
pub(super) const HEALTHY: Duration = Duration::from_secs(30);

impl Open {
    pub(super) fn new(id: RequestId, request: Request, now: Instant, timeout: Option<Duration>) -> Self {
        Self {
            id,
            request,
            sent: false,
            timeout,
            retry_after: None,
            answered: false,
            watching: None,
            proven: false,
            doubtful: false,
            since: now,
            active: now,
        }
    }

    /// The answer has begun.
    pub(super) fn begin(&mut self, now: Instant, head: &Head, watching: bool) {
        self.retry_after = head.retry_after;
        self.answered = head.status == 200;
        self.watching = Some(now).filter(|_| watching && self.answered);
    }

    /// Bytes came.
    pub(super) fn touch(&mut self, now: Instant) {
        self.active = now;
    }

    /// When it was made.
    pub(super) fn since(&self) -> Instant {
        self.since
    }

    /// Whether a watch that ends now ended at once, and without an event.
    pub(super) fn is_very_short(&self, now: Instant) -> bool {
        !self.proven && now < self.since + VERY_SHORT
    }

    /// Whether a watch has lived for so long that the server must be well.
    pub(super) fn is_healthy(&self, now: Instant) -> bool {
        self.watching.is_some_and(|since| since + HEALTHY <= now)
    }

    /// When nobody can be there any more. A stream of changes may be silent until the server ends it; anything else is
    /// answered without long pauses.
    pub(super) fn stalled_at(&self, config: &ReflectorConfig) -> Option<Instant> {
        if self.watching.is_some() {
            return Some((self.since + self.timeout?).max(self.active) + config.watch_margin);
        }
        Some(self.active + config.answer_timeout?)
    }
}
