use core::fmt;

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
    #[must_use]
    pub const fn new(bits: u128) -> Self {
        Self(bits & !MARKED | MARKS)
    }

    /// The bits. In hexadecimal they are the trace id of the reconcile's requests.
    #[must_use]
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
/// let headers = request.trace().map(|trace| trace.headers());
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
    #[must_use]
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
    #[must_use]
    pub const fn id(&self) -> ReconcileId {
        self.id
    }

    /// The names and values of the headers.
    #[must_use]
    pub fn headers(&self) -> [(&'static str, alloc::string::String); 2] {
        let Self { id, parent, is_sampled } = self;
        let flags = u8::from(*is_sampled);
        let traceparent = alloc::format!("00-{:032x}-{parent:016x}-{flags:02x}", id.as_u128());
        // Readers of an audit log join the stages of one request by this id, so no two requests may share it.
        [("audit-id", alloc::format!("{id}-{parent:016x}")), ("traceparent", traceparent)]
    }
}
