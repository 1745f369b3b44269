//! The example.

#[path = "../../examples/leader-election.rs"]
#[expect(dead_code, reason = "its `main` takes a cluster")]
mod program;

use crate::election::{Stage, election};
use core::time::Duration;
use listwatch::World;
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
