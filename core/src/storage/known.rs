use super::Keyed;

/// What the consumer of a [`DeltaFifo`](crate::DeltaFifo) knows: the objects of its cache (client-go `KnownObjects`).
///
/// The fifo asks for them where the answer is not in the queue itself: which objects a list no longer has, and which
/// ones to announce again on a resync. `()` knows nothing.
pub trait KnownObjects<V: Keyed> {
    /// Every known object once, in an order that depends on what was done to the cache alone.
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
