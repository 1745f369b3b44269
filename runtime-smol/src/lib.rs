//! Informers, work queues and workers for Kubernetes controllers: the crate to depend on.
//!
//! A [`Controller`] has informers, a work queue and workers. They also serve alone: an [`Informer`] lists and watches
//! one resource, keeps its objects in a cache, and reports each change as an [`Event`]. A [`SharedWorkQueue`] takes the
//! keys of changed objects, and [`Workers`] reconcile one key after the other. `listwatch-core`, which this crate
//! re-exports, makes every decision; this crate reads the clock, sleeps and spawns.
//!
//! | question | answer | in client-go |
//! |---|---|---|
//! | How does a program follow a resource? | [`Informer`], connected by a [`Driver`] to a transport; [`Events`] is the stream | `SharedIndexInformer` |
//! | Which resource, and which objects of it? | [`Resource`]: name or path, namespace, label and field selectors | `ListWatch`, `ListOptions` |
//! | Which cluster, which credentials? | [`http::Cluster`]: kubeconfig, or the service account of the pod | `clientcmd`, `rest.Config` |
//! | Of which type are the objects? | any that serde can read; [`Raw`] for the text, [`Packed`] for the text compressed, [`MetadataOnly`] for none of it | typed, unstructured, metadata clients |
//! | When is the cache complete? | [`Events::synced`] | `WaitForCacheSync` |
//! | How are objects read? | from a [`Store`], by key, index, namespace or label selector ([`Informer::shared`]); only the informer writes | `Indexer`, listers |
//! | When is a key retried? | a [`RateLimiter`] of the [`WorkQueue`], by default [`ExponentialBackoff`] | `workqueue` |
//! | Which code calls the reconcile function? | [`Workers`]; the function returns an [`Outcome`] | `processNextWorkItem` |
//! | How do events, queue and workers become a controller? | by a [`Controller`]; [`controller`] has examples | `controller-runtime` |
//! | Which type is of which resource? | a [`Kind`] says it, in one line by [`kind!`]; any other type is given a [`Resource`] or its name | `Scheme` |
//! | What does a reconcile read? | an [`InformerHandle`]; its objects are [`Found`], which know their informer | `Lister` |
//! | How does a reconcile create, change, apply or delete an object? | by its [`Context`]; what it cannot do is an [`ActError`] | `kubernetes.Interface`, `client.Client` |
//! | How are dependents watched? | by [`Reconciler::owns`] and [`Reconciler::maps`] | `Owns` of controller-runtime |
//! | How do several users share one watch and one cache? | by [`Informers`]; each has an [`InformerHandle`], and is told changes by a subscriber | `SharedInformerFactory` |
//! | Is there a resync period? | of a subscriber: [`Subscription::resync`]; a reconcile returns [`Outcome::RequeueAfter`] | `resyncPeriod` |
//! | Where are transform and metrics? | the type `T` keeps what it names; `metrics::Metrics` of the feature `metrics`, [`WorkQueue::with_metrics`] | `SetTransform`, `MetricsProvider` |
//! | How does a controller shut down? | [`ControllerHandle::stop`]; of a queue with [`Workers`], [`SharedWorkQueue::shut_down_with_drain`] | `ShutDownWithDrain` |
//! | How does a controller hear of SIGTERM? | [`Running::run`] listens for it; elsewhere [`Termination`] does | `SetupSignalHandler` |
//! | Does a cache have what the server has? | [`InformerHandle::audit`], and [`Reconciler::audit_every`]; [`audit`] | a switch that panics |
//! | Which reaction follows a 410, a 429, a denial? | [`Event::Failed`]; [`RETRY_POLICY`] for each [`FailureClass`], delays in [`ReflectorConfig`] | the reflector's back-off |
//! | In which state is the informer? | [`InformerStatus`], by [`Informer::status`] | – |
//! | How does a program without a controller create or change an object? | [`Client`] sends the calls of an [`Api`] | `kubernetes.Interface`, `dynamic` |
//! | How does a controller tell operators what it did? | by [`Context::event`](controller::Context::event); [`recorder`] for other programs | `record.EventRecorder` |
//! | Which reconcile made a write? | the `Audit-ID` of the server's audit log begins with [`Context::id`](controller::Context::id), which is in the span of the feature `tracing` | – |
//! | How is a controller tested without a cluster? | by a [`World`] of a `testing::SimulatedCluster` or a [`file::Playback`], or of [parts](World::from_parts) | fake clientset |
//! | When does such a test end? | with the recording, after [`World::lasting`], or with the future of [`World::until`] | the test's context |
//! | How is a session with a cluster recorded? | by `World::recorded_to`, with the controller's requests; [`file::Recorder`] in front of one transport | – |
//! | How is an incident replayed? | [`World::recorded_to`]; the same program with a world of that [`file::Playback`] | – |
//! | How does an agent know its last state before it reaches its server? | [`saved`]: the cache is saved, and restored at the start | – |
//! | How is a recording read as states and changes? | [`file::History`] | – |
//!
//! [`coming_from`] has all names of client-go, controller-runtime and kube-rs, beside those of this crate. The [`guide`]
//! says how to deploy and operate a controller, and what the command `listwatch` does.
//!
//! # A controller
//!
//! It keeps the label `team` on each Namespace. `World` is a cluster here, and a recording or parts in a
//! [test](controller#how-to-test-a-controller):
//!
//! ```no_run
//! use listwatch::controller::{Outcome, RunError};
//! use listwatch::http::Cluster;
//! use listwatch::{Controller, World, kind};
//! use serde::{Deserialize, Serialize};
//! use std::collections::BTreeMap;
//!
//! // The fields that the program reads or writes. A change leaves all others as they are.
//! #[derive(Clone, Deserialize, Serialize)]
//! struct Namespace {
//!     metadata: Labels,
//! }
//!
//! #[derive(Clone, Deserialize, Serialize)]
//! struct Labels {
//!     #[serde(default)]
//!     labels: BTreeMap<String, String>,
//! }
//!
//! kind!(cluster Namespace, "v1", "namespaces");
//!
//! fn label(world: impl Into<World>, team: &str) -> Result<(), RunError> {
//!     let controller = Controller::new("label", world);
//!     let namespaces = controller.informer::<Namespace>();
//!     controller.reconciles(&namespaces).run(async |cx, key| {
//!         let Some(namespace) = namespaces.get(&key) else { return Ok(Outcome::Done) };
//!         cx.change(&namespace, |it| _ = it.metadata.labels.insert("team".into(), team.into())).await?;
//!         Ok(Outcome::Done)
//!     })
//! }
//!
//! fn main() -> Result<(), RunError> {
//!     label(Cluster::infer()?, "blue") // $KUBECONFIG, ~/.kube/config, or the service account of the pod
//! }
//! ```
//!
//! # An informer alone
//!
//! It prints the key of every pod that a cluster has, and of every change, and when all pods are known:
//!
//! ```no_run
//! use listwatch::http::Cluster;
//! use listwatch::decode::Raw;
//! use listwatch::{Clock, Driver, Event, Events, Executor, Informer, InformerConfig, Resource, run};
//! use std::time::Duration;
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let cluster = Cluster::infer()?; // $KUBECONFIG, ~/.kube/config, or the service account of the pod
//!     let pods = Informer::<Raw>::new(Resource::named("v1/pods")?, InformerConfig::default());
//!     let clock = Clock::real();
//!     let mut events = Events::start(Driver::new(pods, cluster.transport()?), clock.clone());
//!     let (synced, executor) = (events.synced().within(Duration::from_secs(30)), Executor::new());
//!     let synced = async move {
//!         match synced.await {
//!             Ok(()) => println!("synced"),
//!             Err(error) => eprintln!("{error}"), // at once: not synced: failing: forbidden (status 403), …
//!         }
//!     };
//!     executor.spawn(synced).detach();
//!     run(&clock, &executor, async {
//!         while let Some(event) = events.next().await {
//!             match &event {
//!                 Event::Failed(report) => eprintln!("{report}"), // the informer retries
//!                 Event::Undecodable(object) => eprintln!("{object}"),
//!                 _ => event.key().into_iter().for_each(|key| println!("{key}")),
//!             }
//!         }
//!     });
//!     Ok(())
//! }
//! ```
//!
//! # A recording in place of a cluster
//!
//! The recording plays under a simulated clock: two rollouts take milliseconds, and each run is the same. The program
//! counts the pods that were scheduled in it:
//!
//! ```
//! use listwatch::file::Playback;
//! use listwatch::{Clock, Driver, Event, Events, Executor, Informer, InformerConfig, run};
//!
//! // Any type that serde can read. The metadata is decoded beside it.
//! #[derive(serde::Deserialize)]
//! struct Pod {
//!     spec: Spec,
//! }
//!
//! #[derive(serde::Deserialize)]
//! #[serde(rename_all = "camelCase")]
//! struct Spec {
//!     node_name: Option<String>,
//! }
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let capture = Playback::from_file("../tests/data/captures/pods-rollout.jsonl.gz")?;
//!     let pods = capture.resource().ok_or("the capture does not say what was listed")?.clone();
//!     let (informer, clock) = (Informer::<Pod>::new(pods, InformerConfig::default()), Clock::simulated());
//!     let events = Events::start(Driver::new(informer, capture), clock.clone());
//!     let mut events = events.until(|driver| driver.transport().is_complete());
//!     let scheduled = run(&clock, &Executor::new(), async move {
//!         let mut scheduled = 0;
//!         while let Some(event) = events.next().await {
//!             if let Event::Updated { old, new } = event {
//!                 scheduled += usize::from(old.spec.node_name.is_none() && new.spec.node_name.is_some());
//!             }
//!         }
//!         scheduled
//!     });
//!     assert_eq!(scheduled, 125);
//!     Ok(())
//! }
//! ```
//!
//! # A queue and its workers
//!
//! Events and reconciles meet in a queue of the program's own:
//!
//! ```
//! use listwatch::file::Playback;
//! use listwatch::decode::MetadataOnly;
//! use listwatch::{Clock, Driver, Events, Executor, Informer, InformerConfig, Key, Outcome};
//! use listwatch::{SharedWorkQueue, Workers, run};
//! use std::sync::Arc;
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let recording = Playback::from_file("../tests/data/captures/pods-rollout.jsonl.gz")?;
//!     let pods = recording.resource().ok_or("the recording has no list")?.clone();
//!     let informer = Informer::<MetadataOnly>::new(pods, InformerConfig::default());
//!     let (clock, executor) = (Clock::simulated(), Executor::new());
//!     let events = Events::start(Driver::new(informer, recording), clock.clone());
//!     let mut events = events.until(|driver| driver.transport().is_complete());
//!
//!     let queue = Arc::new(SharedWorkQueue::<Key>::default());
//!     let workers = Workers::spawn(&executor, &queue, &clock, 2, |key: Key| async move {
//!         println!("reconciling {key}");
//!         Outcome::Done
//!     });
//!     run(&clock, &executor, async {
//!         while let Some(event) = events.next().await {
//!             event.key().into_iter().for_each(|key| queue.add(key.clone()));
//!         }
//!         queue.shut_down();
//!         workers.join().await;
//!     });
//!     assert_eq!(events.driver().informer().cache().len(), 45);
//!     assert!(queue.is_drained());
//!     Ok(())
//! }
//! ```
//!
//! # Executors
//!
//! [`run()`] and [`Workers::spawn`] use the [`Executor`] of smol. Everything else is a plain future: [`Events::next`],
//! [`Synced`], [`Workers::run`], [`Client::call`], [`Clock::sleep`]. It is `Send` if its parts are, and any executor
//! runs it. The timers and the sockets of watches are async-io's, which have a thread of their own. Under tokio:
//!
//! ```
//! # use listwatch::{Clock, Key, Outcome, SharedWorkQueue, Workers};
//! # use std::sync::Arc;
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let queue = Arc::new(SharedWorkQueue::<Key>::default());
//! let tokio = tokio::runtime::Runtime::new()?;
//! let workers = tokio.spawn(Workers::run(&queue, &Clock::real(), 2, |key: Key| async move {
//!     println!("reconciling {key}");
//!     Outcome::Done
//! }));
//! queue.add(Key::new(Some("web"), "web-1"));
//! queue.shut_down();
//! let unfinished = tokio.block_on(workers)?;
//! assert!(unfinished.is_empty());
//! # Ok(())
//! # }
//! ```
//!
//! Simulated time is the exception: it passes under [`run()`] alone.
//!
//! # Features
//!
//! | feature | adds |
//! |---|---|
//! | `http` (default) | [`http`]: clusters, lists, watches and calls over HTTP and TLS |
//! | `file` (default) | [`mod@file`]: recording any transport, and playing recordings |
//! | `lz4` | `Lz4`, a codec of [`Packed`] objects, which a cache keeps compressed |
//! | `metrics` | `metrics`: controllers and informers as OpenMetrics text, and a dashboard |
//! | `endpoint` | `endpoint`: metrics, probes and a status page over HTTP; with `metrics` |
//! | `fleet` | `controller::Fleet`: a controller for each of many clusters, or namespaces, that come and go |
//! | `definitions` | `listwatch::definition`: CustomResourceDefinitions of types, applied and awaited |
//! | `tracing` | [`traced`]: spans of reconciles, and events of informers, reports and elections, for the crate `tracing` |
//! | `k8s-openapi` | the types of k8s-openapi 0.29 are [kinds](object::Kind); the program chooses the version of these |
//! | `testing` | `testing`: a simulated cluster, for the dev-dependencies of a program |
//! | `testing-cel` | the rules in CEL of CustomResourceDefinitions, in the simulated cluster; with `testing` |
//! | `fixed` | the names of `core` for memory of a fixed capacity |
//!
//! [`ActError`]: controller::ActError
//! [`Api`]: api::Api
//! [`Context`]: controller::Context
//! [`ControllerHandle::stop`]: controller::ControllerHandle::stop
//! [`ApiFn`]: api::ApiFn
//! [`ExponentialBackoff`]: queue::ExponentialBackoff
//! [`FailureClass`]: reflector::FailureClass
//! [`InformerStatus`]: informer::InformerStatus
//! [`MetadataOnly`]: decode::MetadataOnly
//! [`RateLimiter`]: queue::RateLimiter
//! [`Packed`]: decode::Packed
//! [`Raw`]: decode::Raw
//! [`Reconciler::audit_every`]: controller::Reconciler::audit_every
//! [`Reconciler::maps`]: controller::Reconciler::maps
//! [`Reconciler::owns`]: controller::Reconciler::owns
//! [`ReflectorConfig`]: reflector::ReflectorConfig
//! [`RETRY_POLICY`]: reflector::RETRY_POLICY
//! [`Running::run`]: controller::Running::run
//! [`Subscription::resync`]: informer::Subscription::resync
//! [`Synced`]: events::Synced
//! [`Termination`]: controller::Termination
#![cfg_attr(docsrs, feature(doc_cfg))]

mod attended;
mod budget;
mod calls;
mod caught;
mod host;
mod mutex;
mod names;
#[cfg(feature = "file")]
mod replay;
mod run;
mod stable_hash;
mod stderr;
mod task_group;
mod waiting;
mod witness;

mod client;
pub mod clock;
pub mod coming_from;
pub mod controller;
#[cfg(feature = "definitions")]
#[cfg_attr(docsrs, doc(cfg(feature = "definitions")))]
pub mod definition;
pub mod election;
#[cfg(feature = "endpoint")]
pub mod endpoint;
pub mod events;
pub mod guide;
pub mod informers;
#[cfg(feature = "metrics")]
pub mod metrics;
pub mod prelude;
#[cfg(feature = "http")]
pub mod reactor;
pub mod recorder;
pub mod saved;
#[cfg(feature = "served")]
#[doc(hidden)]
pub mod served;
#[cfg(feature = "shards")]
#[cfg_attr(docsrs, doc(cfg(feature = "shards")))]
pub mod shards;
pub mod traced;
pub mod workers;

pub use async_executor::Executor;
pub use client::Client;
pub use clock::Clock;
pub use controller::{Controller, RunError};
pub use events::Events;
#[cfg(feature = "file")]
pub use informers::DumpError;
#[doc(inline)]
pub use informers::audit;
pub use informers::{Found, InformerHandle, Informers, World};
pub use run::run;
pub use workers::Workers;

#[doc(no_inline)]
pub use listwatch_core::kind;
#[doc(no_inline)]
pub use listwatch_core::object::Kind;
#[doc(no_inline)]
pub use listwatch_core::queue::{Outcome, WorkQueue};
#[doc(no_inline)]
pub use listwatch_core::{Driver, Event, Informer, InformerConfig, Key, Resource, Store};

/// The queue of keys between an informer and its [`Workers`], behind the standard library's lock (client-go
/// `workqueue`). For another lock, use [`sync::SharedWorkQueue`].
///
/// ```
/// use listwatch::{Key, SharedWorkQueue, WorkQueue};
///
/// let queue = SharedWorkQueue::<Key>::default();
/// queue.add(Key::from("web/web-1"));
/// let queue = SharedWorkQueue::new(WorkQueue::<Key>::default().with_max_retries(5).with_metrics());
/// queue.add(Key::from("web/web-1"));
/// ```
#[doc(alias = "workqueue")]
pub type SharedWorkQueue<K, L = queue::ExponentialBackoff, D = queue::Fifo> =
    sync::SharedWorkQueue<K, sync::StdLock, L, D>;

#[cfg(feature = "fixed")]
pub use listwatch_core::projection;
pub use listwatch_core::{
    api, cache, change, decode, fifo, framing, informer, object, queue, reflector, request, storage, sync, text, time,
    transport,
};
#[cfg(feature = "testing")]
pub use listwatch_simulated_cluster as testing;
#[cfg(feature = "file")]
pub use listwatch_transport_file as file;
#[cfg(feature = "http")]
pub use listwatch_transport_http as http;
