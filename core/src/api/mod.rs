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

mod call;
mod calls;
mod discovery;
mod error;
mod objects;
mod pending;
mod request;
#[cfg(test)]
mod tests;
mod transport;

pub use call::{ApiCall, ObjectList};
pub use calls::Calls;
pub use discovery::{ApiResource, Discovery};
pub use error::{ApiError, ConflictRetry, Prospect, REFUSALS, RefusalSign};
pub use objects::{Api, DeleteOptions, Patch, PropagationPolicy, Scale, ScaleSpec, ScaleStatus};
pub use pending::CallAction;
pub(crate) use pending::{Asked, PendingCalls};
pub use request::{ApiRequest, ApiResponse, Method, ReconcileId, RequestLine, SendGate, TraceContext};
pub use transport::{ApiClient, ApiFn, ApiTransport, Reply};
