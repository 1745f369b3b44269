//! What a machine has to know of the objects that it keeps.

use core::hash::Hash;

/// A value that contains the key under which it is stored, so that the key is stored once.
pub trait Keyed {
    /// The key's type.
    type Key: Hash + Eq;

    /// The key. It must not change while the value is stored.
    fn key(&self) -> &Self::Key;

    /// About how many bytes the value takes, where a limit of bytes counts it. It must not change while the value is
    /// stored; zero unless the type says otherwise.
    fn bytes(&self) -> usize {
        0
    }
}

/// The version and the identity of an object, which an informer compares.
pub trait Versioned: Keyed {
    /// `metadata.resourceVersion`; empty where the object has none.
    fn resource_version(&self) -> &str;

    /// Whether both are states of one object: their uids are equal. Otherwise one was deleted, and the other one
    /// created under its name.
    fn is_same_object(&self, other: &Self) -> bool;

    /// Whether both are the same state of one object: uid and version are equal, and neither is empty. The informer
    /// then keeps the handle that it has, so that a relist costs memory only for objects that changed.
    fn is_same_state(&self, other: &Self) -> bool;

    /// Takes the memory of equal parts over from an earlier state, which another state is about to replace. The informer
    /// calls this for each state that it receives. Does nothing unless the type says otherwise.
    fn share_with(&mut self, _earlier: &Self) {}
}

/// The objects in the cache of a [`DeltaFifo`](crate::DeltaFifo)'s consumer (client-go `KnownObjects`).
///
/// The queue reads them to find the objects that a list no longer has, and those that a resync announces again. `()`
/// has no objects.
pub trait KnownObjects<V: Keyed> {
    /// Every known object once, in an order that depends on the operations on the cache alone.
    fn known<'a>(&'a self) -> impl Iterator<Item = &'a V>
    where
        V: 'a;

    /// Whether there is an object under `key`.
    fn is_known(&self, key: &V::Key) -> bool;
}

impl<V: Keyed> KnownObjects<V> for () {
    fn known<'a>(&'a self) -> impl Iterator<Item = &'a V>
    where
        V: 'a,
    {
        core::iter::empty()
    }

    fn is_known(&self, _: &V::Key) -> bool {
        false
    }
}
