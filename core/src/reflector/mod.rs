//! Keeping up with one resource of one server: list, watch, resume, relist.

mod backoff;
mod config;
mod failure;
mod messages;

pub use backoff::Backoff;
pub use config::ReflectorConfig;
pub use failure::{During, Failure, Reaction};
pub use messages::{Action, Failed, Input, Phase, Step};

use crate::time::{Instant, earliest};
use crate::transport::Head;
use crate::wire::{Query, Request, RequestId, Resource, Verb};
use alloc::sync::Arc;
use backoff::Delays;
use core::time::Duration;

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
    /// This server was found not to know watch-list.
    lists_only: bool,
    failed: Option<Failed>,
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

/// The request of the present state.
#[derive(Debug)]
struct Open {
    id: RequestId,
    since: Instant,
    timeout: Option<Duration>,
    retry_after: Option<Duration>,
    sent: bool,
    /// Something came that shows that this watch works.
    proven: bool,
}

/// A watch that lived this long works, even if nothing happened (client-go's limit of a very short watch).
const VERY_SHORT: Duration = Duration::from_secs(1);

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
            lists_only: false,
            failed: None,
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
            Input::Head(id, head) if self.is_open(id) => self.on_head(head),
            Input::Object(id, version) if self.is_open(id) => self.on_object(version),
            Input::ListEnd(id, version, token) if self.is_open(id) => self.on_list_end(version, token),
            Input::Bookmark(id, version, initial_end) if self.is_open(id) => self.on_bookmark(version, initial_end),
            Input::Broken(id, failure) if self.is_open(id) => self.on_broken(failure),
            Input::Closed(id, Ok(())) if self.is_open(id) => self.on_end(),
            Input::Closed(id, Err(failure)) if self.is_open(id) => self.on_closed(failure),
            _ => Step::Nothing,
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
    pub fn poll_failed(&mut self) -> Option<Failed> {
        self.failed.take()
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

    /// The version of the last event or list that was accepted: where a watch goes on. `None` before the first list.
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
            self.abandon();
            return self.on_failure(Failure::Stalled, None);
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

    /// What a status that is no success means comes with the end of its body.
    fn on_head(&mut self, head: &Head) -> Step {
        if let Some(open) = &mut self.open {
            open.retry_after = head.retry_after;
        }
        Step::Nothing
    }

    fn on_object(&mut self, version: &str) -> Step {
        match self.state {
            State::Listing { .. } | State::WatchListing => Step::Stage,
            State::Watching => {
                self.prove();
                self.accept(version);
                Step::Apply
            }
            State::Idle | State::Stopped | State::Waiting { .. } => Step::Nothing,
        }
    }

    fn on_list_end(&mut self, version: &str, token: &str) -> Step {
        let State::Listing { unpaged, .. } = self.state else { return Step::Nothing };
        self.open = None;
        if !token.is_empty() {
            self.list(Some(token.into()), unpaged);
            return Step::Nothing;
        }
        self.accept(version);
        self.watch();
        Step::Commit
    }

    fn on_bookmark(&mut self, version: &str, initial_events_end: bool) -> Step {
        match self.state {
            State::WatchListing if initial_events_end => {
                self.accept(version);
                self.state = State::Watching;
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

    fn on_broken(&mut self, failure: Failure) -> Step {
        self.abandon();
        self.on_failure(failure, None)
    }

    fn on_end(&mut self) -> Step {
        let open = self.open.take();
        match self.state {
            State::Watching => {
                let proven = open.is_some_and(|open| open.proven || open.since + VERY_SHORT <= self.now);
                if !proven {
                    return self.on_failure(Failure::VeryShort, None);
                }
                self.delays.reset();
                self.watch();
                Step::Nothing
            }
            State::WatchListing => self.on_failure(Failure::Unfinished, None),
            _ => self.on_failure(Failure::Truncated, None),
        }
    }

    fn on_closed(&mut self, failure: Failure) -> Step {
        let asked = self.open.take().and_then(|open| open.retry_after);
        self.on_failure(failure, asked)
    }

    /// Every failure comes here, with no request open any more.
    fn on_failure(&mut self, failure: Failure, asked: Option<Duration>) -> Step {
        let Some(during) = self.during() else { return Step::Nothing };
        let asked = asked.max(failure.retry_after());
        let reaction = failure.reaction(during);
        let step = self.discard();
        match reaction {
            Reaction::RelistUnpaged => self.list(None, true),
            Reaction::ListInstead => {
                self.lists_only = true;
                self.synchronize();
            }
            Reaction::Relist => self.wait(Then::Relist, asked),
            Reaction::Rewatch => self.wait(Then::Watch, asked),
        }
        self.failed = Some(Failed { during, failure, reaction, attempts: self.delays.attempts() });
        step
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
        if self.config.watch_list && !self.lists_only {
            self.state = State::WatchListing;
            self.open();
        } else {
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
        let timeout = timeout.map(|(least, most)| self.delays.between(least, most));
        let id = RequestId(self.last_id);
        self.open = Some(Open { id, since: self.now, timeout, retry_after: None, sent: false, proven: false });
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

    /// Gives the open request up, if the transport still has it.
    fn abandon(&mut self) {
        self.abandoned = self.open.take().filter(|open| open.sent).map(|open| open.id).or(self.abandoned);
    }

    fn stalled_at(&self) -> Option<Instant> {
        let open = self.open.as_ref()?;
        Some(open.since + open.timeout? + self.config.watch_margin)
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
