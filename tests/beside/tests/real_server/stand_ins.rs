//! The statuses of Deployments and ReplicaSets by the stand-ins of a simulated cluster, beside those by the real
//! controller manager.

use crate::real_server::plane::own_plane;
use crate::real_server::sample_controller::stage::wait_for;
use listwatch::controller::{Controller, Outcome};
use listwatch::testing::SimulatedCluster;
use listwatch::{Resource, World};
use listwatch_stand_ins::{PodFate, StandIns};
use serde_json::{Value, json};
use std::time::Duration;

const DEPLOYMENTS: &str = "apps/v1/deployments";
const SETS: &str = "apps/v1/replicasets";

fn deployment(namespace: &str) -> Value {
    let labels = json!({ "app": "web" });
    let template =
        json!({ "metadata": { "labels": labels }, "spec": { "containers": [{ "name": "web", "image": "nginx" }] } });
    let spec = json!({ "replicas": 3, "selector": { "matchLabels": labels }, "template": template });
    let metadata = json!({ "name": "web", "namespace": namespace });
    json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec })
}

/// What an object shows, without its times and the hashes of names.
fn shown(object: &Value) -> Value {
    let (mut shown, metadata) = (object["status"].clone(), &object["metadata"]);
    let name = metadata["name"].as_str().unwrap();
    let conditions = shown["conditions"].as_array_mut().into_iter().flatten();
    for condition in conditions {
        let message = condition["message"].as_str().unwrap_or_default();
        let quoted = message.split('"').nth(1).filter(|quoted| quoted.starts_with(name));
        condition["message"] =
            quoted.map_or_else(|| message.to_owned(), |quoted| message.replace(quoted, "SET")).into();
    }
    without_times(&mut shown);
    if let Some(conditions) = shown["conditions"].as_array_mut() {
        conditions.sort_by_key(|condition| condition["type"].to_string());
    }
    json!({ "status": shown, "annotations": names(&metadata["annotations"]), "labels": names(&metadata["labels"]) })
}

fn without_times(value: &mut Value) {
    match value {
        Value::Object(fields) => fields.iter_mut().for_each(|(name, value)| match value {
            Value::String(time) if name.ends_with("Time") => *time = "a time".to_owned(),
            value => without_times(value),
        }),
        Value::Array(items) => items.iter_mut().for_each(without_times),
        _ => {}
    }
}

fn names(map: &Value) -> Vec<String> {
    // The sizes of a rollout, by which the controller manager divides a change of the replicas.
    let is_size = |name: &str| name.ends_with("/desired-replicas") || name.ends_with("/max-replicas");
    map.as_object().into_iter().flatten().map(|(name, _)| name.clone()).filter(|name| !is_size(name)).collect()
}

/// What the stand-ins show after a minute.
fn simulated(object: &Value, fate: PodFate) -> Vec<Value> {
    let cluster = SimulatedCluster::new();
    cluster.create(object.clone()).unwrap();
    let world = StandIns::of(&cluster).deployments().kubelet(move |_| fate).beside(World::from(cluster.clone()));
    let controller = Controller::new("idle", world.lasting(Duration::from_secs(60)));
    let maps = controller.informer_of::<Value>("v1/configmaps");
    controller.reconciles(&maps).run(async |_, _| Ok(Outcome::Done)).unwrap();
    [DEPLOYMENTS, SETS]
        .iter()
        .flat_map(|resource| cluster.list(resource).unwrap())
        .map(|object| shown(&object))
        .collect()
}

/// Waits until the objects in the real cluster show the same.
fn until_shown(shown: impl Fn() -> Vec<Value>, expected: &[Value]) {
    let is_same = wait_for(Duration::from_secs(120), || shown() == expected);
    assert!(is_same, "the controller manager shows {:#?}\nthe stand-ins show {expected:#?}", shown());
}

#[test]
fn a_deployment_shows_the_same_before_and_after_its_pods_are_ready() {
    let Some(mut plane) = own_plane() else { return };
    plane.control().kill_controller_manager();
    plane.control().start_controller_manager();
    let namespace = plane.namespace("stand-ins");
    let resource = |name: &str| Resource::named(name).unwrap().in_namespace(&namespace);
    let all = |name: &str| plane.objects(&resource(name)).unwrap();
    let real = || [DEPLOYMENTS, SETS].into_iter().flat_map(all).map(|object| shown(&object)).collect();
    let web = deployment(&namespace);
    plane.create(&resource(DEPLOYMENTS), &web);
    until_shown(real, &simulated(&web, PodFate::NeverReady));
    let ready = json!({ "type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z" });
    let running = json!({ "status": { "phase": "Running", "conditions": [ready] } });
    for pod in all("v1/pods") {
        plane.change_status(&resource("v1/pods"), pod["metadata"]["name"].as_str().unwrap(), &running);
    }
    until_shown(real, &simulated(&web, PodFate::Ready));
}
