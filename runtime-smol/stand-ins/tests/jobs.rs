//! Jobs, and the ends of their pods.

use crate::stage::{JOBS, PODS, condition, play_for};
use listwatch::testing::SimulatedCluster;
use listwatch::time::WallTime;
use listwatch_stand_ins::{PodFate, StandIns};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

fn cluster(mut spec: Value) -> SimulatedCluster {
    spec["template"] =
        json!({ "spec": { "restartPolicy": "Never", "containers": [{ "name": "job", "image": "job" }] } });
    let cluster = SimulatedCluster::new();
    let job = json!({ "apiVersion": "batch/v1", "kind": "Job", "metadata": { "name": "job" }, "spec": spec });
    cluster.create(job).unwrap();
    cluster
}

/// Stand-ins by which the first pods fail, so many of them.
fn failing(cluster: &SimulatedCluster, failures: u32) -> StandIns {
    let ended = AtomicU32::new(0);
    StandIns::of(cluster).jobs().kubelet(move |_| match ended.fetch_add(1, Ordering::Relaxed) {
        number if number < failures => PodFate::Fails(3),
        _ => PodFate::Succeeds,
    })
}

fn counts(job: &Value) -> [Option<u64>; 3] {
    ["active", "succeeded", "failed"].map(|name| job["status"][name].as_u64())
}

#[test]
fn a_job_fails_twice_and_then_succeeds() {
    let cluster = cluster(json!({}));
    play_for(&failing(&cluster, 2), &cluster, 120);
    let (job, pods) = (cluster.get(JOBS, "job").unwrap(), cluster.list(PODS).unwrap());
    assert_eq!(counts(&job), [None, Some(1), Some(2)], "{job:#}");
    let complete = condition(&job, "Complete");
    assert_eq!((&complete["status"], &complete["reason"]), (&json!("True"), &json!("CompletionsReached")));
    assert!(job["status"]["completionTime"].is_string() && job["status"]["startTime"].is_string());
    assert_eq!(pods.len(), 3, "those that have ended stay");
    let mut begun: Vec<WallTime> =
        pods.iter().map(|pod| pod["metadata"]["creationTimestamp"].as_str().unwrap().parse().unwrap()).collect();
    begun.sort();
    let waits: Vec<u64> = begun.windows(2).map(|pair| pair[1].saturating_since(pair[0]).as_secs()).collect();
    assert!((10..=15).contains(&waits[0]) && (20..=25).contains(&waits[1]), "{waits:?}");
    let failed =
        pods.iter().filter(|pod| pod["status"]["phase"] == "Failed").map(|pod| &pod["status"]["containerStatuses"][0]);
    assert!(failed.clone().all(|it| it["state"]["terminated"]["exitCode"] == 3) && failed.count() == 2, "{pods:#?}");
    assert!(pods.iter().all(|pod| pod["metadata"]["labels"]["batch.kubernetes.io/job-name"] == "job"), "{pods:#?}");
}

#[test]
fn a_job_that_fails_too_often_has_failed_and_ends_its_other_pods() {
    let cluster = cluster(json!({ "backoffLimit": 1, "completions": 8, "parallelism": 4 }));
    let ended = AtomicU32::new(0);
    let stand_ins = StandIns::of(&cluster).jobs().kubelet(move |_| match ended.fetch_add(1, Ordering::Relaxed) {
        0 | 1 => PodFate::Fails(1),
        _ => PodFate::NeverReady,
    });
    play_for(&stand_ins, &cluster, 120);
    let job = cluster.get(JOBS, "job").unwrap();
    assert_eq!(counts(&job), [None, None, Some(2)], "{job:#}");
    assert_eq!(condition(&job, "Failed")["reason"], "BackoffLimitExceeded");
    assert!(cluster.list(PODS).unwrap().iter().all(|pod| pod["status"]["phase"] == "Failed"));
}

#[test]
fn a_job_runs_no_more_pods_at_a_time_than_its_parallelism() {
    let cluster = cluster(json!({ "completions": 5, "parallelism": 2 }));
    let (it, most) = (cluster.clone(), Arc::new(AtomicUsize::new(0)));
    let told = Arc::clone(&most);
    cluster.on_commit(move |_| {
        let pods = it.list(PODS).unwrap();
        told.fetch_max(pods.iter().filter(|pod| pod["status"]["phase"] != "Succeeded").count(), Ordering::Relaxed);
    });
    play_for(&failing(&cluster, 0), &cluster, 120);
    assert_eq!(most.load(Ordering::Relaxed), 2);
    assert_eq!(counts(&cluster.get(JOBS, "job").unwrap()), [None, Some(5), None]);
    assert_eq!(cluster.list(PODS).unwrap().len(), 5);
}

#[test]
fn a_job_without_completions_makes_no_pod_once_one_has_emptied_the_queue() {
    let cluster = cluster(json!({ "parallelism": 3 }));
    let ended = AtomicU32::new(0);
    let stand_ins = StandIns::of(&cluster).jobs().kubelet(move |_| match ended.fetch_add(1, Ordering::Relaxed) {
        1 => PodFate::Fails(1),
        _ => PodFate::Succeeds,
    });
    play_for(&stand_ins, &cluster, 120);
    let job = cluster.get(JOBS, "job").unwrap();
    assert_eq!((counts(&job), &condition(&job, "Complete")["status"]), ([None, Some(2), Some(1)], &json!("True")));
}
