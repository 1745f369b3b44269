//! Controllers: shared informers as sources of keys, and a function that reconciles one key after the other.
//!
//! The example labels every pod that has no label yet. It runs over a recording and a function that answers its requests.
//! With `Cluster::infer()?` as its world, the same `label_pods` runs on a cluster.
//!
//! ```
//! use listwatch_runtime_smol::api::{Api, ApiFn, ApiRequest, ApiResponse, Patch};
//! use listwatch_runtime_smol::controller::{Controller, ControllerHandle, Outcome, RunError};
//! use listwatch_runtime_smol::decode::MetadataOnly;
//! use listwatch_runtime_smol::file::Playback;
//! use listwatch_runtime_smol::{Client, Clock, Resource, World};
//! use serde_json::{Value, json};
//!
//! fn label_pods(world: impl Into<World>, handle: &ControllerHandle) -> Result<(), RunError> {
//!     let controller = Controller::new("label-pods", world);
//!     let resource = Resource::new("/api/v1/pods");
//!     let pods = controller.informer_of::<MetadataOnly>(resource.clone());
//!     let seen = json!({ "metadata": { "labels": { "seen": "yes" } } });
//!     controller.reconciles(&pods).keys(handle).workers(4).run(async |cx, key| {
//!         let Some(pod) = pods.get(&key) else { return Ok(Outcome::Done) };
//!         if pod.meta().label("seen").is_none() {
//!             let api = Api::<Value>::new(&resource.clone().in_namespace(key.namespace().unwrap_or_default()));
//!             cx.write(&pods, api.patch(key.name(), &Patch::Merge(&seen))).await?;
//!         }
//!         Ok(Outcome::Done)
//!     })
//! }
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let recording = Playback::from_file("../tests/data/captures/pods-rollout.jsonl.gz")?;
//!     let (clock, handle) = (Clock::simulated(), ControllerHandle::default());
//!     let (mut requests, stop) = (0, handle.clone());
//!     let server = ApiFn::new(move |request: &ApiRequest| {
//!         println!("{request}");
//!         requests += 1;
//!         if requests == 10 {
//!             stop.stop(); // On a cluster, SIGTERM or Ctrl-C does so.
//!         }
//!         Ok(ApiResponse::new(200, *b"{}"))
//!     });
//!     let client = Client::new(server, clock.clone());
//!     label_pods(World::from_parts(clock, client, move |_| Box::new(recording.transport())), &handle)?;
//!     Ok(())
//! }
//! ```
//!
//! # What a controller promises
//!
//! - Each key is reconciled after its last change, and is never with two workers.
//! - No change is missed: an update is mapped from its old and its new state. Where changes of the own kind or of an
//!   owned kind are coalesced, the states between them are mapped too.
//! - A controller that is behind holds up no stream that others share, unless it has a [mapper](Reconciler::maps) of its
//!   own for it.
//! - It starts when all its sources have synced. It waits for a kind that is not installed yet (404), and ends at once
//!   where a list is denied (403). [`RunError::NotSynced`] names each source and the reason.
//! - Where a source follows several namespaces, [`Source::start_without_denied`] starts without those that are denied.
//! - After a [write](Context::write), the key waits until the store shows it. So a reconcile reads what the one before it
//!   wrote.
//! - A reconcile that fails or panics is reported, and retried by the rate limit.
//! - A reconcile that never resolves costs the others nothing. One that computes holds up the workers of its thread, and
//!   never the streams.
//! - At its end, no reconcile begins. Those that run have until a deadline, and then they are dropped with their
//!   requests.
//!
//! The names in client-go, controller-runtime and kube-rs are in [`coming_from`](crate::coming_from).

mod acting;
mod added;
mod cleaned;
mod collection;
mod context;
mod crew;
mod error;
mod expected;
mod feed;
mod handle;
mod keys;
mod live;
mod mapper;
mod outages;
mod own_kind;
mod owner;
mod read;
mod reads;
mod reconciler;
mod report;
mod run_error;
mod running;
mod settings;
mod source;
mod sources;
mod started;
mod state;
mod stderr;
mod streams;
mod termination;
mod thread_bound;
mod threads;
mod worker;
mod written;

pub use acting::{ActError, Apply, Create, Delete};
pub use added::AddedSource;
pub use context::Context;
pub use error::{Error, Reconciled};
pub use handle::ControllerHandle;
pub use keys::Keys;
pub use live::Live;
pub use reconciler::{Controller, Reconciler};
pub use report::Report;
pub use run_error::RunError;
pub use running::{Running, run_all};
pub use source::Source;
pub use sources::SourceStatus;
pub use started::Started;
pub use termination::Termination;

#[doc(no_inline)]
pub use listwatch_core::controller::{Awaited, Cause, CauseKind, KeyReport, KeyState, Lifecycle, Write, predicate};
#[doc(no_inline)]
pub use listwatch_core::queue::Outcome;
