use super::{SendGate, TraceContext};
use crate::request::PercentEncoded;
use crate::text::Printable;
use crate::transport::TransportError;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

/// The HTTP method of an [`ApiRequest`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// Reads.
    Get,
    /// Creates.
    Post,
    /// Replaces.
    Put,
    /// Changes a part.
    Patch,
    /// Deletes.
    Delete,
}

/// One request to an API server; a client adds the server and the credentials.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ApiRequest {
    /// The HTTP method.
    pub method: Method,
    /// The path, without a query.
    pub path: String,
    /// The parameters of the query, names and values, not yet percent-encoded.
    pub query: Vec<(&'static str, String)>,
    /// The media types that the caller can read.
    pub accept: &'static str,
    /// The media type of the body.
    pub content_type: Option<&'static str>,
    /// The body; empty for none.
    pub body: Vec<u8>,
    /// The number of the reconcile that sends it.
    sender: Option<u64>,
    /// The reconcile, for the server.
    trace: Option<TraceContext>,
    is_unrecorded: bool,
    /// Asked when it leaves.
    gate: Option<SendGate>,
}

/// Which request it was, without its query, which may be long. It is displayed as `GET /api/v1/pods`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RequestLine {
    /// The HTTP method.
    pub method: Method,
    /// The path, without a query.
    pub path: String,
}

/// The answer of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ApiResponse {
    /// The HTTP status code.
    pub status: u16,
    /// The delay that the server requests (`Retry-After`); `None` if it requests none.
    pub retry_after: Option<Duration>,
    /// What the server warns of: the texts of the headers `Warning`, such as an unknown field that it drops.
    pub warnings: Vec<String>,
    /// The body.
    pub body: Vec<u8>,
}

impl Method {
    /// The name in the request line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }
}

impl ApiRequest {
    /// A request for JSON, without query and body.
    #[must_use]
    pub fn new(method: Method, path: impl Into<String>) -> Self {
        Self {
            method,
            path: path.into(),
            query: Vec::new(),
            accept: "application/json",
            content_type: None,
            body: Vec::new(),
            sender: None,
            trace: None,
            is_unrecorded: false,
            gate: None,
        }
    }

    /// Sets the number of the reconcile that sends the request, for a recording. The server does not get it.
    #[must_use]
    pub fn sent_by(mut self, reconcile: u64) -> Self {
        self.sender = Some(reconcile);
        self
    }

    /// Tells the server which reconcile sends the request. Recordings do not have it.
    #[must_use]
    pub fn with_trace(mut self, trace: TraceContext) -> Self {
        self.trace = Some(trace);
        self
    }

    /// Keeps the request and its response off recordings: it is no part of what a replay repeats.
    #[must_use]
    pub fn unrecorded(mut self) -> Self {
        self.is_unrecorded = true;
        self
    }

    /// Whether recordings do not have the request.
    #[must_use]
    pub fn is_unrecorded(&self) -> bool {
        self.is_unrecorded
    }

    /// What the server is told of the reconcile that sends the request.
    #[must_use]
    pub fn trace(&self) -> Option<TraceContext> {
        self.trace
    }

    /// Lets the request leave only while `gate` allows it.
    #[must_use]
    pub fn behind(mut self, gate: SendGate) -> Self {
        self.gate = Some(gate);
        self
    }

    /// Whether the request may leave now. A transport asks directly before it writes the request, and before each
    /// repetition, and fails with the error.
    ///
    /// # Errors
    /// That of its [`SendGate`].
    pub fn may_leave(&self) -> Result<(), TransportError> {
        self.gate.as_ref().map_or(Ok(()), SendGate::check)
    }

    /// What is asked when the request leaves, for a transport that hands the request on in a form of its own.
    #[must_use]
    pub fn gate(&self) -> Option<&SendGate> {
        self.gate.as_ref()
    }

    /// The number of the reconcile that sends the request.
    #[must_use]
    pub fn sender(&self) -> Option<u64> {
        self.sender
    }
}

impl ApiRequest {
    /// Method and path.
    #[must_use]
    pub fn line(&self) -> RequestLine {
        RequestLine { method: self.method, path: self.path.clone() }
    }
}

impl fmt::Display for RequestLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method.name(), Printable::new(&self.path))
    }
}

/// The request target: path and query.
impl fmt::Display for ApiRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path)?;
        let mut separator = '?';
        for (name, value) in &self.query {
            write!(f, "{separator}{name}={}", PercentEncoded(value))?;
            separator = '&';
        }
        Ok(())
    }
}

impl ApiResponse {
    /// An answer without `Retry-After` and warnings.
    #[must_use]
    pub fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self { status, retry_after: None, warnings: Vec::new(), body: body.into() }
    }

    /// Sets the delay that the server requests.
    #[must_use]
    pub fn with_retry_after(mut self, wait: Option<Duration>) -> Self {
        self.retry_after = wait;
        self
    }

    /// Sets what the server warns of.
    #[must_use]
    pub fn with_warnings(mut self, texts: Vec<String>) -> Self {
        self.warnings = texts;
        self
    }
}
