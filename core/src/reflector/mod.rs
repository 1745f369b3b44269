//! The reflector: it lists one resource, watches it, resumes broken watches and relists where it must.

mod backoff;
mod config;
mod doubt;
mod failure;
mod failures;
mod lacking;
mod messages;
mod open;
mod outage;
mod pages;
mod requests;
mod responses;
mod resume;
mod retry_policy;

pub use backoff::{Backoff, RetryDelays};
pub use config::{Consistency, ReflectorConfig};
pub use failure::{Failure, FailureClass, Operation, Reaction, SharedStatus};
pub use messages::{Action, FailureReport, Input, Phase, Response, Step};
pub use retry_policy::{BackoffKind, RETRY_POLICY, RetryRule};

use crate::object::Version;
use crate::request::{Query, RequestId, Resource, Token};
use crate::time::{Instant, earliest, eighths};
use core::time::Duration;
use lacking::Lacking;
use open::Open;
pub(crate) use outage::Outage;
use pages::Pages;
use resume::Resume;

/// Decides which request is sent next, and whether its response is staged, applied or dropped (client-go `Reflector`).
/// It reads versions and statuses, never objects or bytes.
///
/// ```text
///                 ┌────────── watch-list ───────end bookmark──────────┐
///   Idle ─start─▶ │  or, refused:                                     ▼
///      ▲          └───▶ Listing ──page──▶ … ──last page──────────▶ Watching ◀─┐ end, after events
///      │  saved:           ▲ 410 on a page: unpaged             ▲     │  └────┘
///     stop  Resuming ──────┼────── as recent as what is saved ──┘     │
///                          └───────── Waiting ◀───────any failure─────┘
///                                (then relist, watch on, or resume)
/// ```
///
/// After each [`handle`](Self::handle), the caller carries out the returned [`Step`] and calls
/// [`poll_action`](Self::poll_action) until it returns `None`. [`RETRY_POLICY`] lists the reaction to each failure.
///
/// ```
/// use listwatch_core::reflector::{Action, Input, Reflector, ReflectorConfig, Response, Step};
/// use listwatch_core::transport::ResponseHead;
/// use listwatch_core::{Instant, Resource};
///
/// let mut config = ReflectorConfig::default();
/// config.watch_list = false;
/// let mut reflector = Reflector::new(Resource::new("/api/v1/pods"), config);
/// let now = Instant::ZERO;
/// assert_eq!(reflector.handle(now, Input::Start), Step::Nothing);
/// let Some(Action::Open(id, list)) = reflector.poll_action() else { unreachable!() };
/// assert_eq!(list.to_string(), "/api/v1/pods?limit=500");
///
/// let head = ResponseHead { status: 200, ..ResponseHead::default() };
/// let mut respond = |response| reflector.handle(now, Input::Response(id, response));
/// assert_eq!(respond(Response::Head(&head)), Step::Nothing);
/// assert_eq!(respond(Response::Object { version: "5", event_type: None }), Step::Stage);
/// assert_eq!(respond(Response::ListEnd { version: "7", continue_token: "" }), Step::Commit);
/// assert_eq!(reflector.last_version(), Some("7"));
/// ```
#[derive(Debug)]
pub struct Reflector {
    config: ReflectorConfig,
    resource: Resource,
    state: State,
    open: Option<Open>,
    abandoned: Option<RequestId>,
    last_id: u64,
    version: Option<Version>,
    /// The newest version of an object that was applied of a list before its end.
    ahead: Option<Version>,
    relist: Relist,
    /// The saved state that the version is of.
    resume: Option<Resume>,
    watch_list: WatchList,
    pages: Pages,
    /// How many times in a row the server refused to watch on.
    refused: u32,
    delays: RetryDelays,
    /// Since the state was read, a watch broke or ended before its time, or a request was not answered.
    interrupted: bool,
    outage: Option<Outage>,
    /// The cache has no room for some objects.
    lacking: Option<Lacking>,
    report: Option<FailureReport>,
    /// When the last list or watch-list began.
    began: Instant,
    /// When the last event, bookmark or list came.
    last_activity: Instant,
    /// The time between the last two bookmarks; `None` while the server has not sent two.
    bookmarks: Option<Duration>,
    /// How many watches in a row lived for long and brought neither event nor bookmark.
    silent: u32,
    now: Instant,
}

#[derive(Clone, Debug, PartialEq)]
enum State {
    Idle,
    Stopped,
    WatchListing,
    Listing {
        token: Option<Token>,
        unpaged: bool,
    },
    /// A list of one object shows how far the server is, before a watch from a saved version.
    Resuming,
    /// The same is known, but not yet whether the server is that of the saved state.
    Held,
    Watching,
    Waiting {
        until: Instant,
        then: Then,
    },
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Then {
    Relist,
    Watch,
    Resume,
}

/// How the next list or watch-list is requested.
#[derive(Clone, Copy, Debug, Default)]
struct Relist {
    /// The server cannot use the last version: request the most recent state (client-go
    /// `isLastSyncResourceVersionUnavailable`).
    most_recent: bool,
    /// This server pages lists of version `0` too, so it has no watch cache.
    paginated: bool,
    /// How many times in a row the most recent state was older than the last version.
    older: u32,
    /// An item of the list had no readable key, so the list inferred no deletion.
    doubtful: bool,
    /// The known objects are of another history than the server's: their versions tell nothing.
    foreign: bool,
}

/// For how long a server that refused a watch-list is listed. Then the reflector tries again: the server may have been
/// upgraded.
const LISTED: Duration = Duration::from_secs(24 * 3600);

/// The server's support for watch-lists, as far as it is known.
#[derive(Clone, Copy, Debug, Default)]
struct WatchList {
    /// When the server last refused one, or sent one that did not end.
    given_up: Option<Instant>,
    /// The next state is requested by a list.
    skipped: bool,
    /// How many times in a row it failed, by class.
    failures: [u8; FailureClass::ALL.len()],
}

impl WatchList {
    /// Whether the next state is requested by a watch-list.
    fn is_tried(&self, now: Instant) -> bool {
        let left_alone = self.given_up.is_some_and(|since| now.saturating_since(since) < LISTED);
        !left_alone && !self.skipped
    }
}

impl Reflector {
    /// An idle reflector of `resource`. It sends nothing before [`Input::Start`].
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
            ahead: None,
            relist: Relist::default(),
            resume: None,
            watch_list: WatchList::default(),
            pages: Pages::default(),
            refused: 0,
            delays: RetryDelays::new(config.backoff, config.seed.unwrap_or_default()),
            interrupted: false,
            outage: None,
            lacking: None,
            report: None,
            began: Instant::ZERO,
            last_activity: Instant::ZERO,
            bookmarks: None,
            silent: 0,
            now: Instant::ZERO,
        }
    }

    /// Handles an input that arrived at `now`. A `now` before that of an earlier call counts as that of the earlier
    /// call.
    #[must_use]
    pub fn handle(&mut self, now: Instant, input: Input<'_>) -> Step {
        self.now = self.now.max(now);
        match input {
            Input::Start => self.on_start(),
            Input::Stop => self.on_stop(),
            Input::Timeout => self.on_timeout(),
            Input::Listening => self.on_listening(),
            Input::DoesNotFit { wanted } => self.on_does_not_fit(wanted),
            Input::Fits => self.on_fits(),
            Input::Room => self.on_room(),
            Input::Overtaken => self.on_overtaken(),
            Input::Drifted { objects } => self.on_drifted(objects),
            Input::Confirmed { same } => self.on_confirmed(same),
            Input::Response(id, answer) if self.is_open(id) => self.on_answer(answer),
            Input::Response(..) => Step::Nothing,
        }
    }

    /// The next action for the transport. It is derived from the state, so a late call loses nothing.
    #[must_use]
    pub fn poll_action(&mut self) -> Option<Action> {
        if let Some(id) = self.abandoned.take() {
            return Some(Action::Abort(id));
        }
        let open = self.open.as_mut().filter(|open| !open.sent)?;
        open.sent = true;
        Some(Action::Open(open.id, open.request.clone()))
    }

    /// When [`Input::Timeout`] is due; `None` while no deadline runs.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        let waiting = match self.state {
            State::Waiting { until, .. } => Some(until),
            _ => None,
        };
        earliest(earliest(waiting, self.relists_at()), self.stalled_at())
    }

    /// Takes the report of the last failure.
    #[must_use]
    pub fn poll_failure(&mut self) -> Option<FailureReport> {
        self.report.take()
    }

    /// Whether [`poll_failure`](Self::poll_failure) has something.
    #[must_use]
    pub fn has_failure(&self) -> bool {
        self.report.is_some()
    }

    /// The query of the request `id`; `None` unless that request is open.
    #[must_use]
    pub fn open_query(&self, id: RequestId) -> Option<Query> {
        match self.state {
            _ if !self.is_open(id) => None,
            State::Listing { .. } | State::Resuming => Some(Query::List),
            State::WatchListing => Some(Query::WatchList),
            State::Watching => Some(Query::Watch),
            State::Idle | State::Stopped | State::Held | State::Waiting { .. } => None,
        }
    }

    /// The current phase.
    #[must_use]
    pub fn phase(&self) -> Phase {
        match self.state {
            State::Idle => Phase::Idle,
            State::Stopped => Phase::Stopped,
            State::WatchListing | State::Listing { .. } => Phase::Listing,
            State::Resuming | State::Held => Phase::Resuming,
            State::Watching => Phase::Watching,
            State::Waiting { .. } => Phase::BackingOff,
        }
    }

    /// The version of the last list, or the newest one of an event or bookmark since, from which the next watch resumes
    /// (client-go `LastSyncResourceVersion`). `None` before the first list, and after a list without a version.
    #[must_use]
    pub fn last_version(&self) -> Option<&str> {
        self.version.as_deref()
    }

    /// [`last_version`](Self::last_version), to be kept.
    pub(crate) fn version(&self) -> Option<&Version> {
        self.version.as_ref()
    }

    /// Whether a watch-list is being read.
    pub(crate) fn is_streaming(&self) -> bool {
        self.state == State::WatchListing
    }

    /// When the last event, bookmark or list came.
    pub(crate) fn last_activity(&self) -> Instant {
        self.last_activity
    }

    /// When the last list or watch-list began.
    pub(crate) fn began(&self) -> Instant {
        self.began
    }

    /// Whether a watch has been silent for longer than servers take between bookmarks.
    pub(crate) fn is_overdue(&self, now: Instant) -> bool {
        self.config.bookmark_overdue.is_some_and(|overdue| self.last_activity + overdue <= now)
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

    /// The resource.
    #[must_use]
    pub fn resource(&self) -> &Resource {
        &self.resource
    }

    /// Requests another collection of the same objects from now on.
    pub(crate) fn set_resource(&mut self, resource: Resource) {
        self.resource = resource;
        // Versions do not tell two forms of one state apart.
        self.relist.foreign = true;
        if let State::Waiting { then, .. } = &mut self.state {
            *then = Then::Relist;
        }
    }

    fn on_start(&mut self) -> Step {
        if matches!(self.state, State::Idle | State::Stopped) {
            self.begin();
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
                Then::Watch if self.is_due_for_room() => self.synchronize(),
                Then::Watch => self.watch(),
                Then::Resume => self.ask_version(),
            },
            State::Watching if self.relists_at().is_some_and(|due| due <= self.now) => {
                self.relist_in_watch();
            }
            _ => {}
        }
        Step::Nothing
    }

    fn on_stalled(&mut self) -> Step {
        let Some(open) = &self.open else { return Step::Nothing };
        if open.watching.is_some() && !open.proven {
            // This server may have stopped sending bookmarks.
            self.bookmarks = None;
        }
        let silence = open.silence(self.now);
        let failure = match () {
            () if open.is_unfinished(self.now, &self.config) => Failure::Unfinished,
            () if open.is_too_slow(self.now, &self.config) => Failure::TooSlow,
            () => Failure::Stalled { silence },
        };
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
        Some(eighths(gap, 20).min(self.config.bookmark_overdue?))
    }

    /// Forgets a state that did not become complete.
    fn discard(&self) -> Step {
        match self.state {
            State::Listing { .. } | State::WatchListing | State::Resuming => Step::Discard,
            _ => Step::Nothing,
        }
    }
}

#[cfg(test)]
#[cfg(feature = "json")]
mod tests;
