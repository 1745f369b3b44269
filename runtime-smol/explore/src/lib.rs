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
//! one kind is told later than the others. What differs in the end of those may vary. Then each [`Place`] of the run is
//! disturbed by each [`Trouble`] alone, and then by several at once, which a seed draws. Every trouble passes before the
//! end is judged.
//!
//! # What is a fault
//!
//! - An invariant does not hold after a change, or a requirement in the end.
//! - The end differs from that of the undisturbed run: an object is missing, left over, an orphan or a duplicate, or a
//!   field has another value. Uids, versions, generations, times, Events and Leases do not count; generated names are
//!   compared by prefix, owner and contents.
//! - The program ends, panics or comes to a standstill. One that loses its election, or does not sync, is started again.
//! - It writes without an end, or repeats a write that changes nothing.
//! - A key still fails, a while after all is well again.
//!
//! A [`Failure`] is printed as a story, with a [`Plan`] for [`Exploration::replay`].
//!
//! # What it cannot see
//!
//! A process that is killed keeps its statics, and its destructors run: they reach no server. What a program does outside
//! of the cluster is disturbed if it goes by [`Outside::call`]. The end of a process is a stop of its controllers, so what
//! a program runs beside them has to end with its world.

mod course;
mod ends;
mod exploration;
mod explored;
mod failure;
mod it;
mod outside;
mod place;
mod plan;
mod run;
mod troubles;
mod wire;

pub use course::Fault;
pub use exploration::Exploration;
pub use explored::Explored;
pub use failure::Failure;
pub use it::It;
pub use outside::{NoAnswer, Outside};
pub use place::Place;
pub use plan::{Back, Disturbance, Plan, Trouble};
