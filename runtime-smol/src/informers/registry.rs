//! The informers of a world, each under its key, and what their handles share.

#[cfg(feature = "metrics")]
use super::Informers;
use super::board::Board;
#[cfg(feature = "file")]
use super::replay::{Followed, Probe, Whole};
use super::stream::{OnError, Saves, Stream};
use super::stream_status::StreamStatus;
use super::tasks::Tasks;
#[cfg(feature = "metrics")]
use super::world::Asked;
#[cfg(all(feature = "endpoint", feature = "file"))]
use super::world::FlightRecorder;
use super::world::{OnTape, World};
use crate::mutex::Mutex;
use crate::names::StreamName;
#[cfg(feature = "file")]
use crate::replay::Advance;
use core::any::{Any, TypeId};
use listwatch_core::cache::{IndexId, Indexer, StoreWriter};
use listwatch_core::decode::FromJson;
use listwatch_core::{Informer, InformerConfig, Resource, Store};
#[cfg(feature = "file")]
use serde_json::Value;
use smol::channel::{Receiver, Sender};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock, Weak};

/// The informers of a world, and the tasks of their streams.
pub(super) struct Registry {
    pub(super) world: World,
    pub(super) on_error: Option<OnError>,
    pub(super) tasks: Tasks,
    /// Closed with the registry: nothing sends on it.
    closed: (Sender<()>, Receiver<()>),
    /// In the order of their start.
    entries: Mutex<Vec<Entry>>,
}

struct Entry {
    key: InformerKey,
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
        make: impl FnOnce() -> (I, Arc<[Arc<Board>]>),
    ) -> Arc<I> {
        let mut entries = self.entries.lock();
        let known = entries.iter().find(|entry| entry.key == *key).and_then(|entry| entry.informer.upgrade());
        if let Some(known) = known.and_then(|known| known.downcast().ok()) {
            return known;
        }
        let (informer, boards) = make();
        let informer = Arc::new(informer);
        let any: Arc<dyn Any + Send + Sync> = Arc::clone(&informer) as _;
        entries.retain(|entry| entry.key != *key);
        entries.push(Entry { key: key.clone(), informer: Arc::downgrade(&any), boards });
        informer
    }

    /// Forgets an informer whose last handle is being dropped, and not another one that has its place already.
    pub(super) fn forget(&self, key: &InformerKey) {
        self.entries.lock().retain(|entry| entry.key != *key || entry.informer.strong_count() > 0);
    }

    /// The status of all streams, in the order of their informers' start.
    pub(super) fn status(&self) -> Vec<StreamStatus> {
        let boards: Vec<_> = self.entries.lock().iter().map(|entry| Arc::clone(&entry.boards)).collect();
        boards.iter().flat_map(|boards| boards.iter().map(|board| board.status())).collect()
    }

    /// Completes when the registry is dropped.
    pub(super) fn closed(&self) -> impl Future<Output = ()> + Send + use<> {
        let closed = self.closed.1.clone();
        async move {
            let _ = closed.recv().await;
        }
    }
}

/// A running informer: its cache and its streams. Dropped with the last handle, it stops the streams.
pub(super) struct SharedState<T> {
    pub(super) registry: Arc<Registry>,
    pub(super) resource: Resource,
    /// The kind of the objects, and whether they have a namespace, once they are known.
    pub(super) kind: OnceLock<Box<str>>,
    pub(super) is_namespaced: OnceLock<bool>,
    pub(super) store: Store<T>,
    /// The index of the objects by the uid of their controller, once it is asked for.
    pub(super) by_controller: OnceLock<IndexId>,
    pub(super) boards: Arc<[Arc<Board>]>,
    streams: Vec<Arc<Stream>>,
    /// The same for the replay of the world.
    #[cfg(feature = "file")]
    followed: Vec<Arc<dyn Advance>>,
    key: InformerKey,
}

impl<T: FromJson + Send + Sync + 'static> SharedState<T> {
    /// The informer of these streams, with the others that asked for it. A new one starts. One whose cache has a file has
    /// one stream.
    pub(super) fn of(
        registry: &Arc<Registry>,
        resource: Resource,
        namespaces: Vec<String>,
        config: InformerConfig,
        saved: Option<(PathBuf, Saves<T>)>,
    ) -> Arc<Self> {
        let (saved_to, saving) = saved.unzip();
        let streams = streams(&resource, namespaces);
        let key = InformerKey { streams, projection: TypeId::of::<T>(), saved_to, config };
        let mut started = Vec::new();
        let shared = registry.informer(&key, || {
            let shared = Self::new(registry, resource, &key, saving);
            started.clone_from(&shared.streams);
            let boards = Arc::clone(&shared.boards);
            (shared, boards)
        });
        for stream in started {
            registry.tasks.spawn(async move { stream.run().await });
        }
        shared
    }

    /// An informer whose streams are to be run.
    fn new(registry: &Arc<Registry>, resource: Resource, key: &InformerKey, mut saving: Option<Saves<T>>) -> Self {
        let (clock, names) = (registry.world.clock(), key.streams.iter().cloned().map(StreamName::new));
        let boards: Arc<[_]> = names.map(|name| Arc::new(Board::new(name, clock.clone()))).collect();
        let writer = StoreWriter::new(key.config.reflector.seed.map_or_else(Indexer::new, Indexer::with_seed));
        #[cfg(feature = "file")]
        let names = registry.world.stream_names(&key.streams);
        #[cfg(feature = "file")]
        let writer = match &names {
            Some(names) => writer.observed_by(Arc::new(Probe { names: names.clone() })),
            None => writer,
        };
        let store = writer.store();
        #[cfg(feature = "file")]
        let seed = names.as_ref().and_then(|names| registry.world.seed_of(names.first()?));
        #[cfg(not(feature = "file"))]
        let (seed, names) = (None, None::<Vec<Arc<str>>>);
        let stream = |(place, (writer, board)): (usize, (_, &Arc<Board>))| {
            let mut informer = Informer::with_cache(board.name().resource().clone(), key.config, writer);
            // A replay has the same delays as its recording.
            seed.into_iter().for_each(|seed| informer.seed_unless_chosen(seed));
            let on_tape = names.as_ref().and_then(|names| names.get(place)).map(|name| {
                let (name, store) = (Arc::clone(name), store.clone());
                OnTape { name, changes: Arc::new(move || store.streams().get(place).map_or(0, |it| it.changes)) }
            });
            let on_error = registry.on_error.clone();
            Arc::new(Stream::new(informer, &registry.world, Arc::clone(board), on_tape, on_error, saving.take()))
        };
        let streams: Vec<_> = writers(writer, &boards).into_iter().zip(&*boards).enumerate().map(stream).collect();
        Self {
            registry: Arc::clone(registry),
            resource,
            kind: OnceLock::new(),
            is_namespaced: OnceLock::new(),
            #[cfg(feature = "file")]
            followed: followed(&registry.world, key.config, &store, &streams, &names.unwrap_or_default()),
            store,
            by_controller: OnceLock::new(),
            boards,
            streams,
            key: key.clone(),
        }
    }
}

#[cfg(feature = "shards")]
impl<T> SharedState<T> {
    /// Whether the cache is saved to a file, which a later program restores as the whole of it.
    pub(super) fn is_saved(&self) -> bool {
        self.key.saved_to.is_some()
    }
}

impl<T> Drop for SharedState<T> {
    fn drop(&mut self) {
        // First, so that nobody reads the status of a stopped stream in place of its successor's.
        self.registry.forget(&self.key);
        self.streams.iter().for_each(|stream| stream.stop());
    }
}

/// The streams as the replay of their world, if it is one, knows them.
#[cfg(feature = "file")]
fn followed<T: FromJson + Send + Sync + 'static>(
    world: &World,
    config: InformerConfig,
    store: &Store<T>,
    streams: &[Arc<Stream>],
    names: &[Arc<str>],
) -> Vec<Arc<dyn Advance>> {
    let Some(replay) = world.replay() else { return Vec::new() };
    let followed = streams.iter().zip(names).enumerate().map(|(place, (stream, name))| {
        let (world, resource) = (world.clone(), stream.resource().clone());
        let again = Box::new(move || whole(&world, &resource, config));
        let before = replay.changes_before(name);
        let followed: Arc<dyn Advance> = Arc::new(Followed::new(stream, store, place, before, again));
        replay.add_stream(Arc::clone(name), &followed);
        followed
    });
    followed.collect()
}

/// A stream of a replay again, with whole objects.
#[cfg(feature = "file")]
fn whole(world: &World, resource: &Resource, config: InformerConfig) -> Option<Whole> {
    let registry = Arc::new(Registry::new(world.again()?, None));
    let informer = SharedState::<Value>::of(&registry, resource.clone(), Vec::new(), config, None);
    let stream = Arc::clone(informer.followed.first()?);
    Some(Whole { stream, store: informer.store.clone(), _informer: informer })
}

/// One writer for each stream. A writer of one stream alone covers whatever the server sends.
fn writers<T>(writer: StoreWriter<T>, boards: &[Arc<Board>]) -> Vec<StoreWriter<T>> {
    if boards.len() < 2 {
        return vec![writer];
    }
    writer.split(boards.iter().filter_map(|board| board.name().namespace()))
}

/// One collection for each namespace. Without a namespace, it is the one that `resource` names.
fn streams(resource: &Resource, mut namespaces: Vec<String>) -> Vec<Resource> {
    namespaces.sort_unstable();
    namespaces.dedup();
    match namespaces.first().map(String::as_str) {
        None => vec![resource.clone()],
        Some("") => vec![resource.clone().in_namespace("")],
        Some(_) => {
            let mut streams: Vec<_> =
                namespaces.iter().map(|namespace| resource.clone().in_namespace(namespace)).collect();
            // A path that takes no namespace is one stream, which the server refuses.
            streams.dedup();
            streams
        }
    }
}

/// Informers, without keeping them.
#[cfg(feature = "metrics")]
#[derive(Clone, Debug)]
pub(crate) struct WeakInformers(Weak<Registry>);

#[cfg(feature = "metrics")]
impl WeakInformers {
    pub(crate) fn of(informers: &Informers) -> Self {
        Self(Arc::downgrade(&informers.0))
    }

    pub(crate) fn is_of(&self, informers: &Informers) -> bool {
        self.0.as_ptr() == Arc::as_ptr(&informers.0)
    }

    pub(crate) fn are_alive(&self) -> bool {
        self.0.strong_count() > 0
    }

    /// Nothing once they are gone.
    pub(crate) fn status(&self) -> Vec<StreamStatus> {
        self.0.upgrade().map_or_else(Vec::new, |registry| registry.status())
    }

    /// The flight recorder of their world.
    #[cfg(all(feature = "endpoint", feature = "file"))]
    pub(crate) fn flight_recorder(&self) -> Option<Arc<FlightRecorder>> {
        self.0.upgrade()?.world.recorder_in_flight().cloned()
    }

    /// The requests of their world.
    pub(crate) fn asked(&self) -> Option<Asked> {
        Some(self.0.upgrade()?.world.asked())
    }
}
