//! Single requests to an API server, and their answers, as values.
//!
//! | type | purpose |
//! |---|---|
//! | [`Api`] | makes the requests for one collection: get, list, create, replace, patch, delete, status, scale |
//! | [`ApiCall`] | a request, and how its answer is read |
//! | [`ApiTransport`], [`Calls`] | carries requests without blocking; gives each a deadline |
//! | [`ApiClient`] | carries one request, and blocks its caller |
//! | [`ApiFn`] | answers by a function, in tests |
//! | [`Discovery`] | finds a resource by the name that kubectl would take |
//! | [`SendGate`] | stops a leader's write that would leave after its term |
//! | [`TraceContext`] | names the reconcile behind a request, for the server's audit log and traces |
//! | [`ConflictRetry`] | delays and limits the repetition of a change after a conflict |

mod api_fn;
mod call;
mod calls;
mod delete;
mod discovery;
mod error;
mod objects;
mod patch;
mod refusals;
mod request;
mod retry;
mod scale;
mod send_gate;
#[cfg(test)]
mod tests;
mod trace_context;
mod transport;

pub use api_fn::ApiFn;
pub use call::{ApiCall, ObjectList};
pub use calls::Calls;
pub use delete::{DeleteOptions, PropagationPolicy};
pub use discovery::{ApiResource, Discovery};
pub use error::ApiError;
pub use objects::Api;
pub use patch::Patch;
pub use refusals::{Prospect, REFUSALS, RefusalRule, RefusalSign};
pub use request::{ApiRequest, ApiResponse, Method, RequestLine};
pub use retry::ConflictRetry;
pub use scale::{Scale, ScaleSpec, ScaleStatus};
pub use send_gate::SendGate;
pub use trace_context::{ReconcileId, TraceContext};
pub use transport::{ApiTransport, Reply};

use crate::transport::TransportError;

/// Sends one request, and blocks the caller until the answer is complete. [`ApiTransport`] does not block.
///
/// ```
/// use listwatch_core::api::{Api, ApiClient, ApiRequest, ApiResponse};
/// use listwatch_core::transport::TransportError;
/// use listwatch_core::Resource;
/// use serde_json::{Value, json};
///
/// /// A server that knows one pod.
/// struct OnePod;
///
/// impl ApiClient for OnePod {
///     fn send(&self, request: &ApiRequest) -> Result<ApiResponse, TransportError> {
///         Ok(match request.path.as_str() {
///             "/api/v1/namespaces/web/pods/a" => ApiResponse::new(200, br#"{"metadata":{"name":"a"}}"#),
///             _ => ApiResponse::new(404, br#"{"kind":"Status","reason":"NotFound","code":404}"#),
///         })
///     }
/// }
///
/// let pods = Api::<Value>::new(&Resource::named("v1/pods")?.in_namespace("web"));
/// assert_eq!(pods.get("a").send(&OnePod)?, json!({ "metadata": { "name": "a" } }));
/// assert!(pods.get("b").send(&OnePod).is_err_and(|error| error.is_not_found()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait ApiClient {
    /// Sends the request and returns the answer, whatever its status.
    ///
    /// A client retries only requests that the server rejected unprocessed, such as those with an expired credential. It
    /// asks [`ApiRequest::may_leave`] when it writes the request, each time.
    ///
    /// # Errors
    /// If the request could not be sent, or its answer broke off. The server may have processed the request
    /// nevertheless.
    fn send(&self, request: &ApiRequest) -> Result<ApiResponse, TransportError>;
}

impl<C: ApiClient + ?Sized> ApiClient for &C {
    fn send(&self, request: &ApiRequest) -> Result<ApiResponse, TransportError> {
        (**self).send(request)
    }
}

impl<C: ApiClient + ?Sized> ApiClient for alloc::boxed::Box<C> {
    fn send(&self, request: &ApiRequest) -> Result<ApiResponse, TransportError> {
        (**self).send(request)
    }
}

impl<C: ApiClient + ?Sized> ApiClient for alloc::sync::Arc<C> {
    fn send(&self, request: &ApiRequest) -> Result<ApiResponse, TransportError> {
        (**self).send(request)
    }
}
