//! Replicas that divide objects among them: unless one stands still, no replica writes for an object that another one
//! reconciles. Whatever is disturbed, all objects are right in the end.

use crate::faults::{MAPS, SECRETS, informers};
use listwatch::World;
use listwatch::controller::{Controller, Outcome, RunError, Running, run_all};
use listwatch::election::WhenLost;
use listwatch::shards::Sharding;
use listwatch::testing::SimulatedCluster;
use listwatch_explore::{Exploration, It, Outside};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// The replicas of a run.
#[derive(Default)]
struct Replicas {
    started: AtomicU32,
    /// Which of them began to reconcile an object the last time.
    begun: Mutex<BTreeMap<String, String>>,
    /// Which of them has written its Secret.
    written: Mutex<BTreeMap<String, String>>,
}

const OBJECTS: [&str; 6] = ["one/a", "one/b", "two/a", "two/b", "three/a", "four/a"];

/// One replica, which keeps a Secret with its own name for each ConfigMap.
fn replica(world: &World, outside: &Outside<Replicas>, sharding: Sharding) -> Running<'static> {
    let name = format!("r{}", outside.started.fetch_add(1, Ordering::Relaxed));
    let (controller, outside) = (Controller::new("keep", world.clone()), outside.clone());
    let (maps, secrets) = informers(&controller);
    controller.reconciles(&maps).owns(&secrets).shards(sharding).workers(2).calls(async move |cx, key| {
        outside.begun.lock().unwrap().insert(key.to_string(), name.clone());
        let Some(map) = maps.get(&key) else { return Ok(Outcome::Done) };
        let secret = json!({ "metadata": { "annotations": { "by": name } }, "stringData": { "x": map["data"]["x"] } });
        cx.ensure(&secrets, &key, &secret).owned_by(&map).await?;
        Ok(Outcome::Done)
    })
}

/// Two replicas in one process.
fn pair(world: &World, outside: &Outside<Replicas>, sharding: fn(&str) -> Sharding) -> Result<(), RunError> {
    let [lease, renewal, retry] = [8, 6, 1].map(Duration::from_secs);
    let sharding = || {
        let sharding = sharding("keep").namespace("default").count(5).lease_duration(lease).renew_deadline(renewal);
        sharding.retry_period(retry).when_lost(WhenLost::Rejoin)
    };
    run_all([replica(world, outside, sharding()), replica(world, outside, sharding())])
}

fn installed() -> SimulatedCluster {
    let cluster = SimulatedCluster::new();
    for object in OBJECTS {
        let (namespace, name) = object.split_once('/').unwrap();
        let metadata = json!({ "namespace": namespace, "name": name });
        let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": { "x": "1" } });
        cluster.create(map).unwrap();
    }
    cluster
}

/// The writer of each Secret that has another one now is the replica that reconciles it.
fn writers(it: &It<Replicas>) -> Result<(), String> {
    for secret in it.list(SECRETS).unwrap_or_default() {
        let key = format!("{}/{}", text(&secret["metadata"]["namespace"]), text(&secret["metadata"]["name"]));
        let by = text(&secret["metadata"]["annotations"]["by"]);
        let before = it.outside().written.lock().unwrap().insert(key.clone(), by.clone());
        let begun = it.outside().begun.lock().unwrap().get(&key).cloned();
        if before.as_ref() != Some(&by) && begun.as_ref() != Some(&by) {
            return Err(format!("{by} has written {key}, which {begun:?} reconciles"));
        }
    }
    Ok(())
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Each ConfigMap has its Secret.
fn right(it: &It<Replicas>) -> Result<(), String> {
    for object in OBJECTS {
        let Ok(map) = it.get(MAPS, object) else { continue };
        let secret = it.get(SECRETS, object).map_err(|error| format!("{object}: {error}"))?;
        let wanted = if text(&map["data"]["x"]) == "2" { "Mg==" } else { "MQ==" };
        if secret["data"]["x"] != wanted {
            return Err(format!("the Secret {object} has {}", secret["data"]["x"]));
        }
    }
    Ok(())
}

fn exploration(sharding: fn(&str) -> Sharding) -> Exploration<Replicas> {
    let exploration = Exploration::beside(Replicas::default, move |world, outside| pair(&world, outside, sharding));
    let exploration = exploration.cluster(installed).scenario(async |it| {
        for objects in [&OBJECTS[..3], &OBJECTS[3..]] {
            it.settled().await;
            for object in objects {
                _ = it.patch(MAPS, object, json!({ "data": { "x": "2" } }));
            }
        }
        it.settled().await;
        Ok(())
    });
    exploration.may_vary("v1/secrets").in_the_end(right)
}

/// Replicas that never stand still. No server fences the write of one that goes on behind its term, except by the version
/// and the name that it carries: where another replica has begun and not written, it passes.
fn fenced(sharding: fn(&str) -> Sharding) -> Exploration<Replicas> {
    exploration(sharding).without("paused").without("paused-long").always("one writer", writers)
}

/// The runs: `LISTWATCH_RUNS=10000` for all.
fn runs() -> usize {
    std::env::var("LISTWATCH_RUNS").ok().and_then(|runs| runs.parse().ok()).unwrap_or(40)
}

#[test]
fn by_uid_one_replica_at_a_time_writes_for_an_object_and_all_are_right_in_the_end() {
    // Under its name, another object has another uid, and perhaps another shard.
    println!("{}", fenced(Sharding::by_uid).without("recreated").run(runs()).unwrap());
}

#[test]
fn by_namespace_one_replica_at_a_time_writes_for_an_object_and_all_are_right_in_the_end() {
    println!("{}", fenced(Sharding::by_namespace).run(runs()).unwrap());
}

#[test]
fn all_are_right_in_the_end_also_behind_replicas_that_stand_still() {
    println!("{}", exploration(Sharding::by_namespace).run(runs()).unwrap());
}
