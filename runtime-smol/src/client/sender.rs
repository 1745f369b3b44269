use crate::stable_hash::StableHash;
use listwatch_core::api::{ReconcileId, TraceContext};

/// The reconcile that sends a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sender {
    id: ReconcileId,
    /// Whether a subscriber records its span.
    is_sampled: bool,
}

impl Sender {
    pub(crate) fn new(id: ReconcileId, is_sampled: bool) -> Self {
        Self { id, is_sampled }
    }

    pub(crate) fn id(self) -> ReconcileId {
        self.id
    }

    /// What its request says that is the `sent`th of its client.
    pub(super) fn trace(self, sent: u64) -> TraceContext {
        let bits = self.id.as_u128();
        let parent = StableHash::new().number(bits as u64).number((bits >> u64::BITS) as u64).number(sent).finish();
        TraceContext::new(self.id, parent).sampled(self.is_sampled)
    }
}
