//! What a definition makes of its objects.

use super::*;

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const COGS: &str = "/apis/example.com/v1/namespaces/web/cogs";

fn version(name: &str, spec: &Value) -> Value {
    let status = json!({ "type": "object", "properties": { "seen": { "type": "integer" } } });
    let schema = json!({ "openAPIV3Schema": { "type": "object", "properties": { "spec": spec, "status": status } } });
    json!({ "name": name, "served": true, "storage": name == "v1", "schema": schema, "subresources": { "status": {} } })
}

fn definition(versions: &[Value]) -> Value {
    let names = json!({ "kind": "Cog", "plural": "cogs" });
    let spec = json!({ "group": "example.com", "scope": "Namespaced", "names": names, "versions": versions });
    json!({ "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "cogs.example.com" }, "spec": spec })
}

fn cluster(spec: &Value) -> SimulatedCluster {
    let cluster = SimulatedCluster::new();
    cluster.create(definition(&[version("v1", spec)])).expect("a definition");
    cluster
}

fn cog(name: &str, spec: &Value) -> Value {
    json!({ "apiVersion": "example.com/v1", "kind": "Cog", "metadata": { "name": name }, "spec": spec })
}

fn teeth() -> Value {
    json!({ "type": "object", "required": ["teeth"], "properties": {
        "teeth": { "type": "integer", "minimum": 3 }, "color": { "type": "string", "default": "red" } } })
}

#[test]
fn an_object_is_pruned_completed_and_checked_by_its_schema() {
    let cluster = cluster(&teeth());
    let (code, made) = send(&cluster, &format!("POST {COGS}"), &cog("a", &json!({ "teeth": 5, "other": 1 })));
    assert_eq!((code, &made["spec"]), (201, &json!({ "teeth": 5, "color": "red" })), "{made}");
    let (code, refused) = send(&cluster, &format!("POST {COGS}"), &cog("b", &json!({ "teeth": 2 })));
    let cause = json!({ "reason": "FieldValueInvalid", "field": "spec.teeth",
        "message": "Invalid value: 2: spec.teeth in body should be greater than or equal to 3" });
    assert_eq!((code, &refused["details"]["causes"]), (422, &json!([cause])), "{refused}");
    let (code, refused) = send(&cluster, &format!("PATCH {COGS}/a"), &json!({ "spec": { "teeth": null } }));
    let message = "Cog.example.com \"a\" is invalid: spec.teeth: Required value";
    assert_eq!((code, &refused["message"]), (422, &json!(message)));
    let (code, changed) = send(&cluster, &format!("PATCH {COGS}/a"), &json!({ "spec": { "color": null, "x": 1 } }));
    assert_eq!((code, &changed["spec"]["color"], &changed["metadata"]["generation"]), (200, &json!("red"), &json!(1)));
}

#[test]
fn a_status_is_checked_by_its_own_schema() {
    let cluster = cluster(&teeth());
    send(&cluster, &format!("POST {COGS}"), &cog("a", &json!({ "teeth": 5 })));
    let status =
        |seen: Value| send(&cluster, &format!("PATCH {COGS}/a/status"), &json!({ "status": { "seen": seen, "x": 1 } }));
    assert_eq!(status(json!(1)).1["status"], json!({ "seen": 1 }));
    let (code, refused) = status(json!("x"));
    let message = "Cog.example.com \"a\" is invalid: status.seen: Invalid value: \"string\": seen in body must be of type \
                   integer: \"string\"";
    assert_eq!((code, &refused["message"]), (422, &json!(message)));
}

#[test]
fn unknown_fields_are_refused_where_a_request_is_strict() {
    let cluster = cluster(&teeth());
    let line = format!("POST {COGS}?fieldValidation=Strict");
    let (code, refused) = send(&cluster, &line, &cog("a", &json!({ "teeth": 5, "other": 1 })));
    let message =
        "Cog in version \"v1\" cannot be handled as a Cog: strict decoding error: unknown field \"spec.other\"";
    assert_eq!((code, &refused["message"]), (400, &json!(message)));
    assert_eq!(send(&cluster, &format!("POST {COGS}?fieldValidation=Loose"), &cog("a", &json!({ "teeth": 5 }))).0, 422);
}

#[test]
fn stored_objects_get_the_defaults_of_a_changed_definition() {
    let cluster = cluster(&teeth());
    send(&cluster, &format!("POST {COGS}"), &cog("a", &json!({ "teeth": 5 })));
    let mut spec = teeth();
    spec["properties"]["weight"] = json!({ "type": "integer", "default": 7 });
    let mut changed =
        cluster.get("apiextensions.k8s.io/v1/customresourcedefinitions", "cogs.example.com").expect("one");
    changed["spec"]["versions"] = json!([version("v1", &spec)]);
    let (code, answer) = send(&cluster, &format!("PUT {DEFINITIONS}/cogs.example.com"), &changed);
    assert_eq!(code, 200, "{answer}");
    let read = cluster.get("example.com/v1/cogs", "web/a").expect("a cog");
    assert_eq!(read["spec"], json!({ "teeth": 5, "color": "red", "weight": 7 }));
    changed["spec"]["scope"] = json!("Cluster");
    changed["metadata"]["resourceVersion"] = answer["metadata"]["resourceVersion"].clone();
    let (code, refused) = send(&cluster, &format!("PUT {DEFINITIONS}/cogs.example.com"), &changed);
    let cause = json!({ "reason": "FieldValueInvalid", "field": "spec.scope",
        "message": "Invalid value: \"Cluster\": field is immutable" });
    assert_eq!((code, &refused["details"]["causes"]), (422, &json!([cause])), "{refused}");
}

#[test]
fn a_definition_that_is_not_structural_is_refused() {
    let cluster = SimulatedCluster::new();
    let (code, refused) = send(&cluster, &format!("POST {DEFINITIONS}"), &definition(&[version("v1", &json!({}))]));
    let why = "spec.validation.openAPIV3Schema.properties[spec].type: Required value: must not be empty for specified object \
               fields";
    let message = format!("CustomResourceDefinition.apiextensions.k8s.io \"cogs.example.com\" is invalid: {why}");
    assert_eq!((code, &refused["message"]), (422, &json!(message)));
}

#[test]
fn each_version_shows_the_same_objects() {
    let mut hidden = version("v0", &teeth());
    hidden["served"] = json!(false);
    let other = json!({ "type": "object", "properties": { "teeth": { "type": "integer" } } });
    let cluster = SimulatedCluster::new();
    cluster.create(definition(&[version("v1", &teeth()), version("v2", &other), hidden])).expect("a definition");
    send(&cluster, &format!("POST {COGS}"), &cog("a", &json!({ "teeth": 5 })));
    let two = COGS.replace("v1", "v2");
    let mut seen = watch(&cluster, "/apis/example.com/v2/cogs?watch=1");
    assert_eq!(told(&mut seen), ["ADDED a"]);
    let (_, shown) = send(&cluster, &format!("GET {two}/a"), &Value::Null);
    assert_eq!((&shown["apiVersion"], &shown["spec"]), (&json!("example.com/v2"), &json!({ "teeth": 5 })));
    let (code, changed) = send(&cluster, &format!("PATCH {two}/a"), &json!({ "spec": { "teeth": 1 } }));
    assert_eq!((code, &changed["apiVersion"]), (200, &json!("example.com/v2")), "{changed}");
    let (_, list) = send(&cluster, &format!("GET {two}"), &Value::Null);
    assert_eq!((&list["apiVersion"], &list["items"][0]["spec"]["teeth"]), (&json!("example.com/v2"), &json!(1)));
    assert_eq!(cluster.list("example.com/v1/cogs").expect("cogs")[0]["apiVersion"], "example.com/v1");
    assert_eq!(cluster.list("example.com/v2/cogs").expect("cogs")[0]["apiVersion"], "example.com/v2");
    assert_eq!(send(&cluster, &format!("GET {}", COGS.replace("v1", "v0")), &Value::Null).0, 404);
}

#[test]
fn an_object_is_checked_in_the_version_of_its_request() {
    let strict = json!({ "type": "object", "required": ["size"], "properties": {
        "size": { "type": "integer", "minimum": 3 }, "teeth": { "type": "integer" } } });
    let stored = json!({ "type": "object", "properties": { "teeth": { "type": "integer" } } });
    let cluster = SimulatedCluster::new();
    cluster.create(definition(&[version("v1", &stored), version("v2", &strict)])).expect("a definition");
    let two = COGS.replace("v1", "v2");
    let cog = |name: &str, spec: Value| {
        let mut cog = cog(name, &spec);
        cog["apiVersion"] = json!("example.com/v2");
        cog
    };
    let (code, refused) = send(&cluster, &format!("POST {two}"), &cog("a", json!({ "size": 1 })));
    let why = "Cog.example.com \"a\" is invalid: spec.size: Invalid value: 1: spec.size in body should be greater than or equal to 3";
    assert_eq!((code, &refused["message"]), (422, &json!(why)));
    let (code, made) = send(&cluster, &format!("POST {two}"), &cog("a", json!({ "size": 4, "teeth": 1 })));
    assert_eq!((code, &made["spec"]), (201, &json!({ "teeth": 1 })), "the stored version has no size: {made}");
    let (code, refused) = send(&cluster, &format!("PATCH {two}/a"), &json!({ "spec": { "teeth": 2 } }));
    assert_eq!((code, &refused["details"]["causes"][0]["field"]), (422, &json!("spec.size")), "{refused}");
    let (code, made) = send(&cluster, &format!("PATCH {two}/a"), &json!({ "spec": { "teeth": 2, "size": 5 } }));
    assert_eq!((code, &made["spec"], &made["metadata"]["generation"]), (200, &json!({ "teeth": 2 }), &json!(2)));
}

#[test]
fn a_definition_goes_with_its_objects() {
    let cluster = cluster(&teeth());
    let mut kept = cog("kept", &json!({ "teeth": 5 }));
    kept["metadata"]["finalizers"] = json!(["example.com/wait"]);
    for object in [kept, cog("gone", &json!({ "teeth": 5 }))] {
        assert_eq!(send_at(&cluster, 0, &format!("POST {COGS}"), &object).0, 201);
    }
    let name = format!("{DEFINITIONS}/cogs.example.com");
    let (code, ending) = send_at(&cluster, 0, &format!("DELETE {name}"), &Value::Null);
    assert_eq!(
        (code, &ending["metadata"]["finalizers"]),
        (200, &json!(["customresourcecleanup.apiextensions.k8s.io"]))
    );
    let (code, refused) = send_at(&cluster, 10, &format!("POST {COGS}"), &cog("new", &json!({ "teeth": 5 })));
    let why =
        "cogs.example.com \"new\" is forbidden: create not allowed while custom resource definition is terminating";
    assert_eq!((code, &refused["message"]), (403, &json!(why)));
    let (_, list) = send_at(&cluster, 100, &format!("GET {COGS}"), &Value::Null);
    assert_eq!(list["items"].as_array().map(Vec::len), Some(1), "{list}");
    let (_, ending) = send_at(&cluster, 100, &format!("GET {name}"), &Value::Null);
    let terminating = &ending["status"]["conditions"][2];
    assert_eq!(
        (&terminating["type"], &terminating["reason"]),
        (&json!("Terminating"), &json!("InstanceDeletionInProgress"))
    );
    send_at(&cluster, 100, &format!("PATCH {COGS}/kept"), &json!({ "metadata": { "finalizers": null } }));
    assert_eq!(send_at(&cluster, 300, &format!("GET {name}"), &Value::Null).0, 404);
    assert_eq!(send_at(&cluster, 300, &format!("GET {COGS}"), &Value::Null).0, 404);
    cluster.create(definition(&[version("v1", &teeth())])).expect("again");
    assert_eq!(send_at(&cluster, 300, &format!("GET {COGS}"), &Value::Null).0, 200);
}

#[test]
fn a_definition_serves_nothing_as_long_as_another_one_has_its_names() {
    let cluster = cluster(&teeth());
    let mut other = definition(&[version("v1", &teeth())]);
    other["metadata"]["name"] = json!("gears.example.com");
    other["spec"]["names"]["plural"] = json!("gears");
    cluster.create(other).expect("a definition");
    let told = |millis: u64| {
        let (_, other) = send_at(&cluster, millis, &format!("GET {DEFINITIONS}/gears.example.com"), &Value::Null);
        let conditions = other["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let reasons: Vec<Value> = conditions.iter().map(|condition| condition["reason"].clone()).collect();
        (json!(reasons), send_at(&cluster, millis, "GET /apis/example.com/v1/gears", &Value::Null).0)
    };
    assert_eq!(told(0), (json!(["ListKindConflict", "NotAccepted"]), 404));
    assert_eq!(send_at(&cluster, 0, &format!("DELETE {DEFINITIONS}/cogs.example.com"), &Value::Null).0, 200);
    assert_eq!(told(100), (json!(["NoConflicts", "InitialNamesAccepted"]), 200));
}

#[test]
fn a_definition_that_a_test_changes_is_completed_and_checked() {
    let cluster = cluster(&teeth());
    let changed = cluster.replace(definition(&[version("v1", &json!({ "type": "object" }))])).expect("changed");
    assert_eq!(changed["spec"]["names"]["listKind"], "CogList");
    let refused = cluster.replace(definition(&[version("v1", &json!({}))])).map_err(|error| error.to_string());
    assert!(refused.is_err_and(|why| why.contains("properties[spec].type: Required value")));
}

#[test]
fn a_scale_is_where_the_definition_says() {
    let cluster = SimulatedCluster::new();
    let count = json!({ "type": "object", "properties": { "count": { "type": "integer" } } });
    let mut version = version("v1", &json!({ "type": "object", "properties": { "size": count } }));
    version["subresources"]["scale"] =
        json!({ "specReplicasPath": ".spec.size.count", "statusReplicasPath": ".status.seen" });
    cluster.create(definition(&[version])).expect("a definition");
    let mut made = cog("a", &json!({ "size": { "count": 2 } }));
    made["metadata"]["namespace"] = json!("web");
    made["status"] = json!({ "seen": 1 });
    cluster.create(made).expect("a cog");
    let (_, scale) = send(&cluster, &format!("GET {COGS}/a/scale"), &Value::Null);
    assert_eq!((&scale["spec"]["replicas"], &scale["status"]["replicas"]), (&json!(2), &json!(1)));
    let (code, scale) = send(&cluster, &format!("PATCH {COGS}/a/scale"), &json!({ "spec": { "replicas": 4 } }));
    assert_eq!((code, &scale["spec"]["replicas"]), (200, &json!(4)), "{scale}");
    assert_eq!(cluster.get("example.com/v1/cogs", "web/a").expect("a cog")["spec"]["size"]["count"], 4);
    assert_eq!(send(&cluster, &format!("PATCH {COGS}/a/scale"), &json!({ "spec": { "replicas": -1 } })).0, 422);
}

#[test]
fn an_apply_tells_elements_apart_by_the_keys_of_their_schema() {
    let port = json!({ "type": "object", "required": ["port"], "properties": { "port": { "type": "integer" },
        "protocol": { "type": "string", "default": "TCP" }, "name": { "type": "string" } } });
    let ports = json!({ "type": "array", "items": port, "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["port", "protocol"] });
    let cluster = cluster(&json!({ "type": "object", "properties": { "ports": ports } }));
    let apply = |manager: &str, spec: &Value| {
        let target = format!("{COGS}/a?fieldManager={manager}");
        let body = cog("a", spec).to_string().into_bytes();
        let call = Call {
            method: "PATCH",
            target: &target,
            accept: "application/json",
            content_type: "application/apply-patch+yaml",
            body: &body,
        };
        let answer = cluster.handle(Instant::ZERO, &call);
        (answer.head.status, serde_json::from_slice::<Value>(&answer.body).unwrap_or_default())
    };
    assert_eq!(apply("one", &json!({ "ports": [{ "port": 1 }] })).0, 201);
    let (code, both) =
        apply("two", &json!({ "ports": [{ "port": 1, "protocol": "UDP" }, { "port": 1, "protocol": "TCP" }] }));
    assert_eq!(code, 200, "{both}");
    assert_eq!(both["spec"]["ports"], json!([{ "port": 1, "protocol": "UDP" }, { "port": 1, "protocol": "TCP" }]));
    let (code, refused) = apply("two", &json!({ "ports": [{ "port": 1 }, { "port": 1 }], "x": 1 }));
    assert_eq!(code, 500, "{refused}");
    assert!(
        refused["message"].as_str().is_some_and(|why| why.contains(".spec.x: field not declared in schema")),
        "{refused}"
    );
    let twice = json!({ "ports": [{ "port": 2 }, { "port": 2 }] });
    let (code, refused) = send(&cluster, &format!("POST {COGS}"), &cog("b", &twice));
    let cause = &refused["details"]["causes"][0];
    assert_eq!(
        (code, &cause["reason"], &cause["field"]),
        (422, &json!("FieldValueDuplicate"), &json!("spec.ports[1]"))
    );
}

#[cfg(feature = "cel")]
#[test]
fn a_rule_is_checked_once_all_else_is_right() {
    let mut spec = teeth();
    spec["x-kubernetes-validations"] = json!([{ "rule": "self.teeth != 13", "message": "unlucky" },
        { "rule": "self.color == oldSelf.color", "message": "a color stays" }]);
    let cluster = cluster(&spec);
    let message =
        |line: &str, body: &Value| send(&cluster, line, body).1["message"].as_str().unwrap_or_default().to_owned();
    let said = message(&format!("POST {COGS}"), &cog("a", &json!({ "teeth": 13 })));
    assert_eq!(said, "Cog.example.com \"a\" is invalid: spec: Invalid value: unlucky");
    let said = message(&format!("POST {COGS}"), &cog("a", &json!({})));
    let unchecked = "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; \
                     correct the existing errors to complete validation";
    assert_eq!(said, format!("Cog.example.com \"a\" is invalid: [spec.teeth: Required value, {unchecked}]"));
    assert_eq!(send(&cluster, &format!("POST {COGS}"), &cog("a", &json!({ "teeth": 5 }))).0, 201);
    let said = message(&format!("PATCH {COGS}/a"), &json!({ "spec": { "color": "blue" } }));
    assert_eq!(said, "Cog.example.com \"a\" is invalid: spec: Invalid value: a color stays");
}
