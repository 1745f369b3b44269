//! The answers of a cluster, compared with those of a kube-apiserver.

mod admission;
mod definitions;
mod hostile;
mod parity;
mod permissions;
mod servers;

use super::*;
use crate::kinds::{Kinds, ServedKind};
use core::task::{Context, Waker};
use core::time::Duration;
use listwatch_core::api::ApiError;
use listwatch_core::{Instant, Key};
use listwatch_transport_file::HistoryChange;
use serde_json::{Value, json};
use std::sync::Arc;

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

fn kind(collection: &str) -> Arc<ServedKind> {
    Kinds::new().of_collection(collection, true).expect("a kind")
}

fn relist(cluster: &SimulatedCluster, changed: &[(&str, u64)], gone: &[&str], version: u64) {
    let changed = changed.iter().map(|(name, version)| recorded(name, *version)).collect();
    let gone = gone.iter().map(|name| Key::new(Some("web"), name)).collect();
    cluster.line.shared.record(Instant::ZERO, &kind("v1/pods"), HistoryChange::Relisted { changed, gone, version });
}

fn record(cluster: &SimulatedCluster, change: fn(Value) -> HistoryChange, name: &str, version: u64) {
    cluster.line.shared.record(Instant::ZERO, &kind("v1/pods"), change(recorded(name, version)));
}

#[test]
fn a_watch_is_told_what_came_before_a_gap_and_then_that_its_version_is_too_old() {
    let cluster = SimulatedCluster::new();
    relist(&cluster, &[("a", 5), ("b", 7)], &[], 9);
    let from = |version: u64| format!("/api/v1/pods?watch=1&resourceVersion={version}");
    let mut before = watch(&cluster, &from(9));
    record(&cluster, HistoryChange::Added, "a", 11);
    relist(&cluster, &[("c", 15)], &["b"], 20);
    record(&cluster, HistoryChange::Deleted, "c", 22);
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
fn a_list_of_a_version_within_a_gap_is_refused() {
    let cluster = SimulatedCluster::new();
    relist(&cluster, &[("a", 5)], &[], 9);
    relist(&cluster, &[("b", 15)], &[], 20);
    for (version, code) in [(4, 410), (9, 200), (10, 410), (19, 410), (20, 200)] {
        let target = format!("GET /api/v1/pods?resourceVersion={version}&resourceVersionMatch=Exact");
        assert_eq!(send(&cluster, &target, &Value::Null).0, code, "{version}");
    }
}

#[test]
fn objects_without_a_version_get_that_of_the_list_behind_a_gap() {
    let cluster = SimulatedCluster::new();
    let changed = vec![json!({ "metadata": { "name": "a", "namespace": "web" } })];
    let relisted = HistoryChange::Relisted { changed, gone: Vec::new(), version: 7 };
    cluster.line.shared.record(Instant::ZERO, &kind("v1/pods"), relisted);
    let (_, list) = send(&cluster, "GET /api/v1/pods", &Value::Null);
    assert_eq!(list["items"][0]["metadata"]["resourceVersion"], "7", "{list}");
}

#[test]
fn a_recorded_change_below_another_collections_version_wakes_a_watch() {
    let cluster = SimulatedCluster::new();
    relist(&cluster, &[], &[], 9);
    let nodes = HistoryChange::Relisted { changed: Vec::new(), gone: Vec::new(), version: 90 };
    cluster.line.shared.record(Instant::ZERO, &kind("v1/nodes"), nodes);
    let mut watch = watch(&cluster, "/api/v1/pods?watch=1&resourceVersion=9");
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(Arc::clone(&woken));
    watch.poll(Instant::ZERO, &Context::from_waker(&waker), &mut Vec::new());
    record(&cluster, HistoryChange::Added, "a", 11);
    assert!(woken.0.load(std::sync::atomic::Ordering::Relaxed));
}

#[derive(Default)]
struct Woken(std::sync::atomic::AtomicBool);

impl std::task::Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, std::sync::atomic::Ordering::Relaxed);
    }
}

/// A request at a time in milliseconds.
fn send_at(cluster: &SimulatedCluster, millis: u64, line: &str, body: &Value) -> (u16, Value) {
    let (method, target) = line.split_once(' ').expect("a method and a target");
    let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    let call = Call { method, target, accept: "", content_type: "application/merge-patch+json", body: &body };
    let answer = cluster.handle(Instant::ZERO + Duration::from_millis(millis), &call);
    (answer.head.status, serde_json::from_slice(&answer.body).unwrap_or_default())
}

/// Creates ConfigMaps, each with the owners that were created before it.
fn create_owned(cluster: &SimulatedCluster, objects: &[(&str, &[&str])]) {
    for (name, owners) in objects {
        let reference = |owner: &&str| {
            let owner = cluster.get("v1/configmaps", owner).expect("an owner");
            json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": owner["metadata"]["name"],
                "uid": owner["metadata"]["uid"], "blockOwnerDeletion": true })
        };
        let references: Vec<Value> = owners.iter().map(reference).collect();
        let metadata = json!({ "name": name, "ownerReferences": references });
        cluster.create(json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata })).expect("created");
    }
}

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// The names of the ConfigMaps at a time, each with how many owners it has.
fn maps_at(cluster: &SimulatedCluster, millis: u64) -> Vec<String> {
    let (_, list) = send_at(cluster, millis, &format!("GET {MAPS}"), &Value::Null);
    let items = list["items"].as_array().cloned().unwrap_or_default();
    let owners = |item: &Value| item["metadata"]["ownerReferences"].as_array().map_or(0, Vec::len);
    items
        .iter()
        .map(|item| format!("{} {}", item["metadata"]["name"].as_str().unwrap_or_default(), owners(item)))
        .collect()
}

fn delete_at(cluster: &SimulatedCluster, millis: u64, name: &str, policy: &str) {
    let options = json!({ "propagationPolicy": policy });
    assert_eq!(send_at(cluster, millis, &format!("DELETE {MAPS}/{name}"), &options).0, 200);
}

#[test]
fn a_dependent_goes_with_the_last_of_its_owners() {
    let cluster = SimulatedCluster::new();
    create_owned(&cluster, &[("a", &[]), ("b", &[]), ("c", &["a", "b"]), ("d", &["c"])]);
    delete_at(&cluster, 0, "a", "Background");
    assert_eq!(maps_at(&cluster, 49), ["b 0", "c 2", "d 1"], "the collector follows later");
    assert_eq!(maps_at(&cluster, 50), ["b 0", "c 1", "d 1"]);
    delete_at(&cluster, 100, "b", "Background");
    assert_eq!(maps_at(&cluster, 150), ["d 1"]);
    assert_eq!(maps_at(&cluster, 200), [""; 0]);
}

#[test]
fn an_owner_goes_after_its_dependents_or_leaves_them_alone() {
    let cluster = SimulatedCluster::new();
    create_owned(&cluster, &[("a", &[]), ("b", &["a"]), ("c", &["b"]), ("x", &[]), ("y", &["x"])]);
    delete_at(&cluster, 0, "a", "Foreground");
    let (_, owner) = send_at(&cluster, 0, &format!("GET {MAPS}/a"), &Value::Null);
    assert_eq!(owner["metadata"]["finalizers"], json!(["foregroundDeletion"]));
    let mut seen = Vec::new();
    for millis in (0..1_000).step_by(50) {
        let maps: Vec<String> = maps_at(&cluster, millis).iter().map(|map| map[..1].to_owned()).collect();
        if seen.last() != Some(&maps.concat()) {
            seen.push(maps.concat());
        }
    }
    assert_eq!(seen, ["abcxy", "abxy", "axy", "xy"]);
    delete_at(&cluster, 1_000, "x", "Orphan");
    assert_eq!(maps_at(&cluster, 1_000), ["x 0", "y 1"]);
    assert_eq!(maps_at(&cluster, 1_050), ["y 0"]);
}

#[test]
fn an_object_whose_owner_never_was_there_is_garbage() {
    let cluster = SimulatedCluster::new();
    let owner = json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": "gone", "uid": "u-1" });
    let metadata = json!({ "name": "a", "ownerReferences": [owner] });
    cluster.create(json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata })).expect("created");
    assert_eq!((maps_at(&cluster, 49).len(), maps_at(&cluster, 50).len()), (1, 0));
}

#[test]
fn a_claim_goes_when_no_pod_uses_it_and_a_volume_when_it_is_not_bound() {
    let cluster = SimulatedCluster::new();
    let (claims, volumes) = ("/api/v1/namespaces/web/persistentvolumeclaims", "/api/v1/persistentvolumes");
    for (line, name) in [(claims, "free"), (claims, "used"), (volumes, "v")] {
        let (code, object) = send_at(&cluster, 0, &format!("POST {line}"), &named(name));
        assert_eq!((code, &object["status"]["phase"]), (201, &json!("Pending")), "{object}");
    }
    let volume = json!({ "name": "v", "persistentVolumeClaim": { "claimName": "used" } });
    let pod = json!({ "metadata": { "name": "a" }, "spec": { "volumes": [volume] } });
    assert_eq!(send_at(&cluster, 0, &format!("POST {PODS}"), &pod).0, 201);
    cluster.patch("v1/persistentvolumes", "v", json!({ "status": { "phase": "Bound" } })).expect("patched");
    let lines = [format!("{claims}/free"), format!("{claims}/used"), format!("{volumes}/v")];
    for line in &lines {
        let (code, object) = send_at(&cluster, 0, &format!("DELETE {line}"), &Value::Null);
        assert!(code == 200 && object["metadata"]["deletionTimestamp"].is_string(), "{object}");
    }
    let codes =
        |millis| [0, 1, 2].map(|line| send_at(&cluster, millis, &format!("GET {}", lines[line]), &Value::Null).0);
    assert_eq!(codes(50), [404, 200, 200]);
    cluster.patch("v1/persistentvolumes", "v", json!({ "status": { "phase": "Released" } })).expect("patched");
    assert_eq!(send_at(&cluster, 50, &format!("DELETE {PODS}/a"), &Value::Null).0, 200);
    assert_eq!(codes(100), [404, 404, 404]);
}

#[test]
fn an_event_of_one_version_is_there_in_the_other() {
    let cluster = SimulatedCluster::new();
    let mut seen = watch(&cluster, "/apis/events.k8s.io/v1/events?watch=1&fieldSelector=regarding.name%3Dp");
    let event = json!({ "apiVersion": "v1", "kind": "Event", "metadata": { "name": "e" }, "message": "m",
        "involvedObject": { "kind": "Pod", "name": "p", "namespace": "default" } });
    cluster.create(event).expect("created");
    assert_eq!(told(&mut seen), ["ADDED e"]);
    let shown = cluster.get("events.k8s.io/v1/events", "e").expect("an event");
    assert_eq!((&shown["apiVersion"], &shown["note"]), (&json!("events.k8s.io/v1"), &json!("m")));
    assert_eq!(cluster.list("events.k8s.io/v1/events").expect("events"), [shown]);
    cluster.patch("events.k8s.io/v1/events", "e", json!({ "note": "n" })).expect("patched");
    assert_eq!(cluster.get("v1/events", "e").expect("an event")["message"], "n");
}

/// Defines `foos.example.com` in this version.
fn define_foos(cluster: &SimulatedCluster, version: &Value) {
    let names = json!({ "kind": "Foo", "plural": "foos" });
    let spec = json!({ "group": "example.com", "scope": "Namespaced", "names": names, "versions": [version] });
    cluster
        .create(json!({ "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": { "name": "foos.example.com" }, "spec": spec }))
        .expect("created");
}

#[test]
fn custom_resources_are_selected_by_the_fields_of_their_definition() {
    let cluster = SimulatedCluster::new();
    let spec = json!({ "type": "object", "properties": { "color": { "type": "string" } } });
    let schema = json!({ "openAPIV3Schema": { "type": "object", "properties": { "spec": spec } } });
    let version = json!({ "name": "v1", "served": true, "storage": true, "schema": schema,
        "selectableFields": [{ "jsonPath": ".spec.color" }] });
    define_foos(&cluster, &version);
    for (name, color) in [("a", "red"), ("b", "blue")] {
        cluster
            .create(
                json!({ "apiVersion": "example.com/v1", "kind": "Foo", "metadata": { "name": name, "namespace": "web" },
                "spec": { "color": color } }),
            )
            .expect("created");
    }
    let listed = |fields: &str| send(&cluster, &format!("GET {FOOS}?fieldSelector={fields}"), &Value::Null);
    let (_, list) = listed("spec.color%3Dblue");
    assert_eq!((list["items"].as_array().map(Vec::len), &list["items"][0]["metadata"]["name"]), (Some(1), &json!("b")));
    assert_eq!(listed("spec.size%3D1").0, 400);
}

#[test]
fn a_job_and_a_replication_controller_leave_their_dependents_unless_a_policy_is_named() {
    for (kind, collection, orphans) in [
        ("Job", "batch/v1/jobs", true),
        ("ReplicationController", "v1/replicationcontrollers", true),
        ("ReplicaSet", "apps/v1/replicasets", false),
        ("CronJob", "batch/v1/cronjobs", false),
    ] {
        let cluster = SimulatedCluster::new();
        let (version, plural) = collection.rsplit_once('/').expect("a version");
        let owner = json!({ "apiVersion": version, "kind": kind, "metadata": { "name": "o" }, "spec": {} });
        let uid = cluster.create(owner).expect("created")["metadata"]["uid"].clone();
        let reference = json!({ "apiVersion": version, "kind": kind, "name": "o", "uid": uid });
        let metadata = json!({ "name": "d", "ownerReferences": [reference] });
        cluster.create(json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata })).expect("created");
        let root = if version == "v1" { "/api" } else { "/apis" };
        let line = format!("DELETE {root}/{version}/namespaces/default/{plural}/o");
        let (code, answer) = send_at(&cluster, 0, &line, &Value::Null);
        let finalizers = if orphans { json!(["orphan"]) } else { Value::Null };
        assert_eq!((code, &answer["metadata"]["finalizers"]), (200, &finalizers), "{answer}");
        let left = if orphans { vec!["d 0".to_owned()] } else { Vec::new() };
        assert_eq!(maps_at(&cluster, 50), left, "{kind}");
    }
}

#[test]
fn an_informer_that_knows_its_scope_corrects_a_guess_or_says_what_a_fixture_misses() {
    let policies = "/apis/example.com/v1/policies?watch=1";
    let follow = |cluster: &SimulatedCluster, is_namespaced| {
        cluster
            .line
            .shared
            .with(|inside| inside.server.follow(policies, is_namespaced))
            .map_err(|refusal| refusal.status)
    };
    let policy = json!({ "apiVersion": "example.com/v1", "kind": "Policy", "metadata": { "name": "p" } });
    let cluster = SimulatedCluster::new();
    assert_eq!(follow(&cluster, Some(false)), Ok(()));
    let created = cluster.create(policy.clone()).expect("created");
    assert_eq!(created["metadata"]["namespace"], Value::Null);
    let cluster = SimulatedCluster::new();
    cluster.create(policy).expect("created");
    assert_eq!(follow(&cluster, None), Ok(()));
    assert_eq!(follow(&cluster, Some(true)), Ok(()));
    let why = "the simulated cluster took policies.example.com to have a namespace, and the type of the informer has none; add \
               the kind by `with_kind_of`, before its objects";
    assert_eq!(follow(&cluster, Some(false)).expect_err("refused").expect("a status")["message"], why);
}

#[test]
fn an_apply_tells_ports_apart_by_number_and_protocol() {
    let cluster = SimulatedCluster::new();
    let service = |ports: &Value| json!({ "apiVersion": "v1", "kind": "Service", "metadata": { "name": "dns" }, "spec": { "ports": ports } });
    let apply = |manager: &str, ports: &Value| {
        let body = service(ports).to_string().into_bytes();
        let target = format!("/api/v1/namespaces/web/services/dns?fieldManager={manager}");
        let call = Call {
            method: "PATCH",
            target: &target,
            accept: "",
            content_type: "application/apply-patch+yaml",
            body: &body,
        };
        let answer = cluster.handle(Instant::ZERO, &call);
        (answer.head.status, serde_json::from_slice::<Value>(&answer.body).expect("JSON"))
    };
    let (udp, tcp) = (
        json!({ "name": "dns", "port": 53, "protocol": "UDP" }),
        json!({ "name": "dns-tcp", "port": 53, "protocol": "TCP" }),
    );
    let both = json!([udp, tcp]);
    let (code, made) = apply("one", &both);
    assert_eq!((code, &made["spec"]["ports"]), (201, &both));
    let short = json!([{ "name": "dns-tcp", "port": 53 }]);
    assert_eq!(apply("other", &short).0, 200, "without a protocol it is TCP");
    assert_eq!(apply("one", &short).1["spec"]["ports"], json!([tcp]));
    let (code, refusal) = apply("one", &json!([tcp, { "port": 53 }]));
    let message = "failed to create typed patch object (/dns; /v1, Kind=Service): .spec.ports: duplicate entries for key \
                   [port=53,protocol=\"TCP\"]";
    assert_eq!((code, &refusal["message"]), (500, &json!(message)));
}

#[test]
fn a_generation_counts_changes_of_a_status_that_is_no_subresource() {
    for (subresources, generation) in [(json!({}), 2), (json!({ "status": {} }), 1)] {
        let cluster = SimulatedCluster::new();
        let schema = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
        let version = json!({ "name": "v1", "served": true, "storage": true, "subresources": subresources,
            "schema": { "openAPIV3Schema": schema } });
        define_foos(&cluster, &version);
        assert_eq!(send(&cluster, &format!("POST {FOOS}"), &foo()).0, 201);
        let (_, patched) = send(&cluster, &format!("PATCH {FOOS}/a"), &json!({ "status": { "n": 1 } }));
        assert_eq!(patched["metadata"]["generation"], generation, "{patched}");
    }
}

#[test]
fn a_namespace_goes_with_its_contents_and_takes_no_new_ones() {
    let cluster = SimulatedCluster::new();
    cluster.create(json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "web" } })).expect("created");
    let pod = json!({ "metadata": { "name": "a", "finalizers": ["example.com/wait"] } });
    assert_eq!(send_at(&cluster, 0, &format!("POST {PODS}"), &pod).0, 201);
    let (_, namespace) = send_at(&cluster, 0, "DELETE /api/v1/namespaces/web", &Value::Null);
    assert_eq!(namespace["status"]["phase"], "Terminating");
    let (code, refusal) = send_at(&cluster, 0, &format!("POST {PODS}"), &named("b"));
    let message =
        "pods \"b\" is forbidden: unable to create new content in namespace web because it is being terminated";
    assert_eq!((code, &refusal["message"]), (403, &json!(message)));
    let (_, pod) = send_at(&cluster, 100, &format!("GET {PODS}/a"), &Value::Null);
    assert!(pod["metadata"]["deletionTimestamp"].is_string(), "{pod}");
    assert_eq!(send_at(&cluster, 100, "GET /api/v1/namespaces/web", &Value::Null).0, 200);
    let finalizers = json!({ "metadata": { "finalizers": null } });
    assert_eq!(send_at(&cluster, 100, &format!("PATCH {PODS}/a"), &finalizers).0, 200);
    assert_eq!(send_at(&cluster, 200, "GET /api/v1/namespaces/web", &Value::Null).0, 404);
    assert_eq!(send_at(&cluster, 200, &format!("POST {PODS}"), &named("b")).0, 201, "every namespace takes objects");
}

/// The names of a list's items, and its continue token.
fn page(cluster: &SimulatedCluster, query: &str) -> (u16, String, String) {
    let (code, list) = send(cluster, &format!("GET {PODS}?{query}"), &Value::Null);
    let items = list["items"].as_array().cloned().unwrap_or_default();
    let names: String = items.iter().filter_map(|item| item["metadata"]["name"].as_str()).collect();
    (code, names, list["metadata"]["continue"].as_str().unwrap_or_default().to_owned())
}

#[test]
fn a_page_is_of_the_version_of_the_first() {
    let cluster = SimulatedCluster::new();
    for name in ["a", "b", "c", "d"] {
        send(&cluster, &format!("POST {PODS}"), &named(name));
    }
    let (_, names, token) = page(&cluster, "limit=2");
    assert_eq!(names, "ab");
    for (line, body) in [("DELETE", Value::Null), ("PATCH", json!({ "metadata": { "labels": { "x": "y" } } }))] {
        assert_eq!(send(&cluster, &format!("{line} {PODS}/{}", if line == "PATCH" { "c" } else { "d" }), &body).0, 200);
    }
    send(&cluster, &format!("POST {PODS}"), &named("e"));
    assert_eq!(page(&cluster, &format!("limit=2&continue={token}")), (200, "cd".into(), String::new()));
    assert_eq!(page(&cluster, "").1, "abce");
    let labelled = format!("limit=2&continue={token}&labelSelector=x");
    assert_eq!(page(&cluster, &labelled).1, "", "it was labelled later");
    cluster.compact();
    let (code, _, offered) = page(&cluster, &format!("limit=2&continue={token}"));
    assert_eq!(code, 410);
    assert_eq!(page(&cluster, &format!("continue={offered}")), (200, "ce".into(), String::new()), "what there is now");
}

#[test]
fn a_watch_behind_the_window_gets_a_410() {
    let cluster = SimulatedCluster::new();
    let (_, pod) = send(&cluster, &format!("POST {PODS}"), &named("a"));
    let version = pod["metadata"]["resourceVersion"].as_str().expect("a version");
    let target = format!("/api/v1/pods?watch=1&resourceVersion={version}");
    let mut slow = watch(&cluster, &target);
    for count in 0..=store::WINDOW {
        let patch = json!({ "metadata": { "labels": { "count": count.to_string() } } });
        cluster.patch("v1/pods", "web/a", patch).expect("patched");
    }
    assert_eq!(told(&mut slow), ["ERROR "]);
    assert_eq!(told(&mut watch(&cluster, &target)), ["ERROR "]);
    let status = json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": 410,
        "message": "too old resource version: 2 (3)", "reason": "Expired" });
    let mut bytes = Vec::new();
    watch(&cluster, &target).poll(Instant::ZERO, &Context::from_waker(Waker::noop()), &mut bytes);
    let event: Value = serde_json::from_slice(&bytes).expect("an event");
    assert_eq!(event, json!({ "type": "ERROR", "object": status }));
}

#[test]
fn a_watch_tells_what_comes_into_its_selection_and_what_leaves_it() {
    let cluster = SimulatedCluster::new();
    let mut watch = watch(&cluster, "/api/v1/pods?watch=1&labelSelector=app%3Dx&resourceVersion=1");
    for (name, app) in [("a", "x"), ("b", "y"), ("b", "x"), ("a", "y"), ("a", "z")] {
        let metadata = json!({ "name": name, "namespace": "web", "labels": { "app": app } });
        let pod = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": metadata });
        cluster.create(pod.clone()).or_else(|_| cluster.replace(pod)).expect("stored");
    }
    cluster.delete("v1/pods", "web/a").expect("deleted");
    cluster.delete("v1/pods", "web/b").expect("deleted");
    assert_eq!(told(&mut watch), ["ADDED a", "ADDED b", "DELETED a", "DELETED b"]);
}

#[test]
fn a_watch_list_ends_its_initial_events_by_a_bookmark_and_the_watch_by_its_timeout() {
    let cluster = SimulatedCluster::new();
    send(&cluster, &format!("POST {PODS}"), &named("a"));
    let query =
        "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=90";
    let mut watch = watch(&cluster, &format!("/api/v1/pods?{query}"));
    let mut poll = |seconds: u64| {
        let (mut bytes, now) = (Vec::new(), Instant::ZERO + Duration::from_secs(seconds));
        let progress = watch.poll(now, &Context::from_waker(Waker::noop()), &mut bytes);
        (String::from_utf8(bytes).expect("text"), progress)
    };
    let at = |seconds| WatchProgress::Open(Some(Instant::ZERO + Duration::from_secs(seconds)));
    let (events, progress) = poll(0);
    let lines: Vec<&str> = events.lines().collect();
    assert!(lines[0].starts_with(r#"{"type":"ADDED""#) && lines[1].contains(r#""k8s.io/initial-events-end":"true""#));
    assert_eq!(progress, at(60));
    let bookmark =
        r#"{"type":"BOOKMARK","object":{"apiVersion":"v1","kind":"Pod","metadata":{"resourceVersion":"2"}}}"#;
    assert_eq!(poll(60), (format!("{bookmark}\n"), at(90)));
    assert_eq!(poll(90), (String::new(), WatchProgress::Over));
}

/// An API server takes 0 as no timeout.
#[test]
fn a_timeout_of_zero_seconds_ends_no_watch() {
    let cluster = SimulatedCluster::new();
    let mut watch = watch(&cluster, "/api/v1/pods?watch=1&resourceVersion=1&timeoutSeconds=0");
    let progress = watch.poll(Instant::ZERO, &Context::from_waker(Waker::noop()), &mut Vec::new());
    assert!(matches!(progress, WatchProgress::Open(Some(_))), "{progress:?}");
}

#[test]
fn a_wrong_call_of_a_test_says_what_to_do() {
    let cluster = SimulatedCluster::new();
    let said = |error: Result<Value, ApiError>| error.expect_err("an error").to_string();
    for (object, message) in [
        (json!({}), "the object has no `apiVersion`; give it one, such as `apps/v1`"),
        (json!({ "apiVersion": "v1" }), "the object has no `kind`; give it one, such as `Deployment`"),
        (
            json!({ "apiVersion": "v1", "kind": "Podd" }),
            "`v1` has no kind `Podd`; correct the name, or add the kind by `with_kind`",
        ),
        (
            json!({ "apiVersion": "v1", "kind": "Pod" }),
            "metadata.name: Required value: name or generateName is required",
        ),
    ] {
        let error = said(cluster.create(object));
        assert!(error.contains(message), "{error}");
    }
    for resource in ["pods", "v1/"] {
        let error = said(cluster.get(resource, "web/a"));
        assert!(error.contains("name version and plural, such as `v1/pods`"), "{error}");
    }
    let error = said(cluster.get("apps/v1/deployment", "web/a"));
    assert!(error.contains("Kubernetes has no resource `apps/v1/deployment`; correct the name"), "{error}");
    assert!(cluster.get("v1/pods", "a").is_err_and(|error| error.is_not_found()));
}

#[test]
fn a_refusal_of_a_guessed_kind_says_how_to_add_the_kind() {
    let (policies, policy) = (
        "/apis/example.com/v1/policies",
        json!({ "apiVersion": "example.com/v1", "kind": "Policy",
        "metadata": { "name": "a" } }),
    );
    let guessed = SimulatedCluster::new();
    guessed.create(policy.clone()).expect("created");
    for line in [format!("GET {policies}/a"), format!("POST {policies}")] {
        let (code, refusal) = send(&guessed, &line, &policy);
        let message = refusal["message"].as_str().unwrap_or_default();
        assert!(code == 404 && message.contains("add the kind by `with_kind`"), "{refusal}");
    }
    let known = SimulatedCluster::new().with_kind("example.com/v1", "Policy", "policies", false);
    known.create(policy).expect("created");
    assert_eq!(send(&known, &format!("GET {policies}/a"), &Value::Null).0, 200);
}

#[test]
fn a_test_gives_an_object_with_status_and_uid_and_names_come_from_a_prefix() {
    let cluster = SimulatedCluster::new();
    let node = json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": "n", "uid": "u-1", "resourceVersion": "77",
        "creationTimestamp": "2026-01-01T00:00:00Z" }, "status": { "phase": "x" } });
    let node = cluster.create(node).expect("created");
    let metadata =
        json!({ "name": "n", "uid": "u-1", "resourceVersion": "2", "creationTimestamp": "2000-01-01T00:00:00Z" });
    assert_eq!((&node["metadata"], &node["status"]), (&metadata, &json!({ "phase": "x" })));
    let pod = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "generateName": "web-" } });
    let names: Vec<Value> =
        [pod.clone(), pod].map(|pod| cluster.create(pod).expect("created")["metadata"]["name"].clone()).into();
    assert!(
        names[0] != names[1]
            && names.iter().all(|name| name.as_str().is_some_and(|name| name.starts_with("web-") && name.len() == 9))
    );
    assert_eq!(cluster.list("v1/pods").expect("pods").len(), 2);
    assert_eq!(cluster.get("v1/nodes", "n").expect("a node")["kind"], "Node");
}

#[test]
fn a_list_of_a_recorded_collection_shows_what_was_written_since() {
    let cluster = SimulatedCluster::new();
    relist(&cluster, &[("a", 5)], &[], 9);
    assert_eq!(send(&cluster, &format!("POST {PODS}"), &named("b")).0, 201);
    let (_, list) = send(&cluster, "GET /api/v1/pods", &Value::Null);
    assert_eq!((list["items"].as_array().map(Vec::len), &list["metadata"]["resourceVersion"]), (Some(2), &json!("10")));
}

/// An object goes in and out of a selector: the news of one watch come after newer ones of another.
#[test]
fn a_watch_from_a_recorded_objects_version_is_told_no_older_change() {
    let cluster = SimulatedCluster::new();
    relist(&cluster, &[("c", 8)], &[], 9);
    record(&cluster, HistoryChange::Added, "a", 12);
    record(&cluster, HistoryChange::Added, "b", 11);
    let (_, pod) = send(&cluster, &format!("GET {PODS}/b"), &Value::Null);
    let from = |version: &Value| format!("/api/v1/pods?watch=1&resourceVersion={}", version.as_str().unwrap_or("none"));
    let mut later = watch(&cluster, &from(&pod["metadata"]["resourceVersion"]));
    assert_eq!(told(&mut later), [""; 0]);
    record(&cluster, HistoryChange::Deleted, "c", 10);
    let mut bytes = Vec::new();
    later.poll(Instant::ZERO, &Context::from_waker(Waker::noop()), &mut bytes);
    let event: Value = serde_json::from_slice(&bytes).expect("an event");
    assert_eq!(event["type"], "DELETED");
    assert_eq!(told(&mut watch(&cluster, &from(&event["object"]["metadata"]["resourceVersion"]))), [""; 0]);
}

const FOOS: &str = "/apis/example.com/v1/namespaces/web/foos";

fn foo() -> Value {
    json!({ "apiVersion": "example.com/v1", "kind": "Foo", "metadata": { "name": "a" } })
}

#[test]
fn a_read_of_one_object_leaves_the_scope_of_its_kind_open() {
    let cluster = SimulatedCluster::new();
    assert_eq!(send(&cluster, "GET /apis/example.com/v1/foos/a", &Value::Null).0, 404);
    assert_eq!(send(&cluster, &format!("POST {FOOS}"), &foo()).0, 201);
}

#[test]
fn requests_for_misspelt_resources_make_no_kinds() {
    let cluster = SimulatedCluster::new();
    let before = cluster.kinds().len();
    for (number, query) in ["", "/a", "?watch=1", "?limit=1"].into_iter().enumerate() {
        let target = format!("/apis/example.com/v1/namespaces/web/fos{number}{query}");
        send(&cluster, &format!("GET {target}"), &Value::Null);
        send(&cluster, &format!("DELETE {target}"), &Value::Null);
        send(&cluster, &format!("PATCH {target}"), &json!({}));
        send(&cluster, &format!("POST {target}?dryRun=All"), &foo());
    }
    assert_eq!(cluster.kinds().len(), before);
    let mut watch = watch(&cluster, "/apis/example.com/v1/foos?watch=1");
    assert_eq!(send(&cluster, &format!("POST {FOOS}"), &foo()).0, 201);
    assert_eq!((told(&mut watch), cluster.kinds().len()), (vec!["ADDED a".to_owned()], before + 1));
}

#[test]
fn a_compaction_ends_an_old_watch_of_a_resource_without_objects() {
    let cluster = SimulatedCluster::new();
    for _ in 0..3 {
        send(&cluster, &format!("POST {PODS}"), &json!({ "metadata": { "generateName": "a-" } }));
    }
    cluster.compact();
    for (version, expected) in [(2, vec!["ERROR "]), (4, vec![])] {
        let mut watch = watch(&cluster, &format!("/api/v1/secrets?watch=1&resourceVersion={version}"));
        assert_eq!(told(&mut watch), expected, "{version}");
    }
    assert_eq!(send(&cluster, "GET /api/v1/secrets?resourceVersion=2&resourceVersionMatch=Exact", &Value::Null).0, 410);
}

/// ConfigMaps in the namespace `default`, as a recording has them: each with its uid and those of its owners.
fn record_maps(cluster: &SimulatedCluster, maps: &[(&str, &[&str])]) {
    let map = |(name, owners): &(&str, &[&str])| {
        let owner = |owner: &&str| json!({ "name": owner, "uid": owner, "blockOwnerDeletion": true });
        let owners: Vec<Value> = owners.iter().map(owner).collect();
        json!({ "metadata": { "name": name, "namespace": "default", "uid": name, "ownerReferences": owners } })
    };
    let (changed, gone) = (maps.iter().map(map).collect(), Vec::new());
    let change = HistoryChange::Relisted { changed, gone, version: 9 };
    cluster.line.shared.record(Instant::ZERO, &kind("v1/configmaps"), change);
}

#[test]
fn the_collector_finishes_a_deletion_in_a_writable_recording() {
    let cluster = SimulatedCluster::new();
    let maps: [(&str, &[&str]); 7] =
        [("a", &[]), ("b", &["a"]), ("c", &[]), ("d", &["c"]), ("e", &[]), ("f", &["e"]), ("g", &["unrecorded"])];
    record_maps(&cluster, &maps);
    delete_at(&cluster, 0, "a", "Foreground");
    delete_at(&cluster, 0, "c", "Orphan");
    delete_at(&cluster, 0, "e", "Background");
    for millis in [50, 100, 150] {
        maps_at(&cluster, millis);
    }
    assert_eq!(maps_at(&cluster, 200), ["d 0", "g 1"]);
    assert_eq!(send_at(&cluster, 200, "POST /api/v1/namespaces", &named("default")).0, 201);
    cluster.delete("v1/namespaces", "default").expect("deleted");
    for millis in [250, 300, 350] {
        maps_at(&cluster, millis);
    }
    assert_eq!(maps_at(&cluster, 400), [""; 0]);
    assert_eq!(send_at(&cluster, 400, "GET /api/v1/namespaces/default", &Value::Null).0, 404);
}

#[test]
fn what_follows_a_recorded_deletion_is_left_to_the_recording() {
    let cluster = SimulatedCluster::new();
    record_maps(&cluster, &[("a", &[]), ("b", &["a"])]);
    let object = json!({ "metadata": { "name": "a", "namespace": "default", "uid": "a", "resourceVersion": "10" } });
    cluster.line.shared.record(Instant::ZERO, &kind("v1/configmaps"), HistoryChange::Deleted(object));
    assert_eq!(maps_at(&cluster, 100), ["b 1"]);
}

#[test]
fn the_field_managers_of_an_object_go_with_its_recorded_deletion() {
    let cluster = SimulatedCluster::new();
    record(&cluster, HistoryChange::Added, "a", 5);
    let apply = |manager: &str| {
        let body = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "a" }, "spec": { "x": manager } });
        let target = format!("{PODS}/a?fieldManager={manager}");
        let (content_type, body) = ("application/apply-patch+yaml", body.to_string().into_bytes());
        let call = Call { method: "PATCH", target: &target, accept: "", content_type, body: &body };
        cluster.handle(Instant::ZERO, &call).head.status
    };
    assert_eq!((apply("one"), apply("other")), (200, 409));
    record(&cluster, HistoryChange::Deleted, "a", 7);
    record(&cluster, HistoryChange::Added, "a", 8);
    assert_eq!(apply("other"), 200);
}

#[test]
fn an_empty_list_of_a_recorded_kind_leaves_its_scope_open() {
    let cluster = SimulatedCluster::new();
    let empty = HistoryChange::Relisted { changed: Vec::new(), gone: Vec::new(), version: 9 };
    cluster.line.shared.record(Instant::ZERO, &kind("example.com/v1/foos"), empty);
    assert_eq!(send(&cluster, &format!("GET {FOOS}"), &Value::Null).0, 200);
    let is_namespaced = |cluster: &SimulatedCluster| {
        let kinds = cluster.kinds();
        kinds.iter().find(|kind| kind.name() == "example.com/v1/foos").map(|kind| kind.namespaced)
    };
    assert_eq!(is_namespaced(&cluster), Some(true), "as kubectl guesses");
    let mut foo = foo();
    foo["metadata"]["resourceVersion"] = json!("10");
    cluster.line.shared.record(Instant::ZERO, &kind("example.com/v1/foos"), HistoryChange::Added(foo));
    assert_eq!(is_namespaced(&cluster), Some(false), "as its object shows");
    assert_eq!(send(&cluster, "GET /apis/example.com/v1/foos/a", &Value::Null).0, 200);
}

#[test]
fn a_query_with_a_watch_of_0_is_no_watch() {
    let cluster = SimulatedCluster::new();
    cluster.fail_next("WATCH", Fault::Refused(500)).expect("taken");
    let call = |target| Call { method: "GET", target, accept: "", content_type: "", body: b"" };
    for (target, left) in [("/api/v1/pods?watch=0", 1), ("/api/v1/pods?watch=1", 0)] {
        let _passage = cluster.line.passage(Instant::ZERO, None, &call(target));
        assert_eq!(cluster.faults_left().len(), left, "{target}");
    }
}

#[test]
fn only_an_accept_of_metadata_alone_asks_for_metadata() {
    let metadata = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
    let whole = format!("application/json,{metadata}");
    for (accept, asks) in [(metadata, true), (&whole, false), ("", false), ("application/yaml", false)] {
        let call = Call { method: "GET", target: "/api/v1/pods", accept, content_type: "", body: b"" };
        assert_eq!(call.asks_for_metadata(), asks, "{accept}");
    }
}

/// The hashes of the uids are the published ones of FNV-1a: 0x85944171f73967e8 and 0xaf63dc4c8601ec8c.
#[test]
fn lists_and_watches_select_the_hashes_of_uids_where_the_server_has_the_feature() {
    let range = |start: &str| format!("shardRange(object.metadata.uid, '0x{start}', '0x10000000000000000')");
    let (selector, bad) = (range("a000000000000000"), range("0"));
    let query = |selector: &str| selector.replace(' ', "%20");
    for (cluster, names) in
        [(SimulatedCluster::new(), &["foobar", "a"][..]), (SimulatedCluster::new().with_shard_selectors(), &["a"][..])]
    {
        let target = format!("/api/v1/configmaps?shardSelector={}", query(&selector));
        let mut seen = watch(&cluster, &format!("{target}&watch=1"));
        for uid in ["foobar", "a"] {
            let metadata = json!({ "name": uid, "uid": uid });
            cluster.create(json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata })).expect("created");
        }
        assert_eq!(told(&mut seen), names.iter().map(|name| format!("ADDED {name}")).collect::<Vec<_>>());
        let (_, list) = send(&cluster, &format!("GET {target}"), &Value::Null);
        let is_one = names.len() == 1;
        assert_eq!(list["items"].as_array().map(Vec::len), Some(names.len()));
        assert_eq!(list["metadata"]["shardInfo"]["selector"].as_str(), is_one.then_some(&*selector));
        let (_, page) = send(&cluster, &format!("GET {target}&limit=1"), &Value::Null);
        assert_eq!(page["metadata"]["remainingItemCount"].is_null(), is_one, "how many follow is not counted");
        let line = format!("GET /api/v1/configmaps?shardSelector={}", query(&bad));
        assert_eq!(send(&cluster, &line, &Value::Null).0, if is_one { 500 } else { 200 });
    }
}
