use super::{ApiRequest, ApiTransport, Reply, RequestLine};
use crate::request::RequestId;
use crate::time::{Instant, earliest};
use crate::transport::{ReadContext, TransportError, TransportErrorKind};
use alloc::collections::BTreeMap;
use alloc::format;
use core::task::{Context, Poll};
use core::time::Duration;

/// The open requests of one [`ApiTransport`], each with its deadline.
///
/// Like a [`Driver`](crate::Driver), it holds no task, thread or timer. A caller polls each request by its id, and
/// polls again when the waker is called or at the time of [`Reply::Idle`]. [`ApiTransport`] has an example.
///
/// A deadline counts from [`open`](Self::open) on the caller's clock. An answer that has arrived at the deadline
/// counts. Otherwise the request is given up, and fails with [`TransportErrorKind::Timeout`]; with
/// [`TransportErrorKind::Exhausted`] if it [waited](ApiTransport::waits_for) in this process still.
#[derive(Debug)]
pub struct Calls<X> {
    transport: X,
    timeout: Duration,
    last: RequestId,
    /// The request that the transport is about to open.
    opening: Option<RequestId>,
    open: BTreeMap<RequestId, OpenCall>,
}

/// A request that waits for its answer.
#[derive(Debug)]
struct OpenCall {
    line: RequestLine,
    timeout: Duration,
    deadline: Instant,
}

/// The time limit of a request by default.
const TIMEOUT: Duration = Duration::from_secs(30);

impl<X: ApiTransport> Calls<X> {
    /// Sends requests over this transport; each has a time limit of 30 s.
    pub fn new(transport: X) -> Self {
        Self { transport, timeout: TIMEOUT, last: RequestId::default(), opening: None, open: BTreeMap::new() }
    }

    /// Sets the time limit of requests that name none; with [`Duration::MAX`] only the transport limits them.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Starts a request, with its own time limit if it names one.
    ///
    /// If the transport panics, the request is not open. The next `open`, or [`abort_unopened`](Self::abort_unopened),
    /// lets the transport give it up.
    #[must_use]
    pub fn open(&mut self, now: Instant, request: &ApiRequest, timeout: Option<Duration>) -> RequestId {
        self.abort_unopened();
        self.last = RequestId(self.last.0 + 1);
        let timeout = timeout.unwrap_or(self.timeout);
        let line = request.line();
        self.opening = Some(self.last);
        self.transport.open(self.last, request);
        self.opening = None;
        self.open.insert(self.last, OpenCall { line, timeout, deadline: now + timeout });
        self.last
    }

    /// The state of a request. [`Reply::Answered`] and [`Reply::Failed`] end it.
    ///
    /// [`Poll::Pending`] means that the answer comes from outside the caller's time. The waker is called when it has
    /// arrived, and [`deadline`](Self::deadline) says when to poll again at the latest.
    pub fn poll(&mut self, id: RequestId, now: Instant, cx: &mut Context<'_>) -> Poll<Reply> {
        let Some(deadline) = self.deadline(id) else {
            return Poll::Ready(Reply::Failed(TransportError::new(
                TransportErrorKind::Other,
                "the request has ended already",
            )));
        };
        let turn = ReadContext { cx, now, max_wait: Some(deadline.saturating_since(now)) };
        match self.transport.poll_response(id, turn) {
            Poll::Pending | Poll::Ready(Reply::Idle { .. }) if now >= deadline => self.on_deadline(id),
            Poll::Pending => Poll::Pending,
            Poll::Ready(Reply::Idle { until }) => Poll::Ready(Reply::Idle { until: earliest(until, Some(deadline)) }),
            Poll::Ready(last) => {
                self.open.remove(&id);
                Poll::Ready(last)
            }
        }
    }

    /// When an open request is given up.
    pub fn deadline(&self, id: RequestId) -> Option<Instant> {
        self.open.get(&id).map(|call| call.deadline)
    }

    /// Gives up a request, if it is open.
    pub fn abort(&mut self, id: RequestId) {
        if self.open.remove(&id).is_some() {
            self.transport.abort(id);
        }
    }

    /// Gives up a request that the transport began to open when it panicked, for a caller that caught the panic.
    pub fn abort_unopened(&mut self) {
        if let Some(id) = self.opening.take() {
            self.transport.abort(id);
        }
    }

    /// The number of open requests.
    pub fn len(&self) -> usize {
        self.open.len()
    }

    /// Whether no request is open.
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// The transport.
    pub fn transport(&self) -> &X {
        &self.transport
    }

    /// The transport, for its other functions.
    pub fn transport_mut(&mut self) -> &mut X {
        &mut self.transport
    }

    fn on_deadline(&mut self, id: RequestId) -> Poll<Reply> {
        let waits_for = self.transport.waits_for(id);
        let late = self.open.remove(&id);
        self.transport.abort(id);
        let kind = waits_for.as_ref().map_or(TransportErrorKind::Timeout, |_| TransportErrorKind::Exhausted);
        let error = late.map_or_else(
            || TransportError::new(kind, ""),
            |OpenCall { line, timeout, .. }| {
                let unsent = waits_for.map(|why| format!("; it was not sent: {why}")).unwrap_or_default();
                TransportError::new(kind, format!("no answer within {timeout:?}{unsent}")).of_request(line)
            },
        );
        Poll::Ready(Reply::Failed(error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::{ApiResponse, Method};
    use crate::text::SharedText;
    use alloc::string::ToString;
    use alloc::vec::Vec;
    use core::task::Waker;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    /// Replies by its script, and notes the requests.
    #[derive(Default)]
    struct Script {
        replies: BTreeMap<RequestId, Poll<Reply>>,
        aborted: Vec<RequestId>,
        max_waits: Vec<Option<Duration>>,
        waits_for: Option<SharedText>,
    }

    impl ApiTransport for Script {
        fn open(&mut self, id: RequestId, _: &ApiRequest) {
            self.replies.insert(id, Poll::Pending);
        }

        fn poll_response(&mut self, id: RequestId, turn: ReadContext<'_, '_>) -> Poll<Reply> {
            self.max_waits.push(turn.max_wait);
            self.replies[&id].clone()
        }

        fn abort(&mut self, id: RequestId) {
            self.aborted.push(id);
        }

        fn waits_for(&self, id: RequestId) -> Option<SharedText> {
            self.waits_for.clone().filter(|_| !self.aborted.contains(&id))
        }
    }

    fn at(seconds: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(seconds)
    }

    fn open(calls: &mut Calls<Script>, timeout: Option<Duration>) -> RequestId {
        calls.open(at(0), &ApiRequest::new(Method::Put, "/api/v1/nodes/a"), timeout)
    }

    fn poll(calls: &mut Calls<Script>, id: RequestId, seconds: u64) -> Poll<Reply> {
        calls.poll(id, at(seconds), &mut Context::from_waker(Waker::noop()))
    }

    fn answer() -> Poll<Reply> {
        Poll::Ready(Reply::Answered(ApiResponse::new(200, *b"")))
    }

    fn idle(seconds: u64) -> Poll<Reply> {
        Poll::Ready(Reply::Idle { until: Some(at(seconds)) })
    }

    #[test]
    fn each_of_many_requests_gets_its_own_answer_in_whatever_order_they_come() {
        let mut calls = Calls::new(Script::default());
        let ids: Vec<RequestId> = (0..3).map(|_| open(&mut calls, None)).collect();
        for (status, id) in [(202, ids[2]), (200, ids[0]), (201, ids[1])] {
            let answer = Reply::Answered(ApiResponse::new(status, *b""));
            calls.transport_mut().replies.insert(id, Poll::Ready(answer.clone()));
            assert_eq!(poll(&mut calls, id, 1), Poll::Ready(answer));
        }
        assert!(calls.is_empty() && calls.transport().aborted.is_empty());
    }

    #[test]
    fn a_request_without_an_answer_is_given_up_at_its_deadline_and_says_which_it_was() {
        let mut calls = Calls::new(Script::default());
        let id = open(&mut calls, None);
        assert_eq!((calls.deadline(id), poll(&mut calls, id, 29)), (Some(at(30)), Poll::Pending));
        let Poll::Ready(Reply::Failed(error)) = poll(&mut calls, id, 30) else { panic!("it goes on") };
        assert_eq!(error.to_string(), "PUT /api/v1/nodes/a: timed out: no answer within 30s");
        assert_eq!((error.kind, calls.transport().aborted.as_slice()), (TransportErrorKind::Timeout, &[id][..]));
        assert!(calls.is_empty());
    }

    #[test]
    fn a_request_that_was_not_sent_by_its_deadline_says_what_it_waited_for() {
        let mut calls = Calls::new(Script { waits_for: Some("others are open".into()), ..Script::default() });
        let id = open(&mut calls, None);
        let Poll::Ready(Reply::Failed(error)) = poll(&mut calls, id, 30) else { panic!("it goes on") };
        assert_eq!(error.kind, TransportErrorKind::Exhausted);
        let detail = "no answer within 30s; it was not sent: others are open";
        assert_eq!((&*error.detail, calls.transport().aborted.len()), (detail, 1));
    }

    #[test]
    fn an_answer_that_is_there_at_the_deadline_counts() {
        for late in [30, 100] {
            let mut calls = Calls::new(Script::default());
            let id = open(&mut calls, None);
            calls.transport_mut().replies.insert(id, answer());
            assert_eq!(poll(&mut calls, id, late), answer());
        }
    }

    #[test]
    fn nobody_sleeps_beyond_a_deadline_for_an_answer() {
        let mut calls = Calls::new(Script::default()).with_timeout(Duration::from_secs(5));
        let (usual, patient) = (open(&mut calls, None), open(&mut calls, Some(Duration::MAX)));
        for (until, wakes) in [(3, 3), (9, 5)] {
            calls.transport_mut().replies.insert(usual, idle(until));
            assert_eq!(poll(&mut calls, usual, 1), idle(wakes));
        }
        calls.transport_mut().replies.insert(patient, idle(9));
        assert_eq!(poll(&mut calls, patient, 8), idle(9));
        assert_eq!(calls.transport().max_waits[..2], [Some(Duration::from_secs(4)); 2]);
    }

    #[test]
    fn a_request_that_was_given_up_is_over_and_given_up_once() {
        let mut calls = Calls::new(Script::default());
        let (id, other) = (open(&mut calls, None), open(&mut calls, None));
        calls.abort(id);
        calls.abort(id);
        assert_eq!((calls.transport().aborted.as_slice(), calls.len()), (&[id][..], 1));
        assert!(matches!(poll(&mut calls, id, 0), Poll::Ready(Reply::Failed(_))));
        assert_eq!(poll(&mut calls, other, 0), Poll::Pending);
    }

    /// Notes a request, and then panics.
    #[derive(Default)]
    struct Flawed(Script);

    impl ApiTransport for Flawed {
        fn open(&mut self, id: RequestId, request: &ApiRequest) {
            self.0.open(id, request);
            panic!("flawed");
        }

        fn poll_response(&mut self, id: RequestId, turn: ReadContext<'_, '_>) -> Poll<Reply> {
            self.0.poll_response(id, turn)
        }

        fn abort(&mut self, id: RequestId) {
            self.0.replies.remove(&id);
            self.0.abort(id);
        }
    }

    #[test]
    fn a_request_whose_open_panics_is_aborted_in_the_transport() {
        let mut calls = Calls::new(Flawed::default());
        let request = ApiRequest::new(Method::Get, "/version");
        for _ in 0..5 {
            let opened = catch_unwind(AssertUnwindSafe(|| calls.open(at(0), &request, None)));
            assert!(opened.is_err() && calls.is_empty());
            assert!(calls.transport().0.replies.len() <= 1, "{:?}", calls.transport().0.replies);
        }
        calls.abort_unopened();
        calls.abort_unopened();
        let script = &calls.transport().0;
        assert_eq!((script.aborted.len(), script.replies.len()), (5, 0));
    }
}
