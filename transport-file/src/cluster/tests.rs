//! The answers of a cluster, compared with those of a kube-apiserver.

use super::*;
use core::task::{Context, Waker};
use serde_json::{Value, json};

/// Sends a request at the beginning of time.
fn send(cluster: &SimulatedCluster, line: &str, body: &Value) -> (u16, Value) {
    let (method, target) = line.split_once(' ').expect("a method and a target");
    let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    let content_type = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
    let call = Call { method, target, accept: "application/json", content_type, body: &body };
    let answer = cluster.handle(Instant::ZERO, &call);
    (answer.head.status, serde_json::from_slice(&answer.body).unwrap_or_default())
}

/// Opens a watch.
fn watch(cluster: &SimulatedCluster, target: &str) -> WatchStream {
    let call = Call { method: "GET", target, accept: "application/json", content_type: "", body: b"" };
    cluster.handle(Instant::ZERO, &call).watch.expect("a watch")
}

/// What a watch tells now: types and names.
fn told(watch: &mut WatchStream) -> Vec<String> {
    let mut bytes = Vec::new();
    watch.poll(Instant::ZERO, &Context::from_waker(Waker::noop()), &mut bytes);
    let events = serde_json::Deserializer::from_slice(&bytes).into_iter::<Value>();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let told = |event: Value| format!("{} {}", text(&event["type"]), text(&event["object"]["metadata"]["name"]));
    events.map(|event| told(event.expect("JSON"))).collect()
}

const PODS: &str = "/api/v1/namespaces/web/pods";

fn named(name: &str) -> Value {
    json!({ "metadata": { "name": name } })
}

#[test]
fn a_watch_goes_on_from_the_version_of_a_list() {
    let cluster = SimulatedCluster::new();
    assert_eq!(send(&cluster, &format!("POST {PODS}"), &named("a")).0, 201);
    let (_, list) = send(&cluster, "GET /api/v1/pods", &Value::Null);
    assert_eq!((&list["kind"], list["items"].as_array().map(Vec::len)), (&json!("PodList"), Some(1)));
    let version = list["metadata"]["resourceVersion"].as_str().expect("a version");
    let mut watch = watch(&cluster, &format!("/api/v1/pods?watch=1&resourceVersion={version}"));
    assert_eq!(send(&cluster, &format!("POST {PODS}"), &named("b")).0, 201);
    let labelled = json!({ "metadata": { "labels": { "app": "web" } } });
    assert_eq!(send(&cluster, &format!("PATCH {PODS}/a"), &labelled).0, 200);
    assert_eq!(send(&cluster, &format!("DELETE {PODS}/b"), &Value::Null).0, 200);
    assert_eq!(told(&mut watch), ["ADDED b", "MODIFIED a", "DELETED b"]);
}
