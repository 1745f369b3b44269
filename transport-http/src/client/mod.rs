mod pending;

use crate::request::error::too_long;
use crate::request::{Answer, ConnectionPool, OutgoingRequest};
use crate::server::Server;
use listwatch_core::api::{ApiClient, ApiRequest, ApiResponse, ApiTransport, Reply};
use listwatch_core::request::RequestId;
use listwatch_core::transport::{ReadContext, TransportError};
use pending::PendingResponse;
use std::collections::HashMap;
use std::sync::Arc;
use std::task::Poll;

/// Single requests over HTTP/1.1. [`Cluster::client`](crate::Cluster::client) makes one.
///
/// As an [`ApiClient`] it blocks: each call waits for its answer, with the time limits of the cluster. It can be called from
/// many threads; a clone is the same client.
///
/// As an [`ApiTransport`] it is polled: each request has a thread of its own, counts among those that
/// [`ClusterOptions::max_requests`](crate::ClusterOptions::max_requests) allows, and closes its connection when it is given
/// up. What is open belongs to one clone, and ends with it. Either way up to eight connections are kept for the next
/// requests.
///
/// ```no_run
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use listwatch_core::api::{Api, Patch};
/// use listwatch_core::Resource;
/// use listwatch_transport_http::Cluster;
/// use serde_json::{Value, json};
///
/// let cluster = Cluster::infer()?;
/// let client = cluster.client()?;
/// let deployments = Resource::named("apps/v1/deployments")?.in_namespace(cluster.namespace());
/// let api = Api::<Value>::new(&deployments);
/// let pause = json!({ "spec": { "paused": true } });
/// api.patch("web", &Patch::Merge(&pause)).send(&client)?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct HttpClient {
    server: Arc<Server>,
    lines: Arc<ConnectionPool>,
    /// The requests that are polled; an error where one could not even begin.
    open: HashMap<RequestId, Result<PendingResponse, TransportError>>,
}

impl HttpClient {
    pub(crate) fn over(server: Arc<Server>) -> Self {
        Self { server, lines: Arc::default(), open: HashMap::new() }
    }

    /// Ends what this client and its clones wait for, exec plugins included, and lets nothing begin any more: for who
    /// does not wait for the answers.
    pub fn hang_up(&self) {
        self.lines.cut(&self.server);
    }
}

/// The same client, without the requests that are polled here.
impl Clone for HttpClient {
    fn clone(&self) -> Self {
        Self { server: self.server.clone(), lines: self.lines.clone(), open: HashMap::new() }
    }
}

impl ApiClient for HttpClient {
    fn send(&self, request: &ApiRequest) -> Result<ApiResponse, TransportError> {
        let (line, limit) = (self.lines.lend()?, self.server.limits().max_answer);
        let answer = Answer::ask(&line, &self.server, &OutgoingRequest::single(request, self.server.limits()))?;
        let head = answer.head.clone();
        let (mut pieces, mut body, mut piece) = (answer.pieces()?, Vec::new(), Vec::new());
        loop {
            let is_over = pieces.read(&mut piece)? == 0;
            body.append(&mut piece);
            if body.len() > limit {
                return Err(too_long(limit));
            }
            if is_over {
                return Ok(ApiResponse::new(head.status, body).with_retry_after(head.retry_after));
            }
        }
    }
}

impl ApiTransport for HttpClient {
    fn open(&mut self, id: RequestId, request: &ApiRequest) {
        self.open.insert(id, PendingResponse::start(&self.server, &self.lines, request));
    }

    fn poll_response(&mut self, id: RequestId, turn: ReadContext<'_, '_>) -> Poll<Reply> {
        let response = match self.open.get_mut(&id) {
            None => return Poll::Ready(Reply::Idle { until: None }),
            Some(Err(error)) => Poll::Ready(Err(error.clone())),
            Some(Ok(awaited)) => awaited.poll(turn.cx),
        };
        response.map(|response| {
            self.open.remove(&id);
            response.map_or_else(Reply::Failed, Reply::Answered)
        })
    }

    fn abort(&mut self, id: RequestId) {
        self.open.remove(&id);
    }
}
