//! Finds what goes wrong in a controller when it is killed, when answers get lost, and when its caches are behind: a
//! dev-dependency, for `cargo test`.
//!
//! ```
//! use listwatch::prelude::*;
//! use listwatch::testing::SimulatedCluster;
//! use listwatch_explore::Exploration;
//! use serde_json::{Value, json};
//!
//! /// Keeps a Secret for each ConfigMap.
//! fn keep(world: World) -> Result<(), RunError> {
//!     let controller = Controller::new("keep", world);
//!     let maps = controller.informer_of::<Value>("v1/configmaps").with_kind("ConfigMap");
//!     let secrets = controller.informer_of::<Value>("v1/secrets").with_kind("Secret");
//!     controller.reconciles(&maps).owns(&secrets).run(async |cx, key| {
//!         let Some(map) = maps.get(&key) else { return Ok(Outcome::Done) };
//!         cx.ensure(&secrets, &key, &json!({ "stringData": map["data"] })).owned_by(&map).await?;
//!         Ok(Outcome::Done)
//!     })
//! }
//!
//! fn fixture() -> SimulatedCluster {
//!     let cluster = SimulatedCluster::new();
//!     let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" }, "data": { "x": "1" } });
//!     cluster.create(map).expect("the cluster is empty");
//!     cluster
//! }
//!
//! let explored = Exploration::of(keep)
//!     .cluster(fixture)
//!     .scenario(async |it| {
//!         it.settled().await;
//!         it.delete("v1/configmaps", "default/a")?;
//!         Ok(())
//!     })
//!     .always("one Secret for each ConfigMap", |it| match it.list("v1/secrets") {
//!         Ok(secrets) if secrets.len() > 1 => Err(format!("{} Secrets", secrets.len())),
//!         _ => Ok(()),
//!     })
//!     .run(40)
//!     .unwrap();
//! println!("{explored}");
//! ```
//!
//! # A run
//!
//! Each run has a new cluster. The program runs on it under simulated time, while the scenario goes on. A run ends when
//! the scenario is done and nothing was written for a simulated minute.
//!
//! The first runs are undisturbed: twice the same, which has to be the same in each request and time, and some in which
//! one kind is told later than the others. What differs in the end of those may vary: the presence of an object, or a
//! field of it. Then each [`Place`] of the run is disturbed by each [`Trouble`] alone, and then by several at once, which
//! a seed draws. Every trouble passes before the end is judged.
//!
//! The same seed finds the same, on any number of threads. `LISTWATCH_SEED=7 cargo test` gives another one.
//!
//! # Servers that lag
//!
//! A restarted program, or one whose connections break, may reach an API server whose watch caches are behind for ten
//! seconds. [`SimulatedCluster::at_servers`] says what it shows. By default, the first list of an informer is up to date on
//! each server, and its watch is late. One with [`Consistency::Any`], as in client-go, begins with an old state, and so does
//! a request with `resourceVersion=0`.
//!
//! [`Consistency::Any`]: listwatch::reflector::Consistency::Any
//! [`SimulatedCluster::at_servers`]: listwatch::testing::SimulatedCluster::at_servers
//!
//! # What is a fault
//!
//! - An invariant does not hold after a change, or a requirement in the end.
//! - The end differs from that of the undisturbed run: an object is missing, left over, an orphan or a duplicate, or a
//!   field has another value. What a server sets in the metadata, `observedGeneration`, times, Events and Leases do not
//!   count; generated names are compared by prefix, owner and contents.
//! - The program ends, panics or comes to a standstill. One that loses its election, or does not sync, is started again.
//! - It writes without an end, or repeats a write that changes nothing although its caches show it.
//! - A key fails again and again up to the end, although all is well again.
//!
//! A scenario that fails is told by itself ([`Fault::Scenario`]), with its last step. It is no fault where the plan may
//! have taken its object: if another client writes, or if the scenario goes on while the program is down or late. Such a
//! step fails with the [`ApiError`] of a 404 or a 409. The scenario is then given up, and the end is not compared; the
//! rest of this list holds.
//!
//! A [`Failure`] is printed as a story, with a [`Plan`] for [`Exploration::replay`]. The plan and the scenario are made
//! smaller as long as they show the same fault: the same objects, fields and values, or the same message but for its
//! numbers. [`Exploration::tape`] records it for `listwatch replay` and `listwatch serve`.
//!
//! # In a plain test
//!
//! A test that knows its incident needs no exploration: a cluster takes the [`Network`] of one process. Here, the program
//! dies at its second write, its watches of Secrets are late, and the ConfigMaps reach its API server late.
//!
//! ```
//! use listwatch::testing::{LAG, Network, Passage, Sent, SimulatedCluster};
//! use listwatch::time::Instant;
//! # use listwatch::prelude::*;
//! # use serde_json::{Value, json};
//! use std::sync::atomic::{AtomicU32, Ordering};
//! use std::time::Duration;
//!
//! #[derive(Debug, Default)]
//! struct Incident {
//!     writes: AtomicU32,
//! }
//!
//! impl Network for Incident {
//!     fn on_request(&self, request: &Sent<'_>) -> Passage {
//!         self.writes.fetch_add(request.is_write().into(), Ordering::Relaxed);
//!         if self.is_dead() { Passage::Never } else { Passage::Open }
//!     }
//!     fn is_dead(&self) -> bool {
//!         self.writes.load(Ordering::Relaxed) > 1
//!     }
//!     fn told_at(&self, _now: Instant, resource: &str, changed: Instant) -> Instant {
//!         changed + if resource == "v1/secrets" { Duration::from_secs(10) } else { LAG }
//!     }
//!     fn cached_at(&self, _now: Instant, resource: &str, _version: u64, changed: Instant) -> Instant {
//!         changed + Duration::from_secs(if resource == "v1/configmaps" { 2 } else { 0 })
//!     }
//! }
//! # fn keep(world: World) -> Result<(), RunError> {
//! #     let controller = Controller::new("keep", world);
//! #     let maps = controller.informer_of::<Value>("v1/configmaps").with_kind("ConfigMap");
//! #     let secrets = controller.informer_of::<Value>("v1/secrets").with_kind("Secret");
//! #     controller.reconciles(&maps).owns(&secrets).run(async |cx, key| {
//! #         let Some(map) = maps.get(&key) else { return Ok(Outcome::Done) };
//! #         cx.ensure(&secrets, &key, &json!({ "stringData": map["data"] })).owned_by(&map).await?;
//! #         Ok(Outcome::Done)
//! #     })
//! # }
//!
//! let cluster = SimulatedCluster::new();
//! for name in ["a", "b"] {
//!     cluster.create(json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name } }))?;
//! }
//! let world = |network| World::from(cluster.through(network)).lasting(Duration::from_secs(60));
//! // Its end may be an error: a request gets no answer.
//! _ = keep(world(Incident::default()));
//! assert_eq!(cluster.list("v1/secrets")?.len(), 1, "it dies at its second write");
//! keep(World::from(cluster.clone()).lasting(Duration::from_secs(60)))?;
//! assert_eq!(cluster.list("v1/secrets")?.len(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`ApiError`]: listwatch::api::ApiError
//! [`Network`]: listwatch::testing::Network
//!
//! # Kubernetes' own controllers
//!
//! A simulated cluster has no controller manager and no kubelet, so a Deployment never gets ready there.
//! [`Exploration::stand_ins`] lets stand-ins of the crate `listwatch-stand-ins` do so, which nothing disturbs. The
//! [`guide`] has a scenario with another program's controller, and says how many runs to make.
//!
//! # What it cannot see
//!
//! A process that is killed keeps its statics, and its destructors run: they reach no server. So a program keeps its state
//! in what its function makes, or [`Outside`]. A process of the system for each life is not offered: the cluster and the
//! clock, which it shares with the test, would have to be served to it.
//!
//! What a program saves to files outlives its processes. A save is no place of its own: its file is replaced in one step, so
//! a process that dies at the request before it leaves the older file, and one that dies at the next request the newer one.
//! [`Exploration::beside`] lets a test make a folder for each run.
//!
//! What a program does outside of the cluster is disturbed if it goes by [`Outside::call`]. The end of a process is a stop
//! of its controllers, so what a program runs beside them has to end with its world.

mod beside;
mod course;
mod end;
mod expected;
mod exploration;
mod explored;
mod failing;
mod failure;
mod fault;
#[doc = include_str!("guide.md")]
pub mod guide {}
mod it;
mod junit;
mod kept;
mod learned;
mod leases;
mod ongoing;
mod outside;
mod place;
mod plan;
mod run;
mod shrunk;
mod story;
mod troubles;
mod value;
mod wire;
mod writes;

pub use exploration::Exploration;
pub use explored::Explored;
pub use failure::Failure;
pub use fault::Fault;
pub use it::It;
pub use outside::{NoAnswer, Outside};
pub use place::Place;
pub use plan::{Apart, Back, Disturbance, Plan, Trouble};
