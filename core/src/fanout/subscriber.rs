use crate::storage::{List, Mem, Slot};
use crate::time::Instant;
use core::fmt;

/// The rule for a subscriber that has not read the oldest entry of a full log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum WhenBehind {
    /// The subscriber is told one change for each key: from the state that it was last told to the newest one. Keys
    /// bound its memory.
    #[default]
    Coalesce,
    /// The log has no room, so the informer stops reading until the subscriber has read. It is told every change, as a
    /// client-go handler. A subscriber that reads too slowly makes the watch expire.
    Wait,
}

/// How a subscriber of an [`EventLogIn`](crate::fanout::EventLogIn) is told changes.
#[must_use]
pub struct SubscriptionConfig<V, M: Mem> {
    pub(super) when_behind: WhenBehind,
    pub(super) quiet: bool,
    pub(super) marks: Option<M::IndexFn<V>>,
}

impl<V, M: Mem> SubscriptionConfig<V, M> {
    /// Changes are coalesced when the subscriber is behind, repeated states are told, and there are no marks.
    pub const fn new() -> Self {
        Self { when_behind: WhenBehind::Coalesce, quiet: false, marks: None }
    }

    /// The rule for the subscriber when it is behind.
    pub fn when_behind(mut self, rule: WhenBehind) -> Self {
        self.when_behind = rule;
        self
    }

    /// Leaves out updates whose two states are [the same](crate::storage::Versioned::is_same_state), as a relist
    /// reports them. A resync is told all the same. client-go tells handlers such updates.
    pub fn quiet(mut self) -> Self {
        self.quiet = true;
        self
    }

    /// Names the work that each state of an object causes, such as the key of its owner.
    ///
    /// Where changes are coalesced, some states are neither the one that the subscriber was last told, nor one that it
    /// is told later. The marks of such a state are told, each once, as [`Notice::Mark`](crate::fanout::Notice::Mark).
    /// So are those of the state before a deletion that was coalesced, because an event of a deletion has its final
    /// state alone. So a controller that maps objects to keys misses no key. Distinct marks are kept until they are told.
    ///
    /// The function calls its second argument with each mark of an object. It must depend on the object alone, and must
    /// not call the log. If it panics, no change is lost, and the call that panicked can be made again. The function is
    /// not called any more: where states are not told, [`Notice::MarksLost`](crate::fanout::Notice::MarksLost) stands
    /// for their marks. A program can subscribe anew, or take every key for marked.
    pub fn marks(mut self, marks: M::IndexFn<V>) -> Self {
        self.marks = Some(marks);
        self
    }
}

impl<V, M: Mem> Default for SubscriptionConfig<V, M> {
    fn default() -> Self {
        Self::new()
    }
}

impl<V, M: Mem> fmt::Debug for SubscriptionConfig<V, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SubscriptionConfig")
            .field("when_behind", &self.when_behind)
            .field("quiet", &self.quiet)
            .field("marks", &self.marks.is_some())
            .finish()
    }
}

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
    pub(super) backlog: List,
    pub(super) marks: List,
    /// Whether the marks' function has panicked. It is not called any more, so that it stops nobody else.
    pub(super) marks_panicked: bool,
    /// Since when it has not been told that states were swallowed without marks.
    pub(super) marks_lost: Option<Instant>,
    /// Whether it has been told that it is in sync.
    pub(super) has_synced: bool,
}
