//! The single requests of a controller.

use super::fault::Fault;
use super::line::{BY_TEST, Line, Returned, WAY, broken};
use super::network::Passage;
use super::server::Call;
use core::task::Poll;
use listwatch_core::Instant;
use listwatch_core::api::{ApiRequest, ApiResponse, ApiTransport, Reply};
use listwatch_core::request::RequestId;
use listwatch_core::transport::ReadContext;
use std::collections::BTreeMap;

/// An [`ApiTransport`] to a simulated cluster. [`SimulatedCluster::client`](crate::SimulatedCluster::client) makes one.
#[derive(Debug)]
pub struct ClusterClient {
    line: Line,
    open: BTreeMap<RequestId, Open>,
}

/// A request under way.
#[derive(Debug)]
enum Open {
    /// The caller has not looked for the answer yet.
    Asked(ApiRequest),
    /// On its way to the server, which it reaches then.
    Going(Instant, ApiRequest),
    /// Held up on its way.
    Late(Instant, ApiRequest),
    /// Waiting for the cache that it reads.
    Waiting(Instant, ApiRequest),
    /// The answer, or the failure, is on its way back.
    Coming(Instant, Reply),
    Silent,
}

impl ClusterClient {
    pub(super) fn new(line: Line) -> Self {
        Self { line, open: BTreeMap::new() }
    }

    /// Lets a request go on, as far as it does by now.
    fn advance(&self, now: Instant, mut open: Open) -> Open {
        if let Open::Asked(request) = open {
            open = Self::leave(now, request);
        }
        match open {
            Open::Going(due, request) if due <= now => self.arrive(now, request),
            Open::Late(due, request) if due <= now => self.asked(now, request),
            Open::Waiting(due, request) if due <= now => self.answered(now, &request, None),
            open => open,
        }
    }

    /// Sends the request, if it still may leave.
    fn leave(now: Instant, request: ApiRequest) -> Open {
        match request.may_leave() {
            Ok(()) => Open::Going(now + WAY, request),
            Err(refused) => Open::Coming(now, Reply::Failed(refused)),
        }
    }

    fn arrive(&self, now: Instant, request: ApiRequest) -> Open {
        let target = request.to_string();
        let passage = self.line.passage(now, Some(request.method), &call(&request, &target));
        match passage {
            Passage::Open => self.asked(now, request),
            Passage::Late(time) => Open::Late(now + time, request),
            Passage::Fails(fault) => self.answered(now, &request, Some(fault)),
            Passage::Never => Open::Silent,
        }
    }

    fn asked(&self, now: Instant, request: ApiRequest) -> Open {
        let target = request.to_string();
        match self.line.waits(now, &call(&request, &target)) {
            Some(time) => Open::Waiting(now + time, request),
            None => self.answered(now, &request, None),
        }
    }

    fn answered(&self, now: Instant, request: &ApiRequest, fault: Option<Fault>) -> Open {
        let target = request.to_string();
        match self.line.send(now, request.method, &call(request, &target), fault) {
            Returned::Answer(time, answer) => {
                let response = ApiResponse::new(answer.head.status, answer.body);
                Open::Coming(now + time, Reply::Answered(response.with_retry_after(answer.head.retry_after)))
            }
            Returned::Broken(kind) => Open::Coming(now + WAY, Reply::Failed(broken(kind, BY_TEST))),
            Returned::Silence => Open::Silent,
        }
    }
}

fn call<'a>(request: &'a ApiRequest, target: &'a str) -> Call<'a> {
    let ApiRequest { method, accept, body, content_type, .. } = request;
    Call { method: method.name(), target, accept, content_type: content_type.unwrap_or_default(), body }
}

impl ApiTransport for ClusterClient {
    fn open(&mut self, id: RequestId, request: &ApiRequest) {
        self.open.insert(id, Open::Asked(request.clone()));
    }

    fn poll_response(&mut self, id: RequestId, turn: ReadContext<'_, '_>) -> Poll<Reply> {
        let Some(open) = self.open.remove(&id) else { return Poll::Ready(Reply::Idle { until: None }) };
        let open = if self.line.is_dead() { Open::Silent } else { self.advance(turn.now, open) };
        let until = match open {
            Open::Coming(due, reply) if due <= turn.now => return Poll::Ready(reply),
            Open::Going(due, _) | Open::Late(due, _) | Open::Waiting(due, _) | Open::Coming(due, _) => Some(due),
            Open::Asked(_) | Open::Silent => None,
        };
        self.open.insert(id, open);
        Poll::Ready(Reply::Idle { until })
    }

    /// A request that has not arrived is not processed.
    fn abort(&mut self, id: RequestId) {
        self.open.remove(&id);
    }
}
