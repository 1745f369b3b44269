//! Keeping up with one resource of one server: list, watch, resume, relist.

mod backoff;
mod config;
mod failure;
mod messages;
mod open;

pub use backoff::Backoff;
pub use config::ReflectorConfig;
pub use failure::{During, Failure, Reaction};
pub use messages::{Action, Answer, FailureReport, Input, Phase, Step};

use crate::time::{Instant, earliest};
use crate::transport::Head;
use crate::wire::{Change, Query, Request, RequestId, Resource, Verb};
use alloc::sync::Arc;
use backoff::Delays;
use core::time::Duration;
use open::Open;

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
/// [`Failure::reaction`].
#[derive(Debug)]
pub struct Reflector {
    config: ReflectorConfig,
    resource: Resource,
    state: State,
    open: Option<Open>,
    abandoned: Option<RequestId>,
    last_id: u64,
    version: Option<Arc<str>>,
    delays: Delays,
    watch_list: WatchList,
    report: Option<FailureReport>,
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

/// What is known of the server's watch-list.
#[derive(Clone, Copy, Debug, Default)]
struct WatchList {
    /// It has none, or one that does not end.
    given_up: bool,
    /// How many times in a row it failed.
    failures: u32,
}

/// How many times in a row a watch-list may fail before a list is tried.
const WATCH_LIST_TRIES: u32 = 2;
/// How many times in a row a server may refuse to watch on before everything is listed again.
const REFUSED_WATCHES: u32 = 5;
/// The shortest timeout that is asked for: servers count in seconds.
const SECOND: Duration = Duration::from_secs(1);

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
            delays: Delays::new(config.backoff, config.seed),
            watch_list: WatchList::default(),
            report: None,
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
            Input::Answer(id, answer) if self.is_open(id) => self.on_answer(answer),
            Input::Answer(..) => Step::Nothing,
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
        let (id, timeout) = (open.id, open.timeout);
        Some(Action::Open(id, Request { resource: self.resource.clone(), verb: self.verb(timeout)? }))
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
        step
    }

    fn on_timeout(&mut self) -> Step {
        if self.stalled_at().is_some_and(|stalled| stalled <= self.now) {
            return self.on_broken(Failure::Stalled);
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

    /// Something of the answer to the open request.
    fn on_answer(&mut self, answer: Answer<'_>) -> Step {
        let now = self.now;
        if let Some(open) = &mut self.open {
            open.touch(now);
        }
        match answer {
            Answer::Head(head) => self.on_head(head),
            Answer::Data => Step::Nothing,
            Answer::Object { version, change } => self.on_object(version, change),
            Answer::Unreadable => self.on_unreadable(),
            Answer::ListEnd { version, continue_token } => self.on_list_end(version, continue_token),
            Answer::Bookmark { version, initial_events_end } => self.on_bookmark(version, initial_events_end),
            Answer::Closed(Ok(())) => self.on_end(),
            Answer::Closed(Err(failure)) => self.on_closed(failure),
            Answer::Broken(failure) => self.on_broken(failure),
        }
    }

    /// What a status that is no success means comes with the end of its body.
    fn on_head(&mut self, head: &Head) -> Step {
        let watching = self.state == State::Watching;
        if let Some(open) = &mut self.open {
            open.retry_after = head.retry_after;
            open.quiet = watching && head.status == 200;
        }
        Step::Nothing
    }

    fn on_object(&mut self, version: &str, change: Option<Change>) -> Step {
        match self.state {
            State::Listing { .. } | State::WatchListing => Step::Stage,
            State::Watching => {
                self.prove();
                // A watch from no version begins with the objects as they are, in no order (F5).
                if self.version.is_some() || change != Some(Change::Added) {
                    self.accept(version);
                }
                Step::Apply
            }
            State::Idle | State::Stopped | State::Waiting { .. } => Step::Nothing,
        }
    }

    /// What it said is missing, a deletion perhaps. The whole state tells, once this watch is over.
    fn on_unreadable(&mut self) -> Step {
        if let Some(open) = &mut self.open {
            open.doubtful = true;
        }
        match self.state {
            State::Listing { .. } | State::WatchListing => Step::Stage,
            State::Watching => Step::Apply,
            State::Idle | State::Stopped | State::Waiting { .. } => Step::Nothing,
        }
    }

    fn on_list_end(&mut self, version: &str, continue_token: &str) -> Step {
        let State::Listing { token, unpaged } = &self.state else { return Step::Nothing };
        let unpaged = *unpaged;
        let repeated = token.as_deref() == Some(continue_token);
        self.open = None;
        if repeated {
            return self.on_failure(Failure::RepeatedPage, None);
        }
        if !continue_token.is_empty() {
            self.list(Some(continue_token.into()), unpaged);
            return Step::Nothing;
        }
        self.version = None;
        self.accept(version);
        self.watch();
        Step::Commit
    }

    fn on_bookmark(&mut self, version: &str, initial_events_end: bool) -> Step {
        match self.state {
            State::WatchListing if initial_events_end => {
                self.version = None;
                self.accept(version);
                self.state = State::Watching;
                self.watch_list.failures = 0;
                if let Some(open) = &mut self.open {
                    open.quiet = true;
                }
                self.prove();
                Step::Commit
            }
            State::Watching => {
                self.prove();
                self.accept(version);
                Step::Nothing
            }
            _ => Step::Nothing,
        }
    }

    fn on_end(&mut self) -> Step {
        match (&self.state, self.open.take()) {
            (State::Watching, Some(open)) if !open.is_sound(self.now) => {
                self.on_failure(if open.doubtful { Failure::Unreadable } else { Failure::VeryShort }, None)
            }
            (State::Watching, Some(open)) if open.doubtful => self.on_failure(Failure::Unreadable, None),
            (State::Watching, _) => {
                self.delays.reset();
                self.watch();
                Step::Nothing
            }
            (State::WatchListing, _) => self.on_failure(Failure::Unfinished, None),
            _ => self.on_failure(Failure::Truncated, None),
        }
    }

    fn on_closed(&mut self, failure: Failure) -> Step {
        let open = self.open.take();
        self.on_failure(failure, open)
    }

    fn on_broken(&mut self, failure: Failure) -> Step {
        let open = self.abandon();
        self.on_failure(failure, open)
    }

    /// Every failure comes here, with the request that was open.
    fn on_failure(&mut self, failure: Failure, open: Option<Open>) -> Step {
        let Some(during) = self.during() else { return Step::Nothing };
        let step = self.discard();
        let reaction = self.reaction(&failure, during, open.as_ref().is_some_and(|open| open.doubtful));
        let asked = open.and_then(|open| open.retry_after).max(failure.retry_after());
        self.note_watch_list(&failure, during);
        match reaction {
            Reaction::RelistUnpaged => self.list(None, true),
            Reaction::ListInstead => {
                self.watch_list.given_up = true;
                self.synchronize();
            }
            Reaction::Relist => self.wait(Then::Relist, asked),
            Reaction::Rewatch => self.wait(Then::Watch, asked),
        }
        self.report = Some(FailureReport { during, failure, reaction, attempts: self.delays.attempts() });
        step
    }

    /// The table's reaction, unless it was tried too often already.
    fn reaction(&self, failure: &Failure, during: During, doubtful: bool) -> Reaction {
        let refused_too_often = matches!(failure, Failure::Status(_)) && self.delays.attempts() >= REFUSED_WATCHES;
        match failure.reaction(during) {
            Reaction::RelistUnpaged if matches!(self.state, State::Listing { unpaged: true, .. }) => Reaction::Relist,
            Reaction::Rewatch if doubtful || refused_too_often => Reaction::Relist,
            reaction => reaction,
        }
    }

    /// A watch-list that fails is not tried for ever, and one that does not end not again.
    fn note_watch_list(&mut self, failure: &Failure, during: During) {
        if during != During::WatchList {
            return;
        }
        self.watch_list.failures += 1;
        let endless = matches!(failure, Failure::Unfinished | Failure::Stalled);
        self.watch_list.given_up |= endless && self.watch_list.failures >= WATCH_LIST_TRIES;
    }

    fn during(&self) -> Option<During> {
        match &self.state {
            State::Listing { token: None, .. } => Some(During::List),
            State::Listing { .. } => Some(During::Page),
            State::WatchListing => Some(During::WatchList),
            State::Watching => Some(During::Watch),
            State::Idle | State::Stopped | State::Waiting { .. } => None,
        }
    }

    fn synchronize(&mut self) {
        let WatchList { given_up, failures } = self.watch_list;
        if self.config.watch_list && !given_up && failures < WATCH_LIST_TRIES {
            self.state = State::WatchListing;
            self.open();
        } else {
            self.watch_list.failures = 0;
            self.list(None, false);
        }
    }

    fn list(&mut self, token: Option<Arc<str>>, unpaged: bool) {
        self.state = State::Listing { token, unpaged };
        self.open();
    }

    fn watch(&mut self) {
        self.state = State::Watching;
        self.open();
    }

    fn wait(&mut self, then: Then, asked: Option<Duration>) {
        self.state = State::Waiting { until: self.now + self.delays.next(asked), then };
    }

    /// Makes the request of the state the open one.
    fn open(&mut self) {
        self.last_id += 1;
        let timeout = match self.state {
            State::WatchListing | State::Watching => self.config.watch_timeout,
            _ => None,
        };
        let timeout = timeout.map(|(least, most)| self.delays.between(least, most).max(SECOND));
        self.open = Some(Open::new(RequestId(self.last_id), self.now, timeout));
    }

    /// The request that the state stands for.
    fn verb(&self, timeout: Option<Duration>) -> Option<Verb> {
        match &self.state {
            State::Listing { token, unpaged } => Some(Verb::List {
                limit: self.config.page_size.filter(|_| !unpaged),
                continue_token: token.clone(),
                resource_version: None,
            }),
            State::WatchListing => Some(Verb::Watch { resource_version: None, timeout, initial_events: true }),
            State::Watching => {
                Some(Verb::Watch { resource_version: self.version.clone(), timeout, initial_events: false })
            }
            State::Idle | State::Stopped | State::Waiting { .. } => None,
        }
    }

    fn is_open(&self, id: RequestId) -> bool {
        self.open.as_ref().is_some_and(|open| open.id == id && open.sent)
    }

    /// Gives the open request up; the transport is told if it has it.
    fn abandon(&mut self) -> Option<Open> {
        let open = self.open.take()?;
        self.abandoned = Some(open.id).filter(|_| open.sent).or(self.abandoned);
        Some(open)
    }

    fn stalled_at(&self) -> Option<Instant> {
        self.open.as_ref()?.stalled_at(&self.config)
    }

    /// Forgets a state that did not become complete.
    fn discard(&self) -> Step {
        match self.state {
            State::Listing { .. } | State::WatchListing => Step::Discard,
            _ => Step::Nothing,
        }
    }

    fn prove(&mut self) {
        if let Some(open) = &mut self.open {
            open.proven = true;
        }
        self.delays.reset();
    }

    fn accept(&mut self, version: &str) {
        if !version.is_empty() && self.version.as_deref() != Some(version) {
            self.version = Some(version.into());
        }
    }
}

#[cfg(test)]
mod tests;
