//! The single requests of clients, as a test reads them.

use core::fmt;
use listwatch_core::api::Method;
use serde_json::Value;
use std::collections::VecDeque;

/// How many requests are kept.
const MOST: usize = 10_000;

/// A single request of a client, and its outcome.
///
/// It is written as `POST /api/v1/namespaces/web/pods 201`, and equals that text:
///
/// ```
/// # use listwatch_simulated_cluster::SimulatedCluster;
/// let cluster = SimulatedCluster::new();
/// // … a controller runs …
/// assert_eq!(cluster.requests(), [""; 0]);
/// ```
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct ClientRequest {
    /// The method.
    pub method: Method,
    /// The path, without the query.
    pub path: String,
    /// The query; empty for none.
    pub query: String,
    /// The body; null for none.
    pub body: Value,
    /// What the client was told.
    pub outcome: ClientOutcome,
}

/// What a client was told about its request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClientOutcome {
    /// The answer, with this status.
    Answered(u16),
    /// Nothing: the request was processed with this status, and the answer got lost.
    Lost(u16),
    /// Nothing: the request never arrived.
    Dropped,
}

/// The newest requests, oldest first.
#[derive(Debug, Default)]
pub(super) struct Requests(VecDeque<ClientRequest>);

impl Requests {
    pub(super) fn push(&mut self, request: ClientRequest) {
        if self.0.len() == MOST {
            self.0.pop_front();
        }
        self.0.push_back(request);
    }

    pub(super) fn list(&self) -> Vec<ClientRequest> {
        self.0.iter().cloned().collect()
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

impl fmt::Display for ClientRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.method.name(), self.path, self.outcome)
    }
}

/// As it is displayed, so that a failed comparison reads well.
impl fmt::Debug for ClientRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_string(), f)
    }
}

impl fmt::Display for ClientOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Answered(status) => write!(f, "{status}"),
            Self::Lost(status) => write!(f, "{status} lost"),
            Self::Dropped => f.write_str("dropped"),
        }
    }
}

impl PartialEq<str> for ClientRequest {
    fn eq(&self, other: &str) -> bool {
        let text = self.to_string();
        text == other
    }
}

impl PartialEq<&str> for ClientRequest {
    fn eq(&self, other: &&str) -> bool {
        *self == **other
    }
}
