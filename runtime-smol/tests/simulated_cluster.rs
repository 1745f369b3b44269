//! Controllers on a simulated cluster.

use crate::foo::{FOOS, with_foo};
use crate::sample_controller::sample;
use listwatch::World;
use listwatch::controller::{Controller, Outcome, RunError};
use listwatch::testing::{Fault, SimulatedCluster};
use serde_json::{Value, json};
use std::sync::Mutex;
use std::time::Duration;

const DEPLOYMENTS: &str = "apps/v1/deployments";

/// The requests, but for those of Events.
fn requests(cluster: &SimulatedCluster) -> Vec<String> {
    let requests = cluster.requests();
    requests.iter().map(ToString::to_string).filter(|request| !request.contains("/events.k8s.io/")).collect()
}

#[test]
fn the_sample_controller_tells_in_one_series_of_events_that_it_synced_a_foo_and_in_another_that_it_cannot() {
    let cluster = with_foo();
    run_for(&cluster, 60);
    let deployment = json!({ "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": { "name": "others", "namespace": "web" }, "spec": { "replicas": 1 } });
    cluster.create(deployment).unwrap();
    cluster.patch(FOOS, "web/a", json!({ "spec": { "deploymentName": "others" } })).unwrap();
    run_for(&cluster, 60);
    let told = |event: &Value| {
        assert_eq!((&event["regarding"]["kind"], &event["regarding"]["name"]), (&json!("Foo"), &json!("a")));
        ["type", "reason", "note"].map(|field| event[field].as_str().unwrap().to_owned())
    };
    let events = cluster.list("events.k8s.io/v1/events").unwrap();
    let warning = "Resource \"others\" already exists and is not managed by Foo";
    assert_eq!(
        events.iter().map(told).collect::<Vec<_>>(),
        [["Normal", "Synced", "Foo synced successfully"], ["Warning", "ErrResourceExists", warning]]
    );
    assert!(events[0]["series"]["count"].as_u64() >= Some(2), "{events:#?}");
}

#[test]
fn a_foo_gets_a_deployment() {
    let cluster = with_foo();
    sample(World::from(cluster.clone()).lasting(Duration::from_secs(60))).unwrap();
    assert_eq!(requests(&cluster), ["POST /apis/apps/v1/namespaces/web/deployments 201"]);
    assert_eq!(cluster.get(DEPLOYMENTS, "web/b").unwrap()["spec"]["replicas"], 2);
}

#[test]
fn a_scenario_changes_the_cluster_while_the_controller_runs() {
    let run = || {
        let cluster = with_foo();
        let world = World::from(cluster.clone());
        let (clock, it) = (world.clock().clone(), cluster.clone());
        let replicas =
            |cluster: &SimulatedCluster| cluster.get(DEPLOYMENTS, "web/b").unwrap()["spec"]["replicas"].clone();
        let scenario = async move {
            clock.sleep(Duration::from_secs(1)).await;
            it.patch(FOOS, "web/a", json!({ "spec": { "replicas": 3 } })).unwrap();
            it.fail_next("PATCH /apis/apps/v1/namespaces/web/deployments/b", Fault::Refused(409)).unwrap();
            clock.sleep(Duration::from_secs(1)).await;
            assert_eq!(replicas(&it), 3);
            it.patch(DEPLOYMENTS, "web/b", json!({ "spec": { "replicas": 9 }, "status": { "availableReplicas": 3 } }))
                .unwrap();
            clock.sleep(Duration::from_secs(1)).await;
            assert_eq!(replicas(&it), 3);
            assert_eq!(it.get(FOOS, "web/a").unwrap()["status"]["availableReplicas"], 3);
            it.delete(FOOS, "web/a").unwrap();
            clock.sleep(Duration::from_secs(1)).await;
        };
        sample(world.until(scenario)).unwrap();
        assert_eq!(cluster.faults_left(), [""; 0]);
        assert_eq!(cluster.list(DEPLOYMENTS).unwrap(), Vec::<Value>::new());
        requests(&cluster)
    };
    let requests = run();
    assert_eq!(
        requests,
        [
            "POST /apis/apps/v1/namespaces/web/deployments 201",
            "PATCH /apis/apps/v1/namespaces/web/deployments/b 409",
            "GET /apis/apps/v1/namespaces/web/deployments/b 200",
            "PATCH /apis/apps/v1/namespaces/web/deployments/b 200",
            "PATCH /apis/apps/v1/namespaces/web/deployments/b 200",
            "PATCH /apis/samplecontroller.k8s.io/v1alpha1/namespaces/web/foos/a/status 200",
        ]
    );
    assert_eq!(run(), requests);
}

/// Runs the sample controller on a cluster for a time.
fn run_for(cluster: &SimulatedCluster, seconds: u64) {
    sample(World::from(cluster.clone()).lasting(Duration::from_secs(seconds))).unwrap();
}

#[test]
fn a_second_world_is_the_controller_after_a_restart() {
    let cluster = with_foo();
    run_for(&cluster, 3600);
    assert_eq!(cluster.date().to_string(), "2000-01-01T01:00:00Z");
    cluster.clear_requests();
    cluster.patch(FOOS, "web/a", json!({ "spec": { "deploymentName": "c" } })).unwrap();
    run_for(&cluster, 60);
    assert_eq!(requests(&cluster), ["POST /apis/apps/v1/namespaces/web/deployments 201"]);
    let created = &cluster.get(DEPLOYMENTS, "web/c").unwrap()["metadata"]["creationTimestamp"];
    assert_eq!(created, "2000-01-01T01:00:00Z");
    assert_eq!(cluster.date().to_string(), "2000-01-01T01:01:00Z");
}

#[test]
fn requests_get_lost_on_their_way_there_and_back() {
    const DEPLOYMENT: &str = "/apis/apps/v1/namespaces/web/deployments";
    for (fault, first) in [
        (Fault::Lost, "201 lost"),
        (Fault::Silent, "dropped"),
        (Fault::Unreachable, "dropped"),
        (Fault::Refused(503), "503"),
    ] {
        let cluster = with_foo();
        cluster.fail_next("POST /apis/apps/v1", fault).unwrap();
        run_for(&cluster, 120);
        assert_eq!(cluster.requests()[0], *format!("POST {DEPLOYMENT} {first}"), "{fault:?}");
        assert_eq!((cluster.list(DEPLOYMENTS).unwrap().len(), cluster.faults_left()), (1, Vec::new()), "{fault:?}");
        let made = requests(&cluster).iter().filter(|request| request.contains("201")).count();
        assert_eq!(made, 1, "{fault:?}: {:?}", cluster.requests());
    }
}

#[test]
fn informers_find_what_happened_while_their_connections_were_broken() {
    let cluster = with_foo();
    let world = World::from(cluster.clone());
    let (clock, it) = (world.clock().clone(), cluster.clone());
    let scenario = async move {
        for replicas in [5, 6] {
            clock.sleep(Duration::from_secs(60)).await;
            it.disconnect();
            it.patch(FOOS, "web/a", json!({ "spec": { "replicas": replicas } })).unwrap();
            it.compact();
            it.fail_next("WATCH", Fault::Unreachable).unwrap();
            clock.sleep(Duration::from_secs(60)).await;
            assert_eq!(it.get(DEPLOYMENTS, "web/b").unwrap()["spec"]["replicas"], replicas);
        }
    };
    sample(world.until(scenario)).unwrap();
    assert_eq!(cluster.faults_left(), [""; 0]);
}

/// Keeps the pages of each Foo in a ConfigMap: the page `a`, and no other.
fn pages(world: World) -> Result<(), RunError> {
    let controller = Controller::new("pages", world);
    let (foos, maps) = (controller.informer_of::<Value>(FOOS), controller.informer_of::<Value>("v1/configmaps"));
    controller.reconciles(&foos).run(async |cx, key| {
        cx.ensure(&maps, key.sibling("pages"), &json!({ "data": { "a": "1" } })).exactly("/data").await?;
        Ok(Outcome::Done)
    })
}

#[test]
fn a_page_that_is_not_wanted_any_more_goes() {
    let cluster = with_foo();
    let map = |data: Value| {
        json!({ "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": "pages", "namespace": "web" }, "data": data })
    };
    cluster.create(map(json!({ "a": "1", "b": "2" }))).unwrap();
    let world = World::from(cluster.clone());
    let (clock, it) = (world.clock().clone(), cluster.clone());
    let scenario = async move {
        for paused in [true, false] {
            clock.sleep(Duration::from_secs(60)).await;
            assert_eq!(it.get("v1/configmaps", "web/pages")?["data"], json!({ "a": "1" }));
            it.patch(FOOS, "web/a", json!({ "spec": { "paused": paused } }))?;
        }
        clock.sleep(Duration::from_secs(60)).await;
        Ok(())
    };
    pages(world.try_until(scenario)).unwrap();
    let requests = cluster.requests();
    assert!(requests.iter().any(|request| *request == "PATCH /api/v1/namespaces/web/configmaps/pages 200"));
    let writes: Vec<_> = requests.iter().filter(|request| request.method.name() != "GET").collect();
    assert_eq!(
        writes.iter().map(|write| &write.body["data"]).collect::<Vec<_>>(),
        [&json!({ "b": null })],
        "{requests:?}"
    );
    assert!(requests.len() <= 3, "a state is compared once: {requests:?}");
}

#[test]
fn a_denied_list_ends_the_controller() {
    let cluster = with_foo();
    cluster.fail_next("LIST /apis/apps/v1/deployments", Fault::Refused(403)).unwrap();
    cluster.fail_next("WATCH /apis/apps/v1/deployments", Fault::Refused(403)).unwrap();
    let error = sample(World::from(cluster).lasting(Duration::from_secs(60))).unwrap_err().to_string();
    assert!(error.contains("deployments"), "{error}");
}

#[test]
fn a_scenario_that_fails_fails_the_run() {
    let cluster = SimulatedCluster::new();
    let it = cluster.clone();
    let scenario = async move { drop(it.get(DEPLOYMENTS, "web/none").unwrap()) };
    let error = sample(World::from(cluster).until(scenario)).unwrap_err().to_string();
    assert!(error.contains("not found"), "{error}");
}

#[test]
fn a_scenario_returns_its_error() {
    let cluster = with_foo();
    let it = cluster.clone();
    let scenario = async move {
        it.fail_next("DELETE /apis/apps/v1", Fault::Lost)?;
        it.delete(DEPLOYMENTS, "web/none")?;
        Ok(())
    };
    let error = sample(World::from(cluster).try_until(scenario)).unwrap_err().to_string();
    assert!(error.starts_with("the future that ends the world failed: ") && error.contains("not found"), "{error}");
}

#[test]
fn a_misspelt_resource_is_an_error() {
    let cluster = with_foo();
    sample(World::from(cluster.clone()).lasting(Duration::from_secs(60))).unwrap();
    assert_eq!(cluster.list("samplecontroller.k8s.io/v1alpha1/foos").unwrap().len(), 1);
    assert!(cluster.list("v1/pods").unwrap().is_empty(), "a kind of Kubernetes");
    for (resource, why) in [
        ("samplecontroller.k8s.io/v1alpha1/fos", "no object and no informer has had the resource"),
        ("samplecontroller.k8s.io/v1/foos", "no object and no informer has had the resource"),
        ("apps/v1/deployment", "Kubernetes has no resource"),
        ("deployments", "name version and plural"),
        ("/deployments", "name version and plural"),
        ("apps/v1/", "name version and plural"),
    ] {
        let error = cluster.list(resource).unwrap_err().to_string();
        assert!(error.contains(why) && error.contains(&format!("`{resource}`")), "{error}");
    }
}

#[test]
fn a_fault_that_no_request_can_have_is_refused() {
    let cluster = SimulatedCluster::new();
    for (requests, why) in [
        ("", "is no method"),
        ("patch /api/v1", "is no method"),
        ("FETCH /api/v1/pods", "is no method"),
        ("PATCH apps/v1/deployments", "is no path of resources"),
        ("PATCH /apix/v1/pods", "is no path of resources"),
        ("PATCH /api/v1/pods 409", "is no path of resources"),
        ("LIST /api/v1/pod", "Kubernetes has no resource `v1/pod`"),
    ] {
        let error = cluster.fail_next(requests, Fault::Lost).unwrap_err().to_string();
        assert!(error.contains(why), "{requests}: {error}");
    }
    for code in [0, 200, 304, 399, 600] {
        let error = cluster.fail_next("PATCH", Fault::Refused(code)).unwrap_err().to_string();
        assert!(error.contains(&format!("{code} is no status of a refusal")), "{error}");
    }
    assert_eq!(cluster.faults_left(), [""; 0]);
    for requests in
        ["PATCH", "POST /apis/apps/v1", "GET /api/v1/namespaces", "DELETE /apis/apps/v1/namespaces/web", "LIST"]
    {
        cluster.fail_next(requests, Fault::Lost).unwrap();
    }
}

/// What a run ends with whose end does not come.
fn endless(world: World) -> String {
    let Err(error @ RunError::Endless { .. }) = sample(world) else { panic!("no end") };
    error.to_string()
}

#[test]
fn a_world_without_an_end_or_with_one_that_never_comes_fails() {
    let an_hour = Duration::from_secs(3600);
    let world = World::from(with_foo()).at_most(an_hour);
    assert_eq!(
        endless(world),
        "the world has no end; give it one by World::lasting or World::until (World::at_most, 3600s); every key is done"
    );
    // Another Deployment has the name, so the Foo is never done.
    let cluster = with_foo();
    let other = json!({ "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": { "name": "b", "namespace": "web" }, "spec": { "replicas": 1 } });
    cluster.create(other).unwrap();
    let world = World::from(cluster).until(std::future::pending()).at_most(an_hour);
    assert_eq!(
        endless(world.on_report_line(|_| {})),
        "the end of the world, World::until, did not come (World::at_most, 3600s); 1 key is not done: web/a (backing off)"
    );
}

#[test]
fn a_world_that_lasts_longer_than_its_limit_ends_by_itself() {
    let (a_minute, an_hour) = (Duration::from_secs(60), Duration::from_secs(3600));
    sample(World::from(with_foo()).at_most(a_minute).lasting(an_hour)).unwrap();
}

#[test]
fn a_controller_follows_several_namespaces_and_no_others() {
    let (cluster, keys) = (with_foo(), Mutex::new(Vec::new()));
    for namespace in ["db", "other"] {
        let foo = json!({ "apiVersion": "samplecontroller.k8s.io/v1alpha1", "kind": "Foo",
            "metadata": { "name": "a", "namespace": namespace }, "spec": { "deploymentName": "b", "replicas": 2 } });
        cluster.create(foo).unwrap();
    }
    let controller = Controller::new("namespaces", World::from(cluster).lasting(Duration::from_secs(60)));
    let foos = controller.informer_in::<crate::sample_controller::Foo>(["web", "db"]);
    let ended = controller.reconciles(&foos).run(async |_cx, key| {
        keys.lock().unwrap().push(key.to_string());
        Ok(Outcome::Done)
    });
    let mut keys = keys.into_inner().unwrap();
    keys.sort_unstable();
    assert_eq!((ended, keys), (Ok(()), ["db/a", "web/a"].map(String::from).to_vec()));
}

#[test]
fn a_controller_installs_its_definition_and_cleans_up_by_a_finalizer() {
    const FOLDERS: &str = "example.com/v1/folders";
    let root = std::env::temp_dir().join(format!("listwatch-simulated-{}", std::process::id()));
    let (cluster, directory) = (SimulatedCluster::new(), root.join("web/a"));
    let world = World::from(cluster.clone());
    let (clock, it, made) = (world.clock().clone(), cluster.clone(), directory.clone());
    let scenario = async move {
        clock.sleep(Duration::from_secs(1)).await;
        let metadata = json!({ "name": "a", "namespace": "web" });
        it.create(json!({ "apiVersion": "example.com/v1", "kind": "Folder", "metadata": metadata })).unwrap();
        clock.sleep(Duration::from_secs(10)).await;
        let folder = it.get(FOLDERS, "web/a").unwrap();
        assert_eq!(folder["status"]["conditions"][0]["type"], "Ready");
        assert!(folder["metadata"]["finalizers"].is_array() && made.is_dir());
        it.delete(FOLDERS, "web/a").unwrap();
        assert!(it.get(FOLDERS, "web/a").unwrap()["metadata"]["deletionTimestamp"].is_string());
        clock.sleep(Duration::from_secs(10)).await;
    };
    crate::finalizer::folders(world.until(scenario), &root).unwrap();
    assert_eq!(cluster.list(FOLDERS).unwrap(), Vec::<Value>::new());
    assert!(!directory.exists());
    std::fs::remove_dir_all(root).unwrap();
}

/// Runs a controller that applies a value which another manager has set, and parks after three failures.
fn applies_anothers_field(fault: Option<Fault>) -> usize {
    let cluster = with_foo();
    let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "namespace": "web" }, "data": { "k": "theirs" } });
    cluster.create(map).unwrap();
    let world = World::from(cluster.clone()).lasting(Duration::from_secs(3600));
    for _ in 0..fault.iter().count() * 20 {
        cluster.fail_next("PATCH /api/v1/namespaces/web/configmaps/a", fault.unwrap()).unwrap();
    }
    let controller = Controller::new("c", world.on_report_line(|_| {}));
    let foos = controller.informer_of::<Value>(FOOS);
    let maps = controller.informer_of::<Value>("v1/configmaps").with_kind("ConfigMap");
    let ended = controller.reconciles(&foos).park_after(3).run(async |cx, key| {
        cx.apply(&maps, &key, &json!({ "data": { "k": "mine" } })).await?;
        Ok(Outcome::Done)
    });
    assert_eq!(ended, Ok(()));
    requests(&cluster).len()
}

#[test]
fn a_conflict_of_field_managers_parks_its_key_and_one_of_versions_does_not() {
    assert_eq!(applies_anothers_field(None), 3);
    assert!(applies_anothers_field(Some(Fault::Refused(409))) > 3);
}
