//! An object that was found in an informer's cache.

use super::handle::InformerHandle;
use core::borrow::Borrow;
use core::fmt;
use core::hash::Hash;
use core::ops::Deref;
use listwatch_core::Key;
use listwatch_core::cache::{IndexId, Snapshot};
use listwatch_core::object::{AsNamespace, LabelSelector, Meta, ObjectHandle, OwnerReference, Uid};

/// An object, and the informer that has it. It derefs to the decoded type, so `foo.spec.replicas` reads the caller's
/// own field.
///
/// The methods of `Found` come before those of the type. A field is the type's:
///
/// ```
/// use listwatch::{Found, Key};
///
/// struct Lock {
///     key: String,
/// }
///
/// impl Lock {
///     fn key(&self) -> &str {
///         &self.key
///     }
/// }
///
/// fn keys(lock: &Found<Lock>) -> (&Key, &str, &String) {
///     (lock.key(), (**lock).key(), &lock.key) // of the object; the type's method; the type's field
/// }
/// ```
///
/// It says which resource the object is of, so a [`Context`](crate::controller::Context) can change it. It keeps its
/// informer running; a longer-lived copy is [`Found::object`].
///
/// The object is as the cache had it, or as the server returned it. It does not change.
pub struct Found<T> {
    object: ObjectHandle<T>,
    informer: InformerHandle<T>,
}

impl<T> Found<T> {
    pub(crate) fn new(object: ObjectHandle<T>, informer: &InformerHandle<T>) -> Self {
        Self { object, informer: informer.clone() }
    }

    /// The metadata: key, uid, version, labels, owners, finalizers.
    pub fn meta(&self) -> &Meta {
        self.object.meta()
    }

    /// The key, `namespace/name`.
    pub fn key(&self) -> &Key {
        self.object.key()
    }

    /// The object alone, without its informer.
    pub fn object(&self) -> &ObjectHandle<T> {
        &self.object
    }

    /// The informer that has the object, or will have it.
    pub fn informer(&self) -> &InformerHandle<T> {
        &self.informer
    }

    /// The object as reports name it, such as `Foo web/a`.
    pub(crate) fn title(&self) -> String {
        format!("{} {}", self.informer.title(), self.key())
    }

    /// Whether the object is being deleted: it has a deletion timestamp, and is gone once its finalizers are.
    pub fn is_terminating(&self) -> bool {
        self.meta().deletion_timestamp().is_some()
    }

    /// Whether `owner` is the object's controller: the owner reference with `controller: true` has its uid (client-go
    /// `metav1.IsControlledBy`).
    pub fn is_controlled_by<O>(&self, owner: &Found<O>) -> bool {
        let Some(uid) = owner.meta().uid() else { return false };
        self.controller().is_some_and(|reference| reference.uid == Some(uid))
    }

    /// The owner reference with `controller: true`, if there is one (client-go `metav1.GetControllerOf`).
    pub fn controller(&self) -> Option<OwnerReference<'_>> {
        self.meta().owner_references().find(|reference| reference.controller)
    }
}

/// Reads of the cache. Each object is a [`Found`]; the same reads of [`InformerHandle::store`] return the object alone.
impl<T> InformerHandle<T> {
    /// The object under `key` (client-go `Lister.Get`).
    pub fn get<Q>(&self, key: &Q) -> Option<Found<T>>
    where
        Key: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        Some(Found::new(self.store().get(key)?, self))
    }

    /// All objects (client-go `List`).
    pub fn list(&self) -> Snapshot<Found<T>> {
        self.found(self.store().list())
    }

    /// The objects of a namespace: that of a [`Key::namespace`], or a `&str`. No namespace, or an empty one, stands for
    /// all.
    pub fn list_in<'n>(&self, namespace: impl AsNamespace<'n>) -> Snapshot<Found<T>> {
        self.found(self.store().list_in(namespace))
    }

    /// The objects that a label selector matches.
    pub fn select(&self, selector: &LabelSelector) -> Snapshot<Found<T>> {
        self.found(self.store().select(selector))
    }

    /// The objects of a namespace that a label selector matches.
    pub fn select_in<'n>(&self, namespace: impl AsNamespace<'n>, selector: &LabelSelector) -> Snapshot<Found<T>> {
        self.found(self.store().select_in(namespace, selector))
    }

    /// The objects that have a value in an index of [`Store::add_index`](listwatch_core::Store::add_index) (client-go
    /// `ByIndex`).
    pub fn by_index(&self, id: IndexId, value: &str) -> Snapshot<Found<T>> {
        self.found(self.store().by_index(id, value))
    }

    /// The objects that `owner` controls ([`Found::is_controlled_by`]), by an index of the owners' uids. The first call adds
    /// it to the cache.
    ///
    /// An owner of another world, or of another namespace, controls none: no garbage collector finds it.
    #[doc(alias("MatchingFields", "IndexField", "ControllerRefManager"))]
    pub fn owned_by<O>(&self, owner: &Found<O>) -> Snapshot<Found<T>> {
        let Some(uid) = owner.meta().uid().filter(|_| self.is_beside(owner.informer())) else {
            return Snapshot::default();
        };
        let owned = self.by_index(self.controller_index(), uid.encode(&mut [0; Uid::CANONICAL_LEN]));
        let Some(namespace) = owner.meta().namespace() else { return owned };
        owned.into_iter().filter(|object| object.meta().namespace() == Some(namespace)).collect()
    }

    fn found(&self, objects: Snapshot<ObjectHandle<T>>) -> Snapshot<Found<T>> {
        objects.into_iter().map(|object| Found::new(object, self)).collect()
    }
}

impl<T> Deref for Found<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.object
    }
}

impl<T> Clone for Found<T> {
    fn clone(&self) -> Self {
        Self { object: self.object.clone(), informer: self.informer.clone() }
    }
}

impl<T> fmt::Debug for Found<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Found").field(&self.object).finish()
    }
}
