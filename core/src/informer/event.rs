use crate::decode::DecodeErrorOf;
use crate::fanout::Transition;
#[cfg(feature = "json")]
use crate::object::ObjectHandle;
use crate::reflector::FailureReport;
use crate::storage::{Keyed, Versioned};

/// An event of an [`Informer`](crate::Informer) of `T`: client-go's `OnAdd`, `OnUpdate` and `OnDelete`.
///
/// A clone copies handles, and `T` need not be `Clone`. [`Debug`](core::fmt::Debug) shows an object by its key, uid and
/// version.
#[cfg(feature = "json")]
pub type Event<T> = EventOf<ObjectHandle<T>>;

/// An event of an [informer](crate::informer::InformerIn) of objects whose handle is `V`; use it as [`Event`]. The
/// cache has the change before the event is returned.
///
/// Events share their objects with the cache.
#[cfg_attr(not(feature = "alloc"), expect(clippy::large_enum_variant, reason = "without a heap there are no boxes"))]
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum EventOf<V: Keyed> {
    /// An object was added to the cache (client-go `OnAdd`).
    Added {
        /// The object.
        object: V,
        /// Whether it is part of the first list (client-go `isInInitialList`).
        initial: bool,
    },
    /// An object of the cache was reported again, changed or not (client-go `OnUpdate`).
    Updated {
        /// The state that the cache had.
        old: V,
        /// The state that the cache has now.
        new: V,
    },
    /// An object was deleted and another one created under its name (client-go reports an update).
    Recreated {
        /// The deleted object.
        old: V,
        /// The new object.
        new: V,
    },
    /// An object was removed from the cache (client-go `OnDelete`).
    Deleted {
        /// Its final state; where that was missed, the last known state.
        object: V,
        /// Whether the watch reported the deletion. Otherwise a list no longer had the object (client-go
        /// `DeletedFinalStateUnknown`).
        final_state_known: bool,
    },
    /// Every object of the first list has been reported (client-go `HasSynced`).
    Synced,
    /// An object could not be decoded. The cache keeps its last state, unless the object was deleted.
    Undecodable(DecodeErrorOf<V::Key>),
    /// A request failed. The report says how the reflector goes on.
    Failed(FailureReport),
}

impl<V: Keyed> EventOf<V> {
    /// The object that the event is about.
    pub fn object(&self) -> Option<&V> {
        match self {
            Self::Added { object, .. } | Self::Deleted { object, .. } => Some(object),
            Self::Updated { new, .. } | Self::Recreated { new, .. } => Some(new),
            Self::Synced | Self::Undecodable(_) | Self::Failed(_) => None,
        }
    }

    /// The key to enqueue for this event.
    pub fn key(&self) -> Option<&V::Key> {
        self.object().map(Keyed::key)
    }
}

#[cfg(feature = "defmt")]
impl<V: Keyed<Key: defmt::Format> + defmt::Format> defmt::Format for EventOf<V> {
    fn format(&self, f: defmt::Formatter<'_>) {
        match self {
            Self::Added { object, initial: true } => defmt::write!(f, "listed {}", object),
            Self::Added { object, initial: false } => defmt::write!(f, "added {}", object),
            Self::Updated { new, .. } => defmt::write!(f, "updated {}", new),
            Self::Recreated { new, .. } => defmt::write!(f, "recreated {}", new),
            Self::Deleted { object, final_state_known: true } => defmt::write!(f, "deleted {}", object),
            Self::Deleted { object, final_state_known: false } => defmt::write!(f, "lost {}", object),
            Self::Synced => defmt::write!(f, "synced"),
            Self::Undecodable(error) => defmt::write!(f, "undecodable: {}", error),
            Self::Failed(report) => defmt::write!(f, "failed: {}", report),
        }
    }
}

impl<V: Versioned> From<Transition<V>> for EventOf<V> {
    fn from(transition: Transition<V>) -> Self {
        match transition {
            Transition::Added { object, initial } => Self::Added { object, initial },
            Transition::Updated { old, new } if old.is_same_object(&new) => Self::Updated { old, new },
            Transition::Updated { old, new } => Self::Recreated { old, new },
            Transition::Deleted { object, final_state_known, .. } => Self::Deleted { object, final_state_known },
        }
    }
}
