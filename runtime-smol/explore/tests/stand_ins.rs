//! Programs whose Deployments get ready, beside stand-ins for Kubernetes' own controllers.

use crate::sample::{FOOS, fixture};
use crate::sample_controller::sample;
use listwatch_explore::{Exploration, Plan};
use listwatch_stand_ins::{PodFate, StandIns};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

const PODS: &str = "v1/pods";

/// A Foo is scaled, and one of its pods is evicted.
fn exploration() -> Exploration {
    let exploration = Exploration::of(sample).cluster(fixture).scenario(async |it| {
        it.settled().await;
        it.patch(FOOS, "web/a", json!({ "spec": { "replicas": 4 } }))?;
        it.settled().await;
        // There is none yet where the program is down.
        if let Some(pod) = it.list(PODS).unwrap_or_default().first() {
            let name = pod["metadata"]["name"].as_str().unwrap_or_default();
            it.delete(PODS, &format!("web/{name}"))?;
        }
        it.settled().await;
        it.patch(FOOS, "web/a", json!({ "spec": { "replicas": 3 } }))?;
        it.settled().await;
        Ok(())
    });
    exploration.stand_ins(|cluster| StandIns::of(cluster).deployments().kubelet(|_| PodFate::Ready))
}

#[test]
fn the_status_of_a_foo_follows_its_pods_under_all_troubles() {
    let explored = exploration()
        .in_the_end(|it| {
            let available =
                it.get(FOOS, "web/a").map_err(|error| error.to_string())?["status"]["availableReplicas"].clone();
            if available == 3 { Ok(()) } else { Err(format!("{available} are available")) }
        })
        .run(200)
        .unwrap();
    println!("{explored}");
    assert_eq!(explored.runs, 200);
    let met = explored.met.keys();
    assert!(explored.met.contains_key("PATCH samplecontroller.k8s.io/v1alpha1/foos web/a/status"), "{explored}");
    assert!(
        met.clone().all(|at| !at.contains(PODS) && !at.contains("replicasets")),
        "stand-ins are not disturbed: {explored}"
    );
}

#[test]
fn the_same_seed_explores_the_same_beside_stand_ins() {
    let text = |threads| exploration().seed(7).threads(threads).run(40).unwrap().to_string();
    assert_eq!(text(1), text(3));
}

#[test]
fn stand_ins_go_on_while_the_program_is_down() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&seen);
    let exploration = exploration().scenario(move |it| {
        let told = Arc::clone(&told);
        async move {
            it.settled().await;
            it.patch(FOOS, "web/a", json!({ "spec": { "replicas": 4 } }))?;
            it.settled().await;
            let available = |object: Value| object["status"]["availableReplicas"].clone();
            let seen = [available(it.get("apps/v1/deployments", "web/b")?), available(it.get(FOOS, "web/a")?)];
            told.lock().unwrap().push(seen);
            Ok(())
        }
    });
    let plan = Plan::parse("PATCH apps/v1/deployments web/b 1: killed stored, back later").unwrap();
    exploration.replay(&plan).unwrap();
    assert_eq!(seen.lock().unwrap().last(), Some(&[json!(4), json!(2)]), "the Foo tells what it was before");
}

#[test]
fn stand_ins_go_on_beside_a_second_replica() {
    let plan = Plan::parse("PATCH apps/v1/deployments web/b 1: paused").unwrap();
    exploration().replay(&plan).unwrap();
}
