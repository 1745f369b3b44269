use crate::examples::stage::{Asked, Stage};
use crate::sample_controller::sample;
use core::time::Duration;

use serde_json::json;

const FOOS: &str = "/apis/samplecontroller.k8s.io/v1alpha1/foos";
const FOO: &str = "/apis/samplecontroller.k8s.io/v1alpha1/namespaces/web/foos/a";
const DEPLOYMENTS: &str = "/apis/apps/v1/deployments";
const EVENTS: &str = "/apis/events.k8s.io/v1/events";
const DEPLOYMENT: &str = "/apis/apps/v1/namespaces/web/deployments/a-web";

/// After this time, the controller has seen a change, and its request is on the way.
const UNDER_WAY: Duration = Duration::from_millis(5);

fn stage() -> Stage {
    let stage = Stage::new(&[FOOS, DEPLOYMENTS, EVENTS]);
    stage.apply(FOO, json!({ "spec": { "deploymentName": "a-web", "replicas": 1 } }));
    stage
}

/// A Foo is created and scaled; its Deployment becomes available, drifts, and is deleted. Both are changed by two at once.
async fn live(stage: Stage) {
    stage.until_field(DEPLOYMENT, "/spec/replicas", 1).await;
    let (foo, deployment) = (stage.object(FOO).unwrap(), stage.object(DEPLOYMENT).unwrap());
    let owner = &deployment["metadata"]["ownerReferences"][0];
    assert_eq!((&owner["uid"], &owner["controller"]), (&foo["metadata"]["uid"], &json!(true)));
    assert_eq!(deployment["spec"]["selector"]["matchLabels"], deployment["spec"]["template"]["metadata"]["labels"]);
    stage.apply(DEPLOYMENT, json!({ "status": { "availableReplicas": 1 } }));
    stage.clock.sleep(UNDER_WAY).await;
    stage.apply(FOO, json!({ "metadata": { "labels": { "by": "another" } } }));
    stage.until_field(FOO, "/status/availableReplicas", 1).await;

    stage.apply(FOO, json!({ "spec": { "replicas": 3 } }));
    stage.until_field(DEPLOYMENT, "/spec/replicas", 3).await;
    stage.apply(DEPLOYMENT, json!({ "spec": { "replicas": 7, "paused": true } }));
    stage.clock.sleep(UNDER_WAY).await;
    stage.apply(DEPLOYMENT, json!({ "metadata": { "labels": { "by": "another" } } }));
    stage.until_field(DEPLOYMENT, "/spec/replicas", 3).await;
    assert_eq!(stage.object(DEPLOYMENT).unwrap()["spec"]["paused"], true, "a field that the controller does not know");

    stage.delete(DEPLOYMENT);
    stage.until(|| stage.object(DEPLOYMENT).is_some()).await;
}

/// What the controller asks for while a Foo lives.
pub(crate) fn requests_of_a_life() -> Vec<Asked> {
    let stage = stage();
    sample(stage.world().until(live(stage.clone()))).unwrap();
    stage.requests()
}

fn without_events(mut requests: Vec<Asked>) -> Vec<Asked> {
    requests.retain(|asked| !asked.target.contains("/events.k8s.io/"));
    requests
}

#[test]
fn a_foo_has_a_deployment_of_its_replicas_and_shows_how_many_are_available() {
    let requests = without_events(requests_of_a_life());
    let created = requests.iter().filter(|asked| asked.method == "POST").count();
    let is_single = |asked: &&Asked| asked.method == "GET" && asked.target.contains("/namespaces/web/");
    let conflicts = requests.iter().filter(is_single).count();
    assert_eq!((created, conflicts), (2, 2), "{requests:#?}");
}

#[test]
fn a_deployment_of_another_owner_is_left_alone() {
    let stage = stage();
    stage.apply(DEPLOYMENT, json!({ "spec": { "replicas": 5 }, "status": { "availableReplicas": 5 } }));
    let an_hour = stage.clock.sleep(Duration::from_secs(3600));
    sample(stage.world().until(an_hour)).unwrap();
    let (requests, all) = (without_events(stage.requests()), stage.requests());
    assert!(requests.iter().all(|asked| asked.method == "GET"), "{requests:#?}");
    let told = all.iter().find(|asked| asked.method == "POST").unwrap();
    assert_eq!((&told.body["type"], &told.body["reason"]), (&json!("Warning"), &json!("ErrResourceExists")));
}
