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
        (json!({ "metadata": { "labels": [], "creationTimestamp": "x" } }), "parsing time \"x\" as"),
        (json!({ "binaryData": { "a": [1] } }), "Go struct field ConfigMap.binaryData of type []uint8"),
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

#[test]
fn a_custom_resource_of_another_kind_is_refused_as_one_of_that_kind_after_its_version() {
    let cluster = SimulatedCluster::new();
    let foos = "/apis/example.com/v1/namespaces/web/foos";
    let foo = |kind: &str, version: &str| json!({ "apiVersion": "example.com/v1", "kind": kind, "metadata": { "name": "a", "resourceVersion": version } });
    let refused = |(code, status): (u16, Value)| (code, status["details"]["kind"].clone());
    assert_eq!(refused(send(&cluster, &format!("PUT {foos}/a"), &foo("Other", ""))), (404, json!("foos")));
    assert_eq!(refused(send(&cluster, &format!("POST {foos}"), &foo("Other", ""))), (422, json!("Other")));
    let (_, stored) = send(&cluster, &format!("POST {foos}"), &foo("Foo", ""));
    let version = stored["metadata"]["resourceVersion"].as_str().unwrap();
    let put = |version: &str| send(&cluster, &format!("PUT {foos}/a"), &foo("Other", version));
    assert_eq!(refused(put("")), (422, json!("foos")));
    let (code, said) = message(put(version));
    assert_eq!(
        (code, &*said),
        (422, "Other.example.com \"a\" is invalid: kind: Invalid value: \"Other\": must be Foo")
    );
    assert_eq!(refused(send(&cluster, &format!("PATCH {foos}/a"), &json!({ "kind": "Other" }))), (422, json!("Other")));
}

#[test]
fn a_dry_run_takes_a_new_object_with_a_version_and_says_that_one_is_there() {
    let cluster = SimulatedCluster::new();
    let map = |metadata: Value| json!({ "metadata": metadata });
    let versioned = map(json!({ "name": "a", "resourceVersion": "7" }));
    assert_eq!(send(&cluster, &format!("POST {MAPS}"), &versioned).0, 500);
    assert_eq!(send(&cluster, &format!("POST {MAPS}?dryRun=All"), &versioned).0, 201);
    send(&cluster, &format!("POST {MAPS}"), &named("a"));
    assert_eq!(send(&cluster, &format!("POST {MAPS}?dryRun=All"), &versioned).0, 409);
    let (code, status) = send(&cluster, &format!("POST {MAPS}"), &map(json!({ "name": "a", "generateName": "x-" })));
    let said = status["message"].as_str().unwrap();
    assert!(code == 409 && said.ends_with("was not able to generate a unique name for the object"), "{said}");
    assert_eq!(status["details"]["retryAfterSeconds"], 1);
}

#[test]
fn the_prefix_of_names_is_checked_in_changes_of_some_kinds_and_an_apply_sets_it() {
    let cluster = SimulatedCluster::new();
    let prefix = json!({ "metadata": { "generateName": "Not_A-" } });
    send(&cluster, &format!("POST {MAPS}"), &named("a"));
    assert_eq!(send(&cluster, &format!("PATCH {MAPS}/a"), &prefix).0, 422);
    let accounts = "/api/v1/namespaces/web/serviceaccounts";
    send(&cluster, &format!("POST {accounts}"), &named("a"));
    let mut applied = json!({ "apiVersion": "v1", "kind": "ServiceAccount" });
    applied["metadata"] = json!({ "name": "a", "generateName": "b-" });
    let (code, account) = apply(&cluster, &format!("{accounts}/a"), &applied);
    assert_eq!((code, &account["metadata"]["generateName"]), (200, &json!("b-")));
}

#[test]
fn a_namespace_keeps_its_spec_and_goes_on_ending_as_it_began() {
    let cluster = SimulatedCluster::new();
    let spaces = "/api/v1/namespaces";
    send(&cluster, &format!("POST {spaces}"), &named("x"));
    let (_, space) = send(&cluster, &format!("PUT {spaces}/x"), &named("x"));
    assert_eq!(space["spec"]["finalizers"], json!(["kubernetes"]));
    let another = json!({ "preconditions": { "uid": "u" } });
    let (code, said) = message(send(&cluster, &format!("DELETE {spaces}/x"), &another));
    assert!(
        code == 409 && said.contains("Precondition failed: UID in precondition: u, UID in object meta: "),
        "{said}"
    );
    assert_eq!(send(&cluster, &format!("DELETE {spaces}/x"), &Value::Null).1["status"]["phase"], "Terminating");
    let (code, space) = send(&cluster, &format!("DELETE {spaces}/x"), &json!({ "propagationPolicy": "Orphan" }));
    assert_eq!((code, space["metadata"].get("finalizers")), (200, None));
}

#[test]
fn a_strategic_patch_orders_elements_and_merges_those_of_one_key() {
    let cluster = SimulatedCluster::new();
    let map = json!({ "metadata": { "name": "a", "finalizers": ["x/a", "x/b", "x/c"] } });
    send(&cluster, &format!("POST {MAPS}"), &map);
    let patched = |metadata: Value| {
        let (code, map) =
            patch(&cluster, "strategic-merge-patch+json", &format!("{MAPS}/a"), &json!({ "metadata": metadata }));
        (code, map["metadata"].clone(), map["message"].clone())
    };
    let order = json!(["x/c", "x/b", "x/d"]);
    let (_, metadata, _) = patched(json!({ "$setElementOrder/finalizers": order, "finalizers": ["x/d"] }));
    assert_eq!(metadata["finalizers"], json!(["x/a", "x/c", "x/b", "x/d"]));
    let (_, metadata, _) = patched(json!({ "$setElementOrder/finalizers": ["x/d", "x/a"] }));
    assert_eq!(metadata["finalizers"], json!(["x/c", "x/b", "x/d", "x/a"]));
    let (code, _, said) = patched(json!({ "$setElementOrder/finalizers": ["x/a"], "finalizers": ["x/e"] }));
    let expected = "The order in patch list:\n[x/e]\n doesn't match $setElementOrder list:\n[x/a]\n";
    assert_eq!((code, &said), (500, &json!(expected)));
    let owner = |name: &str| json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": "u" });
    patched(json!({ "ownerReferences": [owner("c")] }));
    let (_, metadata, _) = patched(json!({ "ownerReferences": [owner("a"), owner("b")] }));
    assert_eq!(metadata["ownerReferences"], json!([owner("b")]));
    let (_, metadata, _) = patched(json!({ "labels": { "$patch": "replace", "app": "z" } }));
    assert_eq!(metadata.get("labels"), None, "it replaces none");
}

#[test]
fn a_page_is_followed_by_one_that_may_be_empty() {
    let cluster = SimulatedCluster::new();
    let map = |name: &str, app: &str| json!({ "metadata": { "name": name, "labels": { "app": app } } });
    for (name, app) in [("a", "x"), ("b", "y")] {
        send(&cluster, &format!("POST {MAPS}"), &map(name, app));
    }
    send(&cluster, "POST /api/v1/namespaces/xyz/configmaps", &map("c", "x"));
    let page = |query: &str| send(&cluster, &format!("GET {MAPS}?limit=1&labelSelector=app%3D{query}"), &Value::Null).1;
    let first = page("x");
    let token = first["metadata"]["continue"].as_str().unwrap();
    let second = page(&format!("x&continue={token}"));
    assert_eq!((&second["items"], second["metadata"].get("continue")), (&json!([]), None));
    assert_eq!(page("y")["metadata"].get("continue"), None, "what follows is in another namespace");
    let one = page("x&fieldSelector=metadata.name%3Da");
    assert_eq!((one["items"].as_array().map(Vec::len), one["metadata"].get("continue")), (Some(1), None));
}

#[test]
fn an_apply_that_makes_a_manager_makes_a_version_and_the_answer_to_a_deletion_has_one() {
    let cluster = SimulatedCluster::new();
    let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" }, "data": { "k": "1" } });
    let version = |(_, object): (u16, Value)| object["metadata"]["resourceVersion"].clone();
    let created = version(send(&cluster, &format!("POST {MAPS}"), &map));
    let applied = version(apply(&cluster, &format!("{MAPS}/a"), &map));
    assert_ne!(applied, created);
    assert_eq!(version(apply(&cluster, &format!("{MAPS}/a"), &map)), applied);
    let created = version(send(&cluster, &format!("POST {PODS}"), &named("a")));
    assert_ne!(version(send(&cluster, &format!("DELETE {PODS}/a"), &Value::Null)), created);
}

#[test]
fn an_event_of_the_other_version_is_refused_in_the_name_of_its_collection() {
    let cluster = SimulatedCluster::new();
    let events = "/apis/events.k8s.io/v1/namespaces/web/events";
    let (_, status) = send(&cluster, &format!("GET {events}/a"), &Value::Null);
    assert_eq!(status["message"], "events.events.k8s.io \"a\" not found");
    assert_eq!(status["details"]["group"], "events.k8s.io");
    let (_, status) = send(&cluster, "GET /api/v1/namespaces/web/events/a", &Value::Null);
    assert_eq!((&status["message"], status["details"].get("group")), (&json!("events \"a\" not found"), None));
}

#[test]
fn an_apply_keeps_a_null_that_a_schema_refuses() {
    let cluster = SimulatedCluster::new();
    let schema = json!({ "openAPIV3Schema": { "type": "object", "properties": { "spec": { "type": "object" } } } });
    define_foos(&cluster, &json!({ "name": "v1", "served": true, "storage": true, "schema": schema }));
    let foo = json!({ "apiVersion": "example.com/v1", "kind": "Foo", "metadata": { "name": "a" }, "spec": null });
    let foos = "/apis/example.com/v1/namespaces/web/foos";
    assert_eq!(send(&cluster, &format!("POST {foos}?dryRun=All"), &foo).0, 201);
    let (code, said) = message(apply(&cluster, &format!("{foos}/a"), &foo));
    assert!(code == 422 && said.contains("must be of type object: \"null\""), "{said}");
}

#[test]
fn a_watch_without_initial_events_begins_with_what_changes() {
    let cluster = SimulatedCluster::new();
    send(&cluster, &format!("POST {MAPS}"), &named("a"));
    let query = "watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan";
    for version in ["", "&resourceVersion=0"] {
        let mut watch = watch(&cluster, &format!("{MAPS}?{query}{version}"));
        assert!(told(&mut watch).is_empty());
        send(&cluster, &format!("POST {MAPS}"), &json!({ "metadata": { "generateName": "b-" } }));
        assert_eq!(told(&mut watch).len(), 1);
    }
}

#[test]
fn an_apply_takes_finalizers_away_with_those_that_nobody_owns() {
    let cluster = SimulatedCluster::new();
    let map = |metadata: Value| json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata });
    let place = format!("{MAPS}/a");
    apply(&cluster, &place, &map(json!({ "name": "a", "finalizers": ["orphan"] })));
    let (_, marked) = send(&cluster, &format!("DELETE {place}?propagationPolicy=Foreground"), &Value::Null);
    assert_eq!(marked["metadata"]["finalizers"], json!(["foregroundDeletion"]));
    let (_, gone) = apply(&cluster, &place, &map(json!({ "name": "a" })));
    assert_eq!(gone["metadata"].get("finalizers"), None);
    assert_eq!(send(&cluster, &format!("GET {place}"), &Value::Null).0, 404);
}

#[test]
fn an_apply_leaves_metadata_of_which_it_takes_all_away() {
    let cluster = SimulatedCluster::new();
    let foo = |metadata: Value| json!({ "apiVersion": "example.com/v1", "kind": "Foo", "metadata": metadata });
    let place = "/apis/example.com/v1/namespaces/web/foos/a";
    apply(&cluster, place, &foo(json!({ "name": "a", "labels": { "app": "x" } })));
    let (code, object) = apply(&cluster, place, &foo(json!({ "name": "a" })));
    assert_eq!((code, object["metadata"].get("labels")), (200, None));
}

#[test]
fn an_apply_orders_the_elements_of_a_list_as_it_has_them() {
    let cluster = SimulatedCluster::new();
    let web = |names: &[&str]| {
        let containers: Vec<Value> = names.iter().map(|name| json!({ "name": name, "image": "i" })).collect();
        json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "a" },
            "spec": { "template": { "spec": { "containers": containers } } } })
    };
    send(&cluster, &format!("POST {WEB}"), &web(&["a", "b", "c"]));
    let (_, object) = apply(&cluster, &format!("{WEB}/a"), &web(&["d", "c", "a"]));
    let containers = object["spec"]["template"]["spec"]["containers"].as_array().unwrap();
    let names: Vec<&str> = containers.iter().filter_map(|container| container["name"].as_str()).collect();
    assert_eq!(names, ["b", "d", "c", "a"]);
}

#[test]
fn conflicts_of_several_managers_are_told_by_manager() {
    let cluster = SimulatedCluster::new();
    let map =
        |data: Value| json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" }, "data": data });
    send(&cluster, &format!("POST {MAPS}"), &map(json!({ "k": "1" })));
    let other = format!("{MAPS}/a?fieldManager=other");
    patch(&cluster, "apply-patch+yaml", &other, &map(json!({ "k": "1" })));
    let (code, said) = message(apply(&cluster, &format!("{MAPS}/a"), &map(json!({ "k": "2" }))));
    let expected = "Apply failed with 2 conflicts: conflicts with \"listwatch\" using v1:\n- .data.k\nconflicts with \"other\":\n- .data.k";
    assert_eq!((code, &*said), (409, expected));
}

#[test]
fn the_garbage_collector_does_not_follow_events() {
    let cluster = SimulatedCluster::new();
    let events = "/apis/events.k8s.io/v1/namespaces/web/events";
    let event = |name: &str, finalizer: &str| json!({ "metadata": { "name": name, "finalizers": [finalizer] } });
    send(&cluster, &format!("POST {events}"), &event("a", "example.com/wait"));
    assert_eq!(send(&cluster, &format!("DELETE {events}/a"), &json!({ "orphanDependents": false })).0, 202);
    send(&cluster, &format!("POST {events}"), &event("b", "orphan"));
    send(&cluster, &format!("DELETE {events}/b"), &json!({ "propagationPolicy": "Orphan" }));
    assert_eq!(send(&cluster, &format!("GET {events}/b"), &Value::Null).0, 404);
}

#[test]
fn a_job_gets_its_labels_of_the_pods_that_a_request_for_its_status_names() {
    let cluster = SimulatedCluster::new();
    let job = |app: Value| {
        json!({ "apiVersion": "batch/v1", "kind": "Job", "metadata": { "name": "a" },
            "spec": { "template": { "metadata": { "labels": { "app": app } } } }, "status": { "active": 1 } })
    };
    send(&cluster, &format!("POST {JOBS}"), &job(json!("x")));
    let (_, changed) = send(&cluster, &format!("PUT {JOBS}/a/status"), &job(json!("y")));
    assert_eq!(changed["metadata"]["labels"], json!({ "app": "y" }));
    assert_eq!(changed["spec"]["template"]["metadata"]["labels"], json!({ "app": "x" }));
    let (_, changed) = send(&cluster, &format!("PUT {JOBS}/a/status"), &job(Value::Null));
    assert_eq!(changed["metadata"]["labels"], json!({ "app": "" }));
}

#[test]
fn an_apply_conflicts_before_it_is_read() {
    let cluster = SimulatedCluster::new();
    let map = |label: &str, namespace: &str| {
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "binaryData": { "b": "!" },
            "metadata": { "name": "a", "namespace": namespace, "labels": { "app": label } } })
    };
    send(&cluster, &format!("POST {MAPS}"), &json!({ "metadata": { "name": "a", "labels": { "app": "x" } } }));
    assert_eq!(apply(&cluster, &format!("{MAPS}/a"), &map("y", "web")).0, 409);
    let (code, said) = message(apply(&cluster, &format!("{MAPS}/a"), &map("x", "other")));
    let expected = "failed to convert new object (other/a; /v1, Kind=ConfigMap) to proper version";
    assert!(code == 500 && said.starts_with(expected), "{code} {said}");
}

/// A version of `Foo` that has a list with keys, and an object inside.
fn with_inner() -> Value {
    let inner = json!({ "type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true });
    let set = json!({ "type": "array", "x-kubernetes-list-type": "set", "items": { "type": "string" } });
    let spec =
        json!({ "type": "object", "properties": { "inner": inner, "set": set, "count": { "type": "integer" } } });
    let schema = json!({ "openAPIV3Schema": { "type": "object", "properties": { "spec": spec } } });
    json!({ "name": "v1", "served": true, "storage": true, "schema": schema })
}

const FOOS: &str = "/apis/example.com/v1/namespaces/web/foos";

#[test]
fn a_custom_resource_of_another_kind_has_its_inner_objects_and_lists_checked() {
    let cluster = SimulatedCluster::new();
    define_foos(&cluster, &with_inner());
    let spec = json!({ "inner": { "apiVersion": "v1", "kind": "" }, "set": ["a", "a"], "count": "x" });
    let foo = json!({ "apiVersion": "example.com/v1", "kind": "Other", "metadata": { "name": "a" }, "spec": spec });
    let (_, refused) = send(&cluster, &format!("POST {FOOS}"), &foo);
    let causes = refused["details"]["causes"].as_array().unwrap().iter();
    let fields: Vec<&str> = causes.filter_map(|cause| cause["field"].as_str()).collect();
    assert_eq!(fields, ["spec.inner.kind", "spec.set[1]", "kind"]);
}

#[test]
fn the_metadata_of_a_custom_resource_are_read_before_its_version() {
    let cluster = SimulatedCluster::new();
    define_foos(&cluster, &with_inner());
    let foo = |metadata: Value| json!({ "apiVersion": "v9", "kind": "Foo", "metadata": metadata, "spec": { "x": 1 } });
    let target = format!("POST {FOOS}?fieldValidation=Strict");
    let (_, said) = message(send(&cluster, &target, &foo(json!({ "name": "a", "x": 1 }))));
    let refused = "Foo in version \"v9\" cannot be handled as a Foo";
    assert_eq!(said, format!("{refused}: strict decoding error: unknown field \"metadata.x\""));
    let (_, said) = message(send(&cluster, &target, &foo(json!({ "name": 1 }))));
    assert!(said.starts_with(&format!("{refused}: json: cannot unmarshal number")), "{said}");
    let (_, said) = message(send(&cluster, &target, &foo(json!({ "name": "a" }))));
    assert!(said.starts_with("the API version in the data (v9)"), "{said}");
}

#[test]
fn a_change_that_names_managers_of_another_group_is_nobodys() {
    let cluster = SimulatedCluster::new();
    let manager = json!({ "manager": "m", "apiVersion": "v1", "operation": "Apply" });
    for (version, kind, path, code) in [("example.com/v1", "Foo", FOOS, 200), ("v1", "ConfigMap", MAPS, 409)] {
        let object = |value: &str| json!({ "apiVersion": version, "kind": kind, "metadata": { "name": "a" }, "data": { "k": value } });
        let labelled = json!({ "name": "a", "labels": { "app": "x" } });
        send(&cluster, &format!("POST {path}"), &json!({ "apiVersion": version, "kind": kind, "metadata": labelled }));
        let mut change = object("1");
        change["metadata"]["managedFields"] = json!([manager]);
        patch(&cluster, "merge-patch+json", &format!("{path}/a"), &change);
        assert_eq!(apply(&cluster, &format!("{path}/a"), &object("2")).0, code, "{kind}");
    }
}

#[test]
fn a_deletion_with_a_version_takes_no_last_finalizer_away() {
    let cluster = SimulatedCluster::new();
    let map = json!({ "metadata": { "name": "a", "finalizers": ["orphan"] } });
    let (_, map) = send(&cluster, &format!("POST {MAPS}"), &map);
    let version = json!({ "resourceVersion": map["metadata"]["resourceVersion"] });
    let delete = |policy: &str| {
        let options = json!({ "propagationPolicy": policy, "preconditions": version });
        send(&cluster, &format!("DELETE {MAPS}/a"), &options)
    };
    let (code, said) = message(delete("Background"));
    assert!(code == 409 && said.contains("ResourceVersion in precondition: , "), "{code} {said}");
    assert_eq!(delete("Orphan").0, 200);
}

#[test]
fn a_deletion_of_a_collection_ends_with_its_first_refusal() {
    let cluster = SimulatedCluster::new();
    let [first, ..] = ["a", "b", "c"].map(|name| send(&cluster, &format!("POST {MAPS}"), &named(name)).1);
    let options = json!({ "preconditions": { "uid": first["metadata"]["uid"] } });
    let (code, said) = message(send(&cluster, &format!("DELETE {MAPS}"), &options));
    assert!(code == 409 && said.starts_with("Operation cannot be fulfilled on ConfigMap \"b\": "), "{code} {said}");
    let left = cluster.list("v1/configmaps").unwrap();
    assert_eq!(left.iter().map(|map| &map["metadata"]["name"]).collect::<Vec<_>>(), ["b", "c"]);
}

#[test]
fn the_status_of_some_kinds_is_replaced_without_the_date_of_a_deletion() {
    let cluster = SimulatedCluster::new();
    for (version, kind, path) in [
        ("v1", "Pod", "/api/v1/namespaces/web/pods"),
        ("storage.k8s.io/v1", "VolumeAttachment", "/apis/storage.k8s.io/v1/volumeattachments"),
    ] {
        let (_, stored) = send(&cluster, &format!("POST {path}"), &named("a"));
        let metadata = json!({ "name": "a", "deletionTimestamp": "2020-01-01T00:00:00Z",
            "resourceVersion": stored["metadata"]["resourceVersion"] });
        let dated = json!({ "apiVersion": version, "kind": kind, "metadata": metadata, "status": { "message": "m" } });
        assert_eq!(send(&cluster, &format!("PUT {path}/a"), &dated).0, 422);
        let (code, object) = send(&cluster, &format!("PUT {path}/a/status"), &dated);
        let seen = (code, &object["status"]["message"], object["metadata"].get("deletionTimestamp"));
        assert_eq!(seen, (200, &json!("m"), None), "{kind}");
    }
}

#[test]
fn an_object_whose_managers_are_taken_away_keeps_its_fields_at_the_next_apply() {
    let cluster = SimulatedCluster::new();
    let map =
        |data: Value| json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" }, "data": data });
    let place = format!("{MAPS}/a");
    for managers in [json!([]), json!([{}])] {
        apply(&cluster, &place, &map(json!({ "k": "1", "l": "1" })));
        patch(&cluster, "merge-patch+json", &place, &json!({ "metadata": { "managedFields": managers } }));
        let (_, kept) = apply(&cluster, &place, &map(json!({ "k": "1" })));
        assert_eq!(kept["data"], json!({ "k": "1", "l": "1" }));
        send(&cluster, &format!("DELETE {place}"), &Value::Null);
    }
}

#[test]
fn an_apply_takes_the_last_field_of_a_spec_away_with_what_nobody_owns_in_it() {
    let cluster = SimulatedCluster::new();
    let leases = "/apis/coordination.k8s.io/v1/namespaces/web/leases";
    let lease = |spec: Value| json!({ "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": { "name": "a" }, "spec": spec });
    send(&cluster, &format!("POST {leases}"), &lease(json!({ "holderIdentity": "x", "leaseTransitions": 1 })));
    let nobody = json!({ "manager": "m", "apiVersion": "v1", "operation": "Apply" });
    let change = json!({ "metadata": { "managedFields": [nobody], "labels": { "app": "x" } } });
    patch(&cluster, "merge-patch+json", &format!("{leases}/a"), &change);
    apply(&cluster, &format!("{leases}/a"), &lease(json!({ "holderIdentity": "x" })));
    let (_, lease) = apply(
        &cluster,
        &format!("{leases}/a"),
        &json!({ "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": { "name": "a" } }),
    );
    assert_eq!(lease.get("spec"), None);
}

#[test]
fn the_options_of_a_list_are_checked_after_its_selector_is_read_and_before_its_fields_are_known() {
    let cluster = SimulatedCluster::new();
    let code = |selector: &str| {
        let target = format!("GET {MAPS}?fieldSelector={selector}&resourceVersionMatch=Exact");
        send(&cluster, &target, &Value::Null).0
    };
    assert_eq!([code("nosuch%3D1"), code("nosuch")], [422, 400]);
}

#[test]
fn nobody_owns_the_finalizer_that_protects_a_volume() {
    let cluster = SimulatedCluster::new();
    let claims = "/api/v1/namespaces/web/persistentvolumeclaims";
    let claim = |metadata: Value| json!({ "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata });
    let protection = "kubernetes.io/pvc-protection";
    for (name, given, kept) in [("a", json!([]), Value::Null), ("b", json!([protection]), json!([protection]))] {
        let place = format!("{claims}/{name}");
        send(&cluster, &format!("POST {claims}"), &claim(json!({ "name": name, "finalizers": given })));
        let (_, both) = apply(&cluster, &place, &claim(json!({ "name": name, "finalizers": ["example.com/a"] })));
        assert_eq!(both["metadata"]["finalizers"], json!([protection, "example.com/a"]));
        let (_, claim) = apply(&cluster, &place, &claim(json!({ "name": name })));
        assert_eq!(claim["metadata"].get("finalizers").cloned().unwrap_or_default(), kept);
    }
}

/// A ConfigMap `a` with this value of `k`.
fn map_with(k: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" }, "data": { "k": k } })
}

#[test]
fn the_changes_of_an_object_without_managers_are_one_managers_at_the_next_apply() {
    let cluster = SimulatedCluster::new();
    let place = format!("{MAPS}/a");
    let expected = "Apply failed with 1 conflict: conflict with \"before-first-apply\" using v1: .data.k";
    let change = |metadata: Value| patch(&cluster, "merge-patch+json", &place, &json!({ "metadata": metadata }));
    send(&cluster, &format!("POST {MAPS}"), &named("a"));
    send(&cluster, &format!("PUT {place}"), &map_with("1"));
    assert_eq!(message(apply(&cluster, &place, &map_with("2"))), (409, expected.to_owned()), "it never had one");
    change(json!({ "managedFields": [] }));
    send(&cluster, &format!("PUT {place}"), &map_with("3"));
    assert_eq!(message(apply(&cluster, &place, &map_with("4"))), (409, expected.to_owned()), "it had some");
    let nobody = json!({ "manager": "m", "apiVersion": "v9", "operation": "Apply", "fieldsV1": { "f:data": {} } });
    change(json!({ "managedFields": [nobody] }));
    assert_eq!(
        message(apply(&cluster, &place, &map_with("4"))),
        (409, expected.to_owned()),
        "it has one of no version"
    );
}

#[test]
fn a_manager_that_a_change_names_owns_the_fields_that_it_is_said_to_own() {
    let cluster = SimulatedCluster::new();
    let place = format!("{MAPS}/a");
    send(&cluster, &format!("POST {MAPS}"), &map_with("1"));
    let fields = json!({ "f:data": { "f:k": {} } });
    let other = json!({ "manager": "m", "apiVersion": "v1", "operation": "Apply", "fieldsType": "FieldsV1", "fieldsV1": fields });
    patch(&cluster, "merge-patch+json", &place, &json!({ "metadata": { "managedFields": [other] } }));
    let expected = "Apply failed with 1 conflict: conflict with \"m\": .data.k";
    assert_eq!(message(apply(&cluster, &place, &map_with("2"))), (409, expected.to_owned()));
}

#[test]
fn a_scale_takes_its_field_from_an_owner_and_gives_none_to_a_field_without_one() {
    let cluster = SimulatedCluster::new();
    let deployment = |name: &str, replicas: u64| json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": name }, "spec": { "paused": true, "replicas": replicas } });
    let scale = |name: &str, replicas: u64| {
        let scale = json!({ "spec": { "replicas": replicas } });
        assert_eq!(patch(&cluster, "merge-patch+json", &format!("{WEB}/{name}/scale?fieldManager=s"), &scale).0, 200);
    };
    let applied = |name: &str| message(apply(&cluster, &format!("{WEB}/{name}"), &deployment(name, 9)));
    for (name, replicas) in [("a", 2), ("b", 0), ("c", 2)] {
        send(&cluster, &format!("POST {WEB}"), &deployment(name, replicas));
    }
    let conflict =
        |by: &str| (409, format!("Apply failed with 1 conflict: conflict with {by} using apps/v1: .spec.replicas"));
    scale("a", 3);
    assert_eq!(applied("a"), conflict("\"s\" with subresource \"scale\""));
    scale("b", 0);
    assert_eq!(applied("b"), conflict("\"listwatch\""));
    scale("c", 0);
    scale("c", 3);
    assert_eq!(applied("c").0, 200);
}

#[test]
fn a_binding_and_a_network_policy_have_their_defaults() {
    let cluster = SimulatedCluster::new();
    let group = json!("rbac.authorization.k8s.io");
    let binding = json!({ "metadata": { "name": "a" }, "roleRef": { "kind": "Role", "name": "a" },
        "subjects": [{ "kind": "User", "name": "u" }, { "kind": "ServiceAccount", "name": "s", "namespace": "web" }] });
    let bindings = "/apis/rbac.authorization.k8s.io/v1/namespaces/web/rolebindings";
    let (_, binding) = send(&cluster, &format!("POST {bindings}"), &binding);
    let given = ["/roleRef/apiGroup", "/subjects/0/apiGroup", "/subjects/1/apiGroup"].map(|at| binding.pointer(at));
    assert_eq!(given, [Some(&group), Some(&group), None]);
    let policies = "/apis/networking.k8s.io/v1/namespaces/web/networkpolicies";
    let policy = |spec: Value| json!({ "metadata": { "name": "a" }, "spec": spec });
    let (_, stored) = send(&cluster, &format!("POST {policies}"), &policy(json!({ "egress": [{}] })));
    assert_eq!(stored["spec"]["policyTypes"], json!(["Ingress", "Egress"]));
    let types = json!({ "policyTypes": null, "egress": null });
    let (_, stored) = send(&cluster, &format!("PATCH {policies}/a"), &json!({ "spec": types }));
    assert_eq!(stored["spec"]["policyTypes"], json!(["Ingress"]));
}

#[test]
fn an_apply_of_an_owner_without_a_uid_adds_it_to_the_others() {
    let cluster = SimulatedCluster::new();
    let owner = json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u" });
    send(&cluster, &format!("POST {MAPS}"), &json!({ "metadata": { "name": "a", "ownerReferences": [owner] } }));
    let nameless = json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": "o" });
    let map =
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "ownerReferences": [nameless] } });
    let (code, refused) = apply(&cluster, &format!("{MAPS}/a"), &map);
    let cause = &refused["details"]["causes"][0]["field"];
    assert_eq!((code, cause), (422, &json!("metadata.ownerReferences[1].uid")));
}

#[test]
fn a_whole_number_with_a_fraction_counts_as_another_one_and_is_stored_without() {
    let cluster = SimulatedCluster::new();
    define_foos(&cluster, &with_inner());
    let foo = |count: Value| json!({ "apiVersion": "example.com/v1", "kind": "Foo", "metadata": { "name": "a" }, "spec": { "count": count } });
    let seen = |(_, foo): (u16, Value)| (foo["metadata"]["generation"].clone(), foo["spec"]["count"].to_string());
    send(&cluster, &format!("POST {FOOS}"), &foo(json!(1)));
    assert_eq!(seen(send(&cluster, &format!("PATCH {FOOS}/a"), &foo(json!(1.0)))), (json!(2), "1".to_owned()));
    assert_eq!(seen(apply(&cluster, &format!("{FOOS}/a"), &foo(json!(1.0)))), (json!(2), "1".to_owned()));
}

#[test]
fn an_empty_spec_is_nobodys() {
    let cluster = SimulatedCluster::new();
    let leases = "/apis/coordination.k8s.io/v1/namespaces/web/leases";
    let lease = |spec: Value| json!({ "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": { "name": "a" }, "spec": spec });
    send(&cluster, &format!("POST {leases}"), &lease(json!({})));
    send(&cluster, &format!("PATCH {leases}/a"), &lease(json!({ "holderIdentity": "x" })));
    let (code, said) = message(apply(&cluster, &format!("{leases}/a"), &lease(json!({ "holderIdentity": "y" }))));
    assert!(code == 409 && said.contains("with \"before-first-apply\""), "{said}");
}

#[test]
fn a_list_of_events_of_any_version_has_pages() {
    let cluster = SimulatedCluster::new();
    for name in ["a", "b"] {
        send(&cluster, "POST /api/v1/namespaces/web/events", &named(name));
        send(&cluster, &format!("POST {MAPS}"), &named(name));
    }
    let count = |path: &str| {
        let (_, list) = send(&cluster, &format!("GET {path}?resourceVersion=0&limit=1"), &Value::Null);
        list["items"].as_array().map(Vec::len)
    };
    assert_eq!([count("/api/v1/namespaces/web/events"), count(MAPS)], [Some(1), Some(2)]);
}

#[test]
fn a_custom_resource_without_a_kind_has_that_of_the_path_where_unknown_fields_are_ignored() {
    let cluster = SimulatedCluster::new();
    define_foos(
        &cluster,
        &json!({ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": { "type": "object" } } }),
    );
    let foo = json!({ "apiVersion": "example.com/v1", "metadata": { "name": "a" } });
    let refused =
        |query: &str| message(send(&cluster, &format!("POST /apis/example.com/v1/namespaces/web/foos{query}"), &foo));
    let missing = format!("Object 'Kind' is missing in '{foo}'");
    assert_eq!(
        refused("?fieldValidation=Ignore"),
        (400, format!("Foo in version \"v1\" cannot be handled as a Foo: {missing}"))
    );
    let (code, said) = refused("");
    let before = format!("the object provided is unrecognized (must be of type Foo): {missing} (");
    assert!(code == 400 && said.starts_with(&before), "{said}");
}

#[test]
fn the_status_of_a_cron_job_takes_a_finalizer_without_a_domain() {
    let cluster = SimulatedCluster::new();
    let jobs = "/apis/batch/v1/namespaces/web/cronjobs";
    send(&cluster, &format!("POST {jobs}"), &named("a"));
    let patched = |part: &str, finalizer: &str| {
        send(&cluster, &format!("PATCH {jobs}/a{part}"), &json!({ "metadata": { "finalizers": [finalizer] } })).0
    };
    assert_eq!((patched("", "plain"), patched("/status", "plain")), (422, 200));
    assert_eq!(patched("/status", "a b/c"), 422);
}

#[test]
fn a_null_in_a_list_of_texts_is_an_empty_text() {
    let cluster = SimulatedCluster::new();
    let policies = "/apis/networking.k8s.io/v1/namespaces/web/networkpolicies";
    let policy = |types: Value| json!({ "metadata": { "generateName": "a-" }, "spec": { "policyTypes": types } });
    let (code, created) = send(&cluster, &format!("POST {policies}"), &policy(json!(["Ingress", null])));
    assert_eq!((code, &created["spec"]["policyTypes"]), (201, &json!(["Ingress", ""])));
    let pods = json!({ "metadata": { "name": "a" }, "spec": { "containers": [{ "name": "a" }, null] } });
    assert_eq!(send(&cluster, &format!("POST {PODS}"), &pods).0, 422);
}

#[test]
fn a_text_in_place_of_a_list_that_a_strategic_patch_orders_is_told_by_its_type() {
    let cluster = SimulatedCluster::new();
    send(&cluster, &format!("POST {MAPS}"), &named("a"));
    let metadata = json!({ "$setElementOrder/finalizers": ["x/a"], "finalizers": "x/a" });
    let patched = patch(&cluster, "strategic-merge-patch+json", &format!("{MAPS}/a"), &json!({ "metadata": metadata }));
    assert_eq!(message(patched), (500, "expected a []interface {}, but received a string".to_owned()));
}

#[test]
fn a_patch_of_the_status_of_a_custom_resource_gives_it_no_number_for_a_kind() {
    let cluster = SimulatedCluster::new();
    let version = json!({ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": { "type": "object" } }, "subresources": { "status": {} } });
    define_foos(&cluster, &version);
    let foos = "/apis/example.com/v1/namespaces/web/foos";
    let foo = json!({ "apiVersion": "example.com/v1", "kind": "Foo", "metadata": { "name": "a" } });
    send(&cluster, &format!("POST {foos}"), &foo);
    let (code, status) = send(&cluster, &format!("PATCH {foos}/a/status"), &json!({ "kind": 1 }));
    assert_eq!((code, &status["details"]["causes"][0]["field"]), (422, &json!("patch")));
}

#[test]
fn a_dry_run_of_an_apply_shows_the_version_that_it_gives_a_new_object() {
    let cluster = SimulatedCluster::new();
    let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "resourceVersion": "0" } });
    let target = format!("{MAPS}/a?fieldManager=me&dryRun=All");
    let (code, map) = patch(&cluster, "apply-patch+yaml", &target, &map);
    assert_eq!((code, &map["metadata"]["resourceVersion"]), (201, &json!("0")));
}

#[test]
fn an_apply_of_nothing_owns_an_object_and_takes_away_what_it_no_longer_has() {
    let cluster = SimulatedCluster::new();
    let spec = json!({ "type": "object", "properties": { "count": { "type": "integer" },
        "size": { "type": "string", "default": "small" } } });
    let schema = json!({ "openAPIV3Schema": { "type": "object", "properties": { "spec": spec } } });
    define_foos(&cluster, &json!({ "name": "v1", "served": true, "storage": true, "schema": schema }));
    let foo = |spec: Value| {
        let foo = json!({ "apiVersion": "example.com/v1", "kind": "Foo", "metadata": { "name": "a" }, "spec": spec });
        apply(&cluster, "/apis/example.com/v1/namespaces/web/foos/a", &foo).1["spec"].clone()
    };
    assert_eq!(foo(json!({ "count": 1 })), json!({ "count": 1, "size": "small" }));
    assert_eq!(foo(json!(null)), json!({ "size": "small" }));
}

#[test]
fn an_applied_label_that_is_null_conflicts_with_an_empty_one() {
    let cluster = SimulatedCluster::new();
    let map = |app: Value| json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "labels": { "app": app } } });
    send(&cluster, &format!("POST {MAPS}"), &map(json!("")));
    let (code, said) = message(apply(&cluster, &format!("{MAPS}/a"), &map(json!(null))));
    assert!(code == 409 && said.ends_with(".metadata.labels.app"), "{said}");
    let forced = format!("{MAPS}/a?fieldManager=me&force=true");
    let (_, map) = patch(&cluster, "apply-patch+yaml", &forced, &map(json!(null)));
    assert_eq!(map["metadata"]["labels"], json!({ "app": "" }));
}

#[test]
fn who_applies_empty_data_takes_all_of_it_away() {
    let cluster = SimulatedCluster::new();
    let secrets = "/api/v1/namespaces/web/secrets";
    let secret = |fields: Value| {
        let mut secret = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "a" } });
        secret.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        apply(&cluster, &format!("{secrets}/a"), &secret).1
    };
    let applied = secret(json!({ "data": {}, "stringData": { "k": "2" } }));
    assert_eq!(applied["data"], json!({ "k": "Mg==" }));
    assert_eq!(secret(json!({})).get("data"), None);
}

#[test]
fn the_rules_of_a_role_have_an_owner_where_there_are_none() {
    let cluster = SimulatedCluster::new();
    let roles = "/apis/rbac.authorization.k8s.io/v1/namespaces/web/roles";
    let role = |rules: Value| json!({ "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": { "name": "a" }, "rules": rules });
    let rules = json!([{ "apiGroups": [""], "resources": ["pods"], "verbs": ["get"] }]);
    send(&cluster, &format!("POST {roles}"), &role(rules.clone()));
    send(&cluster, &format!("PATCH {roles}/a"), &json!({ "rules": null }));
    send(&cluster, &format!("PUT {roles}/a"), &role(rules));
    let (code, said) = message(apply(&cluster, &format!("{roles}/a"), &role(json!([]))));
    assert!(code == 409 && said.contains("\"listwatch\""), "{said}");
    send(&cluster, &format!("PATCH {roles}/a"), &json!({ "rules": null }));
    assert_eq!(apply(&cluster, &format!("{roles}/a"), &role(Value::Null)).0, 200);
}

#[test]
fn a_new_custom_resource_that_names_a_manager_of_another_group_has_no_managers() {
    let cluster = SimulatedCluster::new();
    define_foos(
        &cluster,
        &json!({ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": { "type": "object" } } }),
    );
    let foos = "/apis/example.com/v1/namespaces/web/foos";
    let manager = json!({ "manager": "m", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1",
        "fieldsV1": { "f:data": {} } });
    let mut foo = json!({ "apiVersion": "example.com/v1", "kind": "Foo",
        "metadata": { "name": "a", "labels": { "app": "x" }, "managedFields": [manager] } });
    assert_eq!(send(&cluster, &format!("POST {foos}"), &foo).0, 201);
    foo["metadata"] = json!({ "name": "a", "labels": { "app": "y" } });
    let (code, said) = message(apply(&cluster, &format!("{foos}/a"), &foo));
    assert!(code == 409 && said.contains("\"before-first-apply\""), "{said}");
}

#[test]
fn an_object_of_another_manager_is_null_when_an_apply_takes_the_last_of_it_away() {
    let cluster = SimulatedCluster::new();
    let any = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let schema = json!({ "openAPIV3Schema": { "type": "object", "properties": { "spec": any } } });
    define_foos(&cluster, &json!({ "name": "v1", "served": true, "storage": true, "schema": schema }));
    let foos = "/apis/example.com/v1/namespaces/web/foos";
    let foo = |spec: Value| json!({ "apiVersion": "example.com/v1", "kind": "Foo", "metadata": { "name": "a" }, "spec": spec });
    send(&cluster, &format!("POST {foos}"), &foo(json!({ "size": 1, "more": { "a": 1 } })));
    let forced = |spec: Value| {
        let target = format!("{foos}/a?fieldManager=me&force=true");
        patch(&cluster, "apply-patch+yaml", &target, &foo(spec)).1["spec"].clone()
    };
    assert_eq!(forced(json!({ "more": { "a": 2 } })), json!({ "size": 1, "more": { "a": 2 } }));
    assert_eq!(forced(json!({})), json!({ "size": 1, "more": null }));
}

#[test]
fn metadata_within_a_custom_resource_are_those_of_an_object_only_where_one_is_embedded() {
    let applied_by_two = |is_embedded: bool| {
        let cluster = SimulatedCluster::new();
        let template = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true,
            "x-kubernetes-embedded-resource": is_embedded });
        let spec = json!({ "type": "object", "properties": { "template": template } });
        let schema = json!({ "openAPIV3Schema": { "type": "object", "properties": { "spec": spec } } });
        define_foos(&cluster, &json!({ "name": "v1", "served": true, "storage": true, "schema": schema }));
        let apply = |manager: &str, finalizer: &str| {
            let template =
                json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "a", "finalizers": [finalizer] } });
            let foo = json!({ "apiVersion": "example.com/v1", "kind": "Foo", "metadata": { "name": "a" },
                "spec": { "template": template } });
            patch(&cluster, "apply-patch+yaml", &format!("{FOOS}/a?fieldManager={manager}"), &foo)
        };
        assert_eq!(apply("one", "x/a").0, 201);
        apply("two", "x/b")
    };
    let (code, foo) = applied_by_two(true);
    assert_eq!((code, &foo["spec"]["template"]["metadata"]["finalizers"]), (200, &json!(["x/a", "x/b"])));
    let conflict = "Apply failed with 1 conflict: conflict with \"one\": .spec.template.metadata.finalizers";
    assert_eq!(message(applied_by_two(false)), (409, conflict.to_owned()));
}

#[test]
fn a_value_of_a_declared_map_with_the_name_of_metadata_has_an_owner() {
    let cluster = SimulatedCluster::new();
    let map = json!({ "type": "object", "additionalProperties": { "x-kubernetes-preserve-unknown-fields": true } });
    let spec = json!({ "type": "object", "properties": { "metadata": map } });
    let schema = json!({ "openAPIV3Schema": { "type": "object", "properties": { "spec": spec } } });
    define_foos(&cluster, &json!({ "name": "v1", "served": true, "storage": true, "schema": schema }));
    let apply = |manager: &str, value: Value| {
        let foo = json!({ "apiVersion": "example.com/v1", "kind": "Foo", "metadata": { "name": "a" },
            "spec": { "metadata": { "x": value } } });
        patch(&cluster, "apply-patch+yaml", &format!("{FOOS}/a?fieldManager={manager}"), &foo)
    };
    assert_eq!(apply("one", json!({ "a": 1 })).0, 201);
    let conflict = "Apply failed with 1 conflict: conflict with \"one\": .spec.metadata.x";
    assert_eq!(message(apply("two", json!(5))), (409, conflict.to_owned()));
}
