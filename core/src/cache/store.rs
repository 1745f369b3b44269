//! A cache that others read while its informer writes.

mod awaiting;
mod contents;
mod stream;
#[cfg(test)]
#[cfg(feature = "std")]
mod tests;
mod waiting;
mod writer;

pub use awaiting::AwaitError;
pub(crate) use contents::Contents;
pub use stream::{Observer, StreamProgress};
#[cfg(feature = "std")]
pub use writer::StoreWriter;
pub use writer::StoreWriterIn;

use super::indexer::{IndexId, Indexer, is_selected};
use super::snapshot::Snapshot;
use crate::object::{AsNamespace, LabelSelector, ObjectHandle};
use crate::storage::Keyed;
use crate::sync::{Lock, Shared};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::borrow::Borrow;
use core::hash::Hash;

/// The objects of an informer, for every thread: a [`StoreIn`] behind a reader-writer lock.
#[cfg(feature = "std")]
pub type Store<T> = StoreIn<ObjectHandle<T>, crate::sync::StdLock>;

/// Reads the cache of an informer, and cannot write to it (client-go `Lister`, kube-rs `Store`).
///
/// A clone reads the same cache. Every method is one consistent look and returns handles, so no lock is held after it
/// returns. Lists are shared: the informer waits while a reader brings one up to date, not while readers walk it or
/// select from it. The store is as new as the last event that the informer returned; see
/// [`Informer::poll_event`](crate::Informer::poll_event).
/// When the informer is dropped, the store keeps the last state.
///
/// `L` is the [`Lock`] that readers and the writer share. With the standard library, use the alias `Store`.
///
/// ```
/// use listwatch_core::cache::{Cache, Indexer, Store, StoreWriter};
/// use listwatch_core::object::{LabelSelector, MetaBuilder, Object};
///
/// // An informer owns the writer; here the example does.
/// let mut writer = StoreWriter::<()>::new(Indexer::new());
/// let pods: Store<()> = writer.store();
///
/// let mut web = MetaBuilder::default();
/// web.set_namespace("team-0");
/// web.set_name("web-1");
/// web.add_label("app", "web");
/// let web = Object { meta: web.build().unwrap(), value: () };
/// writer.write(|objects| objects.insert(web.into()));
///
/// assert!(pods.get("team-0/web-1").is_some());
/// let selected = pods.select(&LabelSelector::parse("app=web")?);
/// assert!(selected.iter().all(|pod| pod.meta().name() == "web-1"));
/// # Ok::<(), listwatch_core::object::ParseSelectorError>(())
/// ```
///
/// A store gives no write access. It is not a [`Cache`](super::Cache), so an informer does not accept it:
///
/// ```compile_fail,E0277
/// # use listwatch_core::cache::{Cache, Store};
/// fn writes<T>(_: impl Cache<listwatch_core::object::ObjectHandle<T>>) {}
/// fn with(pods: Store<()>) {
///     writes(pods);
/// }
/// ```
///
/// and [`read`](Self::read) lends the indexer for reading only:
///
/// ```compile_fail,E0596
/// # use listwatch_core::cache::Store;
/// fn clear(pods: &Store<()>) {
///     pods.read(|objects| objects.clear());
/// }
/// ```
pub struct StoreIn<V: Keyed, L: Lock> {
    pub(crate) cell: Arc<Shared<Contents<V>, L>>,
    /// Set before the store has readers.
    pub(super) observer: Option<Arc<dyn Observer>>,
}

impl<V: Keyed + Clone, L: Lock> StoreIn<V, L> {
    /// The object under `key` (client-go `Lister.Get`).
    pub fn get<Q>(&self, key: &Q) -> Option<V>
    where
        V::Key: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.read(|objects| objects.get(key).cloned())
    }

    /// All objects (client-go `List`), in the order of [`IndexerIn::iter`](super::IndexerIn::iter).
    pub fn list(&self) -> Snapshot<V> {
        self.read(Indexer::snapshot)
    }

    /// The objects that have a value in an index (client-go `ByIndex`). [`add_index`](Self::add_index) adds indexes,
    /// and so does [`Informer::add_index`](crate::Informer::add_index).
    pub fn by_index(&self, id: IndexId, value: &str) -> Snapshot<V> {
        self.read(|objects| objects.snapshot_by_index(id, value))
    }

    /// The keys of all objects (client-go `ListKeys`).
    pub fn keys(&self) -> Snapshot<V::Key>
    where
        V::Key: Clone,
    {
        self.list().iter().map(Keyed::key).cloned().collect()
    }
}

impl<V: Keyed, L: Lock> StoreIn<V, L> {
    /// Whether there is an object under `key`.
    pub fn contains<Q>(&self, key: &Q) -> bool
    where
        V::Key: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.read(|objects| objects.contains(key))
    }

    /// The number of objects.
    pub fn len(&self) -> usize {
        self.read(Indexer::len)
    }

    /// Whether there are no objects.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds an index and fills it with the present objects (client-go `AddIndexers`). A reader adds indexes only; objects
    /// are the informer's. The id serves every reader of the cache.
    ///
    /// `values` is called with an object, and calls its second argument with each index value of it. It must not hold
    /// this store, which would never be freed.
    pub fn add_index(&self, values: impl Fn(&V, &mut dyn FnMut(&str)) + Send + Sync + 'static) -> IndexId {
        self.cell.with(|contents| contents.objects.add_index(values))
    }

    /// Removes an index. Its id finds nothing from then on, and no other index gets it.
    pub fn remove_index(&self, id: IndexId) {
        self.cell.with(|contents| contents.objects.remove_index(id));
    }

    /// Calls `f` with the indexer, for several reads of one moment, or a read without copies of handles.
    ///
    /// The informer waits until `f` returns, so `f` must be short. It must not wait for anything that the informer
    /// does.
    ///
    /// # Panics
    /// Where `f` panics; the store stays usable. Where it is called from an index function of the same cache, if the
    /// lock can tell; see [`Lock`].
    pub fn read<R>(&self, f: impl FnOnce(&Indexer<V>) -> R) -> R {
        self.observed();
        self.cell.read(|contents| {
            self.on_read(contents);
            f(&contents.objects)
        })
    }

    /// Tells the observer of a read that is about to begin.
    pub(super) fn observed(&self) {
        self.observer.iter().for_each(|observer| observer.before_read());
    }

    /// Tells the observer of a read.
    pub(super) fn on_read(&self, contents: &Contents<V>) {
        if let Some(observer) = &self.observer {
            observer.on_read(&mut contents.streams.iter().map(|stream| &stream.progress));
        }
    }

    /// Whether the store has every object of the first list, of every [stream](Self::streams) (client-go `HasSynced`).
    pub fn has_synced(&self) -> bool {
        self.cell.read(Contents::has_synced)
    }

    /// The progress of each informer that writes to the store: one, or one for each namespace of
    /// [`split`](super::StoreWriterIn::split), in the order of the namespaces there.
    pub fn streams(&self) -> Vec<StreamProgress> {
        self.cell.read(|contents| contents.streams.iter().map(|stream| stream.progress.clone()).collect())
    }
}

impl<T, L: Lock> StoreIn<ObjectHandle<T>, L> {
    /// Adds the namespace index, which makes reads of one namespace fast; see
    /// [`Indexer::add_namespace_index`](super::Indexer::add_namespace_index). A second call returns the id of the first
    /// one.
    pub fn add_namespace_index(&self) -> IndexId {
        self.cell.with(|contents| contents.objects.add_namespace_index())
    }

    /// The objects of a namespace, in the order of [`select_in`](Self::select_in) (client-go
    /// `Lister.Pods(namespace).List`). No namespace, or an empty one, stands for all.
    ///
    /// ```
    /// use listwatch_core::Key;
    /// use listwatch_core::cache::Store;
    ///
    /// fn neighbours<T>(pods: &Store<T>, key: &Key) -> usize {
    ///     pods.list_in(key.namespace()).len() // or of a `&str`
    /// }
    /// ```
    pub fn list_in<'n>(&self, namespace: impl AsNamespace<'n>) -> Snapshot<ObjectHandle<T>> {
        self.select_in(namespace, &LabelSelector::default())
    }

    /// The objects that a selector matches (client-go `Lister.List`).
    pub fn select(&self, selector: &LabelSelector) -> Snapshot<ObjectHandle<T>> {
        self.select_in("", selector)
    }

    /// The objects of a namespace that a selector matches; no namespace, or an empty one, stands for all. Without a
    /// [namespace index](super::Indexer::add_namespace_index) this visits every object.
    pub fn select_in<'n>(
        &self,
        namespace: impl AsNamespace<'n>,
        selector: &LabelSelector,
    ) -> Snapshot<ObjectHandle<T>> {
        let (objects, namespace) = self.read(|objects| objects.snapshot_in(namespace.as_namespace()));
        if namespace.is_none() && selector.selects_all() {
            return objects;
        }
        objects.iter().filter(|object| is_selected(object, namespace, selector)).cloned().collect()
    }
}

impl<V: Keyed, L: Lock> Clone for StoreIn<V, L> {
    fn clone(&self) -> Self {
        Self { cell: Arc::clone(&self.cell), observer: self.observer.clone() }
    }
}

// Takes no lock, so it can be used anywhere.
summary!(impl[V: Keyed, L: Lock] "Store" for StoreIn<V, L>);
