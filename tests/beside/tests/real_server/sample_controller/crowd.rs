//! A thousand Foos, whose Deployments another client changes, on a server that is killed again and again.

use super::figures::Figures;
use super::owner_of;
use super::stage::{Stage, foo, until, wait_for};
use listwatch_core::api::{Api, ApiClient, Patch};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

const FOOS: usize = 1_000;
const KILLS: usize = 10;
/// So many writes are made between two kills, or as many as there are in the longest time.
const WRITES: usize = 50;
const LONGEST: Duration = Duration::from_secs(10);

fn name(number: usize) -> String {
    format!("crowd-{number:04}")
}

fn replicas(number: usize) -> u32 {
    u32::try_from(1 + number % 7).unwrap()
}

/// Creates the Foos. A server that is away is asked again.
fn create(api: &Api<Value>, client: &impl ApiClient, numbers: impl Iterator<Item = usize>) {
    for number in numbers {
        let create = api.create(&foo(&name(number), &name(number), replicas(number)));
        until(|| match create.send(client) {
            Err(error) => error.is_already_exists(),
            Ok(_) => true,
        });
    }
}

/// Changes the replicas of one Deployment after the other, each again and again.
fn drift(api: &Api<Value>, client: &impl ApiClient, is_over: &AtomicBool) {
    let mut drifts = 0;
    while !wait_for(Duration::from_millis(5), || is_over.load(Ordering::Relaxed)) {
        drifts += 1;
        let change = json!({ "spec": { "replicas": 100 + drifts } });
        // The step has no factor in common with the number of the Foos, so that all have their turn. There may be no
        // such Deployment yet, or no server.
        let _refused = api.patch(&name(drifts * 389 % FOOS), &Patch::Merge(&change)).send(client);
    }
}

#[test]
fn a_thousand_foos_survive_ten_kills_and_no_drift_is_repaired_twice() {
    const WRITERS: usize = 4;
    let Some(mut stage) = Stage::begin("crowd") else { return };
    let (client, requests) = (stage.plane.cluster.client().unwrap(), stage.requests.clone());
    let (foos, deployments) = (Api::<Value>::new(&stage.foos), Api::<Value>::new(&stage.deployments));
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (foos, client) = (&foos, &client);
            scope.spawn(move || create(foos, client, (writer..FOOS).step_by(WRITERS)));
        }
        scope.spawn(|| drift(&deployments, &client, &is_over));
        let over = Over(&is_over);
        for _ in 0..KILLS {
            let enough = requests.made() + WRITES;
            wait_for(LONGEST, || requests.made() >= enough);
            stage.plane.control().kill_api_server();
            stage.plane.control().start_api_server();
        }
        drop(over);
    });
    until(|| stage.is_right());
    let deployments = stage.plane.objects(&stage.deployments).unwrap();
    let writes = stage.end();
    let figures = Figures::count(&writes, &deployments, &requests, &stage.reports());
    println!("{FOOS} Foos, {KILLS} kills: {figures}");
    assert_eq!(figures.len(), FOOS);
    figures.check();
}

impl Stage {
    /// Whether each Foo has its Deployment as it wants it, and there is no other.
    fn is_right(&self) -> bool {
        let [Ok(foos), Ok(deployments)] = [&self.foos, &self.deployments].map(|kind| self.plane.objects(kind)) else {
            return false;
        };
        let wanted = foos.iter().map(|foo| {
            let spec = &foo["spec"];
            [&spec["deploymentName"], &spec["replicas"], &foo["metadata"]["uid"]].map(Value::to_string)
        });
        let found = deployments.iter().map(|deployment| {
            [&deployment["metadata"]["name"], &deployment["spec"]["replicas"], owner_of(deployment)]
                .map(Value::to_string)
        });
        foos.len() == FOOS && wanted.collect::<BTreeSet<_>>() == found.collect()
    }
}

/// Ends the drifts when it is dropped, also when the test fails.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
