//! The reflector: it lists one resource, watches it, resumes broken watches and relists where it must.
//!
//! | what happens when | file |
//! |---|---|
//! | a request is open, and for how long its response may be silent | `call.rs` |
//! | a list, a page or the initial events of a watch-list arrive | `list.rs`, `pages.rs` |
//! | a watch brings events and bookmarks, ends, or may have missed a change | `watch.rs` |
//! | a request fails, for example with a 410 | `retry.rs`, by the table in `retry_policy.rs`, after the delays of `backoff.rs` |
//! | a state is older than the known one | `versions.rs` |
//! | a saved state is gone on from | `resume.rs` |
//! | the cache has no room for all objects | `room.rs` |
//! | a server is known to refuse watch-lists or watches, or to send bookmarks | `server.rs` |

mod backoff;
mod call;
mod config;
mod failure;
mod list;
mod messages;
mod pages;
mod resume;
mod retry;
mod retry_policy;
mod room;
mod server;
mod versions;
mod watch;

pub use backoff::{Backoff, RetryDelays};
pub use config::{Consistency, ReflectorConfig};
pub use failure::{Failure, FailureClass, Operation, Reaction, SharedStatus};
pub use messages::{Action, FailureReport, Input, Phase, Response, Step};
pub use retry_policy::{BackoffKind, RETRY_POLICY, RetryRule};

use crate::object::Version;
use crate::request::{Query, Request, RequestId, Resource, Verb};
use crate::time::{Instant, earliest};
use crate::transport::ResponseHead;
use call::{Call, Purpose};
use resume::Resume;
pub(crate) use retry::Outage;
use room::Lacking;
use server::Server;
use versions::Versions;

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
    activity: Activity,
    /// The request that the transport has to abort.
    abandoned: Option<RequestId>,
    last_id: u64,
    versions: Versions,
    /// An item of the last list had no readable key, so the list inferred no deletion.
    is_partial: bool,
    /// The saved state that the version is of.
    resume: Option<Resume>,
    server: Server,
    /// No object is kept, so no more than one is listed.
    keeps_none: bool,
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
    last_heard: Instant,
    now: Instant,
}

/// What the reflector does.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one, which nearly always has a request")]
enum Activity {
    /// Not started.
    Idle,
    Stopped,
    /// A request is open.
    Requesting(Call),
    /// The server is as recent as the saved state. Whether it is the server of that state is not known yet.
    Held,
    /// A delay runs.
    Waiting {
        until: Instant,
        then: Then,
    },
}

/// What follows a delay.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Then {
    Relist,
    Watch,
    /// Ask how far the server is, and go on from the saved state.
    Resume,
}

impl Reflector {
    /// An idle reflector of `resource`. It sends nothing before [`Input::Start`].
    pub fn new(resource: Resource, config: ReflectorConfig) -> Self {
        Self {
            config,
            resource,
            activity: Activity::Idle,
            abandoned: None,
            last_id: 0,
            versions: Versions::default(),
            is_partial: false,
            resume: None,
            server: Server::default(),
            keeps_none: false,
            delays: config.backoff.delays(config.seed.unwrap_or_default()).spread_over(config.reconnect_jitter),
            interrupted: false,
            outage: None,
            lacking: None,
            report: None,
            began: Instant::ZERO,
            last_heard: Instant::ZERO,
            now: Instant::ZERO,
        }
    }

    /// Handles an input that arrived at `now`. A `now` before that of an earlier call counts as that of the earlier
    /// call.
    #[must_use]
    pub fn handle(&mut self, now: Instant, input: Input<'_>) -> Step {
        self.now = self.now.max(now);
        match input {
            Input::Response(id, response) => return self.on_response(id, response),
            Input::Stop => return self.on_stop(),
            Input::Timeout => return self.on_timeout(),
            Input::Start => self.on_start(),
            Input::Listening => self.on_listening(),
            Input::DoesNotFit { wanted } => self.on_does_not_fit(wanted),
            Input::Fits => self.lacking = None,
            Input::Room => self.on_room(),
            Input::Overtaken => self.on_overtaken(),
            Input::Drifted { objects } => self.on_drifted(objects),
            Input::Confirmed { same } => self.on_confirmed(same),
        }
        Step::Nothing
    }

    /// The next action for the transport. It is derived from the state, so a late call loses nothing.
    #[must_use]
    pub fn poll_action(&mut self) -> Option<Action> {
        if let Some(id) = self.abandoned.take() {
            return Some(Action::Abort(id));
        }
        let call = self.call_mut()?;
        call.send().map(|request| Action::Open(call.id, request))
    }

    /// When [`Input::Timeout`] is due; `None` while no deadline runs.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        match &self.activity {
            Activity::Waiting { until, .. } => Some(*until),
            Activity::Requesting(_) => earliest(self.relists_at(), self.stalled_at()),
            Activity::Idle | Activity::Stopped | Activity::Held => None,
        }
    }

    /// Takes the report of the last failure.
    #[must_use]
    pub fn poll_failure(&mut self) -> Option<FailureReport> {
        self.report.take()
    }

    /// Whether [`poll_failure`](Self::poll_failure) has something.
    pub fn has_failure(&self) -> bool {
        self.report.is_some()
    }

    /// The query of the request `id`; `None` unless that request is open.
    pub fn open_query(&self, id: RequestId) -> Option<Query> {
        self.call().filter(|call| call.is_sent_as(id)).map(|call| call.request.query())
    }

    /// The current phase.
    pub fn phase(&self) -> Phase {
        match &self.activity {
            Activity::Idle => Phase::Idle,
            Activity::Stopped => Phase::Stopped,
            Activity::Held => Phase::Resuming,
            Activity::Waiting { .. } => Phase::BackingOff,
            Activity::Requesting(call) => match call.purpose {
                Purpose::List(_) | Purpose::Stream(_) => Phase::Listing,
                Purpose::Version => Phase::Resuming,
                Purpose::Watch(_) => Phase::Watching,
            },
        }
    }

    /// The version of the last list, or the newest one of an event or bookmark since, from which the next watch resumes
    /// (client-go `LastSyncResourceVersion`). `None` before the first list, and after a list without a version.
    pub fn last_version(&self) -> Option<&str> {
        self.versions.reached.as_deref()
    }

    /// The resource.
    pub fn resource(&self) -> &Resource {
        &self.resource
    }

    /// Requests another collection of the same objects from now on.
    pub(crate) fn set_resource(&mut self, resource: Resource) {
        self.resource = resource;
        // Versions do not tell two forms of one state apart.
        self.versions.foreign = true;
        if let Activity::Waiting { then, .. } = &mut self.activity {
            *then = Then::Relist;
        }
    }

    /// Requests another part of the same objects from now on; with `keeps_none`, one object.
    #[cfg(feature = "json")]
    pub(crate) fn set_part(&mut self, resource: Resource, keeps_none: bool) {
        (self.resource, self.keeps_none) = (resource, keeps_none);
    }

    /// Reads the most recent state at once, or after the delay that runs.
    #[cfg(feature = "json")]
    pub(crate) fn reread(&mut self, now: Instant) -> Step {
        self.now = self.now.max(now);
        self.versions.most_recent = true;
        match &mut self.activity {
            Activity::Idle | Activity::Stopped => return Step::Nothing,
            Activity::Waiting { then, .. } => *then = Then::Relist,
            Activity::Requesting(_) | Activity::Held => {
                self.abandon();
                self.synchronize();
            }
        }
        Step::Discard
    }

    /// Begins the jitter anew with `seed`, unless the configuration names one, or the reflector was started. Returns
    /// whether it did.
    pub(crate) fn seed_unless_chosen(&mut self, seed: u64) -> bool {
        let is_free = self.config.seed.is_none() && matches!(self.activity, Activity::Idle);
        if is_free {
            self.delays.reseed(seed);
        }
        is_free
    }

    /// [`last_version`](Self::last_version), to be kept.
    pub(crate) fn version(&self) -> Option<&Version> {
        self.versions.reached.as_ref()
    }

    /// Which versions are known, and whether they can be compared.
    pub(crate) fn versions(&self) -> &Versions {
        &self.versions
    }

    pub(crate) fn versions_mut(&mut self) -> &mut Versions {
        &mut self.versions
    }

    /// Whether a watch-list is being read.
    pub(crate) fn is_streaming(&self) -> bool {
        self.call().is_some_and(|call| matches!(call.purpose, Purpose::Stream(_)))
    }

    /// When the last event, bookmark or list came.
    pub(crate) fn last_heard(&self) -> Instant {
        self.last_heard
    }

    /// When the last list or watch-list began.
    pub(crate) fn began(&self) -> Instant {
        self.began
    }

    /// Whether a watch has been silent for longer than servers take between bookmarks.
    pub(crate) fn is_overdue(&self, now: Instant) -> bool {
        self.config.bookmark_overdue.is_some_and(|overdue| self.last_heard + overdue <= now)
    }

    fn on_start(&mut self) {
        if matches!(self.activity, Activity::Idle | Activity::Stopped) {
            self.begin();
        }
    }

    fn on_stop(&mut self) -> Step {
        let step = self.abandon().map_or(Step::Nothing, |call| call.step_at_failure());
        self.activity = Activity::Stopped;
        self.outage = None;
        step
    }

    fn on_listening(&mut self) {
        let now = self.now;
        self.call_mut().into_iter().for_each(|call| call.listen(now));
    }

    fn on_timeout(&mut self) -> Step {
        match self.activity {
            Activity::Waiting { until, then } if until <= self.now => self.on_waited(then),
            Activity::Requesting(_) if self.stalled_at().is_some_and(|due| due <= self.now) => {
                return self.on_stalled();
            }
            Activity::Requesting(_) if self.relists_at().is_some_and(|due| due <= self.now) => self.relist_in_watch(),
            _ => {}
        }
        Step::Nothing
    }

    fn on_waited(&mut self, then: Then) {
        match then {
            Then::Relist => self.synchronize(),
            Then::Watch if self.is_due_for_room() => self.synchronize(),
            Then::Watch => self.watch(),
            Then::Resume => self.ask_version(),
        }
    }

    fn on_stalled(&mut self) -> Step {
        let Some(call) = self.call() else { return Step::Nothing };
        let is_past = |due: Option<Instant>| due.is_some_and(|due| due <= self.now);
        let failure = match () {
            () if is_past(call.unfinished_at(&self.config)) => Failure::Unfinished,
            () if is_past(call.too_slow_at(&self.config)) => Failure::TooSlow,
            () => Failure::Stalled { silence: call.silence(self.now) },
        };
        if call.is_watched() && !call.is_proven() {
            // This server may have stopped sending bookmarks.
            self.server.bookmarks = None;
        }
        self.on_broken(failure)
    }

    /// Handles a part of a response. What it means depends on what was requested.
    fn on_response(&mut self, id: RequestId, response: Response<'_>) -> Step {
        let now = self.now;
        let Activity::Requesting(call) = &mut self.activity else { return Step::Nothing };
        if !call.is_sent_as(id) {
            return Step::Nothing;
        }
        call.touch(now);
        match (response, &call.purpose) {
            (Response::Head(head), _) => self.on_head(head),
            (Response::Data(len), _) => self.on_data(len),
            (Response::Closed(Err(failure)), _) => self.on_closed(failure),
            (Response::Broken(failure), _) => self.on_broken(failure),

            (Response::Object { .. }, Purpose::List(_)) => self.on_item(),
            (Response::Unreadable, Purpose::List(_)) => self.on_unreadable_item(),
            (Response::Outdated { version, known }, Purpose::List(_)) => self.on_outdated_item(version, known),
            (Response::ListEnd { version, continue_token }, Purpose::List(_)) => {
                self.on_list_end(version, continue_token)
            }

            (Response::Object { event_type, .. }, Purpose::Stream(_)) => self.on_initial_event(event_type),
            (Response::Unreadable, Purpose::Stream(_)) => self.on_unreadable_initial_event(),
            (Response::Bookmark { version, initial_events_end: true }, Purpose::Stream(_)) => {
                self.on_initial_events_end(version)
            }
            (Response::Bookmark { .. }, Purpose::Stream(_)) => self.on_initial_bookmark(),
            (Response::Closed(Ok(())), Purpose::Stream(_)) => self.on_closed(Failure::Unfinished),

            (Response::Object { version, event_type }, Purpose::Watch(_)) => self.on_event(version, event_type),
            (Response::Unreadable, Purpose::Watch(_)) => self.on_unreadable_event(),
            (Response::Outdated { version, known }, Purpose::Stream(_) | Purpose::Watch(_)) => {
                self.on_outdated_event(version, known)
            }
            (Response::Bookmark { version, .. }, Purpose::Watch(_)) => self.on_bookmark(version),
            (Response::Closed(Ok(())), Purpose::Watch(_)) => self.on_watch_end(),

            (Response::ListEnd { version, .. }, Purpose::Version) => self.on_shown(version),
            (Response::Closed(Ok(())), Purpose::List(_) | Purpose::Version) => self.on_closed(Failure::Truncated),
            _ => Step::Nothing,
        }
    }

    /// A refusal is handled at the end of its body, which holds the reason.
    fn on_head(&mut self, head: &ResponseHead) -> Step {
        let (now, is_partial) = (self.now, self.is_partial);
        self.delays.note_answer(now);
        let Activity::Requesting(call) = &mut self.activity else { return Step::Nothing };
        call.begin(now, head);
        if let Purpose::Watch(watch) = &mut call.purpose
            && watch.since.is_some()
        {
            watch.refused = core::mem::take(&mut self.server.refused);
            call.doubt.unreadable |= is_partial;
        }
        Step::Nothing
    }

    fn on_data(&mut self, len: usize) -> Step {
        let (now, least) = (self.now, self.config.min_list_progress);
        self.call_mut().into_iter().for_each(|call| call.advance(now, len, least));
        Step::Nothing
    }

    /// Makes a request the open one.
    fn request(&mut self, purpose: Purpose, verb: Verb) {
        self.last_id += 1;
        let request = Request { resource: self.resource.clone(), verb };
        self.activity = Activity::Requesting(Call::new(RequestId(self.last_id), request, purpose, self.now));
    }

    /// The open request.
    fn call(&self) -> Option<&Call> {
        if let Activity::Requesting(call) = &self.activity { Some(call) } else { None }
    }

    fn call_mut(&mut self) -> Option<&mut Call> {
        if let Activity::Requesting(call) = &mut self.activity { Some(call) } else { None }
    }

    /// Takes the open request, which has ended. The caller goes on to the next state.
    fn end_call(&mut self) -> Option<Call> {
        match core::mem::replace(&mut self.activity, Activity::Stopped) {
            Activity::Requesting(call) => Some(call),
            activity => {
                self.activity = activity;
                None
            }
        }
    }

    /// Takes the open request, and aborts it if the transport has it.
    fn abandon(&mut self) -> Option<Call> {
        let call = self.end_call()?;
        self.abandoned = Some(call.id).filter(|_| call.is_sent()).or(self.abandoned);
        Some(call)
    }

    /// When the open request counts as stalled.
    fn stalled_at(&self) -> Option<Instant> {
        let longest_silence = self.server.longest_silence(self.config.bookmark_overdue);
        self.call()?.stalled_at(&self.config, longest_silence)
    }
}

#[cfg(test)]
#[cfg(feature = "json")]
mod tests;
