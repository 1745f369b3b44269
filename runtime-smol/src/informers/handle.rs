//! The handle of an informer, and its subscribers.

use super::audit::{AuditConfig, AuditSchedule, Audits, StreamAudit, Target};
use super::registry::{Registry, SharedState};
#[cfg(feature = "shards")]
use super::selection::Selection;
use super::stream_status::StreamStatus;
use super::wait::{HandleSynced, WaitError, WaitFailure, WhenDenied};
use crate::attended::{Attended, Unwitnessed};
use crate::budget::Budget;
use crate::client::Client;
use crate::clock::{Clock, Sleep};
use crate::names::{Collection, StreamName};
use core::any::Any;
use core::future::poll_fn;
use core::ops::Deref;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;
use futures_core::Stream;
use listwatch_core::api::Api;
use listwatch_core::cache::IndexId;
use listwatch_core::informer::{self, SubscriberSynced, Subscription, Told};
use listwatch_core::object::{ObjectHandle, Uid};
use listwatch_core::sync::StdLock;
use listwatch_core::{Event, Instant, Key, Resource, Store};
use std::sync::{Arc, Weak};

/// A share of an informer, and its cache. [`Informers::informer`](crate::Informers::informer) makes one.
///
/// Its reads return each object as [`Found`](super::Found), which knows its informer. It derefs to the [`Store`] for
/// all else, such as `keys` and `add_index`. `foos.store().get(…)` returns the object alone, which a
/// [`Context`](crate::controller::Context) cannot change.
///
/// A clone is another share of the same informer. The drop of the last one stops the watch and closes its connection.
/// Clones of the store keep the last state.
#[must_use = "the drop of an informer's last handle stops it"]
pub struct InformerHandle<T>(Arc<SharedState<T>>);

impl<T> InformerHandle<T> {
    pub(super) fn new(shared: Arc<SharedState<T>>) -> Self {
        Self(shared)
    }

    /// The resource, as it was asked for.
    pub fn resource(&self) -> &Resource {
        &self.0.resource
    }

    /// Says which kind the objects are of, such as `Foo`. [`Informers::informer`](crate::Informers::informer) and
    /// [`informer_where`](crate::Informers::informer_where) of a [`Kind`](listwatch_core::object::Kind) say it.
    ///
    /// Owner references name it, and so do the bodies of new objects. It is the same for all users of the informer: the
    /// kind that is said first counts.
    pub fn with_kind(self, kind: &str) -> Self {
        _ = self.0.kind.set(kind.into());
        self
    }

    /// The kind of the objects, such as `Foo`, if it is known.
    pub fn kind(&self) -> Option<&str> {
        self.0.kind.get().map(|kind| &**kind)
    }

    /// The kind of the objects, or else the path of their resource.
    pub(crate) fn title(&self) -> &str {
        self.kind().unwrap_or_else(|| self.0.resource.path())
    }

    /// Whether the objects have a namespace, if that is known.
    pub(crate) fn is_namespaced(&self) -> Option<bool> {
        self.0.is_namespaced.get().copied()
    }

    /// The group and version of the objects, such as `apps/v1`.
    pub fn api_version(&self) -> String {
        Collection::of(self.0.resource.path()).map_or_else(String::new, |collection| collection.api_version())
    }

    /// The requests for objects in the namespace of `key`, for [`Context::write`](crate::controller::Context::write)
    /// and [`Client::call`](crate::Client::call). `A` is the type of the answers.
    pub fn api_for<A>(&self, key: impl Into<Key>) -> Api<A> {
        Api::new(&self.0.resource.clone().in_namespace(key.into().namespace().unwrap_or_default()))
    }

    /// The cache, for code that takes a store. A clone of it does not keep the informer running.
    pub fn store(&self) -> &Store<T> {
        &self.0.store
    }

    /// Waits until the first state of every stream is in the cache (client-go `WaitForCacheSync`).
    ///
    /// The wait fails at a deadline ([`HandleSynced::within`]), if the last handle is dropped, or at once if a stream
    /// needs manual intervention. The error names each stream that has no state, with the server's message.
    pub fn synced(&self) -> HandleSynced {
        let registry = &self.0.registry;
        HandleSynced::new(&self.0.boards, Arc::clone(registry.tasks.runners()), registry.world.clock().clone())
    }

    /// The wait of a controller: the same, but a resource that the server does not know yet is waited for.
    pub(crate) fn synced_for_start(&self, denied: WhenDenied) -> HandleSynced {
        self.synced().for_start(denied)
    }

    /// Whether the stream of this name has a first state.
    pub(crate) fn has_synced_stream(&self, name: &StreamName) -> bool {
        self.0.boards.iter().any(|board| board.name() == name && board.has_synced())
    }

    /// Ready once a status of `since` or later says that the requests of the stream of this name do not fail.
    pub(crate) fn poll_recovered(&self, name: &StreamName, since: Instant, cx: &Context<'_>) -> Poll<()> {
        let board = self.0.boards.iter().find(|board| board.name() == name);
        board.map_or(Poll::Ready(()), |board| board.poll_recovered(since, cx))
    }

    /// Lets each stream keep the objects of some shards alone. False if another one selects, or if the cache is saved.
    #[cfg(feature = "shards")]
    pub(crate) fn keep_part(&self, selection: &Selection) -> bool {
        !self.0.is_saved() && self.0.boards.iter().all(|board| board.select(selection))
    }

    /// The number of the last selection whose objects the cache has.
    #[cfg(feature = "shards")]
    pub(crate) fn selected(&self) -> u64 {
        self.0.boards.iter().map(|board| board.selected()[1]).min().unwrap_or_default()
    }

    /// Whether the first state of every stream is in the cache (client-go `HasSynced`).
    pub fn has_synced(&self) -> bool {
        self.0.boards.iter().all(|board| board.has_synced())
    }

    /// Adds a consumer of the changes. It is told the objects of the cache first.
    ///
    /// ```
    /// use core::time::Duration;
    /// use listwatch::decode::Raw;
    /// use listwatch::informer::{EventOf, Subscription, Told};
    /// use listwatch::{Informers, Resource};
    ///
    /// async fn follow(informers: &Informers) -> Result<(), Box<dyn std::error::Error>> {
    ///     let pods = informers.informer_of::<Raw>(Resource::named("v1/pods")?);
    ///     let mut changes = pods.subscribe(Subscription::new().resync(Duration::from_secs(600)));
    ///     while let Some(told) = changes.next().await {
    ///         match told {
    ///             Told::Event(EventOf::Failed(report)) => eprintln!("{report}"), // the informer retries
    ///             Told::Event(event) => println!("{:?}", event.key()),
    ///             Told::Mark(_) | Told::MarksLost => {} // of states that were coalesced, if the subscription has marks
    ///         }
    ///     }
    ///     Ok(())
    /// }
    /// ```
    pub fn subscribe(&self, subscription: Subscription<ObjectHandle<T>>) -> Subscriber<T> {
        Subscriber::new(Arc::clone(&self.0), subscription)
    }

    /// Waits until `predicate` holds for the object under `key`, and returns the object: `None` where the predicate
    /// accepts that there is none. That is asked only after the first list.
    ///
    /// The predicate sees the newest state at each wake-up, and not every state.
    ///
    /// # Errors
    /// [`WaitError`]: `within` has passed, or no stream of this informer covers the namespace.
    pub async fn wait_for(
        &self,
        key: impl Into<Key>,
        predicate: impl FnMut(Option<&ObjectHandle<T>>) -> bool,
        within: Duration,
    ) -> Result<Option<ObjectHandle<T>>, WaitError> {
        let found = async { self.0.store.wait_for(key.into(), predicate).await.map_err(WaitFailure::NoState) };
        let late = async {
            self.0.registry.world.clock().sleep(within).await;
            Err(WaitFailure::Late(within))
        };
        let found = smol::future::or(found, late).await;
        let is_run = self.0.registry.tasks.runners().is_any();
        found.map_err(|failure| WaitError { failure, streams: self.streams(), is_run })
    }

    /// What each list-and-watch of this informer does now: one for each namespace, in the order of their names.
    pub fn streams(&self) -> Vec<StreamStatus> {
        self.0.boards.iter().map(|board| board.status()).collect()
    }
}

impl<T> InformerHandle<T> {
    /// Tells the kind of the objects, unless it is known.
    pub(super) fn set_kind(&self, kind: &str, is_namespaced: bool) {
        _ = self.0.kind.set(kind.into());
        _ = self.0.is_namespaced.set(is_namespaced);
    }

    /// The index of the objects by the uid of their controller.
    pub(super) fn controller_index(&self) -> IndexId {
        *self.0.by_controller.get_or_init(|| {
            self.store().add_index(|object: &ObjectHandle<T>, emit: &mut dyn FnMut(&str)| {
                let controller = object.meta().owner_references().find(|owner| owner.controller);
                if let Some(uid) = controller.and_then(|owner| owner.uid) {
                    emit(uid.encode(&mut [0; Uid::CANONICAL_LEN]));
                }
            })
        })
    }

    /// Whether both are of one world.
    pub(super) fn is_beside<O>(&self, other: &InformerHandle<O>) -> bool {
        self.0.registry.world.is_same(&other.0.registry.world)
    }

    /// The informers that this one is among.
    pub(super) fn registry(&self) -> &Arc<Registry> {
        &self.0.registry
    }
}

impl<T: Send + Sync + 'static> InformerHandle<T> {
    /// Compares the cache with a fresh list of each stream, one after the other, without disturbing it; see
    /// [`audit`](super::audit). If the future is dropped, its request is aborted, and nothing is noted.
    ///
    /// The future does not keep the informer running. It waits up to three minutes for a store that is behind.
    ///
    /// ```
    /// use listwatch::InformerHandle;
    ///
    /// /// Prints `pods: drift at version 2453: 1 missing of 120 objects: web/a missing (server 2440)`, if it is so.
    /// async fn print_drift<T: Send + Sync + 'static>(pods: &InformerHandle<T>) {
    ///     pods.audit().await.iter().filter(|audit| !audit.is_clean()).for_each(|audit| println!("{audit}"));
    /// }
    /// ```
    pub fn audit(&self) -> impl Future<Output = Vec<Arc<StreamAudit>>> + Send + use<T> {
        self.audit_with(AuditConfig::default())
    }

    /// The same within other limits.
    pub fn audit_with(&self, config: AuditConfig) -> impl Future<Output = Vec<Arc<StreamAudit>>> + Send + use<T> {
        audited(self.audit_targets(), config)
    }

    /// The same, compared with the lists of another API server of the same cluster: the watch cache of the informer's own
    /// may be what has lost an event.
    pub fn audit_against(
        &self,
        server: &Client,
        config: AuditConfig,
    ) -> impl Future<Output = Vec<Arc<StreamAudit>>> + Send + use<T> {
        audited(self.audit_targets().into_iter().map(|target| target.against(server)).collect(), config)
    }

    /// Compares the cache with a fresh list about once in each `period`, beginning at a random time of the first one
    /// ([`AuditSchedule`]). A period under ten seconds is ten seconds.
    ///
    /// ```
    /// use core::time::Duration;
    /// use listwatch::InformerHandle;
    ///
    /// async fn follow<T: Send + Sync + 'static>(pods: InformerHandle<T>) {
    ///     let mut audits = pods.audit_every(Duration::from_secs(3600));
    ///     while let Some(audit) = audits.next().await {
    ///         println!("{audit}");
    ///     }
    /// }
    /// ```
    pub fn audit_every(&self, period: Duration) -> Audits {
        let world = &self.0.registry.world;
        let seed = world.seed_of(self.0.resource.path()).unwrap_or_else(|| world.clock().random_seed());
        let schedule = AuditSchedule::new(period, seed);
        Audits::new(self.audit_targets(), world.clock().clone(), schedule, AuditConfig::default())
    }

    /// The streams, to be audited.
    pub(crate) fn audit_targets(&self) -> Vec<Target> {
        Target::all_of(&self.0.registry.world, &self.0.store, &self.0.boards)
    }

    /// Tells this informer from all others, without keeping it running.
    pub(crate) fn identity(&self) -> Weak<dyn Any + Send + Sync> {
        Arc::<SharedState<T>>::downgrade(&self.0)
    }
}

/// Audits one stream after the other.
fn audited(targets: Vec<Target>, config: AuditConfig) -> impl Future<Output = Vec<Arc<StreamAudit>>> + Send {
    let audit = async move {
        let mut audits = Vec::new();
        for target in &targets {
            audits.push(target.audit(config).await);
        }
        audits
    };
    Attended::new(Unwitnessed, || Box::pin(audit))
}

impl<T> Deref for InformerHandle<T> {
    type Target = Store<T>;

    fn deref(&self) -> &Store<T> {
        &self.0.store
    }
}

impl<T> Clone for InformerHandle<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

listwatch_core::summary!(impl[T] "InformerHandle" for InformerHandle<T>, |it| { resource: it.0.resource });

/// One of many consumers of an informer's changes, each at its own pace (client-go's registered handler).
/// [`InformerHandle::subscribe`](crate::InformerHandle::subscribe) returns it.
///
/// It is told the objects of the cache first, then each change after that. It is a user of the informer, as a handle is:
/// the drop of the last one stops the watch. After 64 items that were ready at once, it returns [`Poll::Pending`] and
/// wakes its task, so that other tasks run.
#[must_use = "the drop of a subscriber unsubscribes it"]
pub struct Subscriber<T> {
    /// Before the share, whose drop may stop the informer.
    subscriber: informer::Subscriber<ObjectHandle<T>, StdLock>,
    clock: Clock,
    sleep: Option<Sleep>,
    budget: Budget,
    _informer: Arc<SharedState<T>>,
}

impl<T> Subscriber<T> {
    pub(super) fn new(informer: Arc<SharedState<T>>, subscription: Subscription<ObjectHandle<T>>) -> Self {
        let clock = informer.registry.world.clock().clone();
        let subscriber = informer.store.subscribe(clock.now(), subscription);
        Self { subscriber, clock, sleep: None, budget: Budget::new(), _informer: informer }
    }

    /// The next item. It is the stream's `next`, without an extension trait to import. A stream that is shared does not
    /// end while it has a subscriber, so `None` does not come.
    ///
    /// No item is lost if the future is dropped before it is ready.
    pub async fn next(&mut self) -> Option<Told<Event<T>>> {
        poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }

    /// Whether the subscriber has been told every object of the first list (client-go `HasSynced` of a handler's
    /// registration).
    pub fn has_synced(&self) -> bool {
        self.subscriber.has_synced()
    }

    /// Waits until [`has_synced`](Self::has_synced), for a task other than the one that takes the items.
    pub fn synced(&self) -> SubscriberSynced<ObjectHandle<T>, StdLock> {
        self.subscriber.synced()
    }

    /// How many items wait at most.
    pub fn backlog(&self) -> usize {
        self.subscriber.backlog()
    }

    /// For how long the oldest item has waited; zero where none waits.
    pub fn lag(&self) -> Duration {
        self.subscriber.lag(self.clock.now())
    }
}

/// Nothing in it is pinned.
impl<T> Unpin for Subscriber<T> {}

impl<T> Stream for Subscriber<T> {
    type Item = Told<Event<T>>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Told<Event<T>>>> {
        let this = &mut *self;
        if this.budget.poll_spend(cx).is_pending() {
            return Poll::Pending;
        }
        loop {
            let told = this.subscriber.poll_next(this.clock.now(), cx);
            if told.is_ready() {
                return told;
            }
            this.budget.refill();
            // Resyncs alone are due at a moment.
            if this.clock.poll_at(&mut this.sleep, this.subscriber.poll_timeout(), cx).is_pending() {
                return Poll::Pending;
            }
        }
    }
}

listwatch_core::summary!(impl[T] "Subscriber" for Subscriber<T>, |it| { backlog: it.backlog() });
