//! Elections on a simulated cluster: candidates alone, and controllers that have one.

mod candidates;
mod controllers;
mod example;
mod hanging;
mod threads;
mod writes;

use core::time::Duration;
use listwatch::election::Election;
use listwatch::testing::{Fault, SimulatedCluster};
use listwatch::{Clock, World};
use serde_json::Value;
use std::sync::{Arc, Mutex};

const LEASES: &str = "coordination.k8s.io/v1/leases";
const PATH: &str = "/apis/coordination.k8s.io/v1/namespaces/web/leases";

/// A simulated cluster, a world of it, and the lines for its operators.
#[derive(Clone)]
struct Stage {
    cluster: SimulatedCluster,
    world: World,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Stage {
    fn new() -> Self {
        let (cluster, lines) = (SimulatedCluster::new(), Arc::<Mutex<Vec<String>>>::default());
        let told = Arc::clone(&lines);
        let on_line = move |line: &str| told.lock().unwrap().push(line.to_owned());
        let world = World::from(cluster.clone()).on_report_line(on_line);
        Self { cluster, world, lines }
    }

    fn clock(&self) -> &Clock {
        self.world.clock()
    }

    async fn pass(&self, seconds: u64) {
        self.clock().sleep(Duration::from_secs(seconds)).await;
    }

    fn lease(&self) -> Option<Value> {
        self.cluster.get(LEASES, "web/it").ok()
    }

    fn holder(&self) -> String {
        self.lease().and_then(|lease| lease["spec"]["holderIdentity"].as_str().map(str::to_owned)).unwrap_or_default()
    }

    /// The next requests of a candidate fail.
    fn fail(&self, times: usize, method: &str, fault: Fault) {
        let path = if method == "POST" || method == "LIST" || method == "WATCH" {
            PATH.to_owned()
        } else {
            format!("{PATH}/it")
        };
        (0..times).for_each(|_| self.cluster.fail_next(&format!("{method} {path}"), fault).unwrap());
    }

    /// The requests so far of this method.
    fn asked(&self, method: &str) -> usize {
        let is_it = |request: &str| request.starts_with(method) && request.contains("leases");
        self.cluster.requests().iter().filter(|request| is_it(&request.to_string())).count()
    }

    fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap().clone()
    }
}

/// The settings of a candidate of this name.
fn election(identity: &str) -> Election {
    Election::new("it").namespace("web").identity(identity)
}
