use super::ReflectorConfig;
use crate::object::Version;
use crate::request::{Request, RequestId};
use crate::time::{Instant, earliest, eighths};
use crate::transport::ResponseHead;
use core::time::Duration;

/// The request of the present state.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) id: RequestId,
    pub(super) request: Request,
    /// The transport has the request.
    pub(super) sent: bool,
    /// After how long the server ends the response (`timeoutSeconds`).
    pub(super) timeout: Option<Duration>,
    /// The delay that the server requested (`Retry-After`).
    pub(super) retry_after: Option<Duration>,
    /// A response with status 200 has begun.
    pub(super) answered: bool,
    /// Since when the response is a watch, which may be silent.
    pub(super) watching: Option<Instant>,
    /// How many times in a row the server had refused to watch on before this watch.
    pub(super) refused: u32,
    /// Since when it is known that the initial events are over: an event or a bookmark came that is none of them.
    pub(super) initial_over: Option<Instant>,
    /// An event or a bookmark arrived.
    pub(super) proven: bool,
    /// A part without a readable key arrived, or a watch went back in time, so a change may be missing.
    pub(super) doubtful: bool,
    /// When a watch in which a change may be missing gives way to a relist.
    pub(super) relist_at: Option<Instant>,
    /// The version of an object that is older than the known one, and that one.
    pub(super) outdated: Option<(Version, Version)>,
    /// In how many objects an audit has found the cache to differ.
    pub(super) drifted: usize,
    /// No item arrived.
    pub(super) empty: bool,
    /// When the last bookmark arrived.
    pub(super) bookmark: Option<Instant>,
    since: Instant,
    active: Instant,
    /// How many bytes arrived since when: still fewer than `min_list_progress`.
    progress: (usize, Instant),
}

/// A watch that lived this long works, even without an event (client-go's limit of a very short watch).
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
            refused: 0,
            initial_over: None,
            proven: false,
            doubtful: false,
            relist_at: None,
            outdated: None,
            drifted: 0,
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

    /// A part of the response arrived.
    pub(super) fn touch(&mut self, now: Instant) {
        self.active = now;
    }

    /// Back-pressure ended: every deadline for silence starts now.
    pub(super) fn listen(&mut self, now: Instant) {
        self.touch(now);
        self.progress = (0, now);
        self.initial_over = self.initial_over.map(|_| now);
    }

    /// For how long nothing has arrived.
    pub(super) fn silence(&self, now: Instant) -> Duration {
        now.saturating_since(self.active)
    }

    /// Bytes arrived. Once there are `least` of them, the deadline for progress starts anew.
    pub(super) fn advance(&mut self, now: Instant, len: usize, least: usize) {
        let (bytes, since) = self.progress;
        let bytes = bytes.saturating_add(len);
        self.progress = if bytes < least { (bytes, since) } else { (0, now) };
    }

    /// When the request was made.
    pub(super) fn since(&self) -> Instant {
        self.since
    }

    /// Whether a watch that ends now is very short: shorter than a second and without an event.
    pub(super) fn is_very_short(&self, now: Instant) -> bool {
        !self.proven && now < self.since + VERY_SHORT
    }

    /// For how long the watch has been open.
    pub(super) fn watched_for(&self, now: Instant) -> Option<Duration> {
        Some(now.saturating_since(self.watching?))
    }

    /// Whether the watch has been open for longer than a very short one.
    pub(super) fn has_watched(&self, now: Instant) -> bool {
        self.watched_for(now).is_some_and(|lived| lived >= VERY_SHORT)
    }

    /// Whether a watch that ends now ends because of its timeout.
    pub(super) fn is_over_time(&self, now: Instant) -> bool {
        self.timeout.is_some_and(|timeout| self.since + timeout <= now + ABOUT)
    }

    /// When the request counts as stalled. A watch may be silent until its timeout; other responses may not pause for
    /// long.
    pub(super) fn stalled_at(&self, config: &ReflectorConfig) -> Option<Instant> {
        if self.watching.is_some() {
            return Some((self.since + self.timeout?).max(self.active) + config.watch_margin);
        }
        let timeout = config.answer_timeout?;
        let slow_at = earliest(self.too_slow_at(config), self.unfinished_at(config));
        earliest(Some(self.active + timeout), slow_at)
    }

    /// Whether the bookmark that completes the initial events is overdue.
    pub(super) fn is_unfinished(&self, now: Instant, config: &ReflectorConfig) -> bool {
        self.unfinished_at(config).is_some_and(|due| due <= now)
    }

    fn unfinished_at(&self, config: &ReflectorConfig) -> Option<Instant> {
        Some(self.initial_over? + config.answer_timeout?).filter(|_| self.watching.is_none())
    }

    /// When a watch will have brought nothing for that long.
    pub(super) fn silent_at(&self, silence: Duration) -> Option<Instant> {
        self.watching.map(|_| self.active + silence)
    }

    /// Whether the response is too slow: some bytes arrived, but fewer than `min_list_progress`.
    pub(super) fn is_too_slow(&self, now: Instant, config: &ReflectorConfig) -> bool {
        self.too_slow_at(config).is_some_and(|due| due <= now)
    }

    /// When a response other than a watch will be too slow.
    fn too_slow_at(&self, config: &ReflectorConfig) -> Option<Instant> {
        let (_, since) = self.progress;
        let time = eighths(config.answer_timeout?, 8 * PROGRESS_TIMEOUTS);
        Some(since + time).filter(|_| config.min_list_progress > 0 && self.watching.is_none())
    }
}
