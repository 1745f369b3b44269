//! Stand-ins for the controllers that a simulated cluster lacks, so that Deployments, Jobs and pods get ready there: a
//! dev-dependency, for `cargo test`.
//!
//! ```
//! use listwatch::prelude::*;
//! use listwatch::testing::SimulatedCluster;
//! use listwatch_stand_ins::{PodFate, StandIns};
//! use serde_json::{Value, json};
//! use std::time::Duration;
//!
//! /// Labels the Deployments that are available.
//! fn label(world: World) -> Result<(), RunError> {
//!     let controller = Controller::new("label", world);
//!     let deployments = controller.informer_of::<Value>("apps/v1/deployments").with_kind("Deployment");
//!     controller.reconciles(&deployments).run(async |cx, key| {
//!         let Some(deployment) = deployments.get(&key) else { return Ok(Outcome::Done) };
//!         let available = deployment["status"]["availableReplicas"].as_u64().unwrap_or(0).to_string();
//!         cx.change(&deployment, |it| it["metadata"]["labels"]["available"] = available.clone().into()).await?;
//!         Ok(Outcome::Done)
//!     })
//! }
//!
//! let cluster = SimulatedCluster::new();
//! let pod = json!({ "metadata": { "labels": { "app": "web" } }, "spec": { "containers": [{ "name": "web" }] } });
//! cluster.create(json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "web" },
//!     "spec": { "replicas": 3, "selector": { "matchLabels": { "app": "web" } }, "template": pod } }))?;
//! let stand_ins = StandIns::of(&cluster).deployments().kubelet(|_pod| PodFate::Ready);
//! label(stand_ins.beside(World::from(cluster.clone())).lasting(Duration::from_secs(60)))?;
//! assert_eq!(cluster.get("apps/v1/deployments", "web")?["metadata"]["labels"]["available"], "3");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! They are controllers of `listwatch`, and run in the simulated time of the program under test, by requests of their own.
//! The network of the program does not disturb them. What a test does to the whole cluster does: a
//! [disconnection](listwatch::testing::SimulatedCluster::disconnect), a webhook, and a
//! [fault](listwatch::testing::SimulatedCluster::fail_next) of the next request, whoever sends it.
//!
//! `listwatch-explore` runs them in its explorations (`Exploration::stand_ins`).
//!
//! # What they do
//!
//! | stand-in | behaviour |
//! |---|---|
//! | [`deployments`](StandIns::deployments) | a ReplicaSet for each template, with its hash and its revision; `RollingUpdate` within `maxSurge` and `maxUnavailable`, and `Recreate`; counts, `observedGeneration`, and the conditions `Available` and `Progressing` with their reasons and the deadline |
//! | its ReplicaSets | pods with generated names; those that failed, are deleted or are being deleted are replaced; `minReadySeconds`; of too many pods, those that are least ready go first, and then the youngest |
//! | [`jobs`](StandIns::jobs) | `parallelism`, `completions` and `backoffLimit`; pods that have ended stay, and the next one waits for 10 s after a failure, then for 20 s, up to six minutes; counts, and the conditions `Complete` and `Failed` |
//! | [`kubelet`](StandIns::kubelet) | a node, phases, conditions, states of containers and an address; within two seconds a pod runs, and within two more it meets its [fate](PodFate) |
//!
//! # What they leave out
//!
//! - Deployments: `paused`, `revisionHistoryLimit`, and the proportions of a Deployment that is scaled while it
//!   is rolled out.
//! - ReplicaSets and Jobs adopt nothing: a pod is theirs by its owner reference.
//! - Jobs: `suspend`, indexes, deadlines, policies for failures and for success. A pod counts as long as it is there: it has
//!   no finalizer of the Job.
//! - The kubelet restarts no container, and has no grace period: in a simulated cluster, a pod without finalizers is gone
//!   when it is deleted. It writes `spec.nodeName`, instead of a binding.
//! - StatefulSets, DaemonSets, CronJobs, autoscalers, endpoints and volumes. [`StandIns::controller`] adds a controller.

mod deployment;
mod job;
mod kubelet;
mod object;
mod replica_set;
mod rollout;
mod stand_ins;

pub use kubelet::PodFate;
pub use stand_ins::StandIns;
