//! Where a controller's keys come from: informers, each with a mapper.

use super::keys::Keys;
use crate::informers::InformerHandle;
use listwatch_core::object::{Object, ObjectHandle};

/// An informer as a source of keys, with the changes that count. A reference to an [`InformerHandle`] is one where every
/// change counts.
///
/// ```
/// use listwatch_runtime_smol::InformerHandle;
/// use listwatch_runtime_smol::controller::{Source, predicate};
/// use listwatch_runtime_smol::decode::MetadataOnly;
///
/// /// Changes of the status do not count, and neither does the pause of an object.
/// fn specs(pods: &InformerHandle<MetadataOnly>) -> Source<MetadataOnly> {
///     Source::from(pods)
///         .when(predicate::generation_changed)
///         .when(|_old, new| new.meta.label("paused").is_none())
/// }
/// ```
#[must_use = "a source does nothing until a controller has it"]
pub struct Source<T> {
    pub(super) handle: InformerHandle<T>,
    pub(super) when: Vec<Predicate<T>>,
}

/// Whether a change from the first state to the second one counts.
type Predicate<T> = Box<dyn Fn(&Object<T>, &Object<T>) -> bool + Send>;

/// What calls [`Keys::add`] for an object.
pub(super) type Mapper<T> = Box<dyn Fn(&ObjectHandle<T>, &mut Keys<'_>) + Send>;

impl<T> Source<T> {
    /// Ignores an update for which `counts` is false of the old and the new state. Of several, each must be true.
    ///
    /// Additions and deletions always count. If `counts` panics, the update counts too, and the panic is
    /// [reported](super::Report::MapperPanicked).
    pub fn when(mut self, counts: impl Fn(&Object<T>, &Object<T>) -> bool + Send + 'static) -> Self {
        self.when.push(Box::new(counts));
        self
    }

    /// Whether an update counts.
    pub(super) fn counts(&self, old: &ObjectHandle<T>, new: &ObjectHandle<T>) -> bool {
        self.when.iter().all(|counts| counts(old.as_object(), new.as_object()))
    }
}

impl<T> From<&InformerHandle<T>> for Source<T> {
    fn from(handle: &InformerHandle<T>) -> Self {
        Self { handle: handle.clone(), when: Vec::new() }
    }
}

impl<T> core::fmt::Debug for Source<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Source").field("handle", &self.handle).finish_non_exhaustive()
    }
}
