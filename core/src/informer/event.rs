use crate::decode::DecodeError;
use crate::object::{Key, ObjectHandle};
use crate::reflector::FailureReport;
use core::fmt;

/// What an [`Informer`](crate::Informer) tells. The cache is as new as the event when it is told.
///
/// Events share their objects with the cache: a clone copies handles, and `T` need not be `Clone`. [`Debug`](fmt::Debug)
/// shows an object by its key, uid and version.
#[derive(PartialEq)]
#[non_exhaustive]
pub enum Event<T> {
    /// An object is there that was not in the cache.
    Added {
        /// The object.
        object: ObjectHandle<T>,
        /// It was there from the start: it is part of the first list.
        initial: bool,
    },
    /// An object that was in the cache was reported again, changed or not.
    Updated {
        /// What the cache had.
        old: ObjectHandle<T>,
        /// What it has now.
        new: ObjectHandle<T>,
    },
    /// An object was deleted and another one created under its name (client-go reports an update).
    Recreated {
        /// The one that is gone.
        old: ObjectHandle<T>,
        /// The one that is there now.
        new: ObjectHandle<T>,
    },
    /// An object is gone from the cache.
    Deleted {
        /// Its final state, or where that was missed, the last one that was seen.
        object: ObjectHandle<T>,
        /// Whether the deletion was seen; otherwise a list no longer had the object (client-go
        /// `DeletedFinalStateUnknown`).
        final_state_known: bool,
    },
    /// Everything that was there at the start has been told.
    Synced,
    /// An object could not be decoded. The cache keeps what it last knew of it, unless this is its
    /// deletion.
    Undecodable(DecodeError),
    /// A request failed. The reflector goes on as the reaction says.
    Failed(FailureReport),
}

impl<T> Event<T> {
    /// The object that the event is about.
    #[must_use]
    pub fn object(&self) -> Option<&ObjectHandle<T>> {
        match self {
            Self::Added { object, .. } | Self::Deleted { object, .. } => Some(object),
            Self::Updated { new, .. } | Self::Recreated { new, .. } => Some(new),
            Self::Synced | Self::Undecodable(_) | Self::Failed(_) => None,
        }
    }

    /// The key to enqueue for this event.
    #[must_use]
    pub fn key(&self) -> Option<&Key> {
        self.object().map(|object| object.key())
    }
}

impl<T> Clone for Event<T> {
    fn clone(&self) -> Self {
        match self {
            Self::Added { object, initial } => Self::Added { object: object.clone(), initial: *initial },
            Self::Updated { old, new } => Self::Updated { old: old.clone(), new: new.clone() },
            Self::Recreated { old, new } => Self::Recreated { old: old.clone(), new: new.clone() },
            Self::Deleted { object, final_state_known } => {
                Self::Deleted { object: object.clone(), final_state_known: *final_state_known }
            }
            Self::Synced => Self::Synced,
            Self::Undecodable(undecodable) => Self::Undecodable(undecodable.clone()),
            Self::Failed(failed) => Self::Failed(failed.clone()),
        }
    }
}

impl<T> fmt::Debug for Event<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut changed = |name, old: &ObjectHandle<T>, new: &ObjectHandle<T>| {
            f.debug_struct(name).field("old", old).field("new", new).finish()
        };
        match self {
            Self::Updated { old, new } => changed("Updated", old, new),
            Self::Recreated { old, new } => changed("Recreated", old, new),
            Self::Added { object, initial } => {
                f.debug_struct("Added").field("object", object).field("initial", initial).finish()
            }
            Self::Deleted { object, final_state_known } => {
                f.debug_struct("Deleted").field("object", object).field("final_state_known", final_state_known).finish()
            }
            Self::Synced => f.write_str("Synced"),
            Self::Undecodable(undecodable) => f.debug_tuple("Undecodable").field(undecodable).finish(),
            Self::Failed(failed) => f.debug_tuple("Failed").field(failed).finish(),
        }
    }
}
