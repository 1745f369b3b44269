//! The example.

#[path = "../../examples/leader-election.rs"]
#[expect(dead_code, reason = "its `main` takes a cluster")]
mod program;

use crate::election::{Stage, election};
use core::time::Duration;
use listwatch::World;
use listwatch::testing::Fault;
use serde_json::json;

#[test]
fn the_counter_counts_under_one_term_after_the_other() {
    let stage = Stage::new();
    let counter = json!({ "name": "counter", "namespace": "web" });
    stage.cluster.create(json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": counter })).unwrap();
    for transitions in 0..3 {
        let world = World::from(stage.cluster.clone()).lasting(Duration::from_secs(10));
        program::count(world, "web", election("a"), Duration::from_secs(1)).unwrap();
        let data = stage.cluster.get("v1/configmaps", "web/counter").unwrap()["data"].clone();
        let term = data["term"].as_str().unwrap();
        assert!(term.starts_with(&format!("{transitions}-")), "{data}");
        assert_eq!(data["count"], (10 * (transitions + 1)).to_string());
    }
}

#[test]
fn after_a_conflict_the_counter_counts_on_from_the_count_of_the_other_writer() {
    let stage = Stage::new();
    let counter = json!({ "name": "counter", "namespace": "web" });
    stage.cluster.create(json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": counter })).unwrap();
    let (cluster, clock) = (stage.cluster.clone(), stage.clock().clone());
    let world = stage.world.clone().until(async move {
        clock.sleep(Duration::from_millis(5500)).await;
        let watch = "WATCH /api/v1/namespaces/web/configmaps";
        (0..2).for_each(|_| cluster.fail_next(watch, Fault::Refused(503)).unwrap());
        cluster.disconnect();
        cluster.patch("v1/configmaps", "web/counter", json!({ "data": { "count": "1000" } })).unwrap();
        clock.sleep(Duration::from_secs(30)).await;
    });
    program::count(world, "web", election("a"), Duration::from_secs(1)).unwrap();
    let data = stage.cluster.get("v1/configmaps", "web/counter").unwrap()["data"].clone();
    let count: u64 = data["count"].as_str().unwrap().parse().unwrap();
    assert!((1001..1040).contains(&count), "{data}");
}
