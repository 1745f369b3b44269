//! What random requests beside a server have found.

use super::*;

const WEB: &str = "/apis/apps/v1/namespaces/web/deployments";
const JOBS: &str = "/apis/batch/v1/namespaces/web/jobs";

/// Sends a patch of a sort.
fn patch(cluster: &SimulatedCluster, sort: &str, target: &str, body: &Value) -> (u16, Value) {
    let (content_type, body) = (format!("application/{sort}"), body.to_string().into_bytes());
    let call = Call { method: "PATCH", target, accept: "", content_type: &content_type, body: &body };
    let answer = cluster.handle(Instant::ZERO, &call);
    (answer.head.status, serde_json::from_slice(&answer.body).unwrap_or_default())
}

fn apply(cluster: &SimulatedCluster, target: &str, body: &Value) -> (u16, Value) {
    patch(cluster, "apply-patch+yaml", &format!("{target}?fieldManager=me"), body)
}

fn message((code, status): (u16, Value)) -> (u16, String) {
    (code, status["message"].as_str().unwrap_or_default().to_owned())
}

#[test]
fn a_value_of_another_type_is_named_by_its_type() {
    let cluster = SimulatedCluster::new();
    for (object, expected) in [
        (
            json!([1]),
            "(must be of type ConfigMap): couldn't get version/kind; json parse error: json: cannot unmarshal array",
        ),
        (
            json!({ "metadata": [] }),
            "json: cannot unmarshal array into Go struct field ConfigMap.metadata of type v1.ObjectMeta",
        ),
        (
            json!({ "metadata": { "labels": { "a": 1 } } }),
            "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string",
        ),
        (
            json!({ "metadata": { "finalizers": "x" } }),
            "json: cannot unmarshal string into Go struct field ObjectMeta.metadata.finalizers of type []string",
        ),
        (json!({ "binaryData": { "a": "!" } }), "illegal base64 data at input byte 0"),
        (json!({ "kind": "Other" }), "no kind \"Other\" is registered for version \"v1\""),
    ] {
        let (code, said) = message(send(&cluster, &format!("POST {MAPS}"), &object));
        assert!(code == 400 && said.contains(expected), "{code} {said}");
    }
}

#[test]
fn what_a_kind_has_not_is_left_out_and_strictly_refused() {
    let cluster = SimulatedCluster::new();
    let map = json!({ "metadata": { "name": "a", "x": 1 }, "data": {}, "status": { "y": 1 } });
    let (code, said) = message(send(&cluster, &format!("POST {MAPS}?fieldValidation=Strict"), &map));
    assert!(code == 400 && said.ends_with("unknown field \"metadata.x\", unknown field \"status\""), "{said}");
    let (code, map) = send(&cluster, &format!("POST {MAPS}"), &map);
    assert_eq!((code, map.get("data"), map.get("status"), map["metadata"].get("x")), (201, None, None, None));
}

#[test]
fn a_job_without_labels_has_those_of_its_pods() {
    let cluster = SimulatedCluster::new();
    let job =
        json!({ "metadata": { "name": "a" }, "spec": { "template": { "metadata": { "labels": { "app": "x" } } } } });
    let (_, job) = send(&cluster, &format!("POST {JOBS}"), &job);
    assert_eq!(job["metadata"]["labels"], json!({ "app": "x" }));
    let (_, jobs) = send(&cluster, &format!("GET {JOBS}?labelSelector=app%3Dx"), &Value::Null);
    assert_eq!(jobs["items"].as_array().map(Vec::len), Some(1));
}

#[test]
fn a_service_is_selected_by_the_type_that_it_has_by_default() {
    let cluster = SimulatedCluster::new();
    let services = "/api/v1/namespaces/web/services";
    send(&cluster, &format!("POST {services}"), &named("a"));
    let (_, found) = send(&cluster, &format!("GET {services}?fieldSelector=spec.type%3DClusterIP"), &Value::Null);
    assert_eq!(found["items"].as_array().map(Vec::len), Some(1));
}

#[test]
fn a_deletion_goes_on_as_it_began_and_says_when_it_waits() {
    let cluster = SimulatedCluster::new();
    send(&cluster, &format!("POST {JOBS}"), &named("a"));
    let (code, job) = send(&cluster, &format!("DELETE {JOBS}/a"), &json!({ "propagationPolicy": "Foreground" }));
    assert_eq!((code, &job["metadata"]["finalizers"]), (200, &json!(["foregroundDeletion"])));
    let (code, job) = send(&cluster, &format!("DELETE {JOBS}/a"), &Value::Null);
    assert_eq!((code, &job["metadata"]["finalizers"]), (200, &json!(["foregroundDeletion"])));
    let map = json!({ "metadata": { "name": "a", "finalizers": ["example.com/wait"] } });
    send(&cluster, &format!("POST {MAPS}"), &map);
    assert_eq!(send(&cluster, &format!("DELETE {MAPS}/a"), &json!({ "orphanDependents": false })).0, 202);
}

#[test]
fn an_absent_object_is_replaced_by_none_with_a_uid_or_a_bad_version() {
    let cluster = SimulatedCluster::new();
    let put = |line: &str, metadata: Value| {
        let lease = json!({ "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata });
        send(&cluster, &format!("PUT /apis/coordination.k8s.io/v1/namespaces/web/leases/a{line}"), &lease)
    };
    assert_eq!(put("", json!({ "name": "a", "uid": "u" })).0, 409);
    assert_eq!(put("", json!({ "name": "a", "resourceVersion": "abc" })).0, 500);
    let (code, lease) = put("?dryRun=All", json!({ "name": "a", "resourceVersion": "7" }));
    assert_eq!((code, &lease["metadata"]["resourceVersion"]), (201, &json!("7")));
}

#[test]
fn an_apply_takes_a_field_away_with_what_nobody_owns_in_it() {
    let cluster = SimulatedCluster::new();
    let count = json!({ "type": "object", "properties": { "count": { "type": "integer" },
        "size": { "type": "string", "default": "small" } } });
    let schema = json!({ "openAPIV3Schema": { "type": "object", "properties": { "spec": count } } });
    define_foos(&cluster, &json!({ "name": "v1", "served": true, "storage": true, "schema": schema }));
    let foo = |spec: Value| {
        let mut foo = json!({ "apiVersion": "example.com/v1", "kind": "Foo", "metadata": { "name": "a" } });
        if spec.is_object() {
            foo["spec"] = spec;
        }
        apply(&cluster, "/apis/example.com/v1/namespaces/web/foos/a", &foo).1
    };
    assert_eq!(foo(json!({ "count": 1 }))["spec"], json!({ "count": 1, "size": "small" }));
    assert_eq!(foo(json!(null)).get("spec"), None);
}

#[test]
fn an_apply_changes_the_part_of_its_request_and_takes_values_away_by_null() {
    let cluster = SimulatedCluster::new();
    let deployment = |spec: Value| json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "a" }, "spec": spec });
    assert_eq!(send(&cluster, &format!("POST {WEB}"), &deployment(json!({ "replicas": 1, "paused": true }))).0, 201);
    assert_eq!(apply(&cluster, &format!("{WEB}/a/status"), &deployment(json!({ "replicas": 3 }))).0, 200);
    assert_eq!(apply(&cluster, &format!("{WEB}/a"), &deployment(json!({ "replicas": 3 }))).0, 409);
    let forced = format!("{WEB}/a?fieldManager=me&force=true");
    let (_, object) = patch(&cluster, "apply-patch+yaml", &forced, &deployment(json!({ "paused": null })));
    assert_eq!(object["spec"], json!({ "replicas": 1 }));
    let mut unnamed = deployment(json!({}));
    unnamed["metadata"]["name"] = json!("");
    assert_eq!(apply(&cluster, &format!("{WEB}/b"), &unnamed).0, 400);
}

#[test]
fn a_merge_patch_takes_no_nulls_into_lists_and_a_null_of_a_custom_resource_counts() {
    let cluster = SimulatedCluster::new();
    let foos = "/apis/example.com/v1/namespaces/web/foos";
    define_foos(
        &cluster,
        &json!({ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": {
        "type": "object", "x-kubernetes-preserve-unknown-fields": true } } }),
    );
    let foo =
        json!({ "apiVersion": "example.com/v1", "kind": "Foo", "metadata": { "name": "a" }, "spec": { "x": null } });
    assert_eq!(send(&cluster, &format!("POST {foos}"), &foo).0, 201);
    let patched = |patch: Value| send(&cluster, &format!("PATCH {foos}/a"), &patch).1;
    assert_eq!(
        patched(json!({ "spec": { "l": [null, { "a": null, "b": 1 }] } }))["spec"]["l"],
        json!([null, { "b": 1 }])
    );
    assert_eq!(patched(json!({ "spec": { "x": null } }))["metadata"]["generation"], 3);
}

#[test]
fn a_list_names_the_fault_of_its_selector_first_and_an_empty_one_of_metadata_is_null() {
    let cluster = SimulatedCluster::new();
    let (code, said) =
        message(send(&cluster, &format!("GET {MAPS}?labelSelector=a%3D-&resourceVersionMatch=Exact"), &Value::Null));
    assert!(code == 400 && said.starts_with("unable to parse requirement"), "{said}");
    let accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
    let call = Call { method: "GET", target: MAPS, accept, content_type: "", body: b"" };
    let body: Value = serde_json::from_slice(&cluster.handle(Instant::ZERO, &call).body).unwrap();
    assert_eq!(body.get("items"), Some(&Value::Null));
}
