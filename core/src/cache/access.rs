use super::Indexer;
use crate::storage::Keyed;

/// Where an informer keeps its objects: an [`Indexer`] of its own, or one that others read at the same time.
///
/// Each call is one look at it, or one change; nobody sees half of either.
pub trait Cache<V: Keyed> {
    /// Calls `f` with the indexer as it is.
    fn read<R>(&self, f: impl FnOnce(&Indexer<V>) -> R) -> R;

    /// Calls `f` to change the indexer.
    fn write<R>(&mut self, f: impl FnOnce(&mut Indexer<V>) -> R) -> R;
}

impl<V: Keyed> Cache<V> for Indexer<V> {
    fn read<R>(&self, f: impl FnOnce(&Self) -> R) -> R {
        f(self)
    }

    fn write<R>(&mut self, f: impl FnOnce(&mut Self) -> R) -> R {
        f(self)
    }
}
