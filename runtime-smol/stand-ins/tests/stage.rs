//! A cluster with stand-ins, in which a test changes something and waits.

use listwatch::controller::{Controller, Outcome};
use listwatch::testing::SimulatedCluster;
use listwatch::{Clock, World};
use listwatch_stand_ins::StandIns;
use serde_json::{Value, json};
use std::error::Error;
use std::time::Duration;

pub(crate) const DEPLOYMENTS: &str = "apps/v1/deployments";
pub(crate) const SETS: &str = "apps/v1/replicasets";
pub(crate) const JOBS: &str = "batch/v1/jobs";
pub(crate) const PODS: &str = "v1/pods";

/// Runs the stand-ins while the scenario goes on, beside a program that does nothing.
pub(crate) fn play<F>(stand_ins: &StandIns, cluster: &SimulatedCluster, scenario: impl FnOnce(Clock) -> F)
where
    F: Future<Output = Result<(), Box<dyn Error>>> + Send + 'static,
{
    let world = World::from(cluster.clone());
    let scenario = scenario(world.clock().clone());
    let controller = Controller::new("idle", stand_ins.beside(world).try_until(scenario));
    let maps = controller.informer_of::<Value>("v1/configmaps");
    controller.reconciles(&maps).run(async |_, _| Ok(Outcome::Done)).unwrap();
}

/// Runs them for so many seconds.
pub(crate) fn play_for(stand_ins: &StandIns, cluster: &SimulatedCluster, seconds: u64) {
    play(stand_ins, cluster, async move |clock| {
        clock.sleep(Duration::from_secs(seconds)).await;
        Ok(())
    });
}

/// A pod template whose only container has this image.
pub(crate) fn template(image: &str) -> Value {
    json!({ "metadata": { "labels": { "app": "web" } }, "spec": { "containers": [{ "name": "web", "image": image }] } })
}

pub(crate) fn deployment(spec: Value) -> Value {
    let mut object =
        json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "web" }, "spec": spec });
    object["spec"]["selector"] = json!({ "matchLabels": { "app": "web" } });
    object["spec"]["template"] = template("nginx:1");
    object
}

pub(crate) fn condition<'a>(object: &'a Value, name: &str) -> &'a Value {
    let conditions = object["status"]["conditions"].as_array().unwrap();
    conditions.iter().find(|condition| condition["type"] == name).unwrap()
}

pub(crate) fn is_ready(pod: &Value) -> bool {
    pod["status"]["conditions"].is_array()
        && pod["status"]["conditions"]
            .as_array()
            .unwrap()
            .iter()
            .any(|it| it["type"] == "Ready" && it["status"] == "True")
}

pub(crate) fn names(cluster: &SimulatedCluster, resource: &str) -> Vec<String> {
    let objects = cluster.list(resource).unwrap();
    objects.iter().map(|object| object["metadata"]["name"].as_str().unwrap().to_owned()).collect()
}
