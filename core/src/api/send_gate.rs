use crate::transport::TransportError;
use alloc::sync::Arc;
use core::fmt;

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

impl fmt::Debug for SendGate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SendGate").finish_non_exhaustive()
    }
}
