//! The answers of a cluster, compared with those of a kube-apiserver.

use super::*;
use core::task::{Context, Waker};
use listwatch_core::Key;
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

/// A pod in a recorded version.
fn recorded(name: &str, version: u64) -> Value {
    json!({ "metadata": { "name": name, "namespace": "web", "resourceVersion": version.to_string() } })
}

fn relisted(changed: &[(&str, u64)], gone: &[&str], version: u64) -> RecordedState {
    let changed = changed.iter().map(|(name, version)| recorded(name, *version)).collect();
    let gone = gone.iter().map(|name| Key::new(Some("web"), name)).collect();
    RecordedState { collection: "v1/pods".into(), changed, gone, version }
}

fn record(cluster: &SimulatedCluster, kind: RecordedKind, name: &str, version: u64) {
    let object = recorded(name, version);
    cluster.apply_recorded(Instant::ZERO, RecordedChange { collection: "v1/pods".into(), kind, version, object });
}

#[test]
fn a_watch_is_told_what_came_before_a_gap_and_then_that_its_version_is_too_old() {
    let cluster = SimulatedCluster::new();
    cluster.apply_relisted(Instant::ZERO, relisted(&[("a", 5), ("b", 7)], &[], 9));
    let from = |version: u64| format!("/api/v1/pods?watch=1&resourceVersion={version}");
    let mut before = watch(&cluster, &from(9));
    record(&cluster, RecordedKind::Present, "a", 11);
    cluster.apply_relisted(Instant::ZERO, relisted(&[("c", 15)], &["b"], 20));
    record(&cluster, RecordedKind::Deleted, "c", 22);
    assert_eq!(told(&mut before), ["MODIFIED a", "ERROR "]);
    assert_eq!(told(&mut watch(&cluster, &from(9))), ["MODIFIED a", "ERROR "]);
    assert_eq!(told(&mut watch(&cluster, &from(4))), ["ERROR "], "from before the first state");
    assert_eq!(told(&mut watch(&cluster, &from(20))), ["DELETED c"]);
    let (_, list) = send(&cluster, "GET /api/v1/pods?resourceVersion=9&resourceVersionMatch=Exact", &Value::Null);
    let names = |list: &Value| {
        list["items"].as_array().map(|items| items.iter().map(|it| it["metadata"]["name"].clone()).collect::<Vec<_>>())
    };
    assert_eq!(names(&list), Some(vec![json!("a"), json!("b")]));
    let (_, list) = send(&cluster, "GET /api/v1/pods", &Value::Null);
    assert_eq!((names(&list), &list["metadata"]["resourceVersion"]), (Some(vec![json!("a")]), &json!("22")));
}

#[test]
fn a_watch_was_not_woken_by_a_recorded_change_below_the_version_of_another_collection() {
    let cluster = SimulatedCluster::new();
    cluster.apply_relisted(Instant::ZERO, relisted(&[], &[], 9));
    let nodes = RecordedState { collection: "v1/nodes".into(), changed: Vec::new(), gone: Vec::new(), version: 90 };
    cluster.apply_relisted(Instant::ZERO, nodes);
    let mut watch = watch(&cluster, "/api/v1/pods?watch=1&resourceVersion=9");
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(Arc::clone(&woken));
    watch.poll(Instant::ZERO, &Context::from_waker(&waker), &mut Vec::new());
    record(&cluster, RecordedKind::Present, "a", 11);
    assert!(woken.0.load(std::sync::atomic::Ordering::Relaxed));
}

#[derive(Default)]
struct Woken(std::sync::atomic::AtomicBool);

impl std::task::Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, std::sync::atomic::Ordering::Relaxed);
    }
}
