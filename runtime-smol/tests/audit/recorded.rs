//! Audits and recordings.

use crate::audit::stage::{MAPS, only};
use core::time::Duration;
use listwatch::audit::AuditFailure;
use listwatch::controller::{Controller, Outcome, RunError};
use listwatch::decode::MetadataOnly;
use listwatch::file::Playback;
use listwatch::testing::SimulatedCluster;
use listwatch::{Executor, Informers, World, run};
use serde_json::json;
use std::path::{Path, PathBuf};

fn no_file(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _was_not_there = std::fs::remove_file(&path);
    path
}

/// A controller that audits in each reconcile and by a schedule, or not at all.
fn controller(world: impl Into<World>, audits: bool) -> Result<(), RunError> {
    let controller = Controller::new("maps", world);
    let maps = controller.informer_of::<MetadataOnly>(MAPS);
    let reconciler = controller.reconciles(&maps);
    let reconciler = if audits { reconciler.audit_every(Duration::from_secs(60)) } else { reconciler };
    reconciler.run(async |cx, _key| {
        if audits {
            let _same_or_refused = maps.audit().await;
        }
        cx.clock().sleep(Duration::from_secs(1)).await;
        Ok(Outcome::Done)
    })
}

#[test]
fn audits_leave_no_request_on_the_tape_of_a_controller() {
    let tapes = [false, true].map(|audits| {
        let (path, cluster) = (no_file(&format!("audited-{audits}.jsonl")), SimulatedCluster::new());
        let metadata = json!({ "name": "a", "namespace": "web" });
        cluster.create(json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata })).unwrap();
        let world = World::from(cluster.clone()).recorded_to(&path).unwrap();
        let (clock, changed) = (world.clock().clone(), cluster.clone());
        let world = world.until(async move {
            clock.sleep(Duration::from_secs(300)).await;
            changed.compact();
            changed.disconnect();
            clock.sleep(Duration::from_secs(300)).await;
        });
        controller(world, audits).unwrap();
        let asked = cluster.requests().len();
        assert_eq!(asked > 5, audits, "{asked} requests");
        controller(World::from(Playback::from_file(&path).unwrap()), audits).unwrap();
        std::fs::read_to_string(path).unwrap()
    });
    let requests = |tape: &str| tape.matches("\"request\":").count();
    assert_eq!(requests(&tapes[0]), requests(&tapes[1]));
}

#[test]
fn a_recording_has_no_list_of_another_time() {
    let recording = Playback::from_file("../tests/data/captures/pods-rollout.jsonl.gz").unwrap();
    let resource = recording.resource().unwrap().clone();
    let informers = Informers::new(recording);
    let (clock, executor) = (informers.clock().clone(), Executor::new());
    let _running = executor.spawn(informers.run());
    let pods = informers.informer_of::<MetadataOnly>(resource);
    run(&clock, &executor, async {
        pods.synced().await.unwrap();
        let audit = only(pods.audit().await);
        assert_eq!(audit.result, Err(AuditFailure::Recording));
        assert!(
            audit.to_string().ends_with("not compared: the world is a recording, which has no list of another time")
        );
    });
}
