//! Controllers: shared informers as sources of keys, and a function that reconciles one key after the other.
//!
//! This one keeps a ConfigMap for each Page. It borrows the informers' handles, which read caches:
//!
//! ```no_run
//! use listwatch::controller::{Controller, Outcome, RunError};
//! use listwatch::http::Cluster;
//! use listwatch::{World, kind};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Clone, Deserialize, Serialize)]
//! struct Page {
//!     spec: PageSpec,
//! }
//!
//! #[derive(Clone, Deserialize, Serialize)]
//! struct PageSpec {
//!     text: String,
//! }
//!
//! #[derive(Clone, Deserialize, Serialize)]
//! struct ConfigMap {
//!     data: Option<Data>,
//! }
//!
//! #[derive(Clone, Deserialize, Serialize)]
//! struct Data {
//!     page: Option<String>,
//! }
//!
//! kind!(Page, "example.com/v1", "pages");
//! kind!(ConfigMap, "v1", "configmaps");
//!
//! fn publish(world: impl Into<World>) -> Result<(), RunError> {
//!     let controller = Controller::new("publish", world);
//!     let pages = controller.informer::<Page>();
//!     let maps = controller.informer::<ConfigMap>();
//!     controller.reconciles(&pages).owns(&maps).workers(4).run(async |cx, key| {
//!         let Some(page) = pages.get(&key) else { return Ok(Outcome::Done) };
//!         let map = ConfigMap { data: Some(Data { page: Some(page.spec.text.clone()) }) };
//!         cx.ensure(&maps, &key, &map).owned_by(&page).await?;
//!         Ok(Outcome::Done)
//!     })
//! }
//!
//! fn main() -> Result<(), RunError> {
//!     publish(Cluster::infer()?) // until SIGTERM or Ctrl-C
//! }
//! ```
//!
//! For some objects of a kind, [`Controller::informer_where`] takes a namespace and selectors. [`kind!`](crate::kind)
//! is a convenience: [`Controller::informer_of`] takes any type, with the name of its resource.
//!
//! # What acts
//!
//! | a reconcile calls | the server is sent |
//! |---|---|
//! | [`create`](Context::create), `.owned_by(&owner)` | the object, with kind, name and namespace filled in, and an owner reference; with `.generate_name()`, the server completes the name |
//! | [`change`](Context::change) | a merge patch of what differs, with the version; nothing, if nothing differs. After a conflict, the change is made again |
//! | [`change_status`](Context::change_status) | the same to the subresource `status` |
//! | [`patch`](Context::patch), [`patch_status`](Context::patch_status) | the patch as it is given |
//! | [`ensure`](Context::ensure), `.owned_by(&owner)` | a creation, or a merge patch of what differs. An object that is not the owner's is an error |
//! | [`apply`](Context::apply), `.owned_by(&owner)`, `.force()` | the wanted fields as a server-side apply, under the controller's name |
//! | [`delete`](Context::delete), `.if_unchanged()` | a deletion of this uid, and of this version |
//! | [`prune`](Context::prune) | the deletions of what the owner controls and does not keep |
//! | [`adopt`](Context::adopt) | an owner reference for an object without a controller, after a live read of the owner |
//! | [`finalizer`](Context::finalizer) | the finalizer; at the deletion its removal, after the clean-up |
//! | [`write`](Context::write) | any call of an [`Api`](crate::api::Api): replacements, scales, calls of subresources |
//! | [`all`](Context::all) | several of these at once |
//! | [`call`](Context::call), [`live`](Context::live) | a request for whose effect the key does not wait; reads past the cache |
//! | [`warn`](Context::warn) | nothing: a report of the controller |
//! | [`condition`](Context::condition) | nothing: a condition that `change_status` sets in a status |
//!
//! Each object goes to the cluster of its informer. After each of these, down to `all`, the key waits until the
//! informer's store shows the change. [`Context`] lists the rights that they need.
//!
//! # How to test a controller
//!
//! A controller's function takes any world, and a test calls the function that `main` calls. With the feature `testing`,
//! `World::from(SimulatedCluster::new())` is a world whose objects the test creates and reads; the README has such a
//! test. A world can also be made of parts. Here a recording brings the objects, a function answers the writes, and the
//! world ends after a simulated second:
//!
//! ```
//! # use listwatch::controller::{Controller, Outcome, RunError};
//! # use listwatch::decode::MetadataOnly;
//! use listwatch::api::{ApiFn, ApiRequest, ApiResponse};
//! use listwatch::file::Playback;
//! use listwatch::{Client, Clock, World};
//! use std::sync::mpsc;
//! use std::time::Duration;
//! # fn publish(world: impl Into<World>) -> Result<(), RunError> {
//! #     let controller = Controller::new("publish", world);
//! #     let pods = controller.informer_of::<MetadataOnly>("v1/pods");
//! #     let body = serde_json::json!({});
//! #     controller.reconciles(&pods).run(async |cx, key| {
//! #         cx.create(&pods, &key, &body).await?;
//! #         Ok(Outcome::Done)
//! #     })
//! # }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let recording = Playback::from_file("../tests/data/captures/pods-rollout.jsonl.gz")?;
//! let (clock, (sent, received)) = (Clock::simulated(), mpsc::channel());
//! let server = ApiFn::new(move |request: &ApiRequest| {
//!     sent.send((request.method, request.path.clone())).expect("the test receives");
//!     Ok(ApiResponse::new(201, request.body.clone())) // the object as it was posted
//! });
//! let client = Client::new(server, clock.clone());
//! let world = World::from_parts(clock.clone(), client, move |_resource| Box::new(recording.transport()));
//! publish(world.until(async move { clock.sleep(Duration::from_secs(1)).await }))?;
//! assert!(received.try_iter().any(|(_, path)| path.ends_with("/pods")));
//! # Ok(())
//! # }
//! ```
//!
//! - [`World::until`](crate::World::until) takes any future, such as a scenario that changes objects and waits for
//!   what the controller makes of them. The controller drains at its end.
//! - A [`Playback`](crate::file::Playback) is a world by itself, which ends by itself. Its recorded exchanges answer
//!   the writes, too.
//! - Under [`Clock::simulated`](crate::Clock::simulated) no wait takes time, and each run is the same: back-off,
//!   debouncing and deadlines can be tested.
//! - [`Reconciler::on_report`] hears what else goes to standard error: warnings, failures, panics.
//!
//! # Several controllers
//!
//! Controllers over the same [`Informers`](crate::Informers) share watches and caches. [`run_all`] runs them until the
//! process is asked to end:
//!
//! ```no_run
//! use listwatch::Informers;
//! use listwatch::controller::{Controller, Outcome, run_all};
//! use listwatch::decode::MetadataOnly;
//! use listwatch::http::Cluster;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let informers = Informers::new(Cluster::infer()?);
//! let labels = Controller::new("labels", &informers);
//! let pods = labels.informer_of::<MetadataOnly>("v1/pods");
//! let labels = labels.reconciles(&pods).calls(async |_cx, _key| Ok(Outcome::Done));
//! let quotas = Controller::new("quotas", &informers);
//! let same = quotas.informer_of::<MetadataOnly>("v1/pods"); // one watch, one cache
//! let quotas = quotas.reconciles(&same).calls(async |_cx, _key| Ok(Outcome::Done));
//! run_all([labels, quotas])?;
//! # Ok(())
//! # }
//! ```
//!
//! # Two clusters
//!
//! A source may be of other informers. The controller runs both, and writes each object to the cluster of its informer.
//! This one copies the ConfigMaps that have a label. Its copies have a mark: it changes and deletes no other ones.
//!
//! ```no_run
//! use listwatch::controller::{Controller, Outcome, RunError};
//! use listwatch::http::ClusterOptions;
//! use listwatch::{Informers, World, kind};
//! use serde::{Deserialize, Serialize};
//! use serde_json::json;
//! use std::collections::BTreeMap;
//!
//! #[derive(Clone, Deserialize, Serialize)]
//! struct ConfigMap {
//!     data: Option<BTreeMap<String, String>>,
//! }
//! kind!(ConfigMap, "v1", "configmaps");
//!
//! fn mirror(from: impl Into<World>, to: impl Into<World>) -> Result<(), RunError> {
//!     let controller = Controller::new("mirror", from);
//!     let originals = controller.informer_where::<ConfigMap>(|all| all.with_label_selector("mirror=yes"));
//!     let remote = Informers::new(to);
//!     let copies = remote.informer_where::<ConfigMap>(|all| all.with_label_selector("example.com/copy=yes"));
//!     controller.reconciles(&originals).maps(&copies, |copy, keys| keys.add(copy.key().clone())).run(async |cx, key| {
//!         match (originals.get(&key), copies.get(&key)) {
//!             (Some(original), Some(copy)) => {
//!                 cx.change(&copy, |copy| copy.data = original.data.clone()).await?;
//!             }
//!             (Some(original), None) => {
//!                 let marked = json!({ "labels": { "example.com/copy": "yes" } });
//!                 let copy = json!({ "metadata": marked, "data": original.data });
//!                 match cx.create(&copies, &key, &copy).await { // in the other cluster
//!                     Err(error) if error.is_already_exists() => {
//!                         cx.warn(&original, "NameTaken", "the other cluster has a ConfigMap of this name");
//!                         return Ok(Outcome::Retry);
//!                     }
//!                     created => drop(created?),
//!                 }
//!             }
//!             (None, Some(copy)) => cx.delete(&copy).if_unchanged().await?, // which still has the mark
//!             (None, None) => {}
//!         }
//!         Ok(Outcome::Done)
//!     })
//! }
//!
//! fn main() -> Result<(), RunError> {
//!     let of = |context| ClusterOptions::new().context(context).infer();
//!     mirror(of("production")?, of("standby")?)
//! }
//! ```
//!
//! An informer that is no source, but is read, is named by [`Controller::reads`], before `reconciles`. All worlds of a
//! controller have one clock: real ones do, and simulated ones are made with clones of one.
//!
//! # Inside of tokio
//!
//! [`Running::future`] is a task for any executor. Reconciles still run on threads of the controller; what needs tokio's
//! runtime is spawned on it and awaited. `examples/inside-tokio.rs` is a whole program.
//!
//! ```no_run
//! use listwatch::controller::{Controller, Outcome, Termination};
//! use listwatch::decode::MetadataOnly;
//! use listwatch::http::Cluster;
//!
//! #[tokio::main]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let controller = Controller::new("pods", Cluster::infer()?);
//!     let pods = controller.informer_of::<MetadataOnly>("v1/pods");
//!     let tokio = tokio::runtime::Handle::current();
//!     let running = controller.reconciles(&pods).calls(async move |_cx, key| {
//!         tokio.spawn(async move { println!("{key}") }).await?; // such as a client of a database
//!         Ok(Outcome::Done)
//!     });
//!     let (handle, termination) = (running.handle(), Termination::new()?);
//!     tokio::spawn(async move {
//!         termination.await;
//!         handle.stop(); // running reconciles finish
//!     });
//!     Ok(running.future().await?)
//! }
//! ```
//!
//! # What a controller promises
//!
//! - Each key is reconciled after its last change, and is never with two workers.
//! - No change is missed: an update is mapped from its old and its new state. Where changes of the own kind or of an
//!   owned kind are coalesced, the states between them are mapped too.
//! - A controller that is behind holds up no stream that others share, unless it has a [mapper](Reconciler::maps) of
//!   its own for it.
//! - It starts when all its sources have synced, and reports that. It waits for a kind that is not installed yet (404),
//!   and ends at once where a list is denied (403). [`RunError::NotSynced`] names each source and the reason.
//! - Where a source follows several namespaces, [`Source::start_without_denied`] starts without those that are denied.
//! - After a [write](Context::write), the key waits until the store shows it. So a reconcile reads what the one before
//!   it wrote.
//! - A reconcile that fails or panics is reported, and retried by the rate limit.
//! - A mapper that panics is reported. Since the keys of its object are not known, the own kind is reconciled again.
//! - A reconcile that never resolves costs the others nothing. One that computes holds up the workers of its thread,
//!   and never the streams. [`Context::blocking`] takes work that holds up no other reconcile.
//! - At its end, no reconcile begins. Those that run have until a deadline, and then they are dropped with their
//!   requests.
//!
//! The names in client-go, controller-runtime and kube-rs are in [`coming_from`](crate::coming_from).

mod acts;
mod context;
mod definitions;
mod election;
mod error;
mod events;
mod feed;
#[cfg(feature = "fleet")]
mod fleet;
mod handle;
mod hold;
mod lifecycle;
mod loops;
#[cfg(feature = "shards")]
mod membership;
mod memory;
mod obstacle;
mod owners;
mod reconciler;
#[cfg(feature = "file")]
mod replay;
mod report;
mod resync;
mod running;
mod settings;
#[cfg(feature = "shards")]
mod sharded;
#[cfg(not(feature = "shards"))]
#[path = "controller/sharded/off.rs"]
mod sharded;
mod source;
mod state;
mod tally;
#[cfg(feature = "file")]
mod tape;
mod termination;
mod threads;
mod worker;
mod writes;

#[cfg(feature = "file")]
pub use crate::replay::{Divergence, DivergenceKind, Findings, REPLAY_KEY, REPLAY_WRITES, Writes, WritesError};
pub use acts::{Apply, Create, Delete, Ensure, Prune};
pub use context::{Context, Live};
pub use error::{ActError, Error, Reconciled, RunError};
pub use feed::AddedSource;
#[cfg(feature = "fleet")]
#[cfg_attr(docsrs, doc(cfg(feature = "fleet")))]
pub use fleet::{Fleet, MemberState, MemberStatus};
pub use handle::ControllerHandle;
#[cfg(feature = "endpoint")]
pub(crate) use handle::Inspection;
#[cfg(feature = "metrics")]
pub(crate) use handle::Reading;
pub use reconciler::{Controller, Reconciler};
pub use report::Report;
pub use running::{Running, Started, run_all};
pub use source::{Keys, Source, SourceStatus};
#[cfg(feature = "metrics")]
pub(crate) use tally::{AGES, BOUNDS};
pub use termination::Termination;

#[doc(no_inline)]
pub use listwatch_core::api::ReconcileId;
#[doc(no_inline)]
pub use listwatch_core::controller::{
    Awaited, Cause, CauseKind, KeyReport, KeyState, Lifecycle, LoopKind, Write, WriteLoop, predicate,
};
#[doc(no_inline)]
pub use listwatch_core::queue::Outcome;
