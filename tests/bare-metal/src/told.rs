//! What an image is told of an object, and the line that it prints of it.

use crate::line::Shown;
use crate::output::Output;
use listwatch_core::cache::{IndexId, IndexerIn};
use listwatch_core::informer::EventOf;
use listwatch_core::storage::{Keyed, Mem};

/// A change of an object in the cache.
#[derive(Clone, Debug)]
pub enum Told<V> {
    /// It is new; `initial` if it is part of the first list.
    Added {
        /// The object.
        object: V,
        /// Whether it is part of the first list.
        initial: bool,
    },
    /// It was reported again, changed or not.
    Updated {
        /// The state before.
        old: V,
        /// The state now.
        new: V,
    },
    /// It was deleted, and another one was created under its name.
    Recreated {
        /// The deleted object.
        old: V,
        /// The new object.
        new: V,
    },
    /// It is gone.
    Deleted {
        /// Its last known state.
        object: V,
        /// Whether that is the final one.
        final_state_known: bool,
    },
}

impl<V: Shown> Told<V> {
    /// The object that the change is about.
    pub fn object(&self) -> &V {
        match self {
            Self::Added { object, .. } | Self::Deleted { object, .. } => object,
            Self::Updated { new, .. } | Self::Recreated { new, .. } => new,
        }
    }

    /// The state before, if it was another one.
    pub fn old(&self) -> Option<&V> {
        match self {
            Self::Updated { old, .. } | Self::Recreated { old, .. } => Some(old),
            Self::Added { .. } | Self::Deleted { .. } => None,
        }
    }

    /// Prints the change.
    pub fn print(&self) {
        let mut output = Output::line("told");
        output.word(self.object().key()).word(self.verb());
        if let Some(old) = self.old() {
            output.word(old.version());
        }
        self.object().show(&mut output);
    }

    fn verb(&self) -> &'static str {
        match self {
            Self::Added { initial: true, .. } => "listed",
            Self::Added { .. } => "added",
            Self::Updated { .. } => "updated",
            Self::Recreated { .. } => "recreated",
            Self::Deleted { final_state_known: true, .. } => "deleted",
            Self::Deleted { .. } => "lost",
        }
    }
}

/// Prints the objects of a cache.
pub fn print_cache<'a, V: Shown + 'a>(objects: impl Iterator<Item = &'a V>) {
    for object in objects {
        let mut output = Output::line("kept");
        output.word(object.key());
        object.show(&mut output);
    }
}

/// Prints which objects have which value in an index.
pub fn print_index<V: Shown + Keyed, M: Mem>(name: &str, cache: &IndexerIn<V, M>, index: IndexId) {
    for value in cache.index_values(index) {
        for object in cache.by_index(index, value) {
            Output::line("index").word(name).word(value).word(Shown::key(object));
        }
    }
}

impl<V: Keyed> TryFrom<EventOf<V>> for Told<V> {
    type Error = EventOf<V>;

    /// Every event that is about an object.
    fn try_from(event: EventOf<V>) -> Result<Self, Self::Error> {
        Ok(match event {
            EventOf::Added { object, initial } => Self::Added { object, initial },
            EventOf::Updated { old, new } => Self::Updated { old, new },
            EventOf::Recreated { old, new } => Self::Recreated { old, new },
            EventOf::Deleted { object, final_state_known } => Self::Deleted { object, final_state_known },
            other => return Err(other),
        })
    }
}
