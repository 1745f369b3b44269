//! Controllers that reconcile only while they lead.

use crate::election::{LEASES, PATH, Stage, election};
use core::time::Duration;
use listwatch::api::{Api, ApiError};
use listwatch::controller::{Controller, ControllerHandle, Outcome, Report, RunError, run_all};
use listwatch::decode::MetadataOnly;
use listwatch::election::{Election, StopReason, WhenLost};
use listwatch::file::Playback;
use listwatch::testing::Fault;
use listwatch::{Client, Executor, Resource, World, run};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

const MAPS: &str = "v1/configmaps";

type Seen = Arc<Mutex<Vec<String>>>;

fn map(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name, "namespace": "web" } })
}

/// Runs a controller that notes each key, until its world ends.
fn follow(world: World, election: Election, seen: &Seen) -> Result<(), RunError> {
    let controller = Controller::new("maps", world);
    let maps = controller.informer_of::<MetadataOnly>(MAPS);
    controller.reconciles(&maps).lead_by(election).run(async |_cx, key| {
        seen.lock().unwrap().push(key.to_string());
        Ok(Outcome::Done)
    })
}

fn position(lines: &[String], text: &str) -> usize {
    lines.iter().position(|line| line.contains(text)).unwrap_or_else(|| panic!("no {text} in {lines:#?}"))
}

#[test]
fn a_replica_is_a_candidate_when_its_sources_have_synced_and_its_workers_begin_when_it_leads() {
    let (stage, seen) = (Stage::new(), Seen::default());
    stage.cluster.create(map("a")).unwrap();
    for request in ["WATCH /api/v1/configmaps", "LIST /api/v1/configmaps"] {
        (0..3).for_each(|_| stage.cluster.fail_next(request, Fault::Refused(503)).unwrap());
    }
    let (it, noted) = (stage.clone(), Arc::clone(&seen));
    let world = stage.world.clone().until(async move {
        it.clock().sleep(Duration::from_millis(300)).await;
        assert_eq!(it.asked("GET"), 0, "its sources have not synced");
        it.pass(120).await;
        assert_eq!(it.holder(), "a");
        assert_eq!(*noted.lock().unwrap(), ["web/a"]);
        it.cluster.create(map("b")).unwrap();
        it.pass(1).await;
    });
    follow(world, election("a"), &seen).unwrap();
    assert_eq!(*seen.lock().unwrap(), ["web/a", "web/b"]);
    let lines = stage.lines();
    let leads = position(&lines, "maps: lease web/it: this candidate leads, in term 0-");
    assert!(leads < position(&lines, "maps: started; its sources have synced"), "{lines:#?}");
    assert_eq!(stage.holder(), "", "it is released at the end");
}

#[test]
fn the_second_replica_reconciles_everything_after_the_first_one_has_stopped() {
    let (stage, seen, handle) = (Stage::new(), Seen::default(), ControllerHandle::default());
    stage.cluster.create(map("a")).unwrap();
    let (it, noted, stop) = (stage.clone(), Arc::clone(&seen), handle.clone());
    let world = stage.world.clone().until(async move {
        it.pass(30).await;
        assert_eq!((it.holder().as_str(), &**noted.lock().unwrap()), ("first", &["first web/a".to_owned()][..]));
        it.cluster.create(map("b")).unwrap();
        it.pass(1).await;
        stop.stop();
        it.pass(18).await;
        assert_eq!(it.holder(), "first", "a reconcile goes on, and the lease is renewed");
        it.pass(60).await;
        assert_eq!(it.holder(), "second");
    });
    let replica = |identity: &'static str, handle: &ControllerHandle| {
        let controller = Controller::new(identity, world.clone());
        let maps = controller.informer_of::<MetadataOnly>(MAPS);
        let (seen, clock) = (Arc::clone(&seen), stage.clock().clone());
        controller.reconciles(&maps).keys(handle).lead_by(election(identity)).calls(async move |_cx, key| {
            clock.sleep(Duration::from_secs(20)).await;
            seen.lock().unwrap().push(format!("{identity} {key}"));
            Ok(Outcome::Done)
        })
    };
    run_all([replica("first", &handle), replica("second", &ControllerHandle::default())]).unwrap();
    let mut seen = seen.lock().unwrap().clone();
    seen[2..].sort_unstable();
    assert_eq!(seen, ["first web/a", "first web/b", "second web/a", "second web/b"]);
}

#[test]
fn a_lost_term_drops_the_reconciles_ends_the_run_and_refuses_what_is_still_written() {
    let (stage, kept) = (Stage::new(), Arc::<Mutex<Option<Client>>>::default());
    stage.cluster.create(map("a")).unwrap();
    let controller = Controller::new("maps", stage.world.clone());
    let maps = controller.informer_of::<MetadataOnly>(MAPS);
    let ended = controller.reconciles(&maps).lead_by(election("a")).run(async |cx, key| {
        cx.delete(&maps.get(&key).unwrap()).await?;
        *kept.lock().unwrap() = Some(cx.client().clone());
        stage.fail(20, "PUT", Fault::Silent);
        core::future::pending().await
    });
    let lost = RunError::LeaderElectionLost { lease: "web/it".to_owned(), reason: StopReason::Expired };
    assert_eq!(ended, Err(lost.clone()));
    let text = "leader election lost, lease web/it: no renewal succeeded within the renew deadline";
    assert_eq!(lost.to_string(), text);
    let client = kept.lock().unwrap().take().unwrap();
    let api = Api::<Value>::new(&Resource::named(MAPS).unwrap().in_namespace("web"));
    let written = run(stage.clock(), &Executor::new(), client.call(api.create(&map("late"))));
    let Err(ApiError::Transport(refused)) = written else { panic!("{written:?}") };
    assert_eq!(&*refused.detail, "not sent: a does not hold the lease web/it");
}

#[test]
fn a_replica_that_rejoins_reconciles_what_was_dropped_in_its_next_term() {
    let (stage, seen) = (Stage::new(), Seen::default());
    stage.cluster.create(map("a")).unwrap();
    let (it, noted) = (stage.clone(), Arc::clone(&seen));
    let world = stage.world.clone().until(async move {
        it.pass(5).await;
        it.cluster.patch(LEASES, "web/it", json!({ "spec": { "holderIdentity": "other" } })).unwrap();
        it.pass(5).await;
        it.cluster.create(map("b")).unwrap();
        it.pass(5).await;
        assert_eq!(*noted.lock().unwrap(), ["begins web/a"], "the other one leads");
        it.pass(60).await;
        assert_eq!(it.holder(), "a", "the other one has not renewed it");
    });
    let controller = Controller::new("maps", world);
    let maps = controller.informer_of::<MetadataOnly>(MAPS);
    let election = election("a").when_lost(WhenLost::Rejoin);
    let clock = stage.clock().clone();
    let ended = controller.reconciles(&maps).workers(2).lead_by(election).run(async |_cx, key| {
        seen.lock().unwrap().push(format!("begins {key}"));
        clock.sleep(Duration::from_secs(8)).await;
        seen.lock().unwrap().push(format!("ends {key}"));
        Ok(Outcome::Done)
    });
    assert_eq!(ended, Ok(()));
    let mut told = seen.lock().unwrap().split_off(1);
    told.sort_unstable();
    assert_eq!(told, ["begins web/a", "begins web/b", "ends web/a", "ends web/b"]);
}

#[test]
fn a_replica_that_never_led_says_so_and_leaves_the_lease() {
    let (stage, seen) = (Stage::new(), Seen::default());
    stage.cluster.create(map("a")).unwrap();
    let spec = json!({ "holderIdentity": "other", "leaseDurationSeconds": 3600 });
    let metadata = json!({ "name": "it", "namespace": "web" });
    let lease = json!({ "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec });
    stage.cluster.create(lease).unwrap();
    let world = stage.world.clone().lasting(Duration::from_secs(60));
    follow(world, election("a"), &seen).unwrap();
    assert!(seen.lock().unwrap().is_empty());
    assert_eq!(stage.holder(), "other");
    let lines = stage.lines();
    let expected = ["lease web/it: other leads", "lease web/it: the candidacy has ended", "ended; it never led"];
    assert_eq!(lines, expected.map(|line| format!("maps: {line}")));
}

#[test]
fn a_replica_whose_sources_do_not_sync_is_no_candidate_and_ends() {
    let (stage, seen) = (Stage::new(), Seen::default());
    for request in ["WATCH /api/v1/configmaps", "LIST /api/v1/configmaps"] {
        stage.cluster.fail_next(request, Fault::Refused(403)).unwrap();
    }
    let ended = follow(stage.world.clone(), election("a"), &seen);
    assert!(matches!(ended, Err(RunError::NotSynced { .. })), "{ended:?}");
    assert_eq!(stage.cluster.requests(), [""; 0], "{PATH}");
}

#[test]
fn the_handle_of_a_controller_tells_its_election() {
    let (stage, handle) = (Stage::new(), ControllerHandle::default());
    assert_eq!(handle.election(), None);
    stage.cluster.create(map("a")).unwrap();
    let controller = Controller::new("maps", stage.world.lasting(Duration::from_secs(60)));
    let maps = controller.informer_of::<MetadataOnly>(MAPS);
    let statuses = Arc::<Mutex<Vec<_>>>::default();
    let (noted, asked) = (Arc::clone(&statuses), handle.clone());
    controller
        .reconciles(&maps)
        .lead_by(election("a"))
        .keys(&handle)
        .run(async |cx, _key| {
            noted.lock().unwrap().push((asked.election().unwrap(), cx.fencing_token()));
            Ok(Outcome::Done)
        })
        .unwrap();
    let statuses = statuses.lock().unwrap();
    let [(status, token)] = &statuses[..] else { panic!("{statuses:?}") };
    assert!(status.is_leading() && status.token == *token && status.leader.as_deref() == Some("a"), "{status:?}");
    assert_eq!(handle.election(), None, "it has ended");
}

#[test]
fn a_reconcile_that_panics_does_not_cost_the_term() {
    let stage = Stage::new();
    stage.cluster.create(map("a")).unwrap();
    let controller = Controller::new("maps", stage.world.clone().lasting(Duration::from_secs(60)));
    let maps = controller.informer_of::<MetadataOnly>(MAPS);
    let reports = Seen::default();
    let told = Arc::clone(&reports);
    let reconciler = controller.reconciles(&maps).lead_by(election("a")).on_report(move |_, report| {
        if let Report::Election { lease, report } = report {
            told.lock().unwrap().push(format!("{lease} {report}"));
        }
        panic!("in a report");
    });
    reconciler.run(async |_cx, _key| panic!("in a reconcile")).unwrap();
    let reports = reports.lock().unwrap();
    assert_eq!(reports.len(), 5, "{reports:#?}");
    assert!(reports[2].ends_with("it was asked to stop"), "{reports:#?}");
    assert_eq!(stage.holder(), "");
}

#[test]
fn the_replay_of_a_tape_holds_no_election() {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let name = format!("election-{}-{}.jsonl.gz", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let tape = std::env::temp_dir().join(name);
    let run = |world: World| {
        let controller = Controller::new("maps", world);
        let maps = controller.informer_of::<Value>(MAPS);
        controller.reconciles(&maps).lead_by(election("a")).run(async |cx, key| {
            let Some(map) = maps.get(&key) else { return Ok(Outcome::Done) };
            cx.change(&map, |map| map["data"] = json!({ "seen": "yes" })).await?;
            Ok(Outcome::Done)
        })
    };
    let stage = Stage::new();
    stage.cluster.create(map("a")).unwrap();
    run(stage.world.clone().lasting(Duration::from_secs(10)).recorded_to(&tape).unwrap()).unwrap();
    assert_eq!(stage.cluster.get(MAPS, "web/a").unwrap()["data"], json!({ "seen": "yes" }));
    let lines = Seen::default();
    let on_line = Arc::clone(&lines);
    let world = World::from(Playback::from_file(&tape).unwrap());
    run(world.on_report_line(move |line| on_line.lock().unwrap().push(line.to_owned()))).unwrap();
    std::fs::remove_file(tape).unwrap();
    let lines = lines.lock().unwrap();
    assert!(!lines.is_empty() && lines.iter().all(|line| !line.contains("lease")), "{lines:#?}");
}

#[test]
fn an_election_that_cannot_be_is_an_error_of_the_run() {
    let (stage, seen) = (Stage::new(), Seen::default());
    let ended = follow(stage.world, election("a").renew_deadline(Duration::from_secs(3)), &seen);
    let Err(RunError::Config(why)) = ended else { panic!("{ended:?}") };
    assert!(why.contains("renew_deadline is 3s"), "{why}");
}
