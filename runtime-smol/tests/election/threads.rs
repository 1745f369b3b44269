//! Elections by the machine's clock, where a thread renews the lease.

use crate::{LEASES, election};
use core::time::Duration;
use listwatch_runtime_smol::controller::{Controller, Error, Outcome};
use listwatch_runtime_smol::decode::MetadataOnly;
use listwatch_runtime_smol::file::SimulatedCluster;
use listwatch_runtime_smol::{Client, Clock, World};
use serde_json::{Value, json};
use std::sync::mpsc::channel;

/// More renewals than a term has time for.
const RENEWALS: usize = 45;

fn world(cluster: &SimulatedCluster) -> World {
    let (clock, time) = (Clock::real(), Clock::real());
    let cluster = cluster.on_clock(move || time.now());
    let client = Client::new(cluster.client(), clock.clone());
    World::from_parts(clock, client, move |_| Box::new(cluster.transport()))
}

fn renewed(cluster: &SimulatedCluster) -> Value {
    cluster.get(LEASES, "web/it").unwrap()["spec"]["renewTime"].clone()
}

/// Keeps its thread until the lease was renewed so many times.
fn block(cluster: &SimulatedCluster) {
    for _ in 0..RENEWALS {
        let before = renewed(cluster);
        while renewed(cluster) == before {
            std::thread::park_timeout(Duration::from_millis(5));
        }
    }
}

#[test]
fn a_reconcile_and_a_mapper_that_block_their_threads_do_not_cost_the_term() {
    let cluster = SimulatedCluster::new();
    let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "namespace": "web" } });
    cluster.create(map).unwrap();
    let controller = Controller::new("maps", world(&cluster));
    let maps = controller.informer_of::<MetadataOnly>("v1/configmaps");
    let secrets = controller.informer_of::<MetadataOnly>("v1/secrets");
    let (done, is_done) = channel();
    let (inside, mapped, patched) = (cluster.clone(), cluster.clone(), cluster.clone());
    let quick = election("a").lease_duration(Duration::from_secs(3)).renew_deadline(Duration::from_secs(2));
    let quick = quick.retry_period(Duration::from_millis(50)).request_timeout(Duration::from_secs(1));
    let running = controller.reconciles(&maps).maps(&secrets, move |_, _| block(&mapped)).lead_by(quick).calls(
        async move |cx, _key| {
            let term = cx.fencing_token();
            let secret =
                json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "s", "namespace": "web" } });
            patched.create(secret).map_err(|error| Error::new(error.to_string()))?;
            block(&inside);
            let _told = done.send((term.is_some(), cx.fencing_token() == term));
            Ok(Outcome::Done)
        },
    );
    let started = running.start().unwrap();
    assert_eq!(is_done.recv_timeout(listwatch_tests::wait::PATIENCE), Ok((true, true)));
    started.handle().stop();
    started.join().unwrap();
    assert_eq!(cluster.get(LEASES, "web/it").unwrap()["spec"]["holderIdentity"], "");
}
