//! A controller that is being built: its name, its informers, its sources and its limits.

use super::context::Context;
use super::definitions::Definitions;
use super::error::{Reconciled, RunError};
use super::feed::{Feed, Mapped, Reads};
use super::handle::ControllerHandle;
use super::owners::OwnKind;
use super::report::Report;
use super::running::{Parts, Running};
use super::settings::Settings;
use super::source::{Keys, Mapper, Source};
use crate::election::Election;
use crate::informers::{InformerHandle, Informers};
use crate::saved::SaveTo;
use core::fmt;
use core::marker::PhantomData;
use core::time::Duration;
use listwatch_core::decode::{FromJson, ToJson};
use listwatch_core::object::{Kind, ObjectHandle};
use listwatch_core::queue::WhileDelayed;
use listwatch_core::{Key, Resource};
use std::sync::Arc;

/// A controller: a name, and the informers that it reads.
///
/// [`reconciles`](Self::reconciles) says for which objects. The [module](super) has an example.
pub struct Controller {
    name: String,
    informers: Informers,
    reads: Reads,
    definitions: Definitions,
}

impl Controller {
    /// A controller of this name, which reports and threads show. Its informers are those of a
    /// [`World`](crate::World), such as a cluster; or, with `&informers`, it shares them with others.
    pub fn new(name: &str, informers: impl Into<Informers>) -> Self {
        Self {
            name: name.to_owned(),
            informers: informers.into(),
            reads: Reads::default(),
            definitions: Definitions::default(),
        }
    }

    /// Applies a definition, by the name of this controller, before it lists anything; see
    /// [`Client::define`](crate::Client::define). It may be called for several. A recording has the objects without it.
    ///
    /// If a definition is wrong, refused, or does not serve its objects, [`run`](Reconciler::run) fails with
    /// [`RunError::Config`]. Each replica applies it, also one that does not lead.
    #[cfg(feature = "definitions")]
    #[cfg_attr(docsrs, doc(cfg(feature = "definitions")))]
    pub fn defines(mut self, definition: crate::definition::Definition) -> Self {
        self.definitions.all.push(definition);
        self
    }

    /// The informer of all objects of a kind. The controller starts when it has synced.
    pub fn informer<T: Kind + FromJson + Send + Sync + 'static>(&self) -> InformerHandle<T> {
        self.informer_where(|all| all)
    }

    /// The informer of some objects of a kind: `select` narrows the resource of all of them. The controller starts when
    /// it has synced.
    ///
    /// ```
    /// # #[derive(serde::Deserialize)]
    /// # struct Deployment {}
    /// # listwatch::kind!(Deployment, "apps/v1", "deployments");
    /// # fn start(controller: listwatch::controller::Controller) {
    /// let deployments = controller.informer_where::<Deployment>(|all| all.in_namespace("shop"));
    /// # }
    /// ```
    pub fn informer_where<T: Kind + FromJson + Send + Sync + 'static>(
        &self,
        select: impl FnOnce(Resource) -> Resource,
    ) -> InformerHandle<T> {
        self.read(self.informers.informer_where(select))
    }

    /// The informer of the objects of a kind in these namespaces, each with a list-and-watch of its own; see
    /// [`Informers::informer_in`]. The controller starts when each has synced.
    ///
    /// ```
    /// # #[derive(serde::Deserialize)]
    /// # struct Deployment {}
    /// # listwatch::kind!(Deployment, "apps/v1", "deployments");
    /// # fn start(controller: listwatch::controller::Controller) {
    /// let deployments = controller.informer_in::<Deployment>(["shop", "pay"]);
    /// # }
    /// ```
    pub fn informer_in<T: Kind + FromJson + Send + Sync + 'static>(
        &self,
        namespaces: impl IntoIterator<Item: Into<String>>,
    ) -> InformerHandle<T> {
        self.read(self.informers.informer_in(Resource::of::<T>(), namespaces))
    }

    /// The informer of a resource: `"apps/v1/deployments"`, or a [`Resource`] with a namespace or selectors. `T` is any
    /// type that serde can read, or [`Packed`](crate::decode::Packed). The controller starts when it has synced.
    ///
    /// A resource that is given by its name does not say its kind: [`with_kind`](InformerHandle::with_kind) does, and so
    /// do [`Resource::of`] and [`informer_where`](Self::informer_where).
    ///
    /// A name that is none of a resource is an error of the controller's [run](Reconciler::run).
    pub fn informer_of<T: FromJson + Send + Sync + 'static>(
        &self,
        resource: impl TryInto<Resource, Error: fmt::Display>,
    ) -> InformerHandle<T> {
        match resource.try_into() {
            Ok(resource) => self.read(self.informers.informer_of(resource)),
            Err(error) => {
                self.reads.on_mistake(error.to_string());
                // Nothing runs these informers, so no request is made.
                Informers::new(self.informers.world().clone()).informer_of(Resource::new("/"))
            }
        }
    }

    /// Starts the controller when this informer has synced, too. It may be of other [`Informers`], such as those of a
    /// second cluster: the controller runs them beside its own.
    pub fn reads<T: Send + Sync + 'static>(self, informer: &InformerHandle<T>) -> Self {
        self.reads.add(informer);
        self
    }

    /// The informer of `resource`, whose cache is saved to a file, and restored from it at the next start; see
    /// [`Informers::informer_saved_to`]. The controller starts with the restored state, before it has reached its server.
    pub fn informer_saved_to<T>(&self, resource: Resource, save: SaveTo) -> InformerHandle<T>
    where
        T: FromJson + ToJson + Send + Sync + 'static,
    {
        self.read(self.informers.informer_saved_to(resource, save))
    }

    fn read<T: Send + Sync + 'static>(&self, informer: InformerHandle<T>) -> InformerHandle<T> {
        self.reads.add(&informer);
        informer
    }

    /// The informers that the controller has, for others that share them.
    pub fn informers(&self) -> &Informers {
        &self.informers
    }

    /// Reconciles the objects of `kind`, the controller's own kind: each when it is listed or changes
    /// (controller-runtime `For`).
    pub fn reconciles<T: Send + Sync + 'static>(self, kind: impl Into<Source<T>>) -> Reconciler<T> {
        let own = kind.into();
        let own_kind = Arc::new(OwnKind::of(&own.handle, own.denied, own.is_namespaced));
        let settings = Settings::new(self.name);
        let own = Mapped::new(own, Mapper::Own(Arc::clone(&own_kind)));
        let (informers, feeds) = (self.informers, vec![Box::new(own) as Box<dyn Feed>]);
        let (reads, definitions) = (self.reads, self.definitions);
        let parts = Parts { informers, own: own_kind, feeds, reads, definitions };
        Reconciler { parts, settings, _own: PhantomData }
    }
}

/// A controller that is being built: where its keys come from, and how they are reconciled. `T` is the type of its own
/// kind.
///
/// Every setting has a default, so `controller.reconciles(&foos).run(reconcile)` is a complete controller.
#[must_use = "a controller does nothing until it runs"]
pub struct Reconciler<T> {
    parts: Parts,
    settings: Settings,
    _own: PhantomData<fn() -> T>,
}

/// Sources of keys.
impl<T: Send + Sync + 'static> Reconciler<T> {
    /// Reconciles the owner of each object of `kind` that is listed or changes (controller-runtime `Owns`). The
    /// owner reference with `controller: true` names it. It counts if its group and kind are those of the own kind, in
    /// any version.
    ///
    /// If a change takes an object from one owner to another, both are reconciled. An owner is in the namespace of the
    /// object, or in none if the own kind has [none](Source::namespaced). It is in the same [`World`](crate::World):
    /// for a kind of another cluster, use [`maps`](Self::maps).
    pub fn owns<U: Send + Sync + 'static>(self, kind: impl Into<Source<U>>) -> Self {
        let kind = kind.into();
        match self.parts.own.check_owns(&kind.handle) {
            Ok(()) => {
                let own = Arc::clone(&self.parts.own);
                self.follows(kind, Mapper::Owner(own))
            }
            Err(mistake) => {
                self.parts.reads.on_mistake(mistake);
                self
            }
        }
    }

    /// Calls `map` with each object of `kind` that is listed or changes, and reconciles the keys that it adds
    /// (controller-runtime `Watches`).
    ///
    /// An update calls it with the old and with the new state. `map` may capture other informers' handles to read their
    /// stores. If it panics, it has added no key; the panic is [reported](Report::MapperPanicked), and the stream goes
    /// on. All keys of the own kind are reconciled after a second, because the lost keys may be among them. If it
    /// panics again and again, they are reconciled once a minute at most. A key that the own kind does not have is lost.
    ///
    /// `map` must be quick. It runs on the streams' side, and sees every state. While it computes, this controller's
    /// other sources wait. After 1,024 changes the stream of `kind` waits too, for all its users.
    ///
    /// For long work, let `map` add keys, and do the work in their reconcile. Or let a task take the changes of a
    /// [subscriber](crate::InformerHandle::subscribe), and add keys to the controller's
    /// [handle](ControllerHandle::add).
    pub fn maps<U: Send + Sync + 'static>(
        self,
        kind: impl Into<Source<U>>,
        map: impl Fn(&ObjectHandle<U>, &mut Keys<'_>) + Send + 'static,
    ) -> Self {
        self.follows(kind.into(), Mapper::Program(Box::new(map)))
    }

    fn follows<U: Send + Sync + 'static>(mut self, source: Source<U>, mapper: Mapper<U>) -> Self {
        self.parts.feeds.push(Box::new(Mapped::new(source, mapper)));
        self
    }

    /// Reconciles the keys that are added to `handle`. It reaches this controller alone: no other one can have it.
    pub fn keys(mut self, handle: &ControllerHandle) -> Self {
        self.settings.handle = handle.clone();
        self
    }

    /// Reconciles all keys of the own kind after each `period`, with low priority. By default there is none.
    ///
    /// A change is never missed, so a controller of a cluster's state needs no period. One that also brings about
    /// something outside of the cluster may.
    #[doc(alias("resync", "SyncPeriod"))]
    pub fn every(mut self, period: Duration) -> Self {
        self.settings.every = Some(period);
        self
    }
}

/// Limits and delays.
impl<T: Send + Sync + 'static> Reconciler<T> {
    /// Reconciles up to so many keys at a time; one by default (controller-runtime `MaxConcurrentReconciles`). A key is
    /// never with two workers. A reconcile that blocks, rather than awaits, holds up all workers of its
    /// [thread](Self::threads), and by default they share one; [`Context::blocking`] holds up none.
    pub fn workers(mut self, workers: usize) -> Self {
        self.settings.workers = workers.max(1);
        self
    }

    /// Distributes the workers over so many threads; one by default.
    ///
    /// A reconcile that computes or blocks, as `std::fs` does, holds up the other workers of its thread, and no others,
    /// unless it does so in [`Context::blocking`]. With as many threads as [workers](Self::workers), it holds up none.
    /// Streams and mappers have a thread of their own: that of the caller. Under a simulated clock, everything runs on
    /// that thread.
    pub fn threads(mut self, threads: usize) -> Self {
        self.settings.threads = threads.max(1);
        self
    }

    /// Reconciles a key when it has not changed for the time `quiet`, or the time `longest` after its first change. By
    /// default a key is reconciled as soon as a worker is free.
    pub fn debounce(mut self, quiet: Duration, longest: Duration) -> Self {
        self.settings.debounce = Some((quiet, longest));
        self
    }

    /// Parks a key after `failures` failures in a row: it is reconciled again when it changes. By default a key is
    /// retried for ever, after 5 ms to 1000 s.
    ///
    /// Requests without an answer do not count, nor do refusals that pass by themselves, such as conflicts of versions, 429
    /// and 5xx; [`REFUSALS`](crate::api::REFUSALS) lists them. A 403 counts, although a server that has just started may
    /// deny everything for some seconds. While nothing changes, twelve failures in a row take ten seconds. So with twelve
    /// or more, no key is parked for that.
    pub fn park_after(mut self, failures: u32) -> Self {
        self.settings.park_after = Some(failures);
        self
    }

    /// What an event does to a key that backs off after a failure. By default the key is reconciled at once, and its
    /// failures stay counted.
    pub fn while_delayed(mut self, policy: WhileDelayed) -> Self {
        self.settings.while_delayed = policy;
        self
    }

    /// Drops a reconcile that takes longer, with its requests, and retries its key. By default there is no limit.
    #[doc(alias = "ReconciliationTimeout")]
    pub fn deadline(mut self, limit: Duration) -> Self {
        self.settings.deadline = Some(limit);
        self
    }

    /// Waits so long at most until the stores show a reconcile's [writes](Context::write); 30 s by default.
    pub fn await_writes(mut self, longest: Duration) -> Self {
        self.settings.await_writes = Some(longest);
        self
    }

    /// Gives the sources so long to sync; 2 minutes by default (controller-runtime `CacheSyncTimeout`).
    ///
    /// A resource that the server does not know yet (404) is waited for and reported once: its CRD may be installed
    /// beside the controller. Any other failure that no retry mends, such as a 403, ends the start at once.
    pub fn sync_within(mut self, limit: Duration) -> Self {
        self.settings.sync_within = limit;
        self
    }

    /// Compares each cache with a fresh list about once in each `period`: those of the sources, and those that the
    /// controller [reads](Controller::reads). One cache is audited after the other. Sources that a
    /// handle adds later are not audited. By default there is no audit.
    ///
    /// A cache that differs is [reported](Report::Audited). The [`audit`](crate::audit) module says what an audit sends, and
    /// which differences count. A period under ten seconds is ten seconds.
    #[doc(alias = "KUBE_WATCHLIST_INCONSISTENCY_DETECTOR")]
    pub fn audit_every(mut self, period: Duration) -> Self {
        self.settings.audit_every = Some(period);
        self
    }

    /// Gives running reconciles so long to finish when the controller ends; 25 s by default, of the 30 s that a pod has
    /// (controller-runtime `GracefulShutdownTimeout`).
    pub fn drain(mut self, grace: Duration) -> Self {
        self.settings.drain = grace;
        self
    }

    /// Reconciles only while this program holds a lease: of many replicas, one works at a time (controller-runtime
    /// `LeaderElection`). Each controller has a lease of its own.
    ///
    /// All replicas follow their sources. When these have synced, a replica is a candidate. Its workers begin when it
    /// first leads, with every key, and its caches are current then. In a later term, they go on with the keys that were
    /// dropped or have changed. The [`election`](crate::election) module lists the permissions that it needs.
    ///
    /// If the term is lost, the reconciles are dropped at once, with their requests, and the run ends with
    /// [`RunError::LeaderElectionLost`], as with controller-runtime; [`Election::when_lost`] lets the replica be a candidate
    /// again. From the end of a term on, the [context](Context::client) hands no write to its transport: it fails, and
    /// names the lease. A write that waits for a new connection, a plugin or its repetition after a 401 may leave later. A
    /// thread of its own renews the lease, so a reconcile that computes does not cost the term.
    ///
    /// When the controller ends, running reconciles are [drained](Self::drain), while the lease is renewed. Then it is
    /// released. A reconcile that still blocks its thread keeps the lease, which then expires.
    ///
    /// ```no_run
    /// use listwatch::controller::{Controller, Outcome, RunError};
    /// use listwatch::decode::MetadataOnly;
    /// use listwatch::election::Election;
    /// use listwatch::http::Cluster;
    ///
    /// fn main() -> Result<(), RunError> {
    ///     let controller = Controller::new("pods", Cluster::infer()?);
    ///     let pods = controller.informer_of::<MetadataOnly>("v1/pods");
    ///     controller.reconciles(&pods).lead_by(Election::new("pods")).run(async |_cx, key| {
    ///         println!("{key}");
    ///         Ok(Outcome::Done)
    ///     })
    /// }
    /// ```
    #[doc(alias("LeaderElection", "LeaderElectionID"))]
    pub fn lead_by(mut self, election: Election) -> Self {
        self.settings.election = Some(election);
        self
    }

    /// Divides the objects of the own kind among replicas: each reconciles its part, while it holds the shards of these
    /// objects. Children wake the replica that has their owner. The [module](crate::shards) says what is promised, and what
    /// is not.
    ///
    /// It starts, ends and loses its term as with [`lead_by`](Self::lead_by), by a lease of its own. A controller has shards
    /// or an election, not both.
    #[cfg(feature = "shards")]
    #[cfg_attr(docsrs, doc(cfg(feature = "shards")))]
    pub fn shards(mut self, sharding: crate::shards::Sharding) -> Self {
        self.settings.sharding = Some(sharding);
        self
    }

    /// Calls `on_report` with the controller's name and each [`Report`], instead of writing it to standard error.
    ///
    /// The streams and the workers call it, each on its thread, and wait until it returns.
    pub fn on_report(mut self, on_report: impl Fn(&str, &Report<'_>) + Send + Sync + 'static) -> Self {
        self.settings.on_report = Some(Box::new(on_report));
        self
    }
}

/// Running.
impl<T: Send + Sync + 'static> Reconciler<T> {
    /// Calls `reconcile` with each key, once the controller [runs](Running). Write it as `async |cx, key| { … }`, and
    /// return `Ok(…)` with an [`Outcome`](super::Outcome).
    ///
    /// A closure in the form of kube-rs, `|cx, key| async move { … }`, would move what it captures in its first call
    /// (E0507). It either clones its handles before the `async move`, or becomes `async |cx, key| { … }`, which borrows them.
    ///
    /// `reconcile` is called from several threads, but each of its futures stays on the thread that made it. So it may
    /// borrow what outlives the controller, and hold an `Rc` across an `await`.
    pub fn calls<'a>(self, reconcile: impl AsyncFn(Context, Key) -> Reconciled + Send + Sync + 'a) -> Running<'a> {
        Running::new(self.parts, self.settings, Arc::new(reconcile))
    }

    /// Reconciles until the process is asked to end: [`calls`](Self::calls), and [`Running::run`]. Write
    /// `async |cx, key| { … }`, and return `Ok(…)` with an [`Outcome`](super::Outcome).
    ///
    /// # Errors
    /// Those of [`Running::run`].
    pub fn run(self, reconcile: impl AsyncFn(Context, Key) -> Reconciled + Send + Sync) -> Result<(), RunError> {
        self.calls(reconcile).run()
    }
}

listwatch_core::summary!("Controller" for Controller, |it| { name: it.name });

listwatch_core::summary!(impl[T] "Reconciler" for Reconciler<T>, |it| { name: it.settings.name });
