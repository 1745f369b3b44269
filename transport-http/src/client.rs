use crate::connection::body::Content;
use crate::connection::{Line, error, head};
use crate::server::{Call, Server};
use listwatch_core::{ApiClient, ApiRequest, ApiResponse, Method, TransportError, TransportErrorKind};
use std::io::Read;
use std::sync::Arc;
use ureq::Body;
use ureq::http::{self, Response};

/// How many connections are kept for the next request.
const KEPT: usize = 8;

/// An [`ApiClient`] over HTTP/1.1. [`Cluster::client`](crate::Cluster::client) makes one.
///
/// It blocks: each call waits for its answer, with the time limits of the cluster. It can be called from many threads;
/// a clone is the same client.
///
/// ```no_run
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use listwatch_core::{Api, Patch, Resource};
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
#[derive(Clone, Debug)]
pub struct HttpClient {
    server: Arc<Server>,
    line: Arc<Line>,
}

impl HttpClient {
    pub(crate) fn over(server: Arc<Server>) -> Self {
        Self { server, line: Arc::new(Line::new(KEPT)) }
    }

    /// Ends what this client and its clones wait for, exec plugins included, and lets nothing begin any more: for who
    /// does not wait for the answers.
    pub fn hang_up(&self) {
        self.line.cut(&self.server);
    }

    fn answer(&self, request: &ApiRequest) -> Result<Response<Body>, TransportError> {
        let mut headers = vec![("accept", request.accept), ("accept-encoding", "gzip")];
        headers.extend(request.content_type.map(|content_type| ("content-type", content_type)));
        let call = Call {
            method: method(request.method),
            target: &request.to_string(),
            headers: &headers,
            body: &request.body,
            idle: self.server.limits().idle_timeout,
        };
        self.line.ask(&self.server, &call)
    }
}

impl ApiClient for HttpClient {
    fn send(&self, request: &ApiRequest) -> Result<ApiResponse, TransportError> {
        let response = self.answer(request)?;
        error::redirection(&response)?;
        let head = head::of(&response);
        let mut body = Vec::new();
        let limit = self.server.limits().max_answer;
        let mut content = Content::of(response)?.take(limit as u64 + 1);
        content.read_to_end(&mut body).map_err(|cause| error::of(&cause.into()))?;
        if body.len() > limit {
            let detail = format!("the answer is longer than {limit} bytes: list in pages, or by an informer");
            return Err(TransportError::new(TransportErrorKind::Protocol, detail));
        }
        Ok(ApiResponse::new(head.status, body).with_retry_after(head.retry_after))
    }
}

fn method(method: Method) -> http::Method {
    match method {
        Method::Get => http::Method::GET,
        Method::Post => http::Method::POST,
        Method::Put => http::Method::PUT,
        Method::Patch => http::Method::PATCH,
        Method::Delete => http::Method::DELETE,
    }
}
