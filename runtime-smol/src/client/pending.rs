//! An open request, the reconcile that sends it, and the numbers of those that are over.

use crate::caught::caught_call;
use crate::clock::{Clock, Outside, Sleep};
use crate::mutex::Mutex;
use crate::stable_hash::StableHash;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;
use listwatch_core::Instant;
use listwatch_core::api::{ApiRequest, ApiResponse, ApiTransport, Calls, Method, ReconcileId, Reply, TraceContext};
use listwatch_core::request::RequestId;
use listwatch_core::transport::{TransportError, TransportErrorKind};
#[cfg(feature = "metrics")]
use std::collections::BTreeMap;
use std::sync::Arc;

/// The open calls that the clones of a client share.
pub(super) type OpenCalls = Calls<Box<dyn ApiTransport + Send>>;

/// Waits for the answer to a request. If it is dropped first, it aborts the request.
pub(super) struct Pending {
    calls: Arc<Mutex<OpenCalls>>,
    clock: Clock,
    requests: Arc<Requests>,
    method: Method,
    state: State,
    sleep: Option<Sleep>,
    /// Held while the transport waits for a peer outside of the clock's time.
    outside: Option<Outside>,
}

/// Why a request has no answer.
#[derive(Debug)]
pub(crate) enum Unanswered {
    Failed(TransportError),
    /// The transport panicked with this message.
    Panicked(String),
}

enum State {
    /// The transport could not start the request.
    Failed(Unanswered),
    Open(RequestId),
    Over,
}

impl Pending {
    /// Starts a request.
    pub(super) fn open(
        calls: &Arc<Mutex<OpenCalls>>,
        clock: &Clock,
        requests: &Arc<Requests>,
        request: &ApiRequest,
        timeout: Option<Duration>,
    ) -> Self {
        let opened = guarded(calls, |calls| calls.open(clock.now(), request, timeout));
        if opened.is_err() {
            // The caller gets the first error, not the one of a second panic.
            let _second = guarded(calls, OpenCalls::abort_unopened);
        }
        let state = opened.map_or_else(State::Failed, State::Open);
        let requests = Arc::clone(requests);
        let (calls, clock, method) = (Arc::clone(calls), clock.clone(), request.method);
        Self { calls, clock, requests, method, state, sleep: None, outside: None }
    }

    /// Waits until `until`. It is no sleep of a reconcile that is witnessed: its requests are.
    fn poll_timer(&mut self, until: Option<Instant>, cx: &mut Context<'_>) -> Poll<()> {
        crate::witness::with(None, || self.clock.poll_at(&mut self.sleep, until, cx))
    }

    /// Aborts the request from another task. `None` if it is over.
    pub(super) fn aborting(&self) -> Option<Box<dyn FnOnce() + Send>> {
        let State::Open(id) = self.state else { return None };
        let calls = Arc::clone(&self.calls);
        // Nothing is left that could report a failure of the abort.
        Some(Box::new(move || _ = guarded(&calls, |calls| calls.abort(id))))
    }

    fn give_up(&mut self) {
        if let State::Open(id) = self.state {
            self.end(None);
            // The call has ended: nothing is left that could report a failure of the abort.
            let _result = guarded(&self.calls, |calls| calls.abort(id));
        }
    }

    /// The call is over, with the status of its answer.
    fn end(&mut self, status: Option<u16>) {
        self.state = State::Over;
        self.requests.count(self.method, status);
    }
}

impl Future for Pending {
    type Output = Result<ApiResponse, Unanswered>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let id = match core::mem::replace(&mut this.state, State::Over) {
            State::Failed(error) => {
                this.end(None);
                return Poll::Ready(Err(error));
            }
            State::Over => return Poll::Pending,
            State::Open(id) => id,
        };
        // If the transport panics, the request is still open, and is aborted.
        this.state = State::Open(id);
        let now = this.clock.now();
        let until = match guarded(&this.calls, |calls| calls.poll(id, now, cx)) {
            Ok(Poll::Ready(Reply::Answered(response))) => {
                this.end(Some(response.status));
                return Poll::Ready(Ok(response));
            }
            Ok(Poll::Ready(Reply::Failed(error))) => {
                this.end(None);
                return Poll::Ready(Err(Unanswered::Failed(error)));
            }
            Err(panicked) => {
                this.give_up();
                return Poll::Ready(Err(panicked));
            }
            Ok(Poll::Ready(Reply::Idle { until })) => {
                this.outside = None;
                until
            }
            Ok(Poll::Pending) => {
                this.outside.get_or_insert_with(|| this.clock.outside());
                guarded(&this.calls, |calls| calls.deadline(id)).ok().flatten()
            }
        };
        if this.poll_timer(until, cx).is_ready() {
            // A transport that blocks requests the next poll at once. Other tasks run first: the last poll may have
            // been long.
            cx.waker().wake_by_ref();
        }
        Poll::Pending
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        self.give_up();
    }
}

impl From<Unanswered> for TransportError {
    fn from(unanswered: Unanswered) -> Self {
        match unanswered {
            Unanswered::Failed(error) => error,
            Unanswered::Panicked(message) => {
                Self::new(TransportErrorKind::Other, format!("the transport panicked: {message}"))
            }
        }
    }
}

/// Calls `act` with the open calls, and converts a panic of the transport to an error. A call that was open stays open
/// until it is aborted.
fn guarded<T>(calls: &Mutex<OpenCalls>, act: impl FnOnce(&mut OpenCalls) -> T) -> Result<T, Unanswered> {
    caught_call(|| act(&mut calls.lock())).map_err(Unanswered::Panicked)
}

/// The numbers of requests that are over, by their method and the status of the answer. There are as many of them as a
/// server has statuses. Without the feature `metrics`, nothing is counted.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    #[cfg(feature = "metrics")]
    counts: Mutex<Counts>,
}

/// By method and status; no status for a request without an answer.
#[cfg(feature = "metrics")]
pub(crate) type Counts = BTreeMap<(&'static str, Option<u16>), u64>;

impl Requests {
    /// A request was answered with this status, or has no answer.
    pub(crate) fn count(&self, method: Method, status: Option<u16>) {
        #[cfg(feature = "metrics")]
        {
            // A peer that invents statuses makes no series of its own for each.
            let status = status.map(|status| if (100..600).contains(&status) { status } else { 0 });
            let mut counts = self.counts.lock();
            *counts.entry((method.name(), status)).or_default() += 1;
        }
        #[cfg(not(feature = "metrics"))]
        let _unused = (method, status);
    }

    #[cfg(feature = "metrics")]
    pub(crate) fn counts(&self) -> Counts {
        self.counts.lock().clone()
    }
}

/// The reconcile that sends a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sender {
    id: ReconcileId,
    /// Whether a subscriber records its span.
    is_sampled: bool,
}

impl Sender {
    pub(crate) fn new(id: ReconcileId, is_sampled: bool) -> Self {
        Self { id, is_sampled }
    }

    pub(crate) fn id(self) -> ReconcileId {
        self.id
    }

    /// What its request says that is the `sent`th of its client.
    pub(super) fn trace(self, sent: u64) -> TraceContext {
        let bits = self.id.as_u128();
        let parent = StableHash::new().number(bits as u64).number((bits >> u64::BITS) as u64).number(sent).finish();
        TraceContext::new(self.id, parent).sampled(self.is_sampled)
    }
}

#[cfg(all(test, feature = "metrics"))]
mod tests {
    use super::*;

    #[test]
    fn a_peer_that_invents_statuses_makes_one_series_of_them() {
        let requests = Requests::default();
        (0..=u16::MAX).for_each(|status| requests.count(Method::Get, Some(status)));
        requests.count(Method::Patch, None);
        let counts = requests.counts();
        assert_eq!(counts.len(), 500 + 1 + 1);
        assert_eq!(counts[&("GET", Some(0))], 65_536 - 500);
        assert_eq!(counts[&("PATCH", None)], 1);
    }
}
