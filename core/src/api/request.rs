use crate::request::PercentEncoded;
use crate::text::Printable;
use crate::transport::TransportError;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
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
#[must_use]
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
    /// The number of the reconcile that sends it, for a recording. The server does not get it.
    pub sender: Option<u64>,
    /// What the server is told of the reconcile that sends it. Recordings do not have it.
    pub trace: Option<TraceContext>,
    /// Whether recordings do not have the request and its response.
    pub is_unrecorded: bool,
    /// What is asked when it leaves; see [`may_leave`](Self::may_leave).
    pub gate: Option<SendGate>,
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
    pub fn sent_by(mut self, reconcile: u64) -> Self {
        self.sender = Some(reconcile);
        self
    }

    /// Tells the server which reconcile sends the request. Recordings do not have it.
    pub fn with_trace(mut self, trace: TraceContext) -> Self {
        self.trace = Some(trace);
        self
    }

    /// Keeps the request and its response off recordings: it is no part of what a replay repeats.
    pub fn unrecorded(mut self) -> Self {
        self.is_unrecorded = true;
        self
    }

    /// Lets the request leave only while `gate` allows it.
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

    /// Method and path.
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

/// Decides whether a request may leave, at the last moment: a leader's write must not leave after its term.
///
/// A transport [asks](super::ApiRequest::may_leave) when it writes the request to its connection, and again before it
/// repeats the request. Until then, it may have made the connection, or asked a plugin for a credential.
///
/// A gate is no part of what the server gets, so any two are equal.
///
/// ```
/// use listwatch_core::api::{ApiRequest, Method, SendGate};
/// use listwatch_core::transport::{TransportError, TransportErrorKind};
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicBool, Ordering};
///
/// let leads = Arc::new(AtomicBool::new(true));
/// let asked = Arc::clone(&leads);
/// let gate = SendGate::new(move || match asked.load(Ordering::Relaxed) {
///     true => Ok(()),
///     false => Err(TransportError::new(TransportErrorKind::Other, "not sent: the term is over")),
/// });
/// let request = ApiRequest::new(Method::Delete, "/api/v1/nodes/a").behind(gate);
/// assert_eq!(request.may_leave(), Ok(()));
/// leads.store(false, Ordering::Relaxed);
/// assert_eq!(&*request.may_leave().unwrap_err().detail, "not sent: the term is over");
/// ```
#[derive(Clone)]
pub struct SendGate(Arc<Check>);

type Check = dyn Fn() -> Result<(), TransportError> + Send + Sync;

impl SendGate {
    /// A gate that asks `check`, on any thread. It must return soon, and not use the transport.
    pub fn new(check: impl Fn() -> Result<(), TransportError> + Send + Sync + 'static) -> Self {
        Self(Arc::new(check))
    }

    /// Whether the request may leave now.
    ///
    /// # Errors
    /// The reason why not.
    pub fn check(&self) -> Result<(), TransportError> {
        (self.0)()
    }
}

impl PartialEq for SendGate {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for SendGate {}

summary!("SendGate" for SendGate);

/// The id of one reconcile: 128 bits, displayed as a UUID. Each request of the reconcile carries it in its
/// [`TraceContext`].
///
/// It is of version 8 and variant 1 (RFC 9562), so it is never zero.
///
/// ```
/// use listwatch_core::api::ReconcileId;
///
/// let id = ReconcileId::new(0x0123_4567_89ab_cdef_0123_4567_89ab_cdef);
/// assert_eq!(id.to_string(), "01234567-89ab-8def-8123-456789abcdef");
/// assert_eq!(id.as_u128(), 0x0123_4567_89ab_8def_8123_4567_89ab_cdef);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReconcileId(u128);

/// The bits of the version and the variant, and their values.
const MARKED: u128 = 0xf000_c000_0000_0000_0000;
const MARKS: u128 = 0x8000_8000_0000_0000_0000;

impl ReconcileId {
    /// The id with these bits, six of which say that it is a UUID.
    pub const fn new(bits: u128) -> Self {
        Self(bits & !MARKED | MARKS)
    }

    /// The bits. In hexadecimal they are the trace id of the reconcile's requests.
    pub const fn as_u128(self) -> u128 {
        self.0
    }
}

impl fmt::Display for ReconcileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let field = |shift: u32, bits: u32| self.0 >> shift & ((1 << bits) - 1);
        let (time, mid, high) = (field(96, 32), field(80, 16), field(64, 16));
        write!(f, "{time:08x}-{mid:04x}-{high:04x}-{:04x}-{:012x}", field(48, 16), field(0, 48))
    }
}

impl fmt::Debug for ReconcileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// What a request tells its server about its sender, in two headers of a fixed size. Their values are hexadecimal digits
/// and dashes alone, so no value can end a header.
///
/// * `Audit-ID` is the id of the reconcile, a dash, and the request's own id. kube-apiserver takes it as the `auditID` of
///   its audit log's entries (apiserver `pkg/endpoints/filters`, `withAuditInit`), and returns it.
/// * `traceparent` is W3C Trace Context, version 00: the trace is the reconcile, and the parent is the request's own id.
///
/// ```
/// use listwatch_core::api::{ApiRequest, Method, ReconcileId, TraceContext};
///
/// let context = TraceContext::new(ReconcileId::new(0xab), 7).sampled(true);
/// let request = ApiRequest::new(Method::Get, "/version").with_trace(context);
/// let headers = request.trace.map(|trace| trace.headers());
/// let [audit_id, traceparent] = headers.expect("the request has a context");
/// let id = "00000000-0000-8000-8000-0000000000ab-0000000000000007";
/// assert_eq!(audit_id, ("audit-id", id.to_owned()));
/// let parent = "00-000000000000800080000000000000ab-0000000000000007-01";
/// assert_eq!(traceparent, ("traceparent", parent.to_owned()));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TraceContext {
    id: ReconcileId,
    parent: u64,
    is_sampled: bool,
}

impl TraceContext {
    /// A request of this reconcile, and the request's own id. Zero, which is no id there, becomes one.
    pub const fn new(id: ReconcileId, parent: u64) -> Self {
        Self { id, parent: if parent == 0 { 1 } else { parent }, is_sampled: false }
    }

    /// Says whether the sender records its trace: the flag `sampled`. Without it, a server need not record its part.
    #[must_use]
    pub const fn sampled(mut self, sampled: bool) -> Self {
        self.is_sampled = sampled;
        self
    }

    /// The reconcile.
    pub const fn id(&self) -> ReconcileId {
        self.id
    }

    /// The names and values of the headers.
    pub fn headers(&self) -> [(&'static str, String); 2] {
        let Self { id, parent, is_sampled } = self;
        let flags = u8::from(*is_sampled);
        let traceparent = format!("00-{:032x}-{parent:016x}-{flags:02x}", id.as_u128());
        // Readers of an audit log join the stages of one request by this id, so no two requests may share it.
        [("audit-id", format!("{id}-{parent:016x}")), ("traceparent", traceparent)]
    }
}
