//! The informer: reflector, queue and cache as one machine. Bytes go in, events come out.
//!
//! | what | file |
//! |---|---|
//! | how the parts work together; where an event is applied to the cache | `mod.rs` |
//! | what is configured | `config.rs` |
//! | what becomes of the parts of a response | `response.rs`; the list that is read: `list.rs` |
//! | what happens where fixed memory is full | `parts.rs` |
//! | up to which version the cache has every change | `progress.rs` |
//! | the start from a saved state | `restore.rs` |
//! | which objects are kept, if not all | `selection.rs` |
//! | what is told: events, the status, the first state | `event.rs`, `status.rs`, `synced.rs` |
//! | subscribers of a store, and what they are told | `subscriber.rs`, `subscription.rs` |
//! | the informer together with a transport | `driver.rs` |

mod config;
mod driver;
mod event;
#[cfg(feature = "fixed")]
mod fixed;
mod list;
mod parts;
mod progress;
mod response;
mod restore;
#[cfg(feature = "json")]
mod selection;
mod status;
#[cfg(feature = "json")]
mod subscriber;
#[cfg(feature = "json")]
mod subscription;
#[cfg(feature = "json")]
mod synced;

pub use config::InformerConfig;
pub use driver::{DriverIn, Pumped};
pub use event::EventOf;
#[cfg(feature = "fixed")]
pub use fixed::FixedInformer;
pub use restore::SavedAge;
pub use status::InformerStatus;
#[cfg(feature = "json")]
pub use {
    driver::Driver,
    event::Event,
    selection::Selection,
    subscriber::{Subscriber, SubscriberSynced},
    subscription::{Subscription, Told},
    synced::{NotSynced, SyncTracker, Synced},
};

#[cfg(feature = "std")]
pub use driver::SharedDriver;

use crate::cache::{AHEAD, Cache, Change, IndexId, Note, transition};
#[cfg(feature = "std")]
use crate::cache::{Store, StoreWriter};
use crate::decode::{Decode, DecodeErrorOf};
use crate::fifo::DeltaFifoIn;
use crate::reflector::{Action, Input, Phase, Reflector, Step};
use crate::request::{Request, RequestId, Resource};
use crate::storage::{Keyed, Mem};
use crate::time::Instant;
use crate::transport::Incoming;
#[cfg(feature = "json")]
use crate::{
    cache::Indexer,
    decode::{DecodeOptions, FromJson, Json},
    object::ObjectHandle,
    storage::Heap,
};
use config::Limits;
use core::fmt;
use core::task::{Context, Poll};
use list::List;
use parts::{Applied, Pending, Unfit};
use progress::Progress;
use response::Reading;

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
    reading: Reading,
    /// The decoder may have more parts. Input sets this, and the decoder's `None` clears it. Under back-pressure, and after
    /// a panic, it stays set.
    is_unread: bool,
    fifo: DeltaFifoIn<D::Object, M>,
    list: List<C::Mem>,
    /// What fixed memory had no room for. It is done once every queued delta was taken.
    pending: Option<Pending<D::Object>>,
    /// What the cache had no room for.
    unfit: Unfit,
    cache: C,
    /// For how many of the next deltas the cache has read its memory ahead.
    ahead: usize,
    progress: Progress<M>,
    /// The number of lists that were committed.
    lists: u32,
    limits: Limits,
    /// Back-pressure has applied. Once it ends, the deadlines for silence start again: the server was not read.
    was_full: bool,
    /// The cache lacks the last state of an object, which could not be decoded.
    has_gap: bool,
    undecodable: Option<DecodeErrorOf<KeyOf<D>>>,
    /// The next event. It is held while the decoder and wakers run, so that their panic does not lose it.
    taken: Option<EventOf<D::Object>>,
    told: Noted,
    /// How old the restored state was, and when.
    restored: Option<(SavedAge, Instant)>,
    now: Instant,
}

/// What the cache was told last.
#[derive(Default)]
struct Noted {
    /// It has the first state.
    is_synced: bool,
    /// Requests fail.
    is_failing: bool,
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

#[cfg(feature = "json")]
impl<T: FromJson> Informer<T> {
    /// An informer of `resource` with a cache for its owner alone, without a lock. It sends no request before
    /// [`start`](InformerIn::start).
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
    pub fn with_cache(resource: Resource, config: InformerConfig, cache: C) -> Self {
        Self::with_decoder(resource, config, Json::new(config.decode), cache)
    }
}

impl<D: Decode, C: Cache<D::Object>, M: Mem> InformerIn<D, C, M> {
    /// An informer of `resource` that decodes responses with `decoder` and keeps `cache` up to date. The memory `M` of
    /// its queue and that of its cache may differ: in fixed memory, a queue of 16 is enough for a cache of any capacity.
    pub fn with_decoder(resource: Resource, config: InformerConfig, decoder: D, cache: C) -> Self {
        Self {
            reflector: Reflector::new(resource, config.reflector),
            decoder,
            id: RequestId::default(),
            reading: Reading::Nothing,
            is_unread: false,
            fifo: DeltaFifoIn::with_seed(config.order, config.reflector.seed.unwrap_or_default()),
            list: List::default(),
            pending: None,
            unfit: Unfit::default(),
            cache,
            ahead: 0,
            progress: Progress::default(),
            lists: 0,
            limits: config.limits(),
            was_full: false,
            has_gap: false,
            undecodable: None,
            taken: None,
            told: Noted::default(),
            restored: None,
            now: Instant::ZERO,
        }
    }

    /// Seeds the jitter, and the hashes of queue and cache, if the configuration has no
    /// [seed](crate::reflector::ReflectorConfig::seed). A runtime calls this with a random seed before
    /// [`start`](Self::start); later calls have no effect. A cache that has a seed, or is not empty, keeps its hashes.
    pub fn seed_unless_chosen(&mut self, seed: u64) {
        if self.reflector.seed_unless_chosen(seed) && self.fifo.arrived() == 0 {
            self.fifo = DeltaFifoIn::with_seed(self.fifo.order(), seed);
            self.cache.seed_unless_chosen(seed);
        }
    }

    /// Starts to list and watch the resource (client-go `Run`).
    pub fn start(&mut self, now: Instant) {
        self.now = self.now.max(now);
        self.steer(Input::Start);
        self.cache.note(Note::Started);
        self.cache.wake();
    }

    /// Aborts the open request. [`poll_event`](Self::poll_event) still returns the queued events; the cache stays.
    pub fn stop(&mut self, now: Instant) {
        self.now = self.now.max(now);
        self.steer(Input::Stop);
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
    pub fn wants_input(&self) -> bool {
        let is_full = self.fifo.len() >= self.limits.deltas || self.fifo.bytes() >= self.limits.bytes;
        // If the staged list alone fills the queue, reading goes on: the list is queued in parts.
        let is_full = is_full || ((self.fifo.is_full() || self.pending.is_some()) && !self.fifo.is_empty());
        self.undecodable.is_none() && !self.reflector.has_failure() && !is_full
    }

    /// Handles the transport's input of `now`.
    pub fn handle(&mut self, now: Instant, incoming: Incoming) {
        self.now = self.now.max(now);
        self.listen();
        match incoming {
            Incoming::Head { id, head } => self.on_head(id, &head),
            Incoming::Data { id, len } => self.on_data(id, len),
            Incoming::End { id } => self.on_closed(id, Ok(())),
            Incoming::Failed { id, error } => self.on_closed(id, Err(error)),
            Incoming::Idle { .. } => {}
        }
        self.is_unread = true;
        self.advance();
    }

    /// Handles the passing of time. Call it when [`poll_timeout`](Self::poll_timeout) is due; early and late calls are
    /// allowed.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.now = self.now.max(now);
        self.listen();
        if self.has_work() {
            self.advance();
        }
        if self.poll_timeout().is_some_and(|due| due <= now) {
            self.steer(Input::Timeout);
        }
    }

    /// When [`handle_timeout`](Self::handle_timeout) is due. No deadline runs under back-pressure. After a panic of the
    /// decoder it is due at once, to decode the rest.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        if self.has_work() && self.wants_input() {
            return Some(self.now);
        }
        self.reflector.poll_timeout().filter(|_| self.wants_input() && !self.reading.has_ended())
    }

    /// The next action for the transport. Call it after each input, and after events were taken, until it returns
    /// `None`.
    #[must_use]
    pub fn poll_action(&mut self) -> Option<Action> {
        match self.reflector.poll_action()? {
            Action::Open(id, Request { resource, verb }) => {
                let resource = resource.without_managed_fields(!self.decoder.keeps_managed_fields());
                Some(Action::Open(id, Request { resource, verb }))
            }
            action => Some(action),
        }
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
            self.advance();
        }
    }

    /// Ready unless a change is queued that the cache has [no room](Cache::has_room) for. Then the cache wakes the task
    /// of `cx` when room returns. A [`Driver`] calls this.
    pub fn poll_room(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.fifo.is_empty() { Poll::Ready(()) } else { self.cache.poll_room(cx) }
    }

    /// The cache, for reading. Only the informer writes to it.
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
    pub fn has_synced(&self) -> bool {
        self.fifo.has_synced()
    }

    /// The resource.
    pub fn resource(&self) -> &Resource {
        self.reflector.resource()
    }

    /// Follows another collection of the same objects from the next request on, such as another version of their kind.
    ///
    /// It is for an informer whose request has failed, with a 404 for example: the next request is a list, and until then the
    /// cache keeps its objects. After a watch that ends well, the next one is of the new collection, and no list follows.
    pub fn set_resource(&mut self, resource: Resource) {
        self.reflector.set_resource(resource);
    }

    /// How many bytes a list may have ([`InformerConfig::max_list_bytes`]).
    pub fn max_list_bytes(&self) -> usize {
        self.limits.list_bytes
    }

    /// Reads the state again soon, by a list: an audit has found that the cache differs from the server in so many
    /// objects. The report is a [`Failure::Drifted`](crate::reflector::Failure::Drifted). Delays grow from call to call,
    /// until a watch has lived for two minutes.
    pub fn note_drift(&mut self, now: Instant, objects: usize) {
        self.now = self.now.max(now);
        self.steer(Input::Drifted { objects });
    }

    /// The phase of the reflector.
    pub fn phase(&self) -> Phase {
        self.reflector.phase()
    }

    /// The version up to which every change was received (client-go `LastSyncResourceVersion`). The cache lags by the
    /// queued changes.
    pub fn received_version(&self) -> Option<&str> {
        self.reflector.last_version()
    }

    /// How many times the whole state was read, by a list or a watch-list. Those that broke off do not count.
    pub fn lists(&self) -> u32 {
        self.lists
    }

    /// The number of queued deltas.
    pub fn queued(&self) -> usize {
        self.fifo.len()
    }

    /// Takes the next event that is not about an object. Returns whether there was one.
    fn take_notice(&mut self) -> bool {
        // An undecodable object applies back-pressure, so a failure is older than it.
        if let Some(failed) = self.reflector.poll_failure() {
            self.told.is_failing = true;
            self.cache.note(Note::Failed(&failed));
            self.taken = Some(EventOf::Failed(failed));
        } else if self.undecodable.is_none() && !self.told.is_synced && self.fifo.has_synced() {
            self.told.is_synced = true;
            self.cache.note(Note::Synced);
            self.taken = Some(EventOf::Synced);
        }
        self.taken.is_some()
    }

    /// Whether something is left to be decoded, or to be done once the queue is empty.
    fn has_work(&self) -> bool {
        self.is_unread || self.pending.is_some()
    }

    /// Takes the undecodable object or the next delta, and its event if it has one. Returns whether there was either,
    /// and room for it.
    fn take_next(&mut self) -> bool {
        if let Some(undecodable) = self.undecodable.take() {
            self.cache.note(Note::Undecodable(&undecodable));
            self.taken = Some(EventOf::Undecodable(undecodable));
        } else if self.cache.has_room()
            && let Some(applied) = self.apply()
            && let Some(popped) = self.fifo.pop()
        {
            let known = self.note_applied(&popped.delta, applied);
            let transition = known.and_then(|known| transition(popped.delta, popped.initial, known));
            self.taken = transition.map(EventOf::from);
            self.progress.apply(self.fifo.oldest());
            self.tell_unfit();
        } else {
            return false;
        }
        self.cache.wake();
        true
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
            let Self { cache, list, .. } = self;
            cache.read(|objects| list.places.insert_found(objects, delta.object().key()));
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

    /// Decodes what has arrived, and tells the cache what is new.
    fn advance(&mut self) {
        self.read_on();
        self.was_full |= !self.wants_input();
        if self.told.is_failing && self.reflector.outage().is_none() {
            self.told.is_failing = false;
            self.cache.note(Note::Recovered);
        }
        self.cache.wake();
    }

    /// Notes that a part was received and its deltas were queued.
    fn note_received(&mut self) {
        if self.pending.is_some() {
            // Not all of it was queued.
            return;
        }
        self.progress.receive(self.fifo.arrived(), self.reflector.version());
        if let Some(version) = self.progress.next(self.fifo.oldest()) {
            self.cache.note(Note::Applied(version));
        }
        self.progress.apply(self.fifo.oldest());
    }

    /// Restarts the deadlines for silence where back-pressure has ended: the server was not silent, it was not read.
    fn listen(&mut self) {
        if self.was_full && self.wants_input() {
            self.was_full = false;
            self.steer(Input::Listening);
        }
    }

    /// Passes an input to the reflector.
    fn steer(&mut self, input: Input<'_>) {
        let step = self.reflector.handle(self.now, input);
        self.follow(step);
    }

    /// Commits or discards the staged list, as the reflector says.
    fn follow(&mut self, step: Step) {
        self.was_full |= !self.wants_input();
        match step {
            Step::Commit => {
                self.has_gap = core::mem::take(&mut self.list.has_gap);
                self.restored = None;
                self.commit();
            }
            Step::Discard => self.discard(),
            Step::Nothing | Step::Stage | Step::Apply => {}
        }
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

summary!(
    impl[D: Decode<Object: Keyed<Key: fmt::Debug>>, C: Cache<D::Object>, M: Mem]
    "Informer" for InformerIn<D, C, M>, |it| {
        reflector: it.reflector,
        fifo: it.fifo,
        reading: it.reading,
        is_unread: it.is_unread,
        undecodable: it.undecodable,
        now: it.now,
    }
);

#[cfg(feature = "json")]
impl<T: FromJson, C: Cache<ObjectHandle<T>>, M: Mem> InformerIn<Json<T>, C, M> {
    /// The options that objects are decoded with.
    pub fn decode_options(&self) -> DecodeOptions {
        self.decoder.options()
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
