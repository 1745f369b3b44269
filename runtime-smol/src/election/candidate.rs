//! A candidate for a lease, and what drives it.

use super::leadership::{Leadership, Machine};
use super::report::{ElectionError, ElectionReport, WhenLost};
use crate::calls::{Caller, Calls};
use crate::caught::{Caught, caught, caught_call};
use crate::client::Unanswered;
use crate::events::Events;
use crate::informers::{StreamTransport, World, events_of_one};
use crate::stderr;
use core::future::poll_fn;
use core::pin::Pin;
use core::task::{Context, Poll};
use futures_core::Stream as _;
use listwatch_core::api::{ApiError, ApiResponse, CallAction, Method};
use listwatch_core::election::{ElectionEvent, StopReason};
use listwatch_core::informer::InformerStatus;
use listwatch_core::object::ObjectHandle;
use listwatch_core::reflector::{FailureClass, FailureReport};
use listwatch_core::request::RequestId;
use listwatch_core::time::earliest;
use listwatch_core::{Event, Instant, Resource};
use serde_json::Value;
use smol::future::{or, pending};
use std::sync::{Arc, MutexGuard};

/// A candidate for a lease, which does nothing until it is driven: by [`run`](Self::run), or by [`drive`](Self::drive)
/// beside a program that asks its [`Leadership`].
#[must_use = "a candidate does nothing until it is driven"]
pub struct Candidate {
    pub(super) leadership: Leadership,
    pub(super) world: World,
    /// The lease that is watched.
    pub(super) watched: Option<(Resource, String)>,
    pub(super) when_lost: WhenLost,
    pub(super) on_report: Option<Tell>,
}

impl Candidate {
    /// How it stands.
    pub fn leadership(&self) -> Leadership {
        self.leadership.clone()
    }

    /// What it does after it has lost its term.
    pub fn when_lost(&self) -> WhenLost {
        self.when_lost
    }

    /// Tells `other` its reports, before the program's own function.
    pub(crate) fn telling(mut self, other: impl Fn(&ElectionReport<'_>) + Send + Sync + 'static) -> Self {
        let own = self.on_report.take();
        self.on_report = Some(Box::new(move |report| {
            other(report);
            own.iter().for_each(|own| own(report));
        }));
        self
    }

    /// Acquires the lease, and renews it until the candidacy [ends](Leadership::stop). Returns whether the lease was left
    /// free.
    ///
    /// The task that polls this renews the lease. If it computes for longer than the renew deadline, the term is lost, so a
    /// program with long computations gives it a thread of its own.
    ///
    /// A program that waits for [`Leadership::begun`] calls [`Leadership::stopped`] after each of its terms. One that asks for
    /// [`Leadership::token`] alone, or writes by a [guarded](Leadership::guarded) client, need not.
    pub async fn drive(mut self) -> bool {
        let tell = self.tell();
        self.drive_telling(tell).await
    }

    async fn drive_telling(self, tell: Arc<Tell>) -> bool {
        let Self { leadership, world, watched, .. } = self;
        let (wait, mut calls) = (leadership.waiting().join(), Calls::new(world.renewing_client(), leadership.clock()));
        // Before the watch: if that panics, no task drives the candidate.
        let mut driven = Driven { leadership, watch: None, is_watched: false, tell, asked: Method::Get, failed: None };
        driven.watch = watched.map(|(leases, name)| LeaseWatch::new(&world, leases, &name));
        poll_fn(|cx| {
            wait.set(cx.waker());
            calls.poll(&mut driven, cx)
        })
        .await
    }

    /// The function that tells the operator. A panic of it has been printed by the panic hook.
    fn tell(&mut self) -> Arc<Tell> {
        let tell = self.on_report.take().unwrap_or_else(|| to_operator(&self.world, self.leadership.lease()));
        Arc::new(Box::new(move |report| _ = caught_call(|| tell(report))))
    }

    /// Calls `work` each time this candidate begins to lead, and drives the election beside it. When the work is done, the
    /// lease is released, and this returns its value; `None` if the candidacy was [stopped](Leadership::stop) before.
    ///
    /// A stop is told to the work by [`Leadership::over`]. Until the work is done, the lease is renewed. If the term is lost,
    /// the work is dropped at once. Its requests are safe if they go through [`Leadership::guarded`].
    ///
    /// # Errors
    /// [`ElectionError::Lost`] after a loss of the term, unless the candidate [rejoins](WhenLost::Rejoin);
    /// [`ElectionError::Panicked`] if the work panics: it is not called again, and the lease is released.
    #[doc(alias("RunOrDie", "OnStartedLeading"))]
    pub async fn run<R>(mut self, mut work: impl AsyncFnMut(Leadership) -> R) -> Result<Option<R>, ElectionError> {
        let (leadership, when_lost, tell) = (self.leadership(), self.when_lost, self.tell());
        let told = Arc::clone(&tell);
        let life = async {
            loop {
                if leadership.begun().await.is_none() {
                    return Ok(None);
                }
                let end = match term(&leadership, &mut work).await {
                    Err(ElectionError::Lost(_)) if when_lost == WhenLost::Rejoin => None,
                    end => Some(end.map(Some)),
                };
                if let Some(Err(ElectionError::Panicked(message))) = &end {
                    tell(&ElectionReport::Panicked { message });
                }
                if matches!(end, Some(Err(ElectionError::Lost(_)))) {
                    leadership.stop();
                }
                let Some(end) = end else {
                    leadership.stopped();
                    continue;
                };
                leadership.finished();
                leadership.ended().await;
                return end;
            }
        };
        let driven = async {
            self.drive_telling(told).await;
            // The life ends by it.
            pending().await
        };
        or(life, driven).await
    }
}

/// The work of one term.
async fn term<R>(leadership: &Leadership, work: &mut impl AsyncFnMut(Leadership) -> R) -> Result<R, ElectionError> {
    let worked = async { Ok(work(leadership.clone()).await) };
    let lost = async { Err(leadership.lost().await) };
    // The loss comes first: a write after it is refused.
    match caught(or(lost, worked), || false).await {
        Caught::Done(done) => done.map_err(ElectionError::Lost),
        Caught::Stopped(_) => Err(ElectionError::Lost(StopReason::Asked)),
        Caught::Panicked(message) => Err(ElectionError::Panicked(message)),
    }
}

/// Writes lines for operators.
fn to_operator(world: &World, lease: &str) -> Tell {
    let (world, lease) = (world.clone(), lease.to_owned());
    Box::new(move |report| {
        let is_traced = report.trace(None, &lease);
        match world.on_line() {
            Some(on_line) => on_line(&format!("lease {lease}: {report}")),
            None if is_traced => {}
            None => stderr::write_line(world.clock(), format_args!("lease {lease}: {report}")),
        }
    })
}

listwatch_core::summary!("Candidate" for Candidate, |it| { leadership: it.leadership });

/// What tells the operator.
pub(super) type Tell = Box<dyn Fn(&ElectionReport<'_>) + Send + Sync>;

/// A candidate that is driven to its end: whether the lease was left free.
struct Driven {
    leadership: Leadership,
    watch: Option<LeaseWatch>,
    /// The watch tells each change now.
    is_watched: bool,
    tell: Arc<Tell>,
    /// The kind of the last request.
    asked: Method,
    /// The kind of the request that failed, and what was told of it.
    failed: Option<(Method, String)>,
}

/// Tasks that wait for the candidate hear of its end.
impl Drop for Driven {
    fn drop(&mut self) {
        self.leadership.abandon();
    }
}

impl Caller for Driven {
    type End = bool;

    fn on_turn(&mut self, cx: &mut Context<'_>) {
        self.machine().elector.start(self.leadership.clock().now());
        self.poll_watch(cx);
        self.give_up_writes();
    }

    fn poll_call(&mut self) -> Option<CallAction> {
        let clock = self.leadership.clock();
        let (now, wall) = (clock.now(), clock.wall());
        let action = self.machine().elector.poll_action(now, wall);
        if let Some(CallAction::Open { request, .. }) = &action {
            self.asked = request.method;
        }
        action
    }

    fn handle_answer(&mut self, id: RequestId, answer: Result<ApiResponse, Unanswered>) {
        let is_made = answer.as_ref().is_ok_and(|answer| answer.status < 300);
        self.failed.take_if(|(failed, _)| is_made && *failed == self.asked);
        let now = self.leadership.clock().now();
        self.machine().elector.handle_answer(now, id, answer.map_err(Into::into));
    }

    fn poll_end(&mut self) -> Option<bool> {
        self.tell_events()
    }

    fn poll_timeout(&mut self) -> Option<Instant> {
        let due = self.machine().elector.poll_timeout();
        earliest(due, self.leadership.closing())
    }

    fn handle_timeout(&mut self) {
        let now = self.leadership.clock().now();
        self.machine().elector.handle_timeout(now);
    }
}

impl Driven {
    /// Takes what the watch brings. One that is denied is given up: the lease is read instead.
    fn poll_watch(&mut self, cx: &mut Context<'_>) {
        while let Some(watch) = &mut self.watch {
            let watched = watch.poll(cx);
            let now = self.leadership.clock().now();
            let is_current = watch.is_current(now);
            match watched {
                Poll::Ready(Watched::Lease(lease)) => self.machine().elector.handle_watched(now, lease),
                Poll::Ready(Watched::Denied(failure)) => {
                    self.watch = None;
                    self.set_watched(now, false);
                    (self.tell)(&ElectionReport::NotWatched { failure: &failure });
                    return;
                }
                Poll::Ready(Watched::Status) => {}
                Poll::Pending => return self.set_watched(now, is_current),
            }
        }
    }

    fn set_watched(&mut self, now: Instant, is_watched: bool) {
        if self.is_watched != is_watched {
            self.is_watched = is_watched;
            self.machine().elector.set_watched(now, is_watched);
        }
    }

    /// Gives up the writes that go on alone, once their time is over.
    fn give_up_writes(&self) {
        let writes = self.leadership.give_up_late();
        let writes: Vec<_> = writes.iter().map(|write| write.line().clone()).collect();
        if !writes.is_empty() {
            (self.tell)(&ElectionReport::GivenUp { writes: &writes });
        }
    }

    /// Tells what has happened; at the end, whether the lease was left free.
    fn tell_events(&mut self) -> Option<bool> {
        loop {
            let event = self.machine().elector.poll_event()?;
            if let ElectionEvent::Started(token) = &event {
                // Before the work begins.
                (self.tell)(&ElectionReport::Started { token });
            }
            let is_end = self.leadership.note(&event);
            match &event {
                ElectionEvent::Leader(holder) => (self.tell)(&ElectionReport::Leader { holder: holder.as_deref() }),
                ElectionEvent::Stopping(reason) => (self.tell)(&ElectionReport::Stopping { reason }),
                ElectionEvent::Ended { released } => (self.tell)(&ElectionReport::Ended { released: *released }),
                ElectionEvent::Failed(error) => self.tell_failure(error),
                _ => {}
            }
            if is_end {
                return Some(matches!(event, ElectionEvent::Ended { released: true }));
            }
        }
    }

    /// Tells a failure, unless it was told since a request of its kind succeeded.
    fn tell_failure(&mut self, error: &ApiError) {
        let text = error.to_string();
        if self.failed.as_ref().is_some_and(|(_, told)| *told == text) {
            return;
        }
        let help = self.help(error);
        (self.tell)(&ElectionReport::Failed { error, help });
        self.failed = Some((self.asked, text));
    }

    /// What an operator can do.
    fn help(&self, error: &ApiError) -> Option<String> {
        let (namespace, name) = self.leadership.lease().split_once('/')?;
        match error.status()?.code {
            403 => Some(format!(
                "the candidate needs the verbs get, create and update of leases.coordination.k8s.io in namespace \
                 {namespace}; check with `kubectl auth can-i update leases.coordination.k8s.io/{name} -n {namespace}`"
            )),
            404 => Some(format!("is there a namespace {namespace}? check with `kubectl get namespace {namespace}`")),
            _ => None,
        }
    }

    fn machine(&self) -> MutexGuard<'_, Machine> {
        self.leadership.lock()
    }
}

/// Follows one lease.
pub(super) struct LeaseWatch {
    events: Box<Events<Value, StreamTransport>>,
}

/// What a watch tells.
pub(super) enum Watched {
    /// The lease; `None` if it was deleted.
    Lease(Option<Value>),
    /// The server does not let it be watched.
    Denied(Box<FailureReport>),
    /// Its state may have changed.
    Status,
}

impl LeaseWatch {
    pub(super) fn new(world: &World, leases: Resource, name: &str) -> Self {
        Self { events: Box::new(events_of_one(world, leases, name)) }
    }

    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Watched> {
        Pin::new(&mut *self.events).poll_next(cx).map(|event| match event {
            Some(
                Event::Added { object, .. } | Event::Updated { new: object, .. } | Event::Recreated { new: object, .. },
            ) => Watched::Lease(Some(whole(&object))),
            Some(Event::Deleted { .. }) => Watched::Lease(None),
            Some(Event::Failed(report)) if is_denied(&report) => Watched::Denied(Box::new(report)),
            _ => Watched::Status,
        })
    }

    /// Whether it tells each change now.
    pub(super) fn is_current(&self, now: Instant) -> bool {
        matches!(self.events.driver().informer().status(now), InformerStatus::Synced { .. })
    }
}

fn is_denied(report: &FailureReport) -> bool {
    matches!(report.failure.class(), FailureClass::Forbidden | FailureClass::NotFound)
}

/// The items of a list lack what says their kind.
pub(crate) fn whole(object: &ObjectHandle<Value>) -> Value {
    let mut lease = Value::clone(object);
    if let Some(lease) = lease.as_object_mut() {
        lease.insert("apiVersion".to_owned(), "coordination.k8s.io/v1".into());
        lease.insert("kind".to_owned(), "Lease".into());
    }
    lease
}
