//! Pods that go, and pods that do not get ready.

use crate::stage::{DEPLOYMENTS, PODS, deployment, names, play, play_for};
use listwatch::testing::SimulatedCluster;
use listwatch_stand_ins::{PodFate, StandIns};
use serde_json::json;
use std::time::Duration;

fn cluster() -> SimulatedCluster {
    let cluster = SimulatedCluster::new();
    cluster.create(deployment(json!({ "replicas": 3 }))).unwrap();
    cluster
}

#[test]
fn a_pod_that_is_evicted_is_made_again() {
    let cluster = cluster();
    let it = cluster.clone();
    play(&StandIns::of(&cluster).deployments().kubelet(|_| PodFate::Ready), &cluster, async move |clock| {
        clock.sleep(Duration::from_secs(20)).await;
        let before = names(&it, PODS);
        it.patch(PODS, &before[0], json!({ "status": { "phase": "Failed", "reason": "Evicted" } }))?;
        it.delete(PODS, &before[1])?;
        clock.sleep(Duration::from_secs(20)).await;
        let after = names(&it, PODS);
        assert!(after.len() == 4 && after.contains(&before[0]) && !after.contains(&before[1]), "{after:?}");
        assert_eq!(it.get(PODS, &before[0])?["status"]["reason"], "Evicted");
        Ok(())
    });
    assert_eq!(cluster.get(DEPLOYMENTS, "web").unwrap()["status"]["availableReplicas"], 3);
}

#[test]
fn a_pod_that_is_held_by_a_finalizer_is_replaced_while_it_goes() {
    let cluster = cluster();
    let it = cluster.clone();
    play(&StandIns::of(&cluster).deployments().kubelet(|_| PodFate::Ready), &cluster, async move |clock| {
        clock.sleep(Duration::from_secs(20)).await;
        let held = names(&it, PODS).remove(0);
        it.patch(PODS, &held, json!({ "metadata": { "finalizers": ["example.com/held"] } }))?;
        it.delete(PODS, &held)?;
        clock.sleep(Duration::from_secs(20)).await;
        assert_eq!(names(&it, PODS).len(), 4);
        Ok(())
    });
    assert_eq!(cluster.get(DEPLOYMENTS, "web").unwrap()["status"]["replicas"], 3);
}

#[test]
fn a_container_of_a_deployment_that_ends_crashes_again_and_again() {
    let cluster = cluster();
    play_for(&StandIns::of(&cluster).deployments().kubelet(|_| PodFate::Fails(1)), &cluster, 60);
    let pods = cluster.list(PODS).unwrap();
    assert_eq!(pods.len(), 3, "none is replaced");
    for pod in pods {
        assert_eq!(pod["status"]["phase"], "Running");
        assert_eq!(pod["status"]["containerStatuses"][0]["state"]["waiting"]["reason"], "CrashLoopBackOff");
    }
    assert_eq!(cluster.get(DEPLOYMENTS, "web").unwrap()["status"]["unavailableReplicas"], 3);
}

#[test]
fn a_pod_gets_ready_later_if_its_fate_changes() {
    let cluster = cluster();
    let is_marked = |pod: &serde_json::Value| pod["metadata"]["labels"]["mark"].is_string();
    let stand_ins = StandIns::of(&cluster)
        .deployments()
        .kubelet(move |pod| if is_marked(pod) { PodFate::Ready } else { PodFate::NeverReady });
    let it = cluster.clone();
    play(&stand_ins, &cluster, async move |clock| {
        clock.sleep(Duration::from_secs(20)).await;
        it.patch(PODS, &names(&it, PODS)[0], json!({ "metadata": { "labels": { "mark": "" } } }))?;
        clock.sleep(Duration::from_secs(20)).await;
        Ok(())
    });
    assert_eq!(cluster.get(DEPLOYMENTS, "web").unwrap()["status"]["readyReplicas"], 1);
}
