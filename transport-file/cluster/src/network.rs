//! What lies between one process and the server: what gets lost on it, how long it takes, and how far behind it shows.

use super::fault::Fault;
use super::target::Target;
use core::fmt;
use core::time::Duration;
use listwatch_core::Instant;
use serde_json::Value;
use std::sync::Arc;

/// How long a change is on its way to a watch: longer than an answer to its writer.
pub const LAG: Duration = Duration::from_millis(3);

/// The network of one process, which [`SimulatedCluster::through`](crate::SimulatedCluster::through) takes. Each method
/// has an answer that disturbs nothing.
///
/// The last two methods are called under the lock of the cluster, so they must not use it.
pub trait Network: fmt::Debug + Send + Sync {
    /// A request arrives at the server: it is told once.
    fn on_request(&self, request: &Sent<'_>) -> Passage {
        _ = request;
        Passage::Open
    }

    /// The server has answered a single request by this status, and the answer is to return.
    fn on_answer(&self, request: &Sent<'_>, status: u16) -> Passage {
        _ = (request, status);
        Passage::Open
    }

    /// Whether the process is gone: nothing that it sends arrives, and nothing comes back.
    fn is_dead(&self) -> bool {
        false
    }

    /// When a watch tells of a change that was made at `changed`: now at the earliest.
    fn told_at(&self, now: Instant, resource: &str, changed: Instant) -> Instant {
        _ = (now, resource);
        changed + LAG
    }

    /// When the watch cache of the API server has a change of this version, which was made at `changed`:
    /// [`SimulatedCluster::at_servers`](crate::SimulatedCluster::at_servers) says which reads show it then.
    fn cached_at(&self, now: Instant, resource: &str, version: u64, changed: Instant) -> Instant {
        _ = (now, resource, version);
        changed
    }
}

/// What becomes of a request, or of its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Passage {
    /// It arrives.
    Open,
    /// It arrives so much later.
    Late(Duration),
    /// It fails. An answer is lost, whatever the fault.
    Fails(Fault),
    /// It never arrives.
    Never,
}

/// A request, as it arrives at the server.
///
/// It is written as `PATCH apps/v1/deployments web/a/status`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Sent<'a> {
    /// The time of the cluster.
    pub now: Instant,
    /// The method of a single request, or `LIST`, or `WATCH`.
    pub method: &'a str,
    /// The resource, such as `apps/v1/deployments`.
    pub resource: String,
    /// The namespace and the name, such as `web/a`, with the subresource, such as `web/a/status`. A creation has the name
    /// of its body. Empty for those of all namespaces.
    pub key: String,
    /// The body; empty for none.
    pub body: &'a [u8],
}

impl<'a> Sent<'a> {
    pub(super) fn new(now: Instant, method: &'static str, target: &str, body: &'a [u8]) -> Self {
        let target = Target::parse(target).unwrap_or_default();
        let posted = if method == "POST" && target.name.is_empty() { name_in(body) } else { String::new() };
        let parts = [&target.namespace, &target.name, &posted, &target.subresource];
        let key: Vec<&str> = parts.into_iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
        Self { now, method, key: key.join("/"), resource: target.collection, body }
    }

    /// Whether it may change an object.
    #[must_use]
    pub fn is_write(&self) -> bool {
        matches!(self.method, "POST" | "PUT" | "PATCH" | "DELETE")
    }
}

/// The name that a new object is given, or the beginning of the one that it gets.
fn name_in(body: &[u8]) -> String {
    let object: Value = serde_json::from_slice(body).unwrap_or_default();
    let metadata = &object["metadata"];
    match (metadata["name"].as_str(), metadata["generateName"].as_str()) {
        (Some(name), _) => name.to_owned(),
        (None, Some(prefix)) => format!("{prefix}*"),
        (None, None) => String::new(),
    }
}

impl fmt::Display for Sent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method, self.resource)?;
        if self.key.is_empty() { Ok(()) } else { write!(f, " {}", self.key) }
    }
}

/// The network that a closure is.
pub(super) struct Asking<F>(pub(super) F);

impl<F: Fn(&Sent<'_>) -> Passage + Send + Sync> Network for Asking<F> {
    fn on_request(&self, request: &Sent<'_>) -> Passage {
        (self.0)(request)
    }
}

impl<F> fmt::Debug for Asking<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Asking")
    }
}

/// A change that was stored, as [`SimulatedCluster::on_commit`](crate::SimulatedCluster::on_commit) tells it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Commit {
    /// The version of the cluster after it.
    pub version: u64,
    /// The resource, such as `apps/v1/deployments`.
    pub resource: String,
    /// The namespace and the name, such as `web/a`.
    pub key: String,
    /// The object before it; `None` if it was created.
    pub before: Option<Arc<Value>>,
    /// The object after it; `None` if it was deleted.
    pub after: Option<Arc<Value>>,
}
