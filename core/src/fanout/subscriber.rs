use super::SubscriptionConfig;
use super::queues::OfSubscriber;
use crate::storage::{List, Mem, Slot};
use crate::time::Instant;

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
    pub(super) backlog: List<OfSubscriber>,
    pub(super) marks: List<OfSubscriber>,
    /// Whether the marks' function has panicked. It is not called any more, so that it stops nobody else.
    pub(super) marks_panicked: bool,
    /// Since when it has not been told that states were swallowed without marks.
    pub(super) marks_lost: Option<Instant>,
    /// Whether it has been told that it is in sync.
    pub(super) has_synced: bool,
}

impl<V, M: Mem> Subscriber<V, M> {
    pub(super) fn new(generation: u64, config: SubscriptionConfig<V, M>, cursor: u64) -> Self {
        let (backlog, marks) = (List::EMPTY, List::EMPTY);
        let (marks_panicked, marks_lost, has_synced) = (false, None, false);
        Self { generation, config, cursor, backlog, marks, marks_panicked, marks_lost, has_synced }
    }
}
