use core::pin::Pin;
use core::task::Poll;
use listwatch_core::api::{ApiClient, ApiRequest, ApiResponse, ApiTransport, Reply};
use listwatch_core::request::RequestId;
use listwatch_core::transport::{ReadContext, TransportError};
use std::collections::HashMap;
use std::sync::Arc;

/// A client that blocks, as a transport: each request has a thread of the `blocking` crate's pool.
pub(super) struct Blocking<C> {
    client: Arc<C>,
    open: HashMap<RequestId, smol::Task<Result<ApiResponse, TransportError>>>,
}

impl<C> Blocking<C> {
    pub(super) fn new(client: C) -> Self {
        Self { client: Arc::new(client), open: HashMap::new() }
    }
}

impl<C: ApiClient + Send + Sync + 'static> ApiTransport for Blocking<C> {
    fn open(&mut self, id: RequestId, request: &ApiRequest) {
        let (client, request) = (Arc::clone(&self.client), request.clone());
        self.open.insert(id, smol::unblock(move || request.may_leave().and_then(|()| client.send(&request))));
    }

    fn poll_response(&mut self, id: RequestId, turn: ReadContext<'_, '_>) -> Poll<Reply> {
        let Some(task) = self.open.get_mut(&id) else { return Poll::Ready(Reply::Idle { until: None }) };
        Pin::new(task).poll(turn.cx).map(|response| {
            self.open.remove(&id);
            response.map_or_else(Reply::Failed, Reply::Answered)
        })
    }

    /// A request that has begun continues on its thread, and its answer is dropped.
    fn abort(&mut self, id: RequestId) {
        self.open.remove(&id);
    }
}
