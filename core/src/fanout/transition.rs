use crate::storage::{Keyed, Mem, Versioned};

/// A change of one object, with the state before it: the arguments of client-go's `OnAdd`, `OnUpdate` and `OnDelete`.
#[derive(Clone, Debug, PartialEq)]
pub enum Transition<V> {
    /// There is an object under a key that had none.
    Added {
        /// The object.
        object: V,
        /// Whether it is part of a first list, the informer's or the subscriber's own (client-go `isInInitialList`).
        initial: bool,
    },
    /// The object under a key was reported again, changed or not. The new one may have another uid: then the old object
    /// was deleted, and another one created.
    Updated {
        /// The state before.
        old: V,
        /// The state now.
        new: V,
    },
    /// There is no object under the key any more.
    Deleted {
        /// The state before.
        old: V,
        /// The final state; where that was missed, the last known state.
        object: V,
        /// Whether the watch reported the deletion. Otherwise a list no longer had the object (client-go
        /// `DeletedFinalStateUnknown`).
        final_state_known: bool,
    },
}

impl<V> Transition<V> {
    /// The object in the state that the change leads to; after a deletion, in its final state.
    pub const fn object(&self) -> &V {
        match self {
            Self::Added { object, .. } | Self::Deleted { object, .. } | Self::Updated { new: object, .. } => object,
        }
    }

    pub(super) fn into_object(self) -> V {
        match self {
            Self::Added { object, .. } | Self::Deleted { object, .. } | Self::Updated { new: object, .. } => object,
        }
    }

    /// Gives away every state.
    pub(super) fn free(self, freed: &mut impl FnMut(V)) {
        match self {
            Self::Added { object, .. } => freed(object),
            Self::Updated { old, new: object } | Self::Deleted { old, object, .. } => {
                freed(old);
                freed(object);
            }
        }
    }
}

impl<V: Versioned> Transition<V> {
    /// Whether a quiet subscriber is not told of it.
    pub(super) fn is_silent(&self) -> bool {
        matches!(self, Self::Updated { old, new } if old.is_same_state(new))
    }
}

impl<V: Keyed> Transition<V> {
    /// The key that the change is about.
    pub fn key(&self) -> &V::Key {
        self.object().key()
    }
}

/// The next item for a subscriber, the result of [`poll_next`](crate::fanout::EventLogIn::poll_next).
#[derive(Debug, PartialEq)]
#[non_exhaustive]
pub enum Notice<V, M: Mem> {
    /// An object changed since the subscriber was last told about its key.
    Changed(Transition<V>),
    /// A state that the subscriber is not told had this mark: see
    /// [`marks`](crate::fanout::SubscriptionConfig::marks).
    Mark(M::Text),
    /// States were not told whose marks are not known, because the marks' function panicked, now or before.
    MarksLost,
    /// The subscriber has been told every object of the first list (client-go `HasSynced` of a handler's registration).
    Synced,
}
