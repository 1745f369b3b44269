//! Requests that took the cluster down, or would have.

use super::*;
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use std::panic::{AssertUnwindSafe, catch_unwind};

#[test]
fn a_write_at_the_largest_recorded_version_does_not_overflow() {
    let cluster = SimulatedCluster::new();
    record(&cluster, HistoryChange::Added, "a", u64::MAX);
    record(&cluster, HistoryChange::Added, "b", 7);
    assert_eq!(send(&cluster, &format!("POST {PODS}"), &named("c")).0, 201);
    let (_, list) = send(&cluster, "GET /api/v1/pods", &Value::Null);
    let version = u64::MAX.to_string();
    assert_eq!(
        (list["items"].as_array().map(Vec::len), &list["metadata"]["resourceVersion"]),
        (Some(3), &json!(version))
    );
}

#[test]
fn a_deletion_does_not_overflow_the_largest_generation() {
    let cluster = SimulatedCluster::new();
    let metadata = json!({ "name": "a", "generation": u64::MAX, "finalizers": ["example.com/wait"] });
    assert_eq!(send(&cluster, &format!("POST {MAPS}"), &json!({ "metadata": metadata })).0, 201);
    let (code, map) = send(&cluster, &format!("DELETE {MAPS}/a"), &Value::Null);
    assert_eq!((code, &map["metadata"]["generation"]), (200, &json!(u64::MAX)));
}

#[test]
fn options_of_a_deletion_that_are_no_object_are_refused() {
    let cluster = SimulatedCluster::new();
    assert_eq!(send(&cluster, &format!("POST {PODS}"), &named("a")).0, 201);
    for body in [json!([1]), json!("x")] {
        let (code, status) = send(&cluster, &format!("DELETE {PODS}/a?propagationPolicy=Background"), &body);
        assert_eq!((code, &status["reason"]), (400, &json!("BadRequest")), "{status}");
    }
}

#[test]
fn a_namespace_of_an_unexpected_shape_is_refused() {
    let cluster = SimulatedCluster::new();
    for object in [
        json!({ "metadata": { "name": "x", "labels": "y" } }),
        json!({ "metadata": { "name": "x" }, "spec": "y" }),
        json!({ "metadata": { "name": "x" }, "spec": [1] }),
    ] {
        let (code, status) = send(&cluster, "POST /api/v1/namespaces", &object);
        assert_eq!((code, &status["kind"]), (400, &json!("Status")), "{object}");
    }
    let object = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "x" }, "status": "y" });
    let error = cluster.create(object).expect_err("a status of another shape");
    assert!(error.to_string().contains("`status` is no object"), "{error}");
}

#[test]
fn a_namespace_whose_status_is_no_object_can_be_deleted() {
    let cluster = SimulatedCluster::new();
    assert_eq!(send(&cluster, "POST /api/v1/namespaces", &named("x")).0, 201);
    assert_eq!(send(&cluster, "PATCH /api/v1/namespaces/x/status", &json!({ "status": "y" })).0, 200);
    let (code, namespace) = send(&cluster, "DELETE /api/v1/namespaces/x", &Value::Null);
    assert_eq!((code, &namespace["status"]["phase"]), (200, &json!("Terminating")));
}

#[test]
fn a_scale_of_a_deployment_without_a_spec_of_fields_is_refused() {
    let cluster = SimulatedCluster::new();
    let deployments = "/apis/apps/v1/namespaces/web/deployments";
    let deployment = json!({ "metadata": { "name": "x" }, "spec": "y" });
    assert_eq!(send(&cluster, &format!("POST {deployments}"), &deployment).0, 201);
    let (code, status) = send(&cluster, &format!("PATCH {deployments}/x/scale"), &json!({ "spec": { "replicas": 3 } }));
    assert_eq!((code, &status["reason"]), (400, &json!("BadRequest")), "{status}");
}

#[test]
fn a_recorded_object_that_is_no_object_is_served() {
    let cluster = SimulatedCluster::new();
    for object in [json!([1]), json!("x"), json!({ "metadata": "x" })] {
        cluster.line.shared.record(Instant::ZERO, &kind("v1/pods"), HistoryChange::Added(object.clone()));
        let relisted = HistoryChange::Relisted { changed: vec![object], gone: Vec::new(), version: 9 };
        cluster.line.shared.record(Instant::ZERO, &kind("v1/pods"), relisted);
    }
    let from = "/api/v1/pods?watch=1&fieldSelector=metadata.name!%3Dz";
    assert_eq!(told(&mut watch(&cluster, from)), ["ADDED "]);
    assert_eq!(send(&cluster, "DELETE /api/v1/pods", &Value::Null).0, 200);
}

#[test]
fn a_change_before_a_panic_wakes_a_watch() {
    let cluster = SimulatedCluster::new();
    let mut watch = watch(&cluster, "/api/v1/pods?watch=1");
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(Arc::clone(&woken));
    watch.poll(Instant::ZERO, &Context::from_waker(&waker), &mut Vec::new());
    let fails = || {
        cluster.line.shared.with(|inside| {
            inside.disconnections += 1;
            panic!("by a test");
        })
    };
    assert!(catch_unwind(AssertUnwindSafe(fails)).is_err());
    assert!(woken.0.load(std::sync::atomic::Ordering::Relaxed));
}

#[test]
fn the_kind_of_a_list_is_written_with_escapes() {
    let cluster = SimulatedCluster::new().with_kind("example.com/v1", "Fo\"o", "foos", true);
    for (target, kind) in
        [("/apis/example.com/v1/foos", "Fo\"oList"), ("/apis/a%22b.io/v1/%1bx%22ys", "\u{1b}x\"yList")]
    {
        let (code, list) = send(&cluster, &format!("GET {target}"), &Value::Null);
        assert_eq!((code, &list["kind"]), (200, &json!(kind)), "{list}");
    }
}

#[test]
fn a_forged_continue_token_of_a_version_to_come_is_refused() {
    let cluster = SimulatedCluster::new();
    assert_eq!(send(&cluster, &format!("POST {PODS}"), &named("a")).0, 201);
    let token = json!({ "v": "meta.k8s.io/v1", "rv": i64::MAX, "start": "web/\0" }).to_string();
    let query = format!("continue={}", BASE64_URL_SAFE_NO_PAD.encode(token));
    let (code, list) = send(&cluster, &format!("GET {PODS}?{query}"), &Value::Null);
    assert_eq!((code, &list["reason"]), (504, &json!("Timeout")), "{list}");
}

/// Their data are any JSON.
const REVISIONS: &str = "/apis/apps/v1/namespaces/default/controllerrevisions";

/// Sends an apply of a ControllerRevision.
fn apply_revision(cluster: &SimulatedCluster, manager: &str, data: &Value) -> (u16, Value) {
    let body =
        json!({ "apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": { "name": "a" }, "data": data });
    let (target, body) = (format!("{REVISIONS}/a?fieldManager={manager}"), body.to_string().into_bytes());
    let content_type = "application/apply-patch+yaml";
    let call = Call { method: "PATCH", target: &target, accept: "", content_type, body: &body };
    let answer = cluster.handle(Instant::ZERO, &call);
    (answer.head.status, serde_json::from_slice(&answer.body).unwrap_or_default())
}

/// An object with many fields below a long name.
fn branching(fields: usize) -> Value {
    let fields: serde_json::Map<String, Value> = (0..fields).map(|field| (field.to_string(), json!(0))).collect();
    json!({ "n".repeat(64 * 1024): fields })
}

#[test]
fn an_object_whose_field_paths_take_much_memory_is_refused() {
    let cluster = SimulatedCluster::new();
    let large = json!({ "metadata": { "name": "a" }, "data": branching(2_000) });
    let too_large = |(code, status): (u16, Value)| {
        assert_eq!((code, &status["reason"]), (413, &json!("RequestEntityTooLarge")), "{}", status["message"]);
    };
    too_large(send(&cluster, &format!("POST {REVISIONS}"), &large));
    too_large(apply_revision(&cluster, "one", &large["data"]));
    assert_eq!(send(&cluster, &format!("POST {REVISIONS}"), &named("a")).0, 201);
    too_large(send(&cluster, &format!("PATCH {REVISIONS}/a"), &large));
    too_large(send(&cluster, &format!("PUT {REVISIONS}/a"), &large));
    too_large(apply_revision(&cluster, "one", &large["data"]));
    let mut recorded = large;
    recorded["metadata"]["namespace"] = json!("default");
    recorded["metadata"]["resourceVersion"] = json!("99");
    cluster.line.shared.record(Instant::ZERO, &kind("apps/v1/controllerrevisions"), HistoryChange::Added(recorded));
    too_large(send(&cluster, &format!("PATCH {REVISIONS}/a"), &json!({ "data": null })));
}

#[test]
fn too_many_managers_of_the_same_fields_are_refused() {
    let cluster = SimulatedCluster::new();
    let data = branching(100);
    let codes: Vec<u16> = (0..20).map(|number| apply_revision(&cluster, &format!("m{number}"), &data).0).collect();
    assert_eq!((codes[0], codes[1], codes.last()), (201, 200, Some(&413)), "{codes:?}");
}

#[test]
fn a_patch_that_grows_an_object_above_what_etcd_stores_is_refused() {
    let cluster = SimulatedCluster::new();
    assert_eq!(send(&cluster, &format!("POST {REVISIONS}"), &named("a")).0, 201);
    let patch = |field: &str| {
        let patch = json!({ "data": { field: "x".repeat(1024 * 1024) } });
        send(&cluster, &format!("PATCH {REVISIONS}/a"), &patch)
    };
    assert_eq!(patch("a").0, 200);
    let (code, status) = patch("b");
    assert_eq!((code, &status["message"]), (500, &json!("etcdserver: request is too large")));
    let large = json!({ "data": { "c": "x".repeat(3 * 1024 * 1024) } });
    let (code, status) = send(&cluster, &format!("PATCH {REVISIONS}/a"), &large);
    assert_eq!((code, &status["reason"]), (413, &json!("RequestEntityTooLarge")), "{}", status["message"]);
}

/// Names, limits, tokens and bodies that no client of Kubernetes sends.
#[test]
fn every_strange_request_is_answered_by_a_status() {
    let cluster = SimulatedCluster::new();
    assert_eq!(send(&cluster, &format!("POST {PODS}"), &named("a")).0, 201);
    let long = "a".repeat(254);
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let prefixed = json!({ "metadata": { "generateName": long } }).to_string();
    let selector = "a=b,".repeat(10_000);
    for (line, body, expected) in [
        (format!("POST {PODS}"), named(&long).to_string(), 422),
        (format!("POST {PODS}"), prefixed, 422),
        (format!("GET {PODS}/{long}"), String::new(), 404),
        (format!("POST {PODS}"), deep.clone(), 400),
        (format!("PUT {PODS}/a"), deep.clone(), 400),
        (format!("PATCH {PODS}/a"), deep.clone(), 400),
        (format!("DELETE {PODS}/a"), deep, 400),
        (format!("GET {PODS}?labelSelector={selector}"), String::new(), 400),
        (format!("GET {PODS}?limit=-1"), String::new(), 200),
        (format!("GET {PODS}?limit=99999999999999999999"), String::new(), 400),
        (format!("GET {PODS}?continue=x"), String::new(), 400),
        (format!("GET {PODS}?resourceVersion=-1"), String::new(), 400),
        (format!("GET {PODS}?watch=1&resourceVersion=-1"), String::new(), 500),
        (format!("FETCH {PODS}/a"), String::new(), 405),
    ] {
        let (method, target) = line.split_once(' ').expect("a method and a target");
        let content_type = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
        let call = Call { method, target, accept: "application/json", content_type, body: body.as_bytes() };
        let answer = cluster.handle(Instant::ZERO, &call);
        let kind: Value = serde_json::from_slice(&answer.body).expect("JSON");
        let expected_kind = if expected == 200 { "PodList" } else { "Status" };
        let line = &line[..line.len().min(80)];
        assert_eq!((answer.head.status, &kind["kind"]), (expected, &json!(expected_kind)), "{line}");
    }
}

#[test]
fn an_invalid_name_of_a_namespace_leads_to_no_other_namespace() {
    let cluster = SimulatedCluster::new();
    for namespace in ["a%2Fb", "A", &"a".repeat(64)] {
        let (code, status) = send(&cluster, &format!("POST /api/v1/namespaces/{namespace}/pods"), &named("c"));
        assert_eq!((code, &status["details"]["kind"]), (404, &json!("namespaces")), "{namespace}");
    }
    assert_eq!(send(&cluster, "GET /api/v1/namespaces/a/pods/b%2Fc", &Value::Null).0, 404);
}

/// A definition of `Foo` with one version.
fn definition(group: &str, version: &Value) -> Value {
    json!({ "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("foos.{group}") },
        "spec": { "group": group, "scope": "Namespaced", "versions": [version],
            "names": { "plural": "foos", "singular": "foo", "kind": "Foo", "listKind": "FooList" } } })
}

#[test]
fn a_definition_is_refused_whose_version_has_no_name_or_whose_schema_is_too_deep() {
    let definitions = "POST /apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let cluster = SimulatedCluster::new();
    let schema = json!({ "openAPIV3Schema": { "type": "object" } });
    let nameless = definition("example.com", &json!({ "served": true, "storage": true, "schema": schema }));
    assert_eq!(send(&cluster, definitions, &nameless).0, 422);
    for word in ["items", "not"] {
        let deep = (0..110).fold(json!({ "type": "array" }), |inner, _| json!({ "type": "array", word: inner }));
        let schema = json!({ "openAPIV3Schema": { "type": "object", "properties": { "deep": deep } } });
        let version = json!({ "name": "v1", "served": true, "storage": true, "schema": schema });
        let code = send(&cluster, definitions, &definition("example.com", &version)).0;
        assert!((400..500).contains(&code), "{word}: {code}");
    }
}

#[test]
fn a_definition_replaces_no_kind_of_kubernetes() {
    let cluster = SimulatedCluster::new();
    let schema = json!({ "openAPIV3Schema": { "type": "object" } });
    let version = json!({ "name": "v1", "served": true, "storage": true, "schema": schema });
    let mut roles = definition("rbac.authorization.k8s.io", &version);
    roles["metadata"]["name"] = json!("roles.rbac.authorization.k8s.io");
    roles["spec"]["names"] = json!({ "plural": "roles", "singular": "role", "kind": "Role", "listKind": "RoleList" });
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    send(&cluster, &format!("POST {definitions}"), &roles);
    send(&cluster, &format!("DELETE {definitions}/roles.rbac.authorization.k8s.io"), &Value::Null);
    let role = json!({ "metadata": { "name": "a" }, "rules": [{ "verbs": ["get"], "apiGroups": [""], "resources": ["pods"] }] });
    let (code, stored) = send(&cluster, "POST /apis/rbac.authorization.k8s.io/v1/namespaces/web/roles", &role);
    assert_eq!((code, &stored["rules"]), (201, &role["rules"]));
}

#[cfg(feature = "cel")]
#[test]
fn a_rule_that_the_interpreter_cannot_evaluate_refuses_the_object() {
    let cluster = SimulatedCluster::new();
    let rule = json!([{ "rule": "a.B{c: 1} == self" }]);
    let schema = json!({ "openAPIV3Schema": { "type": "object", "x-kubernetes-validations": rule } });
    let version = json!({ "name": "v1", "served": true, "storage": true, "schema": schema });
    let made = send(
        &cluster,
        "POST /apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        &definition("example.com", &version),
    );
    let foo = json!({ "apiVersion": "example.com/v1", "kind": "Foo", "metadata": { "name": "a" } });
    let (code, status) = send(&cluster, "POST /apis/example.com/v1/namespaces/web/foos", &foo);
    assert!(made.0 == 422 || code == 422, "{status}");
}
