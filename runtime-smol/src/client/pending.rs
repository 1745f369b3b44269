use super::OpenCalls;
use crate::caught::caught_call;
use crate::clock::{Clock, Outside, Sleep};
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;
use listwatch_core::Instant;
use listwatch_core::api::{ApiRequest, ApiResponse, Reply};
use listwatch_core::request::RequestId;
use listwatch_core::transport::{TransportError, TransportErrorKind};
use std::sync::{Arc, Mutex, PoisonError};

/// Waits for the answer to a request. Dropped before, it gives the request up.
pub(super) struct Pending {
    calls: Arc<Mutex<OpenCalls>>,
    clock: Clock,
    state: State,
    sleep: Option<Sleep>,
    /// Held while the answer comes from outside of the clock's time.
    outside: Option<Outside>,
}

enum State {
    /// It could not even be started.
    Failed(TransportError),
    Open(RequestId),
    Over,
}

impl Pending {
    /// Starts a request.
    pub(super) fn open(
        calls: &Arc<Mutex<OpenCalls>>,
        clock: &Clock,
        request: &ApiRequest,
        timeout: Option<Duration>,
    ) -> Self {
        let opened = guarded(calls, |calls| calls.open(clock.now(), request, timeout));
        if opened.is_err() {
            // The error at hand says more than a second panic could.
            let _heard = guarded(calls, OpenCalls::abort_unopened);
        }
        let state = opened.map_or_else(State::Failed, State::Open);
        Self { calls: Arc::clone(calls), clock: clock.clone(), state, sleep: None, outside: None }
    }

    /// How the request goes on.
    fn ask(&mut self, cx: &mut Context<'_>) -> Poll<Reply> {
        let id = match core::mem::replace(&mut self.state, State::Over) {
            State::Failed(error) => return Poll::Ready(Reply::Failed(error)),
            State::Over => return Poll::Ready(Reply::Idle { until: None }),
            State::Open(id) => id,
        };
        // Where the transport panics, the request is still open, and given up.
        self.state = State::Open(id);
        let now = self.clock.now();
        let reply = guarded(&self.calls, |calls| calls.poll(id, now, cx));
        let reply = reply.unwrap_or_else(|error| {
            self.give_up();
            Poll::Ready(Reply::Failed(error))
        });
        if matches!(reply, Poll::Ready(Reply::Answered(_) | Reply::Failed(_))) {
            self.state = State::Over;
        }
        reply
    }

    /// When to ask again at the latest, after the transport did not know.
    fn deadline(&self) -> Option<Instant> {
        let State::Open(id) = self.state else { return None };
        guarded(&self.calls, |calls| calls.deadline(id)).ok().flatten()
    }

    fn give_up(&mut self) {
        if let State::Open(id) = core::mem::replace(&mut self.state, State::Over) {
            // Nobody is there to hear that this, too, has failed.
            let _heard = guarded(&self.calls, |calls| calls.abort(id));
        }
    }
}

impl Future for Pending {
    type Output = Result<ApiResponse, TransportError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let until = match this.ask(cx) {
            Poll::Ready(Reply::Answered(response)) => return Poll::Ready(Ok(response)),
            Poll::Ready(Reply::Failed(error)) => return Poll::Ready(Err(error)),
            Poll::Ready(Reply::Idle { until }) => {
                this.outside = None;
                until
            }
            Poll::Pending => {
                this.outside.get_or_insert_with(|| this.clock.outside());
                this.deadline()
            }
        };
        if this.clock.poll_at(&mut this.sleep, until, cx).is_ready() {
            // A transport that blocks asks for the next poll at once, after one that may have taken long.
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

/// Lets `act` use the calls, and stops a panic of the transport's there: a call that is open stays so until it is given
/// up, and the transport is as it left itself, for the other calls.
fn guarded<T>(calls: &Mutex<OpenCalls>, act: impl FnOnce(&mut OpenCalls) -> T) -> Result<T, TransportError> {
    let mut calls = calls.lock().unwrap_or_else(PoisonError::into_inner);
    caught_call(|| act(&mut calls))
        .map_err(|message| TransportError::new(TransportErrorKind::Other, format!("the transport panicked: {message}")))
}
