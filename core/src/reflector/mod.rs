//! Keeping up with one resource of one server: list, watch, resume, relist.

mod answering;
mod asking;
mod backoff;
mod config;
mod failing;
mod failure;
mod messages;
mod open;
mod outage;
mod pages;
mod table;

pub use backoff::{Backoff, RetryDelays};
pub use config::{Consistency, ReflectorConfig};
pub use failure::{Failure, FailureClass, Operation, Reaction};
pub use messages::{Action, FailureReport, Input, Phase, Response, Step};
pub use table::{BackoffKind, RETRY_POLICY, RetryRule};

use crate::request::{Query, RequestId, Resource};
use crate::time::{Instant, earliest};
use alloc::sync::Arc;
use core::time::Duration;
use open::Open;
pub(crate) use outage::Outage;
use pages::Pages;

/// Decides which request is open and what its answer is good for. It sees versions and statuses, never objects or
/// bytes.
///
/// ```text
///                 ┌────────── watch-list ───────end bookmark──────────┐
///   Idle ─start─▶ │  or, refused:                                     ▼
///      ▲          └───▶ Listing ──page──▶ … ──last page──────────▶ Watching ◀─┐ end, after events
///      │                   ▲ 410 on a page: unpaged                   │  └────┘
///     stop                 └───────── Waiting ◀───────any failure─────┘
///                                (then relist, or watch on)
/// ```
///
/// After each [`handle`](Self::handle) the caller does what the [`Step`] says and asks
/// [`poll_action`](Self::poll_action) until it has nothing. What follows from which failure is in
/// [`RETRY_POLICY`].
#[derive(Debug)]
pub struct Reflector {
    config: ReflectorConfig,
    resource: Resource,
    state: State,
    open: Option<Open>,
    abandoned: Option<RequestId>,
    last_id: u64,
    version: Option<Arc<str>>,
    relist: Relist,
    watch_list: WatchList,
    pages: Pages,
    /// How many times in a row the server refused to watch on.
    refused: u32,
    delays: RetryDelays,
    /// Since the state was read, a watch broke or ended before its time, or a request was not answered.
    interrupted: bool,
    outage: Option<Outage>,
    report: Option<FailureReport>,
    /// When the whole state was last begun to be read.
    began: Instant,
    /// When the last event, bookmark or list came.
    heard: Instant,
    /// How much time was between the last two bookmarks, if the server sends them.
    bookmarks: Option<Duration>,
    /// How many watches in a row lived for long and ended without a word.
    silent: u32,
    now: Instant,
}

#[derive(Clone, Debug, PartialEq)]
enum State {
    Idle,
    Stopped,
    WatchListing,
    Listing { token: Option<Arc<str>>, unpaged: bool },
    Watching,
    Waiting { until: Instant, then: Then },
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Then {
    Relist,
    Watch,
}

/// How the whole state is asked for.
#[derive(Clone, Copy, Debug, Default)]
struct Relist {
    /// What was seen last is of no use to the server: ask for the most recent state (client-go's
    /// `isLastSyncResourceVersionUnavailable`).
    most_recent: bool,
    /// This server gives pages even of what it has at hand, so it has nothing in memory.
    paginated: bool,
    /// How many times in a row the most recent state was older than what was seen before.
    older: u32,
    /// Something in the list could not be read, so nothing was taken for deleted.
    doubtful: bool,
}

/// For how long a server without a watch-list is listed before it is asked for one again: it may have been upgraded.
const LISTED: Duration = Duration::from_secs(24 * 3600);

/// What is known of the server's watch-list.
#[derive(Clone, Copy, Debug, Default)]
struct WatchList {
    /// When it was last found that it has none, or one that does not end.
    given_up: Option<Instant>,
    /// The next time, a list is to be tried.
    skipped: bool,
    /// How many times in a row it failed, by class.
    failures: [u8; FailureClass::ALL.len()],
}

impl WatchList {
    /// Whether the next whole state is asked for as a stream.
    fn is_tried(&self, now: Instant) -> bool {
        let left_alone = self.given_up.is_some_and(|since| now.saturating_since(since) < LISTED);
        !left_alone && !self.skipped
    }
}

impl Reflector {
    /// An idle reflector of `resource`.
    #[must_use]
    pub fn new(resource: Resource, config: ReflectorConfig) -> Self {
        Self {
            config,
            resource,
            state: State::Idle,
            open: None,
            abandoned: None,
            last_id: 0,
            version: None,
            relist: Relist::default(),
            watch_list: WatchList::default(),
            pages: Pages::default(),
            refused: 0,
            delays: RetryDelays::new(config.backoff, config.seed.unwrap_or_default()),
            interrupted: false,
            outage: None,
            report: None,
            began: Instant::ZERO,
            heard: Instant::ZERO,
            bookmarks: None,
            silent: 0,
            now: Instant::ZERO,
        }
    }

    /// Takes what came in at `now`.
    #[must_use]
    pub fn handle(&mut self, now: Instant, input: Input<'_>) -> Step {
        self.now = self.now.max(now);
        match input {
            Input::Start => self.on_start(),
            Input::Stop => self.on_stop(),
            Input::Timeout => self.on_timeout(),
            Input::Listening => self.on_listening(),
            Input::Response(id, answer) if self.is_open(id) => self.on_answer(answer),
            Input::Response(..) => Step::Nothing,
        }
    }

    /// What the transport is to do next. It follows from the state: nothing is lost when it is asked late.
    #[must_use]
    pub fn poll_action(&mut self) -> Option<Action> {
        if let Some(id) = self.abandoned.take() {
            return Some(Action::Abort(id));
        }
        let open = self.open.as_mut().filter(|open| !open.sent)?;
        open.sent = true;
        Some(Action::Open(open.id, open.request.clone()))
    }

    /// When [`Input::Timeout`] is due.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        let waiting = match self.state {
            State::Waiting { until, .. } => Some(until),
            _ => None,
        };
        earliest(waiting, self.stalled_at())
    }

    /// The last failure, once.
    #[must_use]
    pub fn poll_failure(&mut self) -> Option<FailureReport> {
        self.report.take()
    }

    /// Whether [`poll_failure`](Self::poll_failure) has something.
    #[must_use]
    pub fn has_failure(&self) -> bool {
        self.report.is_some()
    }

    /// What the request `id` asked for, if it is the open one.
    #[must_use]
    pub fn open_query(&self, id: RequestId) -> Option<Query> {
        match self.state {
            _ if !self.is_open(id) => None,
            State::Listing { .. } => Some(Query::List),
            State::WatchListing => Some(Query::WatchList),
            State::Watching => Some(Query::Watch),
            State::Idle | State::Stopped | State::Waiting { .. } => None,
        }
    }

    /// What the reflector is doing.
    #[must_use]
    pub fn phase(&self) -> Phase {
        match self.state {
            State::Idle => Phase::Idle,
            State::Stopped => Phase::Stopped,
            State::WatchListing | State::Listing { .. } => Phase::Listing,
            State::Watching => Phase::Watching,
            State::Waiting { .. } => Phase::BackingOff,
        }
    }

    /// The version of the last event or list that was accepted: where a watch goes on. `None` before the first list,
    /// and after one that has none.
    #[must_use]
    pub fn last_version(&self) -> Option<&str> {
        self.version.as_deref()
    }

    /// [`last_version`](Self::last_version), to be kept.
    pub(crate) fn version(&self) -> Option<&Arc<str>> {
        self.version.as_ref()
    }

    /// Whether the whole state is being read as a stream.
    pub(crate) fn is_streaming(&self) -> bool {
        self.state == State::WatchListing
    }

    /// When the last event, bookmark or list came.
    pub(crate) fn heard(&self) -> Instant {
        self.heard
    }

    /// When the whole state was last begun to be read.
    pub(crate) fn began(&self) -> Instant {
        self.began
    }

    /// Whether a watch has been silent for longer than servers take between bookmarks.
    pub(crate) fn is_overdue(&self, now: Instant) -> bool {
        self.config.bookmark_overdue.is_some_and(|overdue| self.heard + overdue <= now)
    }

    /// Begins the jitter anew with `seed`, unless the configuration names one, or the reflector was started. Returns
    /// whether it did.
    pub(crate) fn seed_unless_chosen(&mut self, seed: u64) -> bool {
        let free = self.config.seed.is_none() && self.state == State::Idle;
        if free {
            self.delays.reseed(seed);
        }
        free
    }

    /// What is reflected.
    #[must_use]
    pub fn resource(&self) -> &Resource {
        &self.resource
    }

    fn on_start(&mut self) -> Step {
        if matches!(self.state, State::Idle | State::Stopped) {
            self.synchronize();
        }
        Step::Nothing
    }

    fn on_stop(&mut self) -> Step {
        self.abandon();
        let step = self.discard();
        self.state = State::Stopped;
        self.outage = None;
        step
    }

    fn on_listening(&mut self) -> Step {
        let now = self.now;
        self.open.iter_mut().for_each(|open| open.listen(now));
        Step::Nothing
    }

    fn on_timeout(&mut self) -> Step {
        if self.stalled_at().is_some_and(|stalled| stalled <= self.now) {
            return self.on_stalled();
        }
        match self.state {
            State::Waiting { until, then } if until <= self.now => match then {
                Then::Relist => self.synchronize(),
                Then::Watch => self.watch(),
            },
            _ => {}
        }
        Step::Nothing
    }

    fn on_stalled(&mut self) -> Step {
        let Some(open) = &self.open else { return Step::Nothing };
        if open.watching.is_some() && !open.proven {
            // Perhaps this server sends no bookmarks any more.
            self.bookmarks = None;
        }
        let failure = if open.is_too_slow(self.now, &self.config) { Failure::TooSlow } else { Failure::Stalled };
        self.on_broken(failure)
    }

    fn is_open(&self, id: RequestId) -> bool {
        self.open.as_ref().is_some_and(|open| open.id == id && open.sent)
    }

    fn stalled_at(&self) -> Option<Instant> {
        let open = self.open.as_ref()?;
        earliest(open.stalled_at(&self.config), self.longest_silence().and_then(|silence| open.silent_at(silence)))
    }

    /// How long a watch may bring nothing from a server that is known to send bookmarks.
    fn longest_silence(&self) -> Option<Duration> {
        let gap = self.bookmarks?;
        Some((gap * 5 / 2).min(self.config.bookmark_overdue?))
    }

    /// Forgets a state that did not become complete.
    fn discard(&self) -> Step {
        match self.state {
            State::Listing { .. } | State::WatchListing => Step::Discard,
            _ => Step::Nothing,
        }
    }
}

#[cfg(test)]
mod tests;
