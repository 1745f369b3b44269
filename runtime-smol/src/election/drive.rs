//! The task of a candidate.

use super::leadership::{Leadership, Machine};
use super::report::ElectionReport;
use super::watch::{LeaseWatch, Watched};
use crate::client::Client;
use crate::clock::Sleep;
use crate::waiting::Wait;
use core::pin::Pin;
use core::task::{Context, Poll};
use listwatch_core::Instant;
use listwatch_core::api::{ApiError, ApiRequest, ApiResponse, Method};
use listwatch_core::election::{ElectionAction, ElectionEvent};
use listwatch_core::request::RequestId;
use listwatch_core::time::earliest;
use listwatch_core::transport::TransportError;
use std::sync::{Arc, MutexGuard};

/// What tells the operator.
pub(super) type Tell = Box<dyn Fn(&ElectionReport<'_>) + Send + Sync>;

/// Drives a candidate to its end: whether the lease was left free.
pub(super) struct Drive {
    leadership: Leadership,
    client: Client,
    watch: Option<LeaseWatch>,
    /// The watch tells each change now.
    is_watched: bool,
    tell: Arc<Tell>,
    call: Option<Call>,
    /// The kind of the last request.
    asked: Method,
    /// The kind of the request that failed, and what was told of it.
    failed: Option<(Method, String)>,
    sleep: Option<Sleep>,
    wait: Wait,
}

/// The request that is open.
struct Call {
    id: RequestId,
    answer: Pin<Box<dyn Future<Output = Result<ApiResponse, TransportError>> + Send>>,
}

impl Drive {
    pub(super) fn new(leadership: Leadership, client: Client, tell: Arc<Tell>) -> Self {
        let wait = leadership.waiting().join();
        let is_watched = false;
        Self {
            leadership,
            client,
            watch: None,
            is_watched,
            tell,
            call: None,
            asked: Method::Get,
            failed: None,
            sleep: None,
            wait,
        }
    }

    /// Hears of changes by this watch, too.
    pub(super) fn watch(&mut self, watch: Option<LeaseWatch>) {
        self.watch = watch;
    }
}

/// Tasks that wait for the candidate hear of its end.
impl Drop for Drive {
    fn drop(&mut self) {
        self.leadership.abandon();
    }
}

impl Future for Drive {
    type Output = bool;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<bool> {
        let this = &mut *self;
        this.wait.set(cx.waker());
        let now = this.leadership.clock().now();
        this.leadership.lock().elector.start(now);
        loop {
            this.poll_watch(cx);
            this.poll_answer(cx);
            this.give_up_writes();
            let has_acted = this.act();
            if let Some(released) = this.tell_events() {
                return Poll::Ready(released);
            }
            let is_due = this.poll_timeout(cx);
            if !has_acted && !is_due {
                return Poll::Pending;
            }
        }
    }
}

impl Drive {
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

    fn poll_answer(&mut self, cx: &mut Context<'_>) {
        let Some(call) = &mut self.call else { return };
        let Poll::Ready(answer) = call.answer.as_mut().poll(cx) else { return };
        let (id, method) = (call.id, self.asked);
        self.call = None;
        let is_made = answer.as_ref().is_ok_and(|answer| answer.status < 300);
        self.failed.take_if(|(failed, _)| is_made && *failed == method);
        let now = self.leadership.clock().now();
        self.machine().elector.handle_answer(now, id, answer);
    }

    /// Gives up the writes that go on alone, once their time is over.
    fn give_up_writes(&self) {
        let writes = self.leadership.give_up_late();
        let writes: Vec<_> = writes.iter().map(|write| write.line().clone()).collect();
        if !writes.is_empty() {
            (self.tell)(&ElectionReport::GivenUp { writes: &writes });
        }
    }

    /// Does what the elector asks for. Returns whether there is a new request.
    fn act(&mut self) -> bool {
        let mut has_opened = false;
        while let Some(action) = self.next_action() {
            match action {
                ElectionAction::Open { id, request } => {
                    self.open(id, &request);
                    has_opened = true;
                }
                ElectionAction::Abort(id) => _ = self.call.take_if(|call| call.id == id),
                _ => {}
            }
        }
        has_opened
    }

    fn next_action(&self) -> Option<ElectionAction> {
        let clock = self.leadership.clock();
        let (now, wall) = (clock.now(), clock.wall());
        self.machine().elector.poll_action(now, wall)
    }

    fn open(&mut self, id: RequestId, request: &ApiRequest) {
        self.asked = request.method;
        self.call = Some(Call { id, answer: Box::pin(self.client.send(request)) });
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

    /// Waits for the elector's next deadline. Returns whether it has come.
    fn poll_timeout(&mut self, cx: &mut Context<'_>) -> bool {
        let due = self.machine().elector.poll_timeout();
        let at = earliest(due, self.leadership.closing());
        let clock = self.leadership.clock().clone();
        let is_due = clock.poll_at(&mut self.sleep, at, cx).is_ready();
        if is_due {
            self.machine().elector.handle_timeout(clock.now());
        }
        is_due
    }

    fn machine(&self) -> MutexGuard<'_, Machine> {
        self.leadership.lock()
    }
}
