//! Programs that lead by a lease: a step waits for the replica that will have it.

use crate::faults::{SECRETS, fixture, informers};
use crate::rules::plan;
use listwatch::World;
use listwatch::controller::{Controller, Outcome, RunError};
use listwatch::election::Election;
use listwatch_explore::Exploration;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Keeps a Secret for each ConfigMap while it leads, by a lease of so many seconds.
pub(crate) fn lead(world: World, lease: u64) -> Result<(), RunError> {
    let controller = Controller::new("keep", world);
    let (maps, secrets) = informers(&controller);
    let election = Election::new("keep").namespace("default").lease_duration(Duration::from_secs(lease));
    controller.reconciles(&maps).owns(&secrets).lead_by(election).run(async |cx, key| {
        let Some(map) = maps.get(&key) else { return Ok(Outcome::Done) };
        cx.ensure(&secrets, &key, &json!({ "stringData": map["data"] })).owned_by(&map).await?;
        Ok(Outcome::Done)
    })
}

/// What the Secret has after each step, by a scenario that changes the ConfigMap once.
fn seen(lease: u64, is_held: bool, at: &str) -> Vec<Value> {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&seen);
    let cluster = move || {
        let cluster = fixture();
        let spec = json!({ "holderIdentity": "gone", "leaseDurationSeconds": lease });
        let held = json!({ "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": { "name": "keep" }, "spec": spec });
        if is_held {
            cluster.create(held).unwrap();
        }
        cluster
    };
    let exploration = Exploration::of(move |world| lead(world, lease)).cluster(cluster).scenario(move |it| {
        let told = Arc::clone(&told);
        async move {
            told.lock().unwrap().clear();
            for x in ["2", "3"] {
                it.settled().await;
                told.lock().unwrap().push(it.get(SECRETS, "default/a").unwrap_or_default()["data"]["x"].clone());
                it.patch(crate::faults::MAPS, "default/a", json!({ "data": { "x": x } }))?;
            }
            it.settled().await;
            Ok(())
        }
    });
    exploration.replay(&plan(at)).unwrap();
    let seen = seen.lock().unwrap();
    seen.clone()
}

#[test]
fn a_step_waits_for_the_replica_that_waits_for_its_lease() {
    let killed = "PATCH v1/secrets default/a 1: killed before, back at once";
    assert_eq!(seen(15, false, killed), ["MQ==", "Mg=="]);
    assert_eq!(seen(15, true, "STEP 3: stalled v1/secrets"), ["MQ==", "Mg=="], "the fixture has the lease of another");
}

#[test]
fn a_run_does_not_end_before_the_lease_is_taken() {
    let killed = "PATCH v1/secrets default/a 2: killed before, back at once";
    assert_eq!(seen(137, false, killed), ["MQ==", "Mg=="]);
}
