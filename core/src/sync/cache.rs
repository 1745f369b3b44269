use super::{Lock, Shared};
use crate::cache::{Cache, Indexer};
use crate::storage::Keyed;
use alloc::sync::Arc;

/// An informer's cache that others read while it is kept up to date. Only the informer may write to it.
///
/// A writer holds the lock for one change, so readers wait for that and no longer.
impl<V: Keyed, L: Lock> Cache<V> for Arc<Shared<Indexer<V>, L>> {
    fn read<R>(&self, f: impl FnOnce(&Indexer<V>) -> R) -> R {
        Shared::read(self, f)
    }

    fn write<R>(&mut self, f: impl FnOnce(&mut Indexer<V>) -> R) -> R {
        self.with(f)
    }
}
