//! The open request, what has come of its response, and when it is given up.

use super::ReflectorConfig;
use super::failure::Operation;
use super::messages::Step;
use super::pages::Pages;
use crate::object::Version;
use crate::request::{Request, RequestId, Verb};
use crate::time::{Instant, earliest, eighths};
use crate::transport::ResponseHead;
use core::time::Duration;

/// The open request.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) id: RequestId,
    pub(super) request: Request,
    pub(super) purpose: Purpose,
    stage: Stage,
    /// The delay that the server requested (`Retry-After`).
    pub(super) retry_after: Option<Duration>,
    pub(super) doubt: Doubt,
    since: Instant,
    active: Instant,
    /// How many bytes arrived since when: still fewer than `min_list_progress`.
    progress: (usize, Instant),
}

/// What the response is read for.
#[derive(Debug)]
pub(super) enum Purpose {
    /// The whole state, by a page of a list.
    List(Pages),
    /// The whole state, by the initial events of a watch-list. They are over since the moment, if it is known: an event or a
    /// bookmark came that is none of them, and the bookmark that completes them is due.
    Stream(Option<Instant>),
    /// The changes since a state.
    Watch(Watch),
    /// How far the server is, by a list of one object.
    Version,
}

/// A watch, or a watch-list whose initial events are complete.
#[derive(Debug, Default)]
pub(super) struct Watch {
    /// Since when it may be silent: a response with status 200 has begun.
    pub(super) since: Option<Instant>,
    /// How many times in a row the server had refused to watch on before it.
    pub(super) refused: u32,
    /// It brought an event or a bookmark.
    pub(super) proven: bool,
    /// When it brought the last bookmark.
    pub(super) bookmark: Option<Instant>,
}

/// Whether a change may be missing from what the response brought.
#[derive(Debug, Default)]
pub(super) struct Doubt {
    /// A part of the response, or of the list before the watch, had no readable key.
    pub(super) unreadable: bool,
    /// The version of an object that is older than the known one, and that one.
    pub(super) outdated: Option<(Version, Version)>,
    /// In how many objects an audit has found the cache to differ.
    pub(super) drifted: usize,
    /// When the watch gives way to a relist.
    pub(super) relist_at: Option<Instant>,
}

#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
enum Stage {
    /// The transport does not have the request yet.
    Unsent,
    /// Nothing has come, or a refusal.
    Sent,
    /// A response with status 200 has begun.
    Answered,
}

/// A watch that lived this long works, even without an event (client-go's limit of a very short watch).
pub(super) const VERY_SHORT: Duration = Duration::from_secs(1);
/// In how many timeouts of an answer `min_list_progress` has to come.
const PROGRESS_TIMEOUTS: u32 = 5;
/// A watch that ends this long before its timeout, or later, was ended by it: servers count in seconds.
const ABOUT: Duration = Duration::from_secs(2);

impl Call {
    pub(super) fn new(id: RequestId, request: Request, purpose: Purpose, now: Instant) -> Self {
        Self {
            id,
            request,
            purpose,
            stage: Stage::Unsent,
            retry_after: None,
            doubt: Doubt::default(),
            since: now,
            active: now,
            progress: (0, now),
        }
    }

    pub(super) fn operation(&self) -> Operation {
        match self.purpose {
            Purpose::List(_) if self.request.continue_token().is_some() => Operation::Page,
            Purpose::List(_) => Operation::List,
            Purpose::Stream(_) => Operation::WatchList,
            Purpose::Watch(_) => Operation::Watch,
            Purpose::Version => Operation::Resume,
        }
    }

    /// Whether the transport has the request under this id.
    pub(super) fn is_sent_as(&self, id: RequestId) -> bool {
        self.id == id && self.is_sent()
    }

    pub(super) fn is_sent(&self) -> bool {
        self.stage > Stage::Unsent
    }

    pub(super) fn is_answered(&self) -> bool {
        self.stage == Stage::Answered
    }

    /// The request, once: for the transport.
    pub(super) fn send(&mut self) -> Option<Request> {
        let is_unsent = !self.is_sent();
        if is_unsent {
            self.stage = Stage::Sent;
        }
        is_unsent.then(|| self.request.clone())
    }

    /// The answer has begun.
    pub(super) fn begin(&mut self, now: Instant, head: &ResponseHead) {
        self.retry_after = head.retry_after;
        self.stage = if head.status == 200 { Stage::Answered } else { Stage::Sent };
        let is_answered = self.is_answered();
        if let Purpose::Watch(watch) = &mut self.purpose {
            watch.since = is_answered.then_some(now);
        }
    }

    /// A part of the response arrived.
    pub(super) fn touch(&mut self, now: Instant) {
        self.active = now;
    }

    /// Back-pressure ended: every deadline for silence starts now.
    pub(super) fn listen(&mut self, now: Instant) {
        self.touch(now);
        self.progress = (0, now);
        if let Purpose::Stream(over) = &mut self.purpose {
            *over = over.map(|_| now);
        }
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

    /// What becomes of the staged objects if the response breaks off.
    pub(super) fn step_at_failure(&self) -> Step {
        if self.watch().is_some() { Step::Nothing } else { Step::Discard }
    }

    /// For how long nothing has arrived.
    pub(super) fn silence(&self, now: Instant) -> Duration {
        now.saturating_since(self.active)
    }

    pub(super) fn watch(&self) -> Option<&Watch> {
        if let Purpose::Watch(watch) = &self.purpose { Some(watch) } else { None }
    }

    /// Whether the watch brought an event or a bookmark.
    pub(super) fn is_proven(&self) -> bool {
        self.watch().is_some_and(|watch| watch.proven)
    }

    /// Whether a watch that ends now is very short: shorter than a second and without an event.
    pub(super) fn is_very_short(&self, now: Instant) -> bool {
        !self.is_proven() && now < self.since + VERY_SHORT
    }

    /// For how long the watch has been open.
    pub(super) fn watched_for(&self, now: Instant) -> Option<Duration> {
        Some(now.saturating_since(self.watch()?.since?))
    }

    /// Whether the watch has been open for longer than a very short one.
    pub(super) fn has_watched(&self, now: Instant) -> bool {
        self.watched_for(now).is_some_and(|lived| lived >= VERY_SHORT)
    }

    /// Whether a watch that ends now ends because of its timeout.
    pub(super) fn is_over_time(&self, now: Instant) -> bool {
        self.timeout().is_some_and(|timeout| self.since + timeout <= now + ABOUT)
    }

    /// When the request counts as stalled. A watch may be silent until its timeout, or for as long as `silence`. Other
    /// responses may not pause for long.
    pub(super) fn stalled_at(&self, config: &ReflectorConfig, silence: Option<Duration>) -> Option<Instant> {
        if self.is_watched() {
            let overtime = self.timeout().map(|timeout| (self.since + timeout).max(self.active) + config.watch_margin);
            return earliest(overtime, silence.map(|silence| self.active + silence));
        }
        let timeout = config.answer_timeout?;
        earliest(Some(self.active + timeout), earliest(self.too_slow_at(config), self.unfinished_at(config)))
    }

    /// When the bookmark that completes the initial events is overdue.
    pub(super) fn unfinished_at(&self, config: &ReflectorConfig) -> Option<Instant> {
        let Purpose::Stream(over) = self.purpose else { return None };
        Some(over? + config.answer_timeout?)
    }

    /// When a response other than a watch is too slow: some bytes arrived, but fewer than `min_list_progress`.
    pub(super) fn too_slow_at(&self, config: &ReflectorConfig) -> Option<Instant> {
        let (_, since) = self.progress;
        let time = eighths(config.answer_timeout?, 8 * PROGRESS_TIMEOUTS);
        Some(since + time).filter(|_| config.min_list_progress > 0 && !self.is_watched())
    }

    /// Whether the response is a watch, which may be silent.
    pub(super) fn is_watched(&self) -> bool {
        self.watch().is_some_and(|watch| watch.since.is_some())
    }

    /// After how long the server ends the response (`timeoutSeconds`).
    fn timeout(&self) -> Option<Duration> {
        if let Verb::Watch { timeout, .. } = self.request.verb { timeout } else { None }
    }
}

impl Doubt {
    /// Whether a relist follows. An object of a list that is outdated leads to none: the end of the list decides.
    pub(super) fn is_some(&self) -> bool {
        self.unreadable || self.relist_at.is_some()
    }
}
