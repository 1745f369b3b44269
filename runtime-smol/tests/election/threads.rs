//! Elections by the machine's clock, where a thread renews the lease.

use crate::{LEASES, election};
use core::time::Duration;
use listwatch_runtime_smol::controller::{Controller, ControllerHandle, Error, Outcome, RunError};
use listwatch_runtime_smol::decode::MetadataOnly;
use listwatch_runtime_smol::file::{Fault, SimulatedCluster};
use listwatch_runtime_smol::{Client, Clock, World};
use listwatch_tests::wait::PATIENCE;
use serde_json::{Value, json};
use std::sync::mpsc::{RecvTimeoutError, channel};

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
    assert_eq!(is_done.recv_timeout(PATIENCE), Ok((true, true)));
    started.handle().stop();
    started.join().unwrap();
    assert_eq!(cluster.get(LEASES, "web/it").unwrap()["spec"]["holderIdentity"], "");
}

#[test]
fn a_controller_that_was_refused_at_its_start_hung() {
    let (world, handle) = (world(&SimulatedCluster::new()), ControllerHandle::default());
    let (ended, end) = channel();
    // A controller that hangs is left to its thread.
    std::thread::spawn(move || {
        let controller = || {
            let controller = Controller::new("maps", world.clone());
            let maps = controller.informer_of::<MetadataOnly>("v1/configmaps");
            let reconciler = controller.reconciles(&maps).keys(&handle).lead_by(election("a"));
            reconciler.calls(async |_cx, _key| Ok(Outcome::Done))
        };
        let _first = controller();
        let _told = ended.send(controller().run());
    });
    let end = end.recv_timeout(PATIENCE);
    assert!(matches!(end, Ok(Err(RunError::Config(_)))), "{end:?}");
}

#[test]
fn the_workers_of_a_controller_that_was_dropped_before_it_was_a_candidate_stayed() {
    let cluster = SimulatedCluster::new();
    for request in ["WATCH /api/v1/configmaps", "LIST /api/v1/configmaps"] {
        cluster.fail_next(request, Fault::Silent).unwrap();
    }
    let controller = Controller::new("maps", world(&cluster));
    let maps = controller.informer_of::<MetadataOnly>("v1/configmaps");
    // The workers' threads hold the function.
    let (held, gone) = channel::<()>();
    let held = std::sync::Mutex::new(held);
    let running = controller.reconciles(&maps).lead_by(election("a")).calls(async move |_cx, _key| {
        let _held = &held;
        Ok(Outcome::Done)
    });
    drop(running.start().unwrap());
    assert_eq!(gone.recv_timeout(PATIENCE), Err(RecvTimeoutError::Disconnected));
}
