use super::{ApiRequest, ApiResponse};
use crate::request::RequestId;
use crate::text::SharedText;
use crate::time::Instant;
use crate::transport::{ReadContext, TransportError};
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use core::task::Poll;

/// Sends one request, and blocks the caller until the answer is complete. [`ApiTransport`] does not block.
///
/// ```
/// use listwatch_core::api::{Api, ApiClient, ApiRequest, ApiResponse};
/// use listwatch_core::transport::TransportError;
/// use listwatch_core::Resource;
/// use serde_json::{Value, json};
///
/// /// A server that knows one pod.
/// struct OnePod;
///
/// impl ApiClient for OnePod {
///     fn send(&self, request: &ApiRequest) -> Result<ApiResponse, TransportError> {
///         Ok(match request.path.as_str() {
///             "/api/v1/namespaces/web/pods/a" => ApiResponse::new(200, br#"{"metadata":{"name":"a"}}"#),
///             _ => ApiResponse::new(404, br#"{"kind":"Status","reason":"NotFound","code":404}"#),
///         })
///     }
/// }
///
/// let pods = Api::<Value>::new(&Resource::named("v1/pods")?.in_namespace("web"));
/// assert_eq!(pods.get("a").send(&OnePod)?, json!({ "metadata": { "name": "a" } }));
/// assert!(pods.get("b").send(&OnePod).is_err_and(|error| error.is_not_found()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait ApiClient {
    /// Sends the request and returns the answer, whatever its status.
    ///
    /// A client retries only requests that the server rejected unprocessed, such as those with an expired credential. It
    /// asks [`ApiRequest::may_leave`] when it writes the request, each time.
    ///
    /// # Errors
    /// If the request could not be sent, or its answer broke off. The server may have processed the request
    /// nevertheless.
    fn send(&self, request: &ApiRequest) -> Result<ApiResponse, TransportError>;
}

impl<C: ApiClient + ?Sized> ApiClient for &C {
    fn send(&self, request: &ApiRequest) -> Result<ApiResponse, TransportError> {
        (**self).send(request)
    }
}

impl<C: ApiClient + ?Sized> ApiClient for Box<C> {
    fn send(&self, request: &ApiRequest) -> Result<ApiResponse, TransportError> {
        (**self).send(request)
    }
}

impl<C: ApiClient + ?Sized> ApiClient for Arc<C> {
    fn send(&self, request: &ApiRequest) -> Result<ApiResponse, TransportError> {
        (**self).send(request)
    }
}

/// Carries single requests to a server, a recording or a simulation, and brings back complete answers. It serves
/// [`ApiRequest`]s, as a [`ListerWatcher`](crate::ListerWatcher) serves lists and watches.
///
/// Many requests may be open at once. A transport does not retry and has no deadlines; [`Calls`](super::Calls) has
/// them.
///
/// ```
/// use core::task::{Context, Poll, Waker};
/// use core::time::Duration;
/// use listwatch_core::api::{ApiRequest, ApiResponse, ApiTransport, Calls, Method, Reply};
/// use listwatch_core::request::RequestId;
/// use listwatch_core::transport::ReadContext;
/// use listwatch_core::Instant;
/// use std::collections::BTreeMap;
///
/// /// A server that takes 20 ms for each response, by the caller's clock.
/// #[derive(Default)]
/// struct Slow(BTreeMap<RequestId, Option<Instant>>);
///
/// impl ApiTransport for Slow {
///     fn open(&mut self, id: RequestId, _request: &ApiRequest) {
///         self.0.insert(id, None);
///     }
///
///     fn poll_response(&mut self, id: RequestId, turn: ReadContext<'_, '_>) -> Poll<Reply> {
///         let due = *self.0.entry(id).or_default().get_or_insert(turn.now + Duration::from_millis(20));
///         if turn.now < due {
///             return Poll::Ready(Reply::Idle { until: Some(due) });
///         }
///         self.0.remove(&id);
///         Poll::Ready(Reply::Answered(ApiResponse::new(200, *b"{}")))
///     }
///
///     fn abort(&mut self, id: RequestId) {
///         self.0.remove(&id);
///     }
/// }
///
/// let (mut calls, mut cx) = (Calls::new(Slow::default()), Context::from_waker(Waker::noop()));
/// let id = calls.open(Instant::ZERO, &ApiRequest::new(Method::Get, "/version"), None);
/// let later = Instant::ZERO + Duration::from_millis(20);
/// assert_eq!(calls.poll(id, Instant::ZERO, &mut cx), Poll::Ready(Reply::Idle { until: Some(later) }));
/// assert!(matches!(calls.poll(id, later, &mut cx), Poll::Ready(Reply::Answered(answer)) if answer.status == 200));
/// ```
pub trait ApiTransport {
    /// Starts a request without blocking. [`poll_response`](Self::poll_response) reports its failure.
    ///
    /// The transport asks [`ApiRequest::may_leave`] when it writes the request to its connection, and before it repeats
    /// the request. The error is the failure of the request.
    fn open(&mut self, id: RequestId, request: &ApiRequest);

    /// The answer to an open request, which it ends.
    ///
    /// * A transport that waits for a socket or a thread registers the waker of `turn.cx` and returns
    ///   [`Poll::Pending`]. A simulated clock stands still meanwhile.
    /// * A recording or a simulation, which answers by `turn.now`, returns [`Reply::Idle`] with the moment of the
    ///   answer. If the answer may come earlier, it registers the waker as well.
    /// * A transport that blocks may wait up to `turn.max_wait`, and then returns [`Reply::Idle`] until `turn.now`.
    ///
    /// Each request has its own waker: that of its latest poll.
    fn poll_response(&mut self, id: RequestId, turn: ReadContext<'_, '_>) -> Poll<Reply>;

    /// Gives up a request. The server may have processed it, or may still process it.
    fn abort(&mut self, id: RequestId);

    /// What in this process a request waits for before it is sent, for people; `None` if it does not wait.
    fn waits_for(&self, id: RequestId) -> Option<SharedText> {
        let _unknown = id;
        None
    }
}

/// The state of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The answer, whatever its status.
    Answered(ApiResponse),
    /// The request failed; no answer will come.
    Failed(TransportError),
    /// No answer yet. The caller polls again at `until` at the latest.
    Idle {
        /// When the answer may come; `None` if the transport calls the waker instead.
        until: Option<Instant>,
    },
}

impl<X: ApiTransport + ?Sized> ApiTransport for Box<X> {
    fn open(&mut self, id: RequestId, request: &ApiRequest) {
        (**self).open(id, request);
    }

    fn poll_response(&mut self, id: RequestId, turn: ReadContext<'_, '_>) -> Poll<Reply> {
        (**self).poll_response(id, turn)
    }

    fn abort(&mut self, id: RequestId) {
        (**self).abort(id);
    }

    fn waits_for(&self, id: RequestId) -> Option<SharedText> {
        (**self).waits_for(id)
    }
}

/// An [`ApiTransport`] that answers by a function, for tests. It also wraps an [`ApiClient`] that may
/// block its caller: `ApiFn::new(move |request| client.send(request))`.
///
/// The first poll of a request calls the function. A request that is given up before is never made.
///
/// ```
/// use core::task::{Context, Poll, Waker};
/// use listwatch_core::api::{ApiFn, ApiRequest, ApiResponse, Calls, Method, Reply};
/// use listwatch_core::Instant;
///
/// let mut calls = Calls::new(ApiFn::new(|request: &ApiRequest| match request.path.as_str() {
///     "/version" => Ok(ApiResponse::new(200, *br#"{"gitVersion":"v1.36.0"}"#)),
///     _ => Ok(ApiResponse::new(404, *b"{}")),
/// }));
/// let id = calls.open(Instant::ZERO, &ApiRequest::new(Method::Get, "/version"), None);
/// let reply = calls.poll(id, Instant::ZERO, &mut Context::from_waker(Waker::noop()));
/// assert!(matches!(reply, Poll::Ready(Reply::Answered(answer)) if answer.status == 200));
/// ```
pub struct ApiFn<F> {
    answer: F,
    /// The requests that were not polled yet.
    asked: BTreeMap<RequestId, ApiRequest>,
}

impl<F: FnMut(&ApiRequest) -> Result<ApiResponse, TransportError>> ApiFn<F> {
    /// Answers each request by `answer`.
    pub fn new(answer: F) -> Self {
        Self { answer, asked: BTreeMap::new() }
    }
}

impl<F: FnMut(&ApiRequest) -> Result<ApiResponse, TransportError>> ApiTransport for ApiFn<F> {
    fn open(&mut self, id: RequestId, request: &ApiRequest) {
        self.asked.insert(id, request.clone());
    }

    fn poll_response(&mut self, id: RequestId, _: ReadContext<'_, '_>) -> Poll<Reply> {
        // The function may panic, so the request ends before it runs.
        let Some(request) = self.asked.remove(&id) else { return Poll::Ready(Reply::Idle { until: None }) };
        let answer = request.may_leave().and_then(|()| (self.answer)(&request));
        Poll::Ready(answer.map_or_else(Reply::Failed, Reply::Answered))
    }

    fn abort(&mut self, id: RequestId) {
        self.asked.remove(&id);
    }
}

summary!(impl[F] "ApiFn" for ApiFn<F>, |it| { asked: it.asked });
