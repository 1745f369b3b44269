use super::{ApiRequest, ApiResponse, ApiTransport, Reply};
use crate::request::RequestId;
use crate::transport::{ReadContext, TransportError};
use alloc::collections::BTreeMap;
use core::fmt;
use core::task::Poll;

/// An [`ApiTransport`] that answers by a function, for tests. It also wraps an [`ApiClient`](super::ApiClient) that may
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

impl<F> fmt::Debug for ApiFn<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiFn").field("asked", &self.asked).finish_non_exhaustive()
    }
}
