use super::access::Cache;
use super::indexer::Indexer;
use super::store::StoreIn;
use crate::storage::Keyed;
use crate::sync::{Lock, Shared};
use alloc::sync::Arc;
use core::fmt;

/// Writes to a [`Store`](super::Store): a [`StoreWriterIn`] behind a reader-writer lock.
#[cfg(feature = "std")]
pub type StoreWriter<T> = StoreWriterIn<crate::object::ObjectHandle<T>, crate::sync::StdLock>;

/// The only writer of a cache that others read by [`StoreIn`] (kube-rs `Writer`).
///
/// It is not `Clone`, and writing takes `&mut self`. An informer that owns it is therefore the only one that writes.
///
/// The lock is held for one change at a time, never while bytes are decoded.
///
/// ```
/// use listwatch_core::cache::{Cache, Indexer, StoreWriterIn};
/// use listwatch_core::object::{MetaBuilder, Object, ObjectHandle};
/// use listwatch_core::sync::CellLock;
///
/// // Tasks on one thread need no lock of an operating system.
/// let mut writer = StoreWriterIn::<ObjectHandle<()>, CellLock>::new(Indexer::new());
/// let nodes = writer.store();
///
/// let mut meta = MetaBuilder::default();
/// meta.set_name("n1");
/// writer.write(|objects| objects.insert(Object { meta: meta.build().unwrap(), value: () }.into()));
/// assert_eq!(nodes.len(), 1);
/// ```
pub struct StoreWriterIn<V: Keyed, L: Lock> {
    store: StoreIn<V, L>,
}

impl<V: Keyed, L: Lock> StoreWriterIn<V, L> {
    /// Puts a lock around `indexer`, which may have objects and indexes already.
    #[must_use]
    pub fn new(indexer: Indexer<V>) -> Self {
        Self { store: StoreIn { cell: Arc::new(Shared::new(indexer)) } }
    }

    /// The reading half, for any number of readers.
    #[must_use]
    pub fn store(&self) -> StoreIn<V, L> {
        self.store.clone()
    }
}

impl<V: Keyed, L: Lock> Cache<V> for StoreWriterIn<V, L> {
    fn read<R>(&self, f: impl FnOnce(&Indexer<V>) -> R) -> R {
        self.store.read(f)
    }

    fn write<R>(&mut self, f: impl FnOnce(&mut Indexer<V>) -> R) -> R {
        self.store.cell.with(f)
    }
}

impl<V: Keyed, L: Lock> Default for StoreWriterIn<V, L> {
    fn default() -> Self {
        Self::new(Indexer::new())
    }
}

impl<V: Keyed, L: Lock> fmt::Debug for StoreWriterIn<V, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreWriter").finish_non_exhaustive()
    }
}
