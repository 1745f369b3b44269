//! The sample controller on a real cluster: what it brings about, and each write that it makes for that.
#![expect(clippy::disallowed_names, reason = "a Foo is what Kubernetes' own sample controller is about")]

mod crowd;
mod figures;
mod program;
mod requests;
mod stage;

use crate::audit::Write;
use serde_json::{Value, json};
use stage::{Stage, until};

/// The writes of the controller: verb, resource, name and status.
fn told(writes: &[Write]) -> Vec<(&str, &str, &str, Option<u16>)> {
    let ours = writes.iter().filter(|write| write.is_ours());
    ours.map(|write| (&*write.verb, &*write.resource, &*write.name, write.code)).collect()
}

fn owner_of(object: &Value) -> &Value {
    &object["metadata"]["ownerReferences"][0]["uid"]
}

#[test]
fn without_a_controller_manager_each_change_is_answered_by_one_write() {
    let Some(mut stage) = Stage::begin("absent", 1) else { return };
    let foo = stage.create_foo("created", "web", 2);
    stage.until_replicas("web", 2);
    let uid = &foo["metadata"]["uid"];
    assert_eq!(owner_of(&stage.deployment("web").unwrap()), uid);

    stage.scale(&stage.foos, "created", 3);
    stage.until_replicas("web", 3);
    stage.scale(&stage.deployments, "web", 9);
    stage.until_replicas("web", 3);

    let mut others = stage.deployment("web").unwrap();
    others["metadata"] = json!({ "name": "others" });
    let others = stage.plane.create(&stage.deployments, &others);
    stage.create_foo("late", "others", 5);
    until(|| stage.has_reported("ErrResourceExists"));

    stage.plane.delete(&stage.foos, "created").unwrap();
    // One worker takes one key after the other.
    stage.create_foo("last", "db", 1);
    stage.until_replicas("db", 1);
    assert_eq!(owner_of(&stage.deployment("web").unwrap()), uid);
    assert_eq!(stage.deployment("others"), Some(others));

    let writes = stage.end();
    let (create, patch) = (("create", "deployments", Some(201)), ("patch", "deployments", Some(200)));
    let expected = [(create, "web"), (patch, "web"), (patch, "web"), (create, "db")];
    let expected = expected.map(|((verb, resource, code), name)| (verb, resource, name, code));
    assert_eq!(told(&writes), expected, "{:#?}", stage.reports());
}

/// Tells the pods of the Deployment that they are ready, as the kubelet does.
fn make_ready(stage: &Stage, count: usize) {
    let pods = stage.pods();
    until(|| stage.plane.list(&pods).len() >= count);
    for key in stage.plane.list(&pods).into_keys().take(count) {
        let name = key.split_once('/').unwrap().1;
        let ready = json!({ "type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z" });
        stage.plane.change_status(&pods, name, &json!({ "status": { "phase": "Running", "conditions": [ready] } }));
    }
}

#[test]
fn with_a_controller_manager_the_status_follows_and_deployments_go_with_their_foo() {
    let Some(mut stage) = Stage::begin("present", 1) else { return };
    // The kind is there before, so that the garbage collector finds it at once.
    stage.plane.control().start_controller_manager();
    stage.create_foo("a", "web", 3);
    let available = |stage: &Stage| stage.foo("a").unwrap()["status"]["availableReplicas"].clone();
    for count in 1..=3 {
        make_ready(&stage, count);
        until(|| available(&stage) == count);
    }
    stage.scale(&stage.foos, "a", 1);
    until(|| available(&stage) == 1);
    stage.scale(&stage.deployments, "web", 2);
    stage.until_replicas("web", 1);

    stage.plane.delete(&stage.foos, "a").unwrap();
    until(|| stage.deployment("web").is_none());
    let writes = stage.end();
    let made = |resource, verb| {
        let is_one =
            |write: &&Write| write.is_ours() && write.is_made() && write.resource == resource && write.verb == verb;
        writes.iter().filter(is_one).collect::<Vec<_>>()
    };
    assert_eq!((made("deployments", "create").len(), made("deployments", "patch").len()), (1, 2));
    let told: Vec<_> = made("foos/status", "patch").iter().map(|write| write.request["status"].clone()).collect();
    assert!(told.windows(2).all(|pair| pair[0] != pair[1]), "a status is written twice: {told:?}");
}
