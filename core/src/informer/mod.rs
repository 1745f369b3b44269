//! The informer: reflector, queue and cache as one machine. Bytes go in, events come out.

mod driver;
mod event;
#[cfg(feature = "json")]
mod filter;
#[cfg(feature = "fixed")]
mod fixed;
mod listed;
mod pending;
mod progress;
mod reading;
mod restored;
mod saved_age;
mod status;
#[cfg(feature = "json")]
mod subscriber;
#[cfg(feature = "json")]
mod subscription;
#[cfg(feature = "json")]
mod synced;
#[cfg(feature = "json")]
mod told;
mod unfit;

#[cfg(feature = "json")]
pub use driver::Driver;
#[cfg(feature = "std")]
pub use driver::SharedDriver;
pub use driver::{DriverIn, Pumped};
#[cfg(feature = "json")]
pub use event::Event;
pub use event::EventOf;
#[cfg(feature = "fixed")]
pub use fixed::FixedInformer;
pub use saved_age::SavedAge;
pub use status::InformerStatus;
#[cfg(feature = "json")]
pub use subscriber::{Subscriber, SubscriberSynced};
#[cfg(feature = "json")]
pub use subscription::Subscription;
#[cfg(feature = "json")]
pub use synced::{NotSynced, SyncTracker, Synced};
#[cfg(feature = "json")]
pub use told::Told;

#[cfg(feature = "json")]
use crate::cache::Indexer;
use crate::cache::{AHEAD, Cache, Change, IndexId, Note, transition};
#[cfg(feature = "std")]
use crate::cache::{Store, StoreWriter};
use crate::decode::{Decode, DecodeErrorOf};
#[cfg(feature = "json")]
use crate::decode::{DecodeOptions, FromJson, Json};
use crate::fifo::{DeltaFifoIn, Order};
#[cfg(feature = "json")]
use crate::object::ObjectHandle;
use crate::reflector::{Action, Input, Phase, Reflector, ReflectorConfig, Response};
use crate::request::{RequestId, Resource};
#[cfg(feature = "json")]
use crate::storage::Heap;
use crate::storage::{Keyed, Mem};
use crate::time::Instant;
use crate::transport::{Incoming, TransportError};
use core::fmt;
use core::task::{Context, Poll};
use listed::Listed;
use pending::{Applied, Pending};
use progress::Progress;
use unfit::Unfit;

/// Keeps a cache of one resource up to date and reports every change of it (client-go `SharedIndexInformer`). Use it as
/// [`Informer`].
///
/// [`handle`](Self::handle) takes the input of a transport, and [`poll_action`](Self::poll_action) returns the
/// transport's next action. [`poll_event`](Self::poll_event) returns the next change, after it has updated the cache. A
/// [`Driver`] connects all this to a [`ListerWatcher`](crate::ListerWatcher).
///
/// The events of each key have the form (Added (Updated | Recreated)* Deleted)*.
///
/// ```
/// use listwatch_core::decode::MetadataOnly;
/// use listwatch_core::reflector::Action;
/// use listwatch_core::transport::{Incoming, ResponseHead};
/// use listwatch_core::{Event, Informer, InformerConfig, Instant, Resource};
///
/// let mut config = InformerConfig::default();
/// config.reflector.watch_list = false;
/// let mut informer = Informer::<MetadataOnly>::new(Resource::new("/api/v1/pods"), config);
/// let now = Instant::ZERO;
/// informer.start(now);
///
/// // The transport sends the request and brings the response in pieces.
/// let Some(Action::Open(id, request)) = informer.poll_action() else { unreachable!() };
/// assert_eq!(request.to_string(), "/api/v1/pods?limit=500");
/// informer.handle(now, Incoming::Head { id, head: ResponseHead { status: 200, ..ResponseHead::default() } });
/// let list = br#"{"metadata":{"resourceVersion":"7"},"items":[{"metadata":{"name":"web-1","resourceVersion":"5"}}]}"#;
/// informer.space()[..list.len()].copy_from_slice(list);
/// informer.handle(now, Incoming::Data { id, len: list.len() });
/// informer.handle(now, Incoming::End { id });
///
/// // The cache has the change before the event is returned. Then the informer watches.
/// let Some(Event::Added { object, initial: true }) = informer.poll_event() else { unreachable!() };
/// assert_eq!(informer.cache().get("web-1"), Some(&object));
/// assert_eq!(informer.poll_event(), Some(Event::Synced));
/// assert!(matches!(informer.poll_action(), Some(Action::Open(_, watch)) if watch.to_string().contains("watch=1")));
/// ```
///
/// The decoder `D` decodes responses into objects: [`Json`] in an [`Informer`], or one of the caller's ([`Decode`]).
/// The cache `C` is an [`Indexer`] inside of the informer, or the writer of a store that others read
/// ([`shared`](Self::shared), [`Cache`]).
pub struct InformerIn<D: Decode, C: Cache<D::Object>, M: Mem> {
    reflector: Reflector,
    decoder: D,
    /// The request whose response is read, or was read last.
    id: RequestId,
    /// The response to `id` has begun, and the decoder has it.
    reading: bool,
    fifo: DeltaFifoIn<D::Object, M>,
    /// The objects of the cache whose places are staged.
    listed: Listed<C::Mem>,
    /// What is done once every queued delta was taken: fixed memory had no room for it.
    pending: Option<Pending<D::Object>>,
    /// What the cache had no room for.
    unfit: Unfit,
    cache: C,
    queue_limit: usize,
    max_list_bytes: usize,
    queue_bytes: usize,
    progress: Progress<M>,
    /// The response has ended, but its bytes have not all been decoded.
    closing: Option<Result<(), TransportError>>,
    /// The decoder has not returned `None` since the last input: back-pressure or a panic came between.
    unread: bool,
    /// Back-pressure applied since the last `now`. The next input restarts the deadlines for silence.
    blocked: bool,
    undecodable: Option<DecodeErrorOf<KeyOf<D>>>,
    /// The cache lacks the last state of an object, which could not be decoded.
    has_gap: bool,
    /// The same of the staged list.
    has_staged_gap: bool,
    /// The next event, held while the decoder reads on: a panic of the decoder does not lose it.
    taken: Option<EventOf<D::Object>>,
    /// For how many of the next deltas the cache's memory was read.
    ahead: usize,
    /// How old the restored state was, and when.
    restored: Option<(SavedAge, Instant)>,
    told_synced: bool,
    /// The cache was told of a failure, and not yet of a recovery.
    is_failing: bool,
    now: Instant,
}

/// An [`InformerIn`] that decodes JSON into objects of any type `T` that serde can read.
#[cfg(feature = "json")]
pub type Informer<T, C = Indexer<ObjectHandle<T>>> = InformerIn<Json<T>, C, Heap>;

/// An [`Informer`] whose cache other tasks and threads read. [`Informer::shared`] returns it with their [`Store`].
#[cfg(feature = "std")]
pub type SharedInformer<T> = Informer<T, StoreWriter<T>>;

/// A function that emits the values of an index of a cache.
type IndexFn<D, C> = <MemOf<D, C> as Mem>::IndexFn<<D as Decode>::Object>;

/// The error of a cache that has no room for an index.
type IndexFull<D, C> = <MemOf<D, C> as Mem>::Full<IndexFn<D, C>>;

/// The memory of a cache.
type MemOf<D, C> = <C as Cache<<D as Decode>::Object>>::Mem;

/// The type of the keys by which a decoder's objects are found.
type KeyOf<D> = <<D as Decode>::Object as Keyed>::Key;

/// The configuration of an [`Informer`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InformerConfig {
    /// Lists, watches, deadlines and retries.
    pub reflector: ReflectorConfig,
    /// The order of events.
    pub order: Order,
    /// The options of the [`Json`] decoder. [`InformerIn::with_decoder`] ignores them.
    #[cfg(feature = "json")]
    pub decode: DecodeOptions,
    /// How many deltas may be queued before back-pressure applies: 10,000 by default. A list may have more items, as
    /// far as [`max_list_bytes`](Self::max_list_bytes) allows.
    pub queue_limit: usize,
    /// How many bytes a list, or the initial events of a watch-list, may have before it is rejected as too large. All
    /// bytes received count, and 512 bytes for the bookkeeping of each item. The cache keeps its state then, and no
    /// deletion is inferred. The default of 2 GiB is etcd's default quota for all data of a cluster.
    pub max_list_bytes: usize,
    /// How many bytes the objects of queued deltas may take before back-pressure applies: 64 MiB by default. The JSON
    /// that they were decoded from counts ([`Meta::json_len`](crate::Meta::json_len)). The last object may
    /// exceed the limit, so that an object larger than the limit passes too.
    pub queue_bytes: usize,
}

impl Default for InformerConfig {
    fn default() -> Self {
        Self {
            reflector: ReflectorConfig::default(),
            order: Order::Arrival,
            #[cfg(feature = "json")]
            decode: DecodeOptions::default(),
            queue_limit: 10_000,
            max_list_bytes: 2 << 30,
            queue_bytes: 64 << 20,
        }
    }
}

#[cfg(feature = "json")]
impl<T: FromJson> Informer<T> {
    /// An informer of `resource` with a cache for its owner alone, without a lock. It sends no request before
    /// [`start`](InformerIn::start).
    #[must_use]
    pub fn new(resource: Resource, config: InformerConfig) -> Self {
        Self::with_cache(resource, config, indexer(config.reflector.seed))
    }

    /// An informer of `resource`, and the store in which other tasks and threads read its cache. The informer alone
    /// writes to it (client-go `NewSharedIndexInformer` and its lister). Fields and parameters name the informer as
    /// [`SharedInformer`], its driver as [`SharedDriver`], and the stream of a runtime as its `SharedEvents`.
    ///
    /// ```
    /// use listwatch_core::decode::Raw;
    /// use listwatch_core::{Informer, InformerConfig, Key, Resource};
    ///
    /// let (mut informer, pods) = Informer::<Raw>::shared(Resource::named("v1/pods")?, InformerConfig::default());
    /// let by_app = informer.add_index(|pod, emit| pod.meta().label("app").into_iter().for_each(emit));
    ///
    /// // A worker has a clone of the store.
    /// let pods = pods.clone();
    /// assert!(pods.get("team-0/web-1").is_none(), "nothing has been listed yet");
    /// assert_eq!(pods.by_index(by_app, "web").len(), 0);
    /// # Ok::<(), listwatch_core::request::ParseResourceError>(())
    /// ```
    #[cfg(feature = "std")]
    #[must_use]
    pub fn shared(resource: Resource, config: InformerConfig) -> (SharedInformer<T>, Store<T>) {
        let mut writer = StoreWriter::new(indexer(config.reflector.seed));
        config.reflector.seed.into_iter().for_each(|seed| writer.seed_unless_chosen(seed));
        let store = writer.store();
        (Informer::with_cache(resource, config, writer), store)
    }
}

#[cfg(feature = "json")]
impl<T: FromJson, C: Cache<ObjectHandle<T>>> Informer<T, C> {
    /// An informer of `resource` that keeps `cache` up to date. The cache is an [`Indexer`] with indexes, the writer of
    /// a store behind a lock of the caller's choice, or the caller's own [`Cache`].
    #[must_use]
    pub fn with_cache(resource: Resource, config: InformerConfig, cache: C) -> Self {
        Self::with_decoder(resource, config, Json::new(config.decode), cache)
    }
}

impl<D: Decode, C: Cache<D::Object>, M: Mem> InformerIn<D, C, M> {
    /// An informer of `resource` that decodes responses with `decoder` and keeps `cache` up to date. The memory `M` of
    /// its queue and that of its cache may differ: in fixed memory, a queue of 16 is enough for a cache of any capacity.
    #[must_use]
    pub fn with_decoder(resource: Resource, config: InformerConfig, decoder: D, cache: C) -> Self {
        Self {
            reflector: Reflector::new(resource, config.reflector),
            decoder,
            id: RequestId::default(),
            reading: false,
            fifo: DeltaFifoIn::with_seed(config.order, config.reflector.seed.unwrap_or_default()),
            listed: Listed::default(),
            pending: None,
            unfit: Unfit::default(),
            cache,
            queue_limit: config.queue_limit.max(1),
            max_list_bytes: config.max_list_bytes,
            queue_bytes: config.queue_bytes.max(1),
            progress: Progress::default(),
            closing: None,
            unread: false,
            blocked: false,
            undecodable: None,
            has_gap: false,
            has_staged_gap: false,
            taken: None,
            ahead: 0,
            restored: None,
            told_synced: false,
            is_failing: false,
            now: Instant::ZERO,
        }
    }

    /// Seeds the jitter, and the hashes of queue and cache, if [`ReflectorConfig::seed`] is `None`. A runtime calls
    /// this with a random seed before [`start`](Self::start); later calls have no effect. A cache that has a seed, or
    /// is not empty, keeps its hashes.
    pub fn seed_unless_chosen(&mut self, seed: u64) {
        if self.reflector.seed_unless_chosen(seed) && self.fifo.arrived() == 0 {
            self.fifo = DeltaFifoIn::with_seed(self.fifo.order(), seed);
            self.cache.seed_unless_chosen(seed);
        }
    }

    /// Starts to list and watch the resource (client-go `Run`).
    pub fn start(&mut self, now: Instant) {
        self.steer(now, Input::Start);
        self.cache.note(Note::Started);
        self.cache.wake();
    }

    /// Aborts the open request. [`poll_event`](Self::poll_event) still returns the queued events; the cache stays.
    pub fn stop(&mut self, now: Instant) {
        self.steer(now, Input::Stop);
        self.forget_response();
        self.cache.note(Note::Stopped);
        self.cache.wake();
    }

    /// Room for the bytes that come next. [`Incoming::Data`] says how many of them the transport has written to its
    /// front.
    pub fn space(&mut self) -> &mut [u8] {
        self.decoder.space()
    }

    /// Whether the transport may read more. If not, back-pressure applies until events are taken.
    #[must_use]
    pub fn wants_input(&self) -> bool {
        let is_full = self.fifo.len() >= self.queue_limit || self.fifo.bytes() >= self.queue_bytes;
        // What is full of a staged list alone is read on: the list is queued in parts.
        let is_full = is_full || ((self.fifo.is_full() || self.pending.is_some()) && !self.fifo.is_empty());
        self.undecodable.is_none() && !self.reflector.has_failure() && !is_full
    }

    /// Handles the transport's input of `now`.
    pub fn handle(&mut self, now: Instant, incoming: Incoming) {
        self.listen(now);
        match incoming {
            Incoming::Head { id, head } => self.on_head(now, id, &head),
            Incoming::Data { id, len } => {
                if self.reading && id == self.id {
                    self.on_data(len);
                }
                self.answer(now, id, Response::Data(len));
            }
            Incoming::End { id } => self.on_closed(id, Ok(())),
            Incoming::Failed { id, error } => self.on_closed(id, Err(error)),
            Incoming::Idle { .. } => {}
        }
        self.unread = true;
        self.advance(now);
    }

    /// Handles the passing of time. Call it when [`poll_timeout`](Self::poll_timeout) is due; early and late calls are
    /// allowed.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.now = self.now.max(now);
        self.listen(now);
        if self.has_work() {
            self.advance(now);
        }
        if self.poll_timeout().is_some_and(|due| due <= now) {
            self.steer(now, Input::Timeout);
        }
    }

    /// When [`handle_timeout`](Self::handle_timeout) is due. No deadline runs under back-pressure. After a panic of the
    /// decoder it is due at once, to decode the rest.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        if self.has_work() && self.wants_input() {
            return Some(self.now);
        }
        self.reflector.poll_timeout().filter(|_| self.wants_input() && self.closing.is_none())
    }

    /// The next action for the transport. Call it after each input, and after events were taken, until it returns
    /// `None`.
    #[must_use]
    pub fn poll_action(&mut self) -> Option<Action> {
        self.reflector.poll_action()
    }

    /// The next event. The cache already has its change.
    ///
    /// A failure, or an object that could not be decoded, comes before the queued changes.
    ///
    /// While the cache has [no room](Cache::has_room), no change is returned; see [`poll_room`](Self::poll_room).
    ///
    /// If an index function panics, its change stays the next one, and the cache is as before. If the decoder or a
    /// waker panics, the next call returns the event that this call had taken.
    #[must_use]
    pub fn poll_event(&mut self) -> Option<EventOf<D::Object>> {
        loop {
            if self.taken.is_some() || self.take_notice() {
                self.cache.wake();
                return self.taken.take();
            }
            if !self.take_next() && (!self.has_work() || !self.wants_input()) {
                return None;
            }
            self.advance(self.now);
        }
    }

    /// Ready unless a change is queued that the cache has [no room](Cache::has_room) for. Then the cache wakes the task
    /// of `cx` when room returns. A [`Driver`] calls this.
    pub fn poll_room(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.fifo.is_empty() { Poll::Ready(()) } else { self.cache.poll_room(cx) }
    }

    /// The cache, for reading. Only the informer writes to it.
    #[must_use]
    pub fn cache(&self) -> &C {
        &self.cache
    }

    /// Adds an index to the cache, before the start or after it; see
    /// [`IndexerIn::try_add_index`](crate::cache::IndexerIn::try_add_index). The id serves every reader of the cache.
    ///
    /// # Errors
    /// The function, if fixed memory has no room for the index or for its values.
    pub fn try_add_index(&mut self, values: IndexFn<D, C>) -> Result<IndexId, IndexFull<D, C>> {
        self.cache.write(|cache| cache.try_add_index(values))
    }

    /// Removes an index from the cache.
    pub fn remove_index(&mut self, id: IndexId) {
        self.cache.write(|cache| cache.remove_index(id));
    }

    /// Whether every object of the first list, or of a [restored](Self::restore) state, has been reported and is in the
    /// cache (client-go `HasSynced`).
    #[must_use]
    pub fn has_synced(&self) -> bool {
        self.fifo.has_synced()
    }

    /// The phase of the reflector.
    #[must_use]
    pub fn phase(&self) -> Phase {
        self.reflector.phase()
    }

    /// The version up to which every change was received (client-go `LastSyncResourceVersion`). The cache lags by the
    /// queued changes.
    #[must_use]
    pub fn received_version(&self) -> Option<&str> {
        self.reflector.last_version()
    }

    /// The number of queued deltas.
    #[must_use]
    pub fn queued(&self) -> usize {
        self.fifo.len()
    }

    /// Takes the next event that is not about an object. Returns whether there was one.
    fn take_notice(&mut self) -> bool {
        // An undecodable object applies back-pressure, so a failure is older than it.
        if let Some(failed) = self.reflector.poll_failure() {
            self.is_failing = true;
            self.cache.note(Note::Failed(&failed));
            self.taken = Some(EventOf::Failed(failed));
        } else if self.undecodable.is_none() && !self.told_synced && self.fifo.has_synced() {
            self.told_synced = true;
            self.cache.note(Note::Synced);
            self.taken = Some(EventOf::Synced);
        }
        self.taken.is_some()
    }

    /// Whether something is left to be decoded, or to be done once the queue is empty.
    fn has_work(&self) -> bool {
        self.unread || self.pending.is_some()
    }

    /// Takes the undecodable object or the next delta, and its event if it has one. Returns whether there was either,
    /// and room for it.
    fn take_next(&mut self) -> bool {
        if let Some(undecodable) = self.undecodable.take() {
            self.cache.note(Note::Undecodable(&undecodable));
            self.taken = Some(EventOf::Undecodable(undecodable));
        } else if self.cache.has_room()
            && let Some(known) = self.apply()
        {
            let popped = self.fifo.pop();
            popped.iter().for_each(|popped| self.note_fit(&popped.delta, &known));
            let told = popped.zip(known.told());
            let transition = told.and_then(|(popped, known)| transition(popped.delta, popped.initial, known));
            self.taken = transition.map(EventOf::from);
            self.note_taken();
            self.tell_unfit();
        } else {
            return false;
        }
        self.cache.wake();
        true
    }

    /// The newest state of an object, queued or in the cache.
    fn newest(&self, key: &KeyOf<D>) -> Option<D::Object> {
        self.fifo.newest(key).cloned().or_else(|| self.cache.read(|cache| cache.get(key).cloned()))
    }

    /// Applies the next delta to the cache; the delta stays queued, so a panic does not lose it. `None` means that no
    /// delta is queued.
    fn apply(&mut self) -> Option<Applied<D::Object>> {
        if self.fifo.front().is_none() {
            let Self { cache, fifo, .. } = self;
            cache.read(|objects| fifo.unfold(|place| objects.at_place(place).cloned()));
        }
        self.read_ahead();
        let initial = !self.fifo.has_synced();
        let applied = self.progress.next(self.fifo.oldest_after_pop());
        let delta = self.fifo.front()?;
        let change = Change::new(delta, initial).at(self.now).applying(applied);
        let is_parted = self.pending.as_ref().is_some_and(|pending| pending.is_parted);
        let applied = if is_parted && self.is_overtaken(delta.object()) {
            Applied::Overtaken
        } else {
            self.cache.try_apply(change).map_or(Applied::Full, Applied::Told)
        };
        // The list has the object, although its new state may not fit.
        if is_parted {
            let Self { cache, listed, .. } = self;
            cache.read(|objects| listed.insert_found(objects, delta.object().key()));
        }
        Some(applied)
    }

    /// Reads the memory that the cache will need for the next deltas, of all of them at once. A read of a transport
    /// brings several.
    fn read_ahead(&mut self) {
        if self.ahead == 0 && self.fifo.len() > 1 {
            self.ahead = self.fifo.len().min(AHEAD);
            self.cache.read(|cache| cache.read_ahead(self.fifo.waiting().map(|delta| delta.object().key())));
        }
        self.ahead = self.ahead.saturating_sub(1);
    }
}

/// Memory that grows: the operations that are never full.
#[cfg(feature = "json")]
impl<D: Decode, C: Cache<D::Object, Mem = Heap>> InformerIn<D, C, Heap> {
    /// Adds an index to the cache, before the start or after it; see [`Indexer::add_index`]. The id serves every reader
    /// of the cache.
    pub fn add_index(&mut self, values: impl Fn(&D::Object, &mut dyn FnMut(&str)) + Send + Sync + 'static) -> IndexId {
        self.cache.write(|cache| cache.add_index(values))
    }
}

#[cfg(feature = "json")]
impl<T, D: Decode<Object = ObjectHandle<T>>, C: Cache<ObjectHandle<T>, Mem = Heap>> InformerIn<D, C, Heap> {
    /// Adds the namespace index to the cache, which makes reads of one namespace fast; see
    /// [`Indexer::add_namespace_index`]. A second call returns the id of the first one.
    pub fn add_namespace_index(&mut self) -> IndexId {
        self.cache.write(Indexer::add_namespace_index)
    }
}

impl<D: Decode<Object: Keyed<Key: fmt::Debug>>, C: Cache<D::Object>, M: Mem> fmt::Debug for InformerIn<D, C, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Informer")
            .field("reflector", &self.reflector)
            .field("fifo", &self.fifo)
            .field("closing", &self.closing)
            .field("unread", &self.unread)
            .field("undecodable", &self.undecodable)
            .field("now", &self.now)
            .finish_non_exhaustive()
    }
}

/// An empty cache.
#[cfg(feature = "json")]
fn indexer<V: Keyed>(seed: Option<u64>) -> Indexer<V> {
    seed.map_or_else(Indexer::new, Indexer::with_seed)
}

#[cfg(test)]
#[cfg(feature = "json")]
mod tests;
