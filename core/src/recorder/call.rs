//! A request of a recorder.

use super::occurrence::Key;
use crate::api::ApiCall;
use crate::request::RequestId;
use crate::time::Instant;
use alloc::sync::Arc;
use serde::de::IgnoredAny;

/// A request that is open.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) id: RequestId,
    pub(super) key: Arc<Key>,
    pub(super) call: ApiCall<IgnoredAny>,
    /// The occurrences that it writes.
    pub(super) count: u32,
    pub(super) is_patch: bool,
    pub(super) until: Instant,
}
