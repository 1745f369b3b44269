//! The sample controller on a real cluster: what it brings about, and each write that it makes for that.

mod crowd;
mod figures;
#[path = "../../../../runtime-smol/examples/sample-controller.rs"]
#[expect(dead_code, reason = "its `main` reads the arguments of the process")]
mod program;
mod requests;
pub(crate) mod stage;

use crate::real_server::audit::Write;
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

/// A Foo is created, scaled, and its Deployment drifts. Another Foo wants a Deployment that is not its own.
fn play(stage: &Stage) -> Value {
    let foo = stage.create_foo("created", "web", 2);
    stage.until_replicas("web", 2);
    let web = stage.deployment("web").unwrap();
    assert_eq!(owner_of(&web), &foo["metadata"]["uid"]);

    stage.scale(&stage.foos, "created", 3);
    stage.until_replicas("web", 3);
    stage.scale(&stage.deployments, "web", 9);
    stage.until_replicas("web", 3);

    let others = json!({ "metadata": { "name": "others" }, "spec": web["spec"] });
    stage.plane.create(&stage.deployments, &others);
    stage.scale(&stage.deployments, "others", 0);
    stage.create_foo("late", "others", 5);
    until(|| stage.has_reported("ErrResourceExists"));
    check_events(stage);
    foo
}

/// Each Foo has one series of Events: that it is synced, or that its Deployment is another's.
fn check_events(stage: &Stage) {
    let synced = ["Normal", "Synced", "Foo synced successfully"].map(str::to_owned);
    let note = "Resource \"others\" already exists and is not managed by Foo";
    let exists = ["Warning", "ErrResourceExists", note].map(str::to_owned);
    until(|| !stage.events_about("created").is_empty() && !stage.events_about("late").is_empty());
    assert_eq!((stage.events_about("created"), stage.events_about("late")), (vec![synced], vec![exists]));
}

#[test]
fn without_a_controller_manager_each_change_is_answered_by_one_write() {
    let Some(mut stage) = Stage::begin("absent") else { return };
    let foo = play(&stage);
    let others = stage.deployment("others");

    stage.plane.delete(&stage.foos, "created").unwrap();
    stage.create_foo("last", "db", 1);
    stage.until_replicas("db", 1);
    assert_eq!(owner_of(&stage.deployment("web").unwrap()), &foo["metadata"]["uid"], "nobody collects it");
    assert_eq!(stage.deployment("others"), others);

    let writes = stage.end();
    let (create, patch) = (("create", "deployments", Some(201)), ("patch", "deployments", Some(200)));
    let expected = [(create, "web"), (patch, "web"), (patch, "web"), (create, "db")];
    let expected = expected.map(|((verb, resource, code), name)| (verb, resource, name, code));
    assert_eq!(told(&writes), expected, "{:#?}", stage.reports());
}

/// Tells a pod that it is ready, as the kubelet does.
fn make_ready(stage: &Stage, pod: &str) {
    let ready = json!({ "type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z" });
    let status = json!({ "phase": "Running", "conditions": [ready] });
    stage.plane.change_status(&stage.pods(), pod, &json!({ "status": status }));
}

#[test]
fn with_a_controller_manager_the_status_follows_and_deployments_go_with_their_foo() {
    let Some(mut stage) = Stage::begin("present") else { return };
    // The kind is there before, so that the garbage collector finds it at once.
    stage.plane.control().start_controller_manager();
    play(&stage);

    let available = || stage.foo("created").unwrap()["status"]["availableReplicas"].clone();
    let mut pods = Vec::new();
    // Some of the nine pods of the drift may still come and go.
    until(|| {
        let has_settled = stage.has_settled();
        pods = stage.plane.list(&stage.pods()).into_keys().collect();
        has_settled && pods.len() == 3
    });
    for (number, pod) in pods.iter().enumerate() {
        make_ready(&stage, pod.split_once('/').unwrap().1);
        until(|| available() == number + 1);
    }
    stage.scale(&stage.foos, "created", 1);
    until(|| available() == 1);

    stage.plane.delete(&stage.foos, "created").unwrap();
    until(|| stage.deployment("web").is_none());
    let writes = stage.end();
    let made = |resource, verb| {
        let is_one =
            |write: &&Write| write.is_ours() && write.is_made() && (&*write.resource, &*write.verb) == (resource, verb);
        writes.iter().filter(is_one).collect::<Vec<_>>()
    };
    assert_eq!((made("deployments", "create").len(), made("deployments", "patch").len()), (1, 3));
    assert!(told(&writes).iter().all(|(_, _, name, _)| *name != "others"), "{:#?}", told(&writes));
    let statuses: Vec<_> = made("foos/status", "patch").iter().map(|write| write.request["status"].clone()).collect();
    assert!(statuses.windows(2).all(|pair| pair[0] != pair[1]), "a status is written twice: {statuses:?}");
}
