//! Writes that functions of a test change or refuse.

use super::*;

#[test]
fn what_changes_a_write_comes_before_what_checks_it() {
    let cluster = SimulatedCluster::new();
    cluster.admit_validating("check.example.com", &["v1/pods"], |request| {
        let labels = &request.object["metadata"]["labels"];
        if labels["a"] == "1" && labels["b"] == "2" { Ok(()) } else { Err(format!("not {labels}").into()) }
    });
    cluster.admit_mutating("a.example.com", &["v1/pods"], |_| Ok(json!({ "metadata": { "labels": { "a": "1" } } })));
    cluster.admit_mutating("b.example.com", &["v1/pods"], |request| {
        assert_eq!(request.object["metadata"]["labels"]["a"], "1");
        Ok(json!({ "metadata": { "labels": { "b": "2" } } }))
    });
    for query in ["?dryRun=All", ""] {
        let (code, made) = send(&cluster, &format!("POST {PODS}{query}"), &named("a"));
        assert_eq!((code, &made["metadata"]["labels"]), (201, &json!({ "a": "1", "b": "2" })), "{made}");
    }
    assert_eq!(send(&cluster, &format!("PATCH {PODS}/a"), &json!({ "metadata": { "labels": null } })).0, 200);
    assert_eq!(cluster.get("v1/pods", "web/a").expect("a pod")["metadata"]["labels"]["b"], "2");
    cluster.patch("v1/pods", "web/a", json!({ "metadata": { "labels": null } })).expect("a test is free");
}

#[test]
fn a_write_that_is_denied_changes_nothing_and_says_by_what() {
    let cluster = SimulatedCluster::new();
    cluster.admit_validating("guard.example.com", &["v1/pods", "v1/pods/status"], |request| {
        match (request.operation, request.user, request.is_dry_run) {
            ("CREATE", "", _) => Ok(()),
            ("DELETE", ..) => Err(format!("{} stays", request.old_object["metadata"]["name"]).into()),
            (operation, user, is_dry) => {
                Err(Denial::new(422, format!("{operation} {} {user} {is_dry}", request.resource)))
            }
        }
    });
    assert_eq!(send(&cluster, &format!("POST {PODS}"), &named("a")).0, 201);
    let message = |cluster: &SimulatedCluster, line: &str, body: &Value| {
        let (code, answer) = send(cluster, line, body);
        (code, answer["reason"].clone(), answer["message"].as_str().unwrap_or_default().to_owned())
    };
    let denied = |code: u16, reason: &str, why: &str| {
        (code, json!(reason), format!("admission webhook \"guard.example.com\" denied the request: {why}"))
    };
    let stays = denied(403, "Forbidden", "\"a\" stays");
    assert_eq!(message(&cluster, &format!("DELETE {PODS}/a"), &Value::Null), stays);
    assert_eq!(message(&cluster, &format!("DELETE {PODS}"), &Value::Null), stays);
    let status = json!({ "status": { "phase": "Failed" } });
    let line = format!("PATCH {PODS}/a/status?dryRun=All");
    assert_eq!(message(&cluster, &line, &status), denied(422, "Invalid", "UPDATE v1/pods/status  true"));
    let root = cluster.as_user("root", &["system:masters"]);
    let line = format!("POST {PODS}?dryRun=All");
    assert_eq!(message(&root, &line, &named("b")), denied(422, "Invalid", "CREATE v1/pods root true"));
    let invalid = json!({ "metadata": { "labels": { "-": "" } } });
    assert_eq!(
        send(&cluster, &format!("PATCH {PODS}/a"), &invalid).1["details"]["causes"][0]["field"],
        "metadata.labels"
    );
    assert_eq!(cluster.list("v1/pods").expect("pods").len(), 1);
}

#[test]
fn a_deletion_of_a_collection_goes_on_after_a_denial_with_404() {
    let cluster = SimulatedCluster::new();
    cluster.admit_validating("guard.example.com", &["v1/pods"], |request| {
        let is_kept = request.operation == "DELETE" && request.name == "a";
        if is_kept { Err(Denial::new(404, "stays")) } else { Ok(()) }
    });
    for name in ["a", "b"] {
        send(&cluster, &format!("POST {PODS}"), &named(name));
    }
    assert_eq!(send(&cluster, &format!("DELETE {PODS}"), &Value::Null).0, 200);
    let left = cluster.list("v1/pods").unwrap();
    assert_eq!(left.iter().map(|pod| &pod["metadata"]["name"]).collect::<Vec<_>>(), ["a"]);
}

#[test]
fn a_changed_custom_resource_obeys_its_schema() {
    let cluster = SimulatedCluster::new();
    let spec = json!({ "type": "object", "properties": { "size": { "type": "integer", "maximum": 5 } } });
    let schema = json!({ "openAPIV3Schema": { "type": "object", "properties": { "spec": spec } } });
    let version = json!({ "name": "v1", "served": true, "storage": true, "schema": schema });
    define_foos(&cluster, &version);
    cluster.admit_mutating("size.example.com", &["example.com/v1/foos"], |request| {
        Ok(json!({ "spec": { "unknown": 1, "size": if request.name == "a" { 3 } else { 9 } } }))
    });
    let foo = |name: &str| json!({ "apiVersion": "example.com/v1", "kind": "Foo", "metadata": { "name": name } });
    let (code, made) = send(&cluster, "POST /apis/example.com/v1/namespaces/web/foos", &foo("a"));
    assert_eq!((code, &made["spec"]), (201, &json!({ "size": 3 })), "{made}");
    let (code, refused) = send(&cluster, "POST /apis/example.com/v1/namespaces/web/foos", &foo("b"));
    assert_eq!((code, &refused["details"]["causes"][0]["field"]), (422, &json!("spec.size")), "{refused}");
}

#[test]
fn a_json_patch_changes_a_write_or_refuses_it() {
    let cluster = SimulatedCluster::new();
    cluster.admit_mutating("list.example.com", &["v1/pods"], |request| {
        let path = if request.name == "a" { "/metadata/labels" } else { "/gone/labels" };
        Ok(json!([{ "op": "add", "path": path, "value": { "team": "web" } }]))
    });
    let (code, made) = send(&cluster, &format!("POST {PODS}"), &named("a"));
    assert_eq!((code, &made["metadata"]["labels"]), (201, &json!({ "team": "web" })), "{made}");
    assert_eq!(send(&cluster, &format!("POST {PODS}"), &named("b")).0, 422);
}

#[test]
fn a_function_converts_versions_and_changes_no_other_metadata_than_labels() {
    const FOOS: &str = "/apis/example.com/v2/namespaces/web/foos";
    let cluster = SimulatedCluster::new();
    let spec = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let schema = json!({ "openAPIV3Schema": { "type": "object", "properties": { "spec": spec } } });
    let version = |name: &str| json!({ "name": name, "served": true, "storage": name == "v1", "schema": schema });
    define_foos(&cluster, &version("v1"));
    let versions = json!({ "spec": { "versions": [version("v1"), version("v2")] } });
    let definitions = "apiextensions.k8s.io/v1/customresourcedefinitions";
    cluster.patch(definitions, "foos.example.com", versions).expect("two versions");
    cluster.convert_versions(|object, version| {
        let mut object = Some(object.clone()).filter(|object| object["kind"] == "Foo")?;
        let (from, to) = if version == "example.com/v2" { ("old", "new") } else { ("new", "old") };
        if object["spec"][from] == "bad" {
            return Some(Err("it is bad".to_owned()));
        }
        object["spec"] = json!({ to: object["spec"][from] });
        object["metadata"] = json!({ "name": "other", "labels": { "to": to } });
        Some(Ok(object))
    });
    let foo = |name: &str, value: &str| {
        let metadata = json!({ "name": name });
        json!({ "apiVersion": "example.com/v2", "kind": "Foo", "metadata": metadata, "spec": { "new": value } })
    };
    let (code, made) = send(&cluster, &format!("POST {FOOS}"), &foo("a", "1"));
    assert_eq!((code, &made["spec"], &made["metadata"]["name"]), (201, &json!({ "new": "1" }), &json!("a")), "{made}");
    let stored = cluster.get("example.com/v1/foos", "web/a").expect("a foo");
    assert_eq!((&stored["spec"], &stored["metadata"]["labels"]), (&json!({ "old": "1" }), &json!({ "to": "old" })));
    let (code, refused) = send(&cluster, &format!("POST {FOOS}"), &foo("b", "bad"));
    let message = "conversion webhook for example.com/v2, Kind=Foo failed: it is bad";
    assert_eq!((code, &refused["message"]), (500, &json!(message)));
    assert!(cluster.get("example.com/v1/foos", "web/b").is_err());
}
