//! A request of a candidate.

use crate::api::ApiCall;
use crate::request::RequestId;
use crate::time::Instant;
use serde_json::Value;

/// What a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Intent {
    Read,
    /// Acquires or renews.
    Write,
    Release,
}

/// The request that is open.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) id: RequestId,
    pub(super) intent: Intent,
    pub(super) call: ApiCall<Value>,
    pub(super) at: Instant,
}
