//! Where a controller's keys come from: informers, each with a mapper.

use super::read::Read;
use crate::informers::{AuditTarget, HandleSynced, InformerHandle, Informers, WhenDenied};
use core::any::Any;
use listwatch_core::object::{Object, ObjectHandle};
use std::sync::Weak;

/// An informer as a source of keys, with the changes that count. A reference to an [`InformerHandle`] is one where
/// every change counts.
///
/// ```
/// use listwatch::InformerHandle;
/// use listwatch::controller::{Source, predicate};
/// use listwatch::decode::MetadataOnly;
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
    pub(super) denied: WhenDenied,
    pub(super) is_namespaced: Option<bool>,
}

/// Whether a change from the first state to the second one counts.
type Predicate<T> = Box<dyn Fn(&Object<T>, &Object<T>) -> bool + Send>;

impl<T> Source<T> {
    /// Ignores an update for which `counts` is false of the old and the new state. Of several, each must be true.
    ///
    /// Additions and deletions always count. A controller that is behind may be told several updates as one, and the
    /// states between them count too. If `counts` panics, the update counts too, and the panic is
    /// [reported](super::Report::MapperPanicked).
    pub fn when(mut self, counts: impl Fn(&Object<T>, &Object<T>) -> bool + Send + 'static) -> Self {
        self.when.push(Box::new(counts));
        self
    }

    /// Lets the controller start without the namespaces of [`informer_in`](crate::Informers::informer_in) whose lists
    /// the server denies (403). Each is [reported](super::Report::SourceFailed) by name, and its objects become keys
    /// once the server allows it. By default the controller does not start, and its error names them.
    ///
    /// If the server denies all of them, the controller does not start either.
    pub fn start_without_denied(mut self) -> Self {
        self.denied = WhenDenied::GoOn;
        self
    }

    /// Says whether the objects have a namespace, as discovery returns it
    /// ([`ApiResource::namespaced`](crate::api::ApiResource::namespaced)). It counts for the own kind of a
    /// controller that [owns](super::Reconciler::owns) others.
    ///
    /// A resource that names a namespace says it too, and so does each object. Without any of these, an owner that an
    /// object names may be in the object's namespace or in none, so both keys are reconciled.
    pub fn namespaced(mut self, is_namespaced: bool) -> Self {
        self.is_namespaced = Some(is_namespaced);
        self
    }

    /// Whether an update counts.
    pub(super) fn counts(&self, old: &ObjectHandle<T>, new: &ObjectHandle<T>) -> bool {
        self.when.iter().all(|counts| counts(old.as_object(), new.as_object()))
    }
}

impl<T: Send + Sync + 'static> Read for Source<T> {
    fn synced(&self) -> HandleSynced {
        self.handle.synced_for_start(self.denied)
    }

    fn identity(&self) -> Weak<dyn Any + Send + Sync> {
        self.handle.identity()
    }

    fn informers(&self) -> Informers {
        Informers::of(&self.handle)
    }

    fn audit_targets(&self) -> Vec<AuditTarget> {
        self.handle.audit_targets()
    }

    fn path(&self) -> &str {
        self.handle.resource().path()
    }
}

impl<T> From<&InformerHandle<T>> for Source<T> {
    fn from(handle: &InformerHandle<T>) -> Self {
        Self { handle: handle.clone(), when: Vec::new(), denied: WhenDenied::Fail, is_namespaced: None }
    }
}

impl<T> core::fmt::Debug for Source<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Source").field("handle", &self.handle).finish_non_exhaustive()
    }
}
