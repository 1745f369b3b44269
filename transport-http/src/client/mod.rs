mod pending;

use crate::permits::Permits;
use crate::request::{ConnectionPool, fetch};
use crate::server::Server;
use listwatch_core::api::{ApiClient, ApiRequest, ApiResponse, ApiTransport, Reply};
use listwatch_core::request::RequestId;
use listwatch_core::text::SharedText;
use listwatch_core::transport::{ReadContext, TransportError};
use pending::PendingResponse;
use std::collections::HashMap;
use std::sync::Arc;
use std::task::Poll;

/// A client for single requests over HTTP/1.1. [`Cluster::client`](crate::Cluster::client) makes one.
///
/// As an [`ApiClient`] it blocks: each call waits for its response, within the time limits of the cluster. Many threads
/// may call one client.
///
/// As an [`ApiTransport`] it is polled. Each request has its own thread, and counts among the
/// [`ClusterOptions::max_requests`](crate::ClusterOptions::max_requests), beyond which it waits. An aborted request closes its connection.
///
/// A clone shares the connections; up to eight idle ones are kept. Polled requests belong to one clone, and end with
/// it.
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
pub struct HttpClient {
    server: Arc<Server>,
    pool: Arc<ConnectionPool>,
    permits: Arc<Permits>,
    /// The polled requests.
    open: HashMap<RequestId, PendingResponse>,
}

impl HttpClient {
    pub(crate) fn over(server: Arc<Server>) -> Self {
        let (permits, pool) = (server.requests.clone(), Arc::default());
        Self { server, pool, permits, open: HashMap::new() }
    }

    /// Counts the polled requests of this client by themselves: they have a limit of their own, as large as that of the
    /// cluster. So requests of others that hang do not keep them from being sent. Later clones share the limit.
    ///
    /// ```no_run
    /// # fn main() -> Result<(), listwatch_transport_http::ConfigError> {
    /// use listwatch_transport_http::Cluster;
    ///
    /// let cluster = Cluster::infer()?;
    /// let renews_the_lease = cluster.client()?.with_own_limit();
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn with_own_limit(mut self) -> Self {
        self.permits = Permits::new(self.permits.limit.clone());
        self
    }

    /// Closes this client and its clones, from any thread.
    ///
    /// Open requests fail, and exec plugins that no other request waits for are killed. Later requests fail with
    /// [`TransportErrorKind::Reset`](listwatch_core::transport::TransportErrorKind::Reset).
    pub fn close(&self) {
        self.pool.close(&self.server);
    }
}

/// Shares the connections, and has no polled requests.
impl Clone for HttpClient {
    fn clone(&self) -> Self {
        let Self { server, pool, permits, .. } = self;
        Self { server: server.clone(), pool: pool.clone(), permits: permits.clone(), open: HashMap::new() }
    }
}

impl ApiClient for HttpClient {
    fn send(&self, request: &ApiRequest) -> Result<ApiResponse, TransportError> {
        let connection = self.pool.checkout()?;
        fetch(&connection, &self.server, request)
    }
}

impl ApiTransport for HttpClient {
    fn open(&mut self, id: RequestId, request: &ApiRequest) {
        self.open.insert(id, PendingResponse::start(&self.server, &self.permits, &self.pool, request));
    }

    fn poll_response(&mut self, id: RequestId, context: ReadContext<'_, '_>) -> Poll<Reply> {
        let Some(pending) = self.open.get_mut(&id) else { return Poll::Ready(Reply::Idle { until: None }) };
        pending.poll(context.cx).map(|response| {
            self.open.remove(&id);
            response.map_or_else(Reply::Failed, Reply::Answered)
        })
    }

    fn abort(&mut self, id: RequestId) {
        self.open.remove(&id);
    }

    fn waits_for(&self, id: RequestId) -> Option<SharedText> {
        self.open.get(&id)?.waits_for().map(SharedText::from)
    }
}

listwatch_core::summary!("HttpClient" for HttpClient, |it| { server: it.server });
