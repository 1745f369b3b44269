use super::Keyed;

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
