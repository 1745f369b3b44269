//! Which informers there are, so that whoever asks for the same one gets the same one.

use super::board::Board;
use super::stream::OnError;
use super::stream_status::StreamStatus;
use super::tasks::Tasks;
use super::world::World;
use core::any::{Any, TypeId};
use core::hash::{Hash, Hasher};
use listwatch_core::{InformerConfig, Resource};
use smol::channel::{Receiver, Sender};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// The informers of a world, and the tasks of their streams.
pub(super) struct Registry {
    pub(super) world: World,
    pub(super) on_error: Option<OnError>,
    pub(super) tasks: Tasks,
    /// Closed with the registry: nothing sends on it.
    closed: (Sender<()>, Receiver<()>),
    entries: Mutex<Entries>,
}

#[derive(Default)]
struct Entries {
    by_key: HashMap<InformerKey, Entry>,
    last: EntryId,
}

/// An informer's place. A later informer under the same key has another one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct EntryId(u64);

struct Entry {
    id: EntryId,
    informer: Weak<dyn Any + Send + Sync>,
    boards: Arc<[Arc<Board>]>,
}

/// What makes two informers the same: the streams, the type of the objects, and how they are decoded and followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct InformerKey {
    /// One for each namespace, each once and in order.
    pub(super) streams: Vec<Resource>,
    pub(super) projection: TypeId,
    /// The file of the cache.
    pub(super) saved_to: Option<PathBuf>,
    pub(super) config: InformerConfig,
}

/// Without the configuration, which seldom differs.
impl Hash for InformerKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.streams.hash(state);
        self.projection.hash(state);
    }
}

impl Registry {
    pub(super) fn new(world: World, on_error: Option<OnError>) -> Self {
        Self { world, on_error, tasks: Tasks::default(), closed: smol::channel::bounded(1), entries: Mutex::default() }
    }

    /// The informer under `key`; a new one if there is none, or its last handle is being dropped.
    ///
    /// `make` is called under the lock, so it calls nothing of the program's.
    pub(super) fn informer<I: Any + Send + Sync>(
        &self,
        key: &InformerKey,
        make: impl FnOnce(EntryId) -> (I, Arc<[Arc<Board>]>),
    ) -> Arc<I> {
        let mut entries = self.lock();
        let known = entries.by_key.get(key).and_then(|entry| entry.informer.upgrade());
        if let Some(known) = known.and_then(|known| known.downcast().ok()) {
            return known;
        }
        entries.last.0 += 1;
        let id = entries.last;
        let (informer, boards) = make(id);
        let informer = Arc::new(informer);
        let any: Arc<dyn Any + Send + Sync> = Arc::clone(&informer) as _;
        let _last = entries.by_key.insert(key.clone(), Entry { id, informer: Arc::downgrade(&any), boards });
        informer
    }

    /// Forgets an informer, unless another one has its place already.
    pub(super) fn forget(&self, key: &InformerKey, id: EntryId) {
        let mut entries = self.lock();
        if entries.by_key.get(key).is_some_and(|entry| entry.id == id) {
            entries.by_key.remove(key);
        }
    }

    /// The status of all streams, in the order of their informers' start.
    pub(super) fn status(&self) -> Vec<StreamStatus> {
        let mut boards: Vec<_> = {
            let entries = self.lock();
            entries.by_key.values().map(|entry| (entry.id, Arc::clone(&entry.boards))).collect()
        };
        boards.sort_by_key(|(id, _)| *id);
        boards.iter().flat_map(|(_, boards)| boards.iter().map(|board| board.status())).collect()
    }

    /// Completes when the registry is dropped.
    pub(super) fn closed(&self) -> impl Future<Output = ()> + Send + use<> {
        let closed = self.closed.1.clone();
        async move {
            let _ = closed.recv().await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
