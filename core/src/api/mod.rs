//! What a controller needs to act: requests to an API server and what comes of them, as values. An [`ApiTransport`]
//! carries them: HTTP, a recording, a simulated server or a function. An [`ApiClient`] carries one and blocks its caller.

mod api;
mod api_fn;
mod call;
mod calls;
mod discovery;
mod discovery_answer;
mod error;
mod message;
mod retry;
#[cfg(test)]
mod tests;
mod transport;

pub use api::{Api, DeleteOptions, Patch, PropagationPolicy, Scale, ScaleSpec, ScaleStatus};
pub use api_fn::ApiFn;
pub use call::{ApiCall, ObjectList};
pub use calls::Calls;
pub use discovery::{ApiResource, Discovery};
pub use error::ApiError;
pub use message::{ApiRequest, ApiResponse, Method};
pub use retry::ConflictRetry;
pub use transport::{ApiTransport, Reply};

use crate::transport::TransportError;

/// Sends one request, and blocks the caller until its answer is there. [`ApiTransport`] is the same without blocking.
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
    /// The answer, whatever its status. Nothing is retried, except for what cannot have reached the server's mind: a
    /// credential that had expired, say.
    ///
    /// # Errors
    /// Where the request could not be sent, or no whole answer came. The server may have done the request all the same.
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
