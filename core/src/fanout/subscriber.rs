use super::SubscriptionConfig;
use super::backlog::Backlogged;
use super::marks::Marked;
use crate::storage::{List, Mem, Slot};

/// Names a subscriber of one log. After it has unsubscribed, no other one gets the same id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SubscriberId {
    pub(super) slot: Slot,
    pub(super) generation: u64,
}

/// All that the log knows of one subscriber. It is told its marks, then its backlog, then the entries from its cursor
/// on.
pub(super) struct Subscriber<V, M: Mem> {
    pub(super) generation: u64,
    pub(super) config: SubscriptionConfig<V, M>,
    pub(super) cursor: u64,
    pub(super) backlog: List<Backlogged>,
    pub(super) marks: List<Marked>,
    /// Whether it has been told that it is in sync.
    pub(super) has_synced: bool,
}

impl<V, M: Mem> Subscriber<V, M> {
    pub(super) fn new(generation: u64, config: SubscriptionConfig<V, M>, cursor: u64) -> Self {
        let (backlog, marks) = (List::default(), List::default());
        Self { generation, config, cursor, backlog, marks, has_synced: false }
    }
}
