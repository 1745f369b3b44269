use super::ReflectorConfig;
use crate::request::{Request, RequestId};
use crate::time::{Instant, earliest};
use crate::transport::ResponseHead;
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
    /// No item came.
    pub(super) empty: bool,
    /// When the last bookmark came.
    pub(super) bookmark: Option<Instant>,
    since: Instant,
    active: Instant,
    /// How many bytes came, and since when: not yet as many as they have to be.
    progress: (usize, Instant),
}

/// A watch that lived this long works, even if nothing happened (client-go's limit of a very short watch).
pub(super) const VERY_SHORT: Duration = Duration::from_secs(1);
/// In how many timeouts of an answer `min_list_progress` has to come.
const PROGRESS_TIMEOUTS: u32 = 5;
/// A watch that ends this long before its timeout, or later, was ended by it: servers count in seconds.
const ABOUT: Duration = Duration::from_secs(2);

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
            empty: true,
            bookmark: None,
            since: now,
            active: now,
            progress: (0, now),
        }
    }

    /// The answer has begun.
    pub(super) fn begin(&mut self, now: Instant, head: &ResponseHead, watching: bool) {
        self.retry_after = head.retry_after;
        self.answered = head.status == 200;
        self.watching = Some(now).filter(|_| watching && self.answered);
    }

    /// Something came.
    pub(super) fn touch(&mut self, now: Instant) {
        self.active = now;
    }

    /// Nobody listened until now.
    pub(super) fn listen(&mut self, now: Instant) {
        self.touch(now);
        self.progress = (0, now);
    }

    /// Bytes came: progress, when they are as many as they have to be.
    pub(super) fn advance(&mut self, now: Instant, len: usize, least: usize) {
        let (bytes, since) = self.progress;
        let bytes = bytes.saturating_add(len);
        self.progress = if bytes < least { (bytes, since) } else { (0, now) };
    }

    /// When it was made.
    pub(super) fn since(&self) -> Instant {
        self.since
    }

    /// Whether a watch that ends now ended at once, and without an event.
    pub(super) fn is_very_short(&self, now: Instant) -> bool {
        !self.proven && now < self.since + VERY_SHORT
    }

    /// How long changes could come.
    pub(super) fn watched_for(&self, now: Instant) -> Option<Duration> {
        Some(now.saturating_since(self.watching?))
    }

    /// Whether changes could come for as long as it takes to call that a watch.
    pub(super) fn has_watched(&self, now: Instant) -> bool {
        self.watched_for(now).is_some_and(|lived| lived >= VERY_SHORT)
    }

    /// Whether a watch that ends now ends because of its timeout.
    pub(super) fn is_over_time(&self, now: Instant) -> bool {
        self.timeout.is_some_and(|timeout| self.since + timeout <= now + ABOUT)
    }

    /// When nobody can be there any more. A stream of changes may be silent until the server ends it; anything else is
    /// answered without long pauses.
    pub(super) fn stalled_at(&self, config: &ReflectorConfig) -> Option<Instant> {
        if self.watching.is_some() {
            return Some((self.since + self.timeout?).max(self.active) + config.watch_margin);
        }
        let timeout = config.answer_timeout?;
        earliest(Some(self.active + timeout), self.too_slow_at(config))
    }

    /// When a watch has brought nothing for so long.
    pub(super) fn silent_at(&self, silence: Duration) -> Option<Instant> {
        self.watching.map(|_| self.active + silence)
    }

    /// Whether something came, but not enough.
    pub(super) fn is_too_slow(&self, now: Instant, config: &ReflectorConfig) -> bool {
        self.too_slow_at(config).is_some_and(|due| due <= now)
    }

    /// When an answer that is to have an end is too slow to reach it.
    fn too_slow_at(&self, config: &ReflectorConfig) -> Option<Instant> {
        let (_, since) = self.progress;
        let time = config.answer_timeout?.saturating_mul(PROGRESS_TIMEOUTS);
        Some(since + time).filter(|_| config.min_list_progress > 0 && self.watching.is_none())
    }
}
