//! The statuses of Deployments, ReplicaSets and Jobs by the stand-ins of a simulated cluster, beside those by the real
//! controller manager.

use crate::real_server::plane::{Plane, own_plane};
use crate::real_server::sample_controller::stage::until;
use listwatch::controller::{Controller, Outcome};
use listwatch::testing::SimulatedCluster;
use listwatch::{Resource, World};
use listwatch_stand_ins::{PodFate, StandIns};
use serde_json::{Value, json};
use std::time::Duration;

const DEPLOYMENTS: &str = "apps/v1/deployments";
const SETS: &str = "apps/v1/replicasets";
const PODS: &str = "v1/pods";
const JOBS: &str = "batch/v1/jobs";

fn deployment(namespace: &str) -> Value {
    let labels = json!({ "app": "web" });
    let template = json!({ "metadata": { "labels": labels }, "spec": containers() });
    let spec = json!({ "replicas": 3, "selector": { "matchLabels": labels }, "template": template });
    let metadata = json!({ "name": "web", "namespace": namespace });
    json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec })
}

fn job(namespace: &str, name: &str) -> Value {
    let mut pod = containers();
    pod["restartPolicy"] = "Never".into();
    let spec = json!({ "backoffLimit": 0, "template": { "spec": pod } });
    let metadata = json!({ "name": name, "namespace": namespace });
    json!({ "apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec })
}

fn containers() -> Value {
    json!({ "containers": [{ "name": "web", "image": "nginx" }] })
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
fn simulated(object: &Value, resources: &[&str], fate: PodFate) -> Vec<Value> {
    let cluster = SimulatedCluster::new();
    cluster.create(object.clone()).unwrap();
    let world = StandIns::of(&cluster).deployments().jobs().kubelet(move |_| fate).beside(World::from(cluster.clone()));
    let controller = Controller::new("idle", world.lasting(Duration::from_secs(60)));
    let maps = controller.informer_of::<Value>("v1/configmaps");
    controller.reconciles(&maps).run(async |_, _| Ok(Outcome::Done)).unwrap();
    resources.iter().flat_map(|resource| cluster.list(resource).unwrap()).map(|object| shown(&object)).collect()
}

/// A namespace of a real cluster, with its controller manager.
struct Real {
    plane: Plane,
    namespace: String,
}

impl Real {
    fn begin(name: &str) -> Option<Self> {
        let mut plane = own_plane()?;
        plane.control().kill_controller_manager();
        plane.control().start_controller_manager();
        let namespace = plane.namespace(name);
        Some(Self { plane, namespace })
    }

    fn resource(&self, name: &str) -> Resource {
        Resource::named(name).unwrap().in_namespace(&self.namespace)
    }

    fn all(&self, resource: &str) -> Vec<Value> {
        self.plane.objects(&self.resource(resource)).unwrap()
    }

    /// Changes the status of each pod, as a kubelet does, when there are so many.
    fn tell_pods(&self, count: usize, status: &Value) {
        until(|| self.all(PODS).len() == count);
        for pod in self.all(PODS) {
            self.plane.change_status(
                &self.resource(PODS),
                pod["metadata"]["name"].as_str().unwrap(),
                &json!({ "status": status }),
            );
        }
    }

    /// Waits until the objects of these resources show the same as those of the stand-ins.
    fn until_shown(&self, resources: &[&str], expected: &[Value]) {
        let shown = || resources.iter().flat_map(|it| self.all(it)).map(|it| shown(&it)).collect::<Vec<_>>();
        let mut last = shown();
        for _ in 0..200 {
            if last == expected {
                return;
            }
            std::thread::sleep(Duration::from_millis(100));
            last = shown();
        }
        panic!("the controller manager shows {last:#?}\nthe stand-ins show {expected:#?}");
    }
}

#[test]
fn a_deployment_shows_the_same_before_and_after_its_pods_are_ready() {
    let Some(real) = Real::begin("stand-ins-deployment") else { return };
    let (web, resources) = (deployment(&real.namespace), [DEPLOYMENTS, SETS]);
    real.plane.create(&real.resource(DEPLOYMENTS), &web);
    real.until_shown(&resources, &simulated(&web, &resources, PodFate::NeverReady));
    let ready = json!({ "type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z" });
    real.tell_pods(3, &json!({ "phase": "Running", "conditions": [ready] }));
    real.until_shown(&resources, &simulated(&web, &resources, PodFate::Ready));
}

#[test]
fn a_job_shows_the_same_when_its_pod_has_succeeded_and_when_it_has_failed() {
    let Some(real) = Real::begin("stand-ins-job") else { return };
    for (name, fate, phase) in [("good", PodFate::Succeeds, "Succeeded"), ("bad", PodFate::Fails(1), "Failed")] {
        let job = job(&real.namespace, name);
        real.plane.create(&real.resource(JOBS), &job);
        real.tell_pods(1, &json!({ "phase": phase }));
        real.until_shown(&[JOBS], &simulated(&job, &[JOBS], fate));
        for pod in real.all(PODS) {
            real.plane.delete(&real.resource(PODS), pod["metadata"]["name"].as_str().unwrap()).unwrap();
        }
        real.plane.delete(&real.resource(JOBS), name).unwrap();
        until(|| real.all(JOBS).is_empty() && real.all(PODS).is_empty());
    }
}
