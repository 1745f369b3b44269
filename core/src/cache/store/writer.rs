use super::StoreIn;
use super::contents::Contents;
use super::stream::{Observer, Scope};
use crate::cache::access::Cache;
use crate::cache::change::{Change, Note};
use crate::cache::indexer::Indexer;
use crate::fanout::EventLog;
use crate::object::{Key, ObjectHandle};
use crate::storage::{Heap, Keyed, Mem, Slot, Versioned};
use crate::sync::wakers::wake_each;
use crate::sync::{Lock, Shared};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::task::{Context, Poll, Waker};

/// Writes to a [`Store`](super::Store): a [`StoreWriterIn`] behind a reader-writer lock.
#[cfg(feature = "std")]
pub type StoreWriter<T> = StoreWriterIn<ObjectHandle<T>, crate::sync::StdLock>;

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
///
/// Subscribers of the store are told the changes that [`apply`](Cache::apply) makes. [`write`](Cache::write) is for
/// indexes, and for objects before the first subscriber.
pub struct StoreWriterIn<V: Keyed, L: Lock> {
    store: StoreIn<V, L>,
    /// The stream that this writer feeds; [`NO_STREAM`] once it was split.
    stream: usize,
    scope: Option<Scope<V::Key>>,
    /// Whether the log had room after the last change.
    has_room: bool,
    /// The place among the informers that are held back.
    held: Option<Slot>,
    /// To be called after the lock.
    woken: Vec<Waker>,
    /// To be dropped after the lock: the drop is the caller's code.
    freed: Vec<V>,
}

/// The place of no stream.
const NO_STREAM: usize = usize::MAX;

impl<V: Versioned<Key: Clone> + Clone, L: Lock> StoreWriterIn<V, L> {
    /// Puts a lock around `indexer`, which may have objects and indexes already.
    pub fn new(indexer: Indexer<V>) -> Self {
        Self::with_log_limit(indexer, EventLog::<V>::DEFAULT_LIMIT)
    }

    /// As [`new`](Self::new), with a log of `limit` changes, at least one. A subscriber that is further behind is told
    /// one change for each key, or holds the informer back; see [`WhenBehind`](crate::fanout::WhenBehind).
    pub fn with_log_limit(indexer: Indexer<V>, limit: usize) -> Self {
        let cell = Arc::new(Shared::new(Contents::new(indexer, limit)));
        Self::of(StoreIn { cell, observer: None }, 0, None)
    }
}

impl<V: Keyed, L: Lock> StoreWriterIn<V, L> {
    /// The reading half, for any number of readers.
    pub fn store(&self) -> StoreIn<V, L> {
        self.store.clone()
    }

    /// The namespace that this writer covers; `None` if it covers every object.
    pub fn namespace(&self) -> Option<&str> {
        self.scope.as_ref().map(|scope| &*scope.namespace)
    }

    /// Tells `observer` of each read of the stores that this writer makes from now on.
    #[must_use]
    pub fn observed_by(mut self, observer: Arc<dyn Observer>) -> Self {
        self.store.observer = Some(observer);
        self
    }

    fn of(store: StoreIn<V, L>, stream: usize, scope: Option<Scope<V::Key>>) -> Self {
        Self { store, stream, scope, has_room: true, held: None, woken: Vec::new(), freed: Vec::new() }
    }
}

impl<T, L: Lock> StoreWriterIn<ObjectHandle<T>, L> {
    /// Splits the writer into one for each namespace, for one informer each: several namespaces in one view. A
    /// namespace that is named twice gets one writer.
    ///
    /// A list of one informer deletes no object of another namespace. The view has synced when every stream has, and
    /// its subscribers end when every writer is dropped. [`StoreIn::streams`] tells the streams apart.
    ///
    /// ```
    /// use listwatch_core::cache::{Indexer, StoreWriter};
    /// use listwatch_core::decode::Raw;
    /// use listwatch_core::{Informer, InformerConfig, Resource};
    ///
    /// let writer = StoreWriter::<Raw>::new(Indexer::new());
    /// let pods = writer.store();
    /// let informers = writer.split(["team-0", "team-1"]).into_iter().map(|writer| {
    ///     let path = format!("/api/v1/namespaces/{}/pods", writer.namespace().unwrap_or_default());
    ///     Informer::with_cache(Resource::new(&path), InformerConfig::default(), writer)
    /// });
    /// assert_eq!(informers.count(), 2);
    /// assert_eq!(pods.streams()[1].namespace.as_deref(), Some("team-1"));
    /// ```
    #[must_use]
    pub fn split<N: Into<Arc<str>>>(mut self, namespaces: impl IntoIterator<Item = N>) -> Vec<Self> {
        let mut scopes: Vec<Scope<Key>> = Vec::new();
        for namespace in namespaces {
            let namespace = namespace.into();
            if !scopes.iter().any(|scope| scope.namespace == namespace) {
                scopes.push(Scope { namespace, namespace_of: Key::namespace });
            }
        }
        self.stream = NO_STREAM;
        self.woken.append(&mut self.store.cell.with(|contents| {
            contents.split(&scopes);
            contents.take_waiting()
        }));
        scopes.into_iter().enumerate().map(|(at, scope)| Self::of(self.store.clone(), at, Some(scope))).collect()
    }
}

impl<V: Versioned<Key: Clone> + Clone, L: Lock> Cache<V> for StoreWriterIn<V, L> {
    type Mem = Heap;

    fn read<R>(&self, f: impl FnOnce(&Indexer<V>) -> R) -> R {
        self.store.cell.read(|contents| f(&contents.objects))
    }

    fn write<R>(&mut self, f: impl FnOnce(&mut Indexer<V>) -> R) -> R {
        let (answer, mut woken) = self.store.cell.with(|contents| (f(&mut contents.objects), contents.take_waiting()));
        self.woken.append(&mut woken);
        self.wake();
        answer
    }

    fn try_apply(&mut self, change: Change<'_, V>) -> Result<Option<V>, <Heap as Mem>::Full<()>> {
        let Self { store, stream, has_room, woken, freed, .. } = self;
        store.cell.with(|contents| {
            let known = contents.apply(*stream, change, (woken, freed));
            *has_room = contents.log.has_room();
            Ok(known)
        })
    }

    fn seed_unless_chosen(&mut self, seed: u64) {
        self.store.cell.with(|contents| contents.seed_unless_chosen(seed));
    }

    fn note(&mut self, note: Note<'_, V>) {
        self.store.cell.with(|contents| contents.note(self.stream, note, &mut self.woken));
    }

    #[inline]
    fn wake(&mut self) {
        if !self.woken.is_empty() {
            wake_each(core::mem::take(&mut self.woken));
        }
        self.freed.clear();
    }

    #[inline]
    fn has_room(&mut self) -> bool {
        self.has_room = self.has_room || self.store.cell.read(|contents| contents.log.has_room());
        self.has_room
    }

    fn poll_room(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Self { store, has_room, held, .. } = self;
        let _waker = store.cell.with(|contents| {
            *has_room = contents.log.has_room();
            if *has_room { contents.held.remove(held) } else { contents.held.register(held, cx.waker()) }
        });
        if *has_room { Poll::Ready(()) } else { Poll::Pending }
    }

    fn covers(&self, object: &V) -> bool {
        self.scope.as_ref().is_none_or(|scope| scope.covers(object.key()))
    }
}

impl<V: Keyed, L: Lock> Drop for StoreWriterIn<V, L> {
    fn drop(&mut self) {
        let Self { store, stream, held, woken, .. } = self;
        let _waker = store.cell.with(|contents| {
            contents.leave(*stream, woken);
            contents.held.remove(held)
        });
        wake_each(core::mem::take(woken));
    }
}

impl<V: Versioned<Key: Clone> + Clone, L: Lock> Default for StoreWriterIn<V, L> {
    fn default() -> Self {
        Self::new(Indexer::new())
    }
}

summary!(impl[V: Keyed, L: Lock] "StoreWriter" for StoreWriterIn<V, L>);
