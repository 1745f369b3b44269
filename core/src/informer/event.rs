use crate::decode::DecodeError;
use crate::object::ObjectHandle;
use crate::reflector::FailureReport;
use crate::storage::Keyed;

/// What an [`Informer`](crate::Informer) of `T` tells.
///
/// A clone copies handles, and `T` need not be `Clone`. [`Debug`](core::fmt::Debug) shows an object by its key, uid and
/// version.
pub type Event<T> = EventOf<ObjectHandle<T>>;

/// What an [informer](crate::informer::InformerIn) tells of objects whose handle is `V`; use it as [`Event`]. The cache
/// is as new as the event when it is told.
///
/// Events share their objects with the cache.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum EventOf<V: Keyed> {
    /// An object is there that was not in the cache.
    Added {
        /// The object.
        object: V,
        /// It was there from the start: it is part of the first list.
        initial: bool,
    },
    /// An object that was in the cache was reported again, changed or not.
    Updated {
        /// What the cache had.
        old: V,
        /// What it has now.
        new: V,
    },
    /// An object was deleted and another one created under its name (client-go reports an update).
    Recreated {
        /// The one that is gone.
        old: V,
        /// The one that is there now.
        new: V,
    },
    /// An object is gone from the cache.
    Deleted {
        /// Its final state, or where that was missed, the last one that was seen.
        object: V,
        /// Whether the deletion was seen; otherwise a list no longer had the object (client-go
        /// `DeletedFinalStateUnknown`).
        final_state_known: bool,
    },
    /// Everything that was there at the start has been told.
    Synced,
    /// An object could not be decoded. The cache keeps what it last knew of it, unless this is its
    /// deletion.
    Undecodable(DecodeError<V::Key>),
    /// A request failed. The reflector goes on as the reaction says.
    Failed(FailureReport),
}

impl<V: Keyed> EventOf<V> {
    /// The object that the event is about.
    #[must_use]
    pub fn object(&self) -> Option<&V> {
        match self {
            Self::Added { object, .. } | Self::Deleted { object, .. } => Some(object),
            Self::Updated { new, .. } | Self::Recreated { new, .. } => Some(new),
            Self::Synced | Self::Undecodable(_) | Self::Failed(_) => None,
        }
    }

    /// The key to enqueue for this event.
    #[must_use]
    pub fn key(&self) -> Option<&V::Key> {
        self.object().map(Keyed::key)
    }
}
