//! Elections by the machine's clock, where a thread renews the lease.

use crate::election::writes::{Slow, creation, writes};
use crate::election::{LEASES, election};
use core::time::Duration;
use listwatch::controller::{Controller, ControllerHandle, Error, Outcome, Report, RunError, Started};
use listwatch::decode::MetadataOnly;
use listwatch::election::WhenLost;
use listwatch::testing::{Fault, SimulatedCluster};
use listwatch::{Client, Clock, Key, Resource, World};
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
    let ((done, is_done), (mapping, has_mapped)) = (channel(), channel());
    let (inside, mapped, patched) = (cluster.clone(), cluster.clone(), cluster.clone());
    let quick = election("a").lease_duration(Duration::from_secs(3)).renew_deadline(Duration::from_secs(2));
    let quick = quick.retry_period(Duration::from_millis(50)).request_timeout(Duration::from_secs(1));
    let slowly = controller.reconciles(&maps).maps(&secrets, move |_, _| {
        block(&mapped);
        let _told = mapping.send(());
    });
    let running = slowly.lead_by(quick).calls(async move |cx, _key| {
        let term = cx.fencing_token();
        let secret = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "s", "namespace": "web" } });
        patched.create(secret).map_err(|error| Error::new(error.to_string()))?;
        block(&inside);
        let _told = done.send((term.is_some(), cx.fencing_token() == term));
        Ok(Outcome::Done)
    });
    let started = running.start().unwrap();
    assert_eq!(is_done.recv_timeout(PATIENCE), Ok((true, true)));
    assert_eq!(has_mapped.recv_timeout(PATIENCE), Ok(()), "renewals went on while the mapper had the streams' thread");
    started.handle().stop();
    started.join().unwrap();
    assert_eq!(cluster.get(LEASES, "web/it").unwrap()["spec"]["holderIdentity"], "");
}

/// Waits for the end. A controller that hangs is left to a thread.
fn end(started: Started) -> Result<Result<(), RunError>, RecvTimeoutError> {
    let (told, end) = channel();
    std::thread::spawn(move || told.send(started.join()));
    end.recv_timeout(PATIENCE)
}

/// Another candidate writes the lease.
fn hold(cluster: &SimulatedCluster, holder: &str) {
    let spec = json!({ "holderIdentity": holder, "leaseDurationSeconds": 3600 });
    cluster.patch(LEASES, "web/it", json!({ "spec": spec })).unwrap();
}

#[test]
fn a_term_lost_while_the_streams_are_busy_ends_as_any_other() {
    for when_lost in [WhenLost::End, WhenLost::Rejoin] {
        let cluster = SimulatedCluster::new();
        for (kind, name) in [("ConfigMap", "a"), ("Lease", "it")] {
            let version = if kind == "Lease" { "coordination.k8s.io/v1" } else { "v1" };
            let metadata = json!({ "name": name, "namespace": "web" });
            cluster.create(json!({ "apiVersion": version, "kind": kind, "metadata": metadata })).unwrap();
        }
        hold(&cluster, "other");
        let controller = Controller::new("maps", world(&cluster));
        let maps = controller.informer_of::<MetadataOnly>("v1/configmaps");
        let secrets = controller.informer_of::<MetadataOnly>("v1/secrets");
        let ((busy, is_busy), (go_on, may_go_on)) = (channel(), channel::<()>());
        let (told, reports) = channel();
        let (done, is_done) = channel();
        let election = election("a").when_lost(when_lost).on_report(move |report| _ = told.send(report.to_string()));
        let reconciler = controller.reconciles(&maps).lead_by(election).maps(&secrets, move |_, _| {
            busy.send(()).unwrap();
            may_go_on.recv_timeout(PATIENCE).unwrap();
        });
        let started = reconciler
            .calls(async move |_cx, _key| {
                let _told = done.send(());
                Ok(Outcome::Done)
            })
            .start()
            .unwrap();
        let until_told = |text: &str| while !reports.recv_timeout(PATIENCE).unwrap().contains(text) {};
        until_told("other leads");
        let metadata = json!({ "name": "s", "namespace": "web" });
        cluster.create(json!({ "apiVersion": "v1", "kind": "Secret", "metadata": metadata })).unwrap();
        is_busy.recv_timeout(PATIENCE).unwrap();
        hold(&cluster, "");
        until_told("this candidate leads");
        hold(&cluster, "other");
        until_told("this candidate stops to lead");
        go_on.send(()).unwrap();
        if when_lost == WhenLost::Rejoin {
            hold(&cluster, "");
            is_done.recv_timeout(PATIENCE).unwrap();
            started.handle().stop();
        }
        let ended = end(started);
        let is_lost = matches!(ended, Ok(Err(RunError::LeaderElectionLost { .. })));
        assert!(matches!(ended, Ok(Ok(())) | Ok(Err(RunError::LeaderElectionLost { .. }))), "{ended:?}");
        assert_eq!(is_lost, when_lost == WhenLost::End, "{ended:?}");
    }
}

#[test]
fn blocking_work_that_delays_the_next_candidacy_is_reported() {
    let cluster = SimulatedCluster::new();
    let metadata = json!({ "name": "a", "namespace": "web" });
    cluster.create(json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata })).unwrap();
    let controller = Controller::new("maps", world(&cluster));
    let maps = controller.informer_of::<MetadataOnly>("v1/configmaps");
    let election = election("a").when_lost(WhenLost::Rejoin).request_timeout(Duration::from_millis(100));
    let ((begun, has_begun), (told, reports)) = (channel(), channel());
    let (go_on, may_go_on) = smol::channel::bounded::<()>(1);
    let reconciler = controller.reconciles(&maps).lead_by(election).on_report(move |_, report| {
        let keys = if let Report::StillWorking { keys, .. } = report { keys.to_vec() } else { Vec::new() };
        let _told = told.send((keys, report.to_string()));
    });
    let started = reconciler
        .calls(async move |cx, _key| {
            let (begun, may_go_on) = (begun.clone(), may_go_on.clone());
            let work = move || {
                let _told = begun.send(());
                let _dropped = may_go_on.recv_blocking();
            };
            cx.blocking(work).await;
            Ok(Outcome::Done)
        })
        .start()
        .unwrap();
    has_begun.recv_timeout(PATIENCE).unwrap();
    hold(&cluster, "other");
    let until_told = |text: &str| loop {
        let (keys, report) = reports.recv_timeout(PATIENCE).unwrap();
        if report.contains(text) {
            return (keys, report);
        }
    };
    let (keys, report) = until_told("is no candidate");
    assert_eq!(keys, [Key::new(Some("web"), "a")]);
    assert_eq!(report, "100ms after the loss of its term, this replica is no candidate; its work goes on: web/a");
    hold(&cluster, "");
    drop(go_on);
    until_told("this candidate leads");
    has_begun.recv_timeout(PATIENCE).unwrap();
    started.handle().stop();
    assert_eq!(end(started), Ok(Ok(())));
}

#[test]
fn a_controller_whose_election_panics_ends_with_an_error() {
    let (clock, time) = (Clock::real(), Clock::real());
    let serving = SimulatedCluster::new().on_clock(move || time.now());
    let client = Client::new(serving.client(), clock.clone());
    let world = World::from_parts(clock, client, move |resource: &Resource| {
        assert!(!resource.path().contains("leases"), "no watch of leases can be made");
        Box::new(serving.transport())
    });
    let controller = Controller::new("maps", world);
    let maps = controller.informer_of::<MetadataOnly>("v1/configmaps");
    let running = controller.reconciles(&maps).lead_by(election("a")).calls(async |_cx, _key| Ok(Outcome::Done));
    let end = end(running.start().unwrap());
    let why = "what renews the lease web/it has ended";
    assert!(matches!(&end, Ok(Err(RunError::Panicked(text))) if text == why), "{end:?}");
}

#[test]
fn a_report_function_that_blocks_does_not_hold_up_the_end() {
    let controller = Controller::new("maps", world(&SimulatedCluster::new()));
    let maps = controller.informer_of::<MetadataOnly>("v1/configmaps");
    let ((blocked, is_blocked), (go_on, may_go_on)) = (channel(), channel::<()>());
    let may_go_on = std::sync::Mutex::new(may_go_on);
    let election = election("a").request_timeout(Duration::from_secs(1)).on_report(move |_| {
        let _told = blocked.send(());
        let _dropped = may_go_on.lock().unwrap().recv();
    });
    let running = controller.reconciles(&maps).lead_by(election).calls(async |_cx, _key| Ok(Outcome::Done));
    let started = running.start().unwrap();
    is_blocked.recv_timeout(PATIENCE).unwrap();
    started.handle().stop();
    assert_eq!(end(started), Ok(Ok(())));
    drop(go_on);
}

#[test]
fn a_controller_that_is_refused_at_its_start_ends() {
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
fn a_controller_that_is_dropped_before_its_candidacy_leaves_no_worker() {
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

/// A cluster with a map, and a world of it whose client takes so long to connect.
fn cluster_with_map(connects: Duration) -> (SimulatedCluster, World) {
    let cluster = SimulatedCluster::new();
    let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "namespace": "web" } });
    cluster.create(map).unwrap();
    let (clock, time) = (Clock::real(), Clock::real());
    let serving = cluster.on_clock(move || time.now());
    let client = Client::new(Slow::new(serving.client(), connects), clock.clone());
    (cluster, World::from_parts(clock, client, move |_| Box::new(serving.transport())))
}

#[test]
fn a_controller_releases_its_lease_after_the_writes_of_its_threads() {
    let (cluster, world) = cluster_with_map(Duration::from_millis(300));
    let controller = Controller::new("maps", world);
    let maps = controller.informer_of::<MetadataOnly>("v1/configmaps");
    let ((begun, has_begun), (done, is_done)) = (channel(), channel());
    let running = controller.reconciles(&maps).lead_by(election("a")).calls(async move |cx, _key| {
        let (begun, done, client) = (begun.clone(), done.clone(), cx.client().clone());
        std::thread::spawn(move || {
            smol::block_on(async {
                let mut write = Box::pin(client.call(creation("by-thread")));
                let early = smol::future::poll_once(&mut write).await;
                let _told = begun.send(early.is_none());
                done.send(write.await).unwrap();
            });
        });
        Ok(Outcome::Done)
    });
    let started = running.start().unwrap();
    assert_eq!(has_begun.recv_timeout(PATIENCE), Ok(true));
    started.handle().stop();
    assert_eq!(end(started), Ok(Ok(())));
    assert!(is_done.recv_timeout(PATIENCE).unwrap().is_ok());
    let lines = writes(&cluster);
    let [.., made, released] = &lines[..] else { panic!("{lines:#?}") };
    assert!(made.starts_with("POST") && released.starts_with("PUT"), "{lines:#?}");
    assert_eq!(cluster.get(LEASES, "web/it").unwrap()["spec"]["holderIdentity"], "");
}

#[test]
fn a_controller_keeps_its_lease_while_blocking_work_goes_on() {
    for goes_on in [false, true] {
        let (cluster, world) = cluster_with_map(Duration::ZERO);
        let controller = Controller::new("maps", world);
        let maps = controller.informer_of::<MetadataOnly>("v1/configmaps");
        let ((begun, has_begun), (go_on, may_go_on)) = (channel(), channel::<()>());
        let may_go_on = std::sync::Arc::new(std::sync::Mutex::new(may_go_on));
        let quick = election("a").retry_period(Duration::from_millis(100)).request_timeout(Duration::from_secs(1));
        let drain = if goes_on { Duration::from_millis(300) } else { PATIENCE };
        let reconciler = controller.reconciles(&maps).lead_by(quick).drain(drain);
        let running = reconciler.calls(async move |cx, _key| {
            let (begun, may_go_on) = (begun.clone(), std::sync::Arc::clone(&may_go_on));
            let (told, is_told) = smol::channel::bounded(1);
            let work = cx.blocking(move || {
                told.send_blocking(()).unwrap();
                begun.send(()).unwrap();
                _ = may_go_on.lock().unwrap().recv();
            });
            // The reconcile is over, and its work is not.
            smol::future::or(work, async { is_told.recv().await.unwrap() }).await;
            Ok(Outcome::Done)
        });
        let started = running.start().unwrap();
        has_begun.recv_timeout(PATIENCE).unwrap();
        started.handle().stop();
        if goes_on {
            let ended = end(started);
            let key = [Key::from("web/a")];
            assert!(
                matches!(&ended, Ok(Err(RunError::NotDrained { dropped, blocked, .. }))
                    if dropped.is_empty() && *blocked == key),
                "{ended:?}"
            );
            assert_eq!(cluster.get(LEASES, "web/it").unwrap()["spec"]["holderIdentity"], "a", "it expires");
            drop(go_on);
            continue;
        }
        let before = renewed(&cluster);
        while renewed(&cluster) == before {
            std::thread::park_timeout(Duration::from_millis(5));
        }
        assert_eq!(cluster.get(LEASES, "web/it").unwrap()["spec"]["holderIdentity"], "a");
        drop(go_on);
        assert_eq!(end(started), Ok(Ok(())));
        assert_eq!(cluster.get(LEASES, "web/it").unwrap()["spec"]["holderIdentity"], "");
    }
}
