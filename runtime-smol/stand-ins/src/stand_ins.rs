//! The stand-ins of a cluster, and how they run.

use crate::kubelet::{self, PodFate};
use crate::{deployment, job, object, replica_set};
use core::{future::poll_fn, task::Poll};
use listwatch::controller::Running;
use listwatch::prelude::*;
use listwatch::testing::SimulatedCluster;
use serde_json::Value;
use std::fmt;
use std::sync::Arc;

const SETS: (&str, &str) = ("apps/v1/replicasets", "ReplicaSet");
const PODS: (&str, &str) = ("v1/pods", "Pod");

/// Makes a controller that shares these informers, by a seed.
type Make = dyn Fn(&Informers, u64) -> Running<'static> + Send + Sync;

/// Controllers that a cluster has beside the program under test. See the [crate].
#[derive(Clone)]
#[must_use = "stand-ins do nothing until they run"]
pub struct StandIns {
    cluster: SimulatedCluster,
    seed: u64,
    made: Vec<Arc<Make>>,
}

impl StandIns {
    /// Stand-ins of this cluster, of which there are none yet. What disturbs them is the network of this cluster: a test
    /// that gives its program a [network](SimulatedCluster::through) gives the stand-ins the cluster without it.
    pub fn of(cluster: &SimulatedCluster) -> Self {
        Self { cluster: cluster.clone(), seed: 1, made: Vec::new() }
    }

    /// Rolls out Deployments, and keeps the pods of ReplicaSets.
    pub fn deployments(self) -> Self {
        self.controller(|all| object::controller(all, [SETS, PODS], replica_set::reconcile)).controller(|all| {
            object::controller(all, [("apps/v1/deployments", "Deployment"), SETS], deployment::reconcile)
        })
    }

    /// Runs Jobs.
    pub fn jobs(self) -> Self {
        self.controller(|all| object::controller(all, [("batch/v1/jobs", "Job"), PODS], job::reconcile))
    }

    /// Schedules pods and starts their containers, after delays of up to two seconds each. Then `fate` decides what becomes
    /// of the pod. It is asked once, unless it answers [`PodFate::NeverReady`]: then again when the pod changes.
    pub fn kubelet(mut self, fate: impl Fn(&Value) -> PodFate + Send + Sync + 'static) -> Self {
        let fate: Arc<kubelet::Fate> = Arc::new(fate);
        self.made.push(Arc::new(move |informers, seed| kubelet::controller(informers, seed, Arc::clone(&fate))));
        self
    }

    /// Runs a controller of the test, too, such as a stand-in for a cloud.
    pub fn controller(mut self, make: impl Fn(&Informers) -> Running<'static> + Send + Sync + 'static) -> Self {
        self.made.push(Arc::new(move |informers, _| make(informers)));
        self
    }

    /// Draws other delays, and other addresses of pods. The same seed draws the same.
    pub fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// The world of the program under test, beside which the stand-ins run. They end with it.
    pub fn beside(&self, world: World) -> World {
        let running = self.run(world.clock());
        world.try_until(async move { Ok(running.await?) })
    }

    /// Runs the stand-ins by the clock of the program under test, for one that has no controller. They end when the future
    /// is dropped; it has to be polled on one thread.
    ///
    /// # Errors
    /// That of the first stand-in which ends by itself.
    pub fn run(&self, clock: &Clock) -> impl Future<Output = Result<(), RunError>> + Send + 'static {
        let time = clock.clone();
        let cluster = self.cluster.on_clock(move || time.now());
        let client = Client::new(cluster.client(), clock.clone());
        let world = World::from_parts(clock.clone(), client, move |of| Box::new(cluster.transport_of(of)));
        let world = world.on_report_line(|line| _ = line.contains(": failed, ").then(|| eprintln!("{line}")));
        let informers = Informers::new(world);
        let mut running: Vec<_> = self.made.iter().map(|make| Box::pin(make(&informers, self.seed).future())).collect();
        poll_fn(move |cx| {
            let mut polls = running.iter_mut().map(|it| it.as_mut().poll(cx));
            polls.find(Poll::is_ready).unwrap_or(Poll::Pending)
        })
    }
}

impl fmt::Debug for StandIns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StandIns").field("seed", &self.seed).finish_non_exhaustive()
    }
}
