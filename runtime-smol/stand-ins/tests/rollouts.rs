//! Rollouts of Deployments.

use crate::stage::{DEPLOYMENTS, PODS, SETS, condition, deployment, is_ready, names, play, play_for, template};
use listwatch::testing::SimulatedCluster;
use listwatch_stand_ins::{PodFate, StandIns};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn cluster(spec: Value) -> SimulatedCluster {
    let cluster = SimulatedCluster::new();
    cluster.create(deployment(spec)).unwrap();
    cluster
}

fn ready(cluster: &SimulatedCluster) -> StandIns {
    StandIns::of(cluster).deployments().kubelet(|_| PodFate::Ready)
}

fn web(cluster: &SimulatedCluster) -> Value {
    cluster.get(DEPLOYMENTS, "web").unwrap()
}

#[test]
fn a_deployment_gets_ready_and_says_so() {
    let cluster = cluster(json!({ "replicas": 3 }));
    play_for(&ready(&cluster), &cluster, 30);
    let (web, sets, pods) = (web(&cluster), cluster.list(SETS).unwrap(), cluster.list(PODS).unwrap());
    let mut status = web["status"].clone();
    status.as_object_mut().unwrap().remove("conditions");
    assert_eq!(
        status,
        json!({ "observedGeneration": 1, "replicas": 3, "updatedReplicas": 3, "readyReplicas": 3, "availableReplicas": 3,
            "terminatingReplicas": 0 })
    );
    let reason = |name| (&condition(&web, name)["status"], &condition(&web, name)["reason"]);
    assert_eq!(reason("Available"), (&json!("True"), &json!("MinimumReplicasAvailable")));
    assert_eq!(reason("Progressing"), (&json!("True"), &json!("NewReplicaSetAvailable")));
    assert_eq!(web["metadata"]["annotations"]["deployment.kubernetes.io/revision"], "1");
    let [set] = &sets[..] else { panic!("{sets:#?}") };
    let hash = set["metadata"]["labels"]["pod-template-hash"].as_str().unwrap();
    assert_eq!(set["metadata"]["name"], format!("web-{hash}"));
    assert_eq!(set["spec"]["selector"]["matchLabels"], json!({ "app": "web", "pod-template-hash": hash }));
    assert_eq!(set["metadata"]["ownerReferences"][0]["uid"], web["metadata"]["uid"]);
    assert_eq!(pods.len(), 3);
    for pod in &pods {
        assert_eq!(pod["metadata"]["labels"]["pod-template-hash"], hash);
        let owner = &pod["metadata"]["ownerReferences"][0];
        assert_eq!((&owner["uid"], &owner["controller"]), (&set["metadata"]["uid"], &json!(true)));
        assert_eq!((&pod["status"]["phase"], &pod["spec"]["nodeName"]), (&json!("Running"), &json!("node-1")));
        assert!(
            pod["status"]["podIP"].is_string() && pod["status"]["containerStatuses"][0]["ready"] == true,
            "{pod:#}"
        );
    }
}

/// After each change: the ready pods, all pods, and the updated ones that the status counts.
type Seen = Arc<Mutex<Vec<(usize, usize, u64)>>>;

fn watch(cluster: &SimulatedCluster) -> Seen {
    let (seen, it) = (Seen::default(), cluster.clone());
    let told = Arc::clone(&seen);
    cluster.on_commit(move |_| {
        let pods = it.list(PODS).unwrap();
        let updated = web(&it)["status"]["updatedReplicas"].as_u64().unwrap_or(0);
        told.lock().unwrap().push((pods.iter().filter(|pod| is_ready(pod)).count(), pods.len(), updated));
    });
    seen
}

#[test]
fn a_rolling_update_keeps_three_of_four_available() {
    for seed in 1..20 {
        let cluster = cluster(json!({ "replicas": 4 }));
        let it = cluster.clone();
        let seen = Arc::new(Mutex::new(Seen::default()));
        let told = Arc::clone(&seen);
        play(&ready(&cluster).seed(seed), &cluster, async move |clock| {
            clock.sleep(Duration::from_secs(20)).await;
            *told.lock().unwrap() = watch(&it);
            it.patch(DEPLOYMENTS, "web", json!({ "spec": { "template": template("nginx:2") } }))?;
            clock.sleep(Duration::from_secs(60)).await;
            Ok(())
        });
        let seen = seen.lock().unwrap().lock().unwrap().clone();
        assert!(seen.iter().all(|(ready, pods, _)| *ready >= 3 && *pods <= 5), "{seen:?}");
        assert!(seen.iter().any(|(ready, ..)| *ready == 3) && seen.iter().any(|(_, pods, _)| *pods == 5), "{seen:?}");
        let mut updated: Vec<u64> = seen.iter().map(|(.., updated)| *updated).collect();
        updated.dedup();
        // The status of the old template comes first.
        assert!(
            updated[0] == 4 && updated[1] == 0 && updated[1..].is_sorted() && updated.ends_with(&[4]),
            "{updated:?}"
        );
        let web = web(&cluster);
        assert_eq!(web["status"]["availableReplicas"], 4);
        assert_eq!(web["metadata"]["annotations"]["deployment.kubernetes.io/revision"], "2");
        assert_eq!(condition(&web, "Progressing")["reason"], "NewReplicaSetAvailable");
        let sets = cluster.list(SETS).unwrap();
        let mut sizes: Vec<_> = sets.iter().map(|set| (&set["spec"]["replicas"], &set["status"]["replicas"])).collect();
        sizes.sort_by_key(|(size, _)| size.as_u64());
        assert_eq!(sizes, [(&json!(0), &json!(0)), (&json!(4), &json!(4))]);
    }
}

#[test]
fn a_recreate_has_no_pods_of_two_templates() {
    let cluster = cluster(json!({ "replicas": 2, "strategy": { "type": "Recreate" } }));
    let (it, templates) = (cluster.clone(), Arc::new(Mutex::new(Vec::new())));
    let told = Arc::clone(&templates);
    cluster.on_commit(move |_| {
        let pods = it.list(PODS).unwrap();
        let hashes: BTreeSet<_> =
            pods.iter().map(|pod| pod["metadata"]["labels"]["pod-template-hash"].to_string()).collect();
        told.lock().unwrap().push(hashes.len());
    });
    let it = cluster.clone();
    play(&ready(&cluster), &cluster, async move |clock| {
        clock.sleep(Duration::from_secs(20)).await;
        let before = names(&it, PODS);
        it.patch(DEPLOYMENTS, "web", json!({ "spec": { "template": template("nginx:2") } }))?;
        clock.sleep(Duration::from_secs(20)).await;
        assert!(names(&it, PODS).iter().all(|name| !before.contains(name)));
        Ok(())
    });
    assert_eq!(web(&cluster)["status"]["availableReplicas"], 2);
    let mut templates = templates.lock().unwrap().clone();
    templates.dedup();
    assert_eq!(templates, [0, 1, 0, 1]);
}

#[test]
fn a_template_that_comes_back_has_its_replica_set_and_a_new_revision() {
    let cluster = cluster(json!({ "replicas": 1 }));
    let it = cluster.clone();
    play(&ready(&cluster), &cluster, async move |clock| {
        for image in ["nginx:2", "nginx:1"] {
            clock.sleep(Duration::from_secs(20)).await;
            it.patch(DEPLOYMENTS, "web", json!({ "spec": { "template": template(image) } }))?;
        }
        clock.sleep(Duration::from_secs(20)).await;
        Ok(())
    });
    let sets = cluster.list(SETS).unwrap();
    let revision = |set: &Value| set["metadata"]["annotations"]["deployment.kubernetes.io/revision"].clone();
    let mut revisions: Vec<_> = sets.iter().map(|set| (set["spec"]["replicas"].as_u64(), revision(set))).collect();
    revisions.sort_by_key(|(size, _)| *size);
    assert_eq!(revisions, [(Some(0), json!("2")), (Some(1), json!("3"))]);
}

#[test]
fn a_deployment_that_is_scaled_stays_complete() {
    let cluster = cluster(json!({ "replicas": 2 }));
    let it = cluster.clone();
    play(&ready(&cluster), &cluster, async move |clock| {
        clock.sleep(Duration::from_secs(20)).await;
        let complete = condition(&web(&it), "Progressing").clone();
        for replicas in [5, 1] {
            it.patch(DEPLOYMENTS, "web", json!({ "spec": { "replicas": replicas } }))?;
            clock.sleep(Duration::from_secs(20)).await;
            let web = web(&it);
            assert_eq!((&web["status"]["availableReplicas"], names(&it, PODS).len()), (&json!(replicas), replicas));
            assert_eq!(*condition(&web, "Progressing"), complete);
        }
        Ok(())
    });
    assert_eq!(cluster.list(SETS).unwrap().len(), 1);
}

#[test]
fn a_rollout_whose_pods_never_get_ready_misses_its_deadline() {
    let cluster = cluster(json!({ "replicas": 4, "progressDeadlineSeconds": 60 }));
    let is_old = |pod: &Value| pod["spec"]["containers"][0]["image"] == "nginx:1";
    let stand_ins = StandIns::of(&cluster)
        .deployments()
        .kubelet(move |pod| if is_old(pod) { PodFate::Ready } else { PodFate::NeverReady });
    let it = cluster.clone();
    play(&stand_ins, &cluster, async move |clock| {
        clock.sleep(Duration::from_secs(20)).await;
        it.patch(DEPLOYMENTS, "web", json!({ "spec": { "template": template("nginx:2") } }))?;
        clock.sleep(Duration::from_secs(50)).await;
        assert_eq!(condition(&web(&it), "Progressing")["reason"], "ReplicaSetUpdated");
        clock.sleep(Duration::from_secs(50)).await;
        Ok(())
    });
    let web = web(&cluster);
    let progress = condition(&web, "Progressing");
    assert_eq!((&progress["status"], &progress["reason"]), (&json!("False"), &json!("ProgressDeadlineExceeded")));
    let status = &web["status"];
    assert_eq!((&status["availableReplicas"], &status["updatedReplicas"]), (&json!(3), &json!(2)), "{status:#}");
    assert_eq!(condition(&web, "Available")["status"], "True");
}

#[test]
fn a_pod_is_available_when_it_was_ready_for_long_enough() {
    let cluster = cluster(json!({ "replicas": 1, "minReadySeconds": 10 }));
    let it = cluster.clone();
    play(&ready(&cluster), &cluster, async move |clock| {
        clock.sleep(Duration::from_secs(8)).await;
        let counts = |web: &Value| (web["status"]["readyReplicas"].clone(), web["status"]["availableReplicas"].clone());
        assert_eq!(counts(&web(&it)), (json!(1), json!(null)));
        clock.sleep(Duration::from_secs(8)).await;
        assert_eq!(counts(&web(&it)), (json!(1), json!(1)));
        Ok(())
    });
}

#[test]
fn the_same_seed_makes_the_same_run() {
    let run = |seed| {
        let cluster = cluster(json!({ "replicas": 3 }));
        play_for(&ready(&cluster).seed(seed), &cluster, 30);
        let objects = [DEPLOYMENTS, SETS, PODS].map(|resource| cluster.list(resource).unwrap());
        format!("{objects:?} {:?}", cluster.requests())
    };
    assert_eq!(run(7), run(7));
    assert_ne!(run(7), run(8));
}
