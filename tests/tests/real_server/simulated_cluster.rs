//! The simulated cluster of the published crate answers as a real server does.

use crate::plane::plane;
use core::fmt::Write;
use listwatch_core::api::{ApiClient, ApiRequest, Method};
use listwatch_transport_file::SimulatedCluster;
use serde_json::{Value, json};

/// The requests: a method or a kind of patch, a path, and a body. `{ns}` is the namespace, `{group}` that of the wheels;
/// `{version}` is that of the last object that was answered. Of a step with `~`, the message is the server's own. Of one
/// with `#`, the server sets defaults.
const STEPS: &[(&str, &str)] = &[
    // Creation.
    ("POST {cms}", r#"{"metadata":{"name":"a","labels":{"app":"x"}},"data":{"k":"1"}}"#),
    ("POST {cms}", r#"{"metadata":{"name":"a"}}"#),
    ("POST {cms}", r#"{"metadata":{}}"#),
    ("POST {cms}", r#"{"metadata":{"name":"Not_A_Name"}}"#),
    ("POST {cms}", r#"{"metadata":{"name":"b","namespace":"other"}}"#),
    ("POST {cms}", r#"{"metadata":{"name":"b","resourceVersion":"7"}}"#),
    ("~POST {cms}", r#"{"apiVersion":"v1","kind":"Secret","metadata":{"name":"b"}}"#),
    ("~POST {cms}", r#"{"apiVersion":"v2","kind":"ConfigMap","metadata":{"name":"b"}}"#),
    ("~POST {cms}", r#"{"metadata":"#),
    (
        "POST {cms}",
        r#"{"metadata":{"name":"b","uid":"mine","creationTimestamp":"2020-01-01T00:00:00Z","generation":9}}"#,
    ),
    ("POST /api/v1/configmaps", r#"{"metadata":{"name":"c"}}"#),
    ("POST {cms}/a", r#"{"metadata":{"name":"a"}}"#),
    // Reads.
    ("GET {cms}/a", ""),
    ("GET {cms}/none", ""),
    ("GET {cms}/a/status", ""),
    ("GET /api/v1/nosuch", ""),
    ("GET {wheels}/none", ""),
    ("GET {cms}?labelSelector=app%3Dx", ""),
    ("~GET {cms}?labelSelector=app%3D%3D%3Dx", ""),
    ("GET {cms}?fieldSelector=metadata.name%3Da", ""),
    ("GET {cms}?fieldSelector=data.k%3D1", ""),
    ("GET {cms}?labelSelector=app&resourceVersion=99999999", ""),
    ("GET {cms}?labelSelector=app&resourceVersion=abc", ""),
    ("~GET {cms}?continue=bogus", ""),
    ("GET {cms}?watch=1&sendInitialEvents=true", ""),
    // Replacement.
    ("PUT {cms}/a", r#"{"metadata":{"name":"a"},"data":{"k":"2"}}"#),
    ("PUT {cms}/a", r#"{"metadata":{"name":"a"},"data":{"k":"2"}}"#),
    ("PUT {cms}/a", r#"{"metadata":{"name":"a","resourceVersion":"{version}"},"data":{"k":"3"}}"#),
    ("PUT {cms}/a", r#"{"metadata":{"name":"a","resourceVersion":"1"},"data":{"k":"4"}}"#),
    ("~PUT {cms}/a", r#"{"metadata":{"name":"a","uid":"another"},"data":{"k":"4"}}"#),
    ("PUT {cms}/a", r#"{"metadata":{"name":"b"},"data":{"k":"4"}}"#),
    ("PUT {cms}/none", r#"{"metadata":{"name":"none"},"data":{"k":"4"}}"#),
    ("PUT {cms}", r#"{"metadata":{"name":"a"}}"#),
    // Patches.
    ("MERGE {cms}/a", r#"{"data":{"k":null,"l":"1"},"metadata":{"labels":{"app":"x"}}}"#),
    ("MERGE {cms}/a", r#"{"data":{"l":"1"}}"#),
    ("MERGE {cms}/a", r#"{"metadata":{"resourceVersion":"1"},"data":{"l":"2"}}"#),
    ("MERGE {cms}/a", r#"{"metadata":{"resourceVersion":"{version}"},"data":{"l":"2"}}"#),
    ("MERGE {cms}/a", r#"{"metadata":{"name":"b"}}"#),
    ("MERGE {cms}/none", r#"{"data":{"l":"1"}}"#),
    ("~MERGE {cms}/a", r#"[1]"#),
    ("JSON {cms}/a", r#"[{"op":"test","path":"/data/l","value":"2"},{"op":"add","path":"/data/m","value":"1"}]"#),
    ("JSON {cms}/a", r#"[{"op":"test","path":"/data/l","value":"9"},{"op":"remove","path":"/data/m"}]"#),
    ("JSON {cms}/a", r#"[{"op":"remove","path":"/data/none"}]"#),
    (
        "JSON {cms}/a",
        r#"[{"op":"move","from":"/data/m","path":"/data/n"},{"op":"copy","from":"/data/n","path":"/data/o"}]"#,
    ),
    ("JSON {cms}/a", r#"[{"op":"replace","path":"/data/o","value":"7"}]"#),
    ("~JSON {cms}/a", r#"{"data":{"l":"1"}}"#),
    ("STRATEGIC {cms}/a", r#"{"data":{"o":null,"p":"1"}}"#),
    ("BARE {cms}/a", r#"{"data":{"o":null,"p":"1"}}"#),
    // Custom resources: status, generation, finalizers.
    ("~POST {wheels}", r#"{"metadata":{"name":"w"},"spec":{"size":1},"status":{"seen":1}}"#),
    (
        "POST {wheels}",
        r#"{"apiVersion":"{group}/v1","kind":"Wheel","metadata":{"name":"w"},"spec":{"size":1},"status":{"seen":1}}"#,
    ),
    ("PUT {wheels}/w", r#"{"apiVersion":"{group}/v1","kind":"Wheel","metadata":{"name":"w"},"spec":{"size":2}}"#),
    (
        "PUT {wheels}/w",
        r#"{"apiVersion":"{group}/v1","kind":"Wheel","metadata":{"name":"w","resourceVersion":"1"},"spec":{"size":2}}"#,
    ),
    ("MERGE {wheels}/w", r#"{"spec":{"size":2},"status":{"seen":2}}"#),
    ("MERGE {wheels}/w", r#"{"spec":{"size":2}}"#),
    ("MERGE {wheels}/w", r#"{"metadata":{"labels":{"a":"b"}}}"#),
    ("MERGE {wheels}/w/status", r#"{"spec":{"size":3},"status":{"seen":2},"metadata":{"labels":{"c":"d"}}}"#),
    ("MERGE {wheels}/w/nosuch", r#"{"spec":{"size":3}}"#),
    ("MERGE {wheels}/w/scale", r#"{"spec":{"replicas":3}}"#),
    ("STRATEGIC {wheels}/w", r#"{"spec":{"size":3}}"#),
    ("MERGE {wheels}/w", r#"{"metadata":{"finalizers":["example.com/one","example.com/two"]}}"#),
    ("DELETE {wheels}/w", ""),
    ("DELETE {wheels}/w", ""),
    ("~MERGE {wheels}/w", r#"{"metadata":{"finalizers":["example.com/three"]}}"#),
    ("MERGE {wheels}/w", r#"{"metadata":{"finalizers":["example.com/two"],"deletionTimestamp":null}}"#),
    ("MERGE {wheels}/w/status", r#"{"status":{"seen":3}}"#),
    ("MERGE {wheels}/w", r#"{"metadata":{"finalizers":null}}"#),
    ("GET {wheels}/w", ""),
    // Deletion.
    ("DELETE {cms}/a", r#"{"preconditions":{"uid":"another"}}"#),
    ("DELETE {cms}/a", r#"{"preconditions":{"resourceVersion":"1"}}"#),
    ("DELETE {cms}/a", ""),
    ("DELETE {cms}/a", ""),
    ("MERGE {cms}/b", r#"{"metadata":{"finalizers":["example.com/one"]}}"#),
    ("DELETE {cms}/b", r#"{"propagationPolicy":"Background"}"#),
    ("PUT {cms}/b", r#"{"metadata":{"name":"b","finalizers":[]}}"#),
    ("GET {cms}/b", ""),
    // Pages.
    ("POST {wheels}", r#"{"apiVersion":"{group}/v1","kind":"Wheel","metadata":{"name":"p1"}}"#),
    ("POST {wheels}", r#"{"apiVersion":"{group}/v1","kind":"Wheel","metadata":{"name":"p2"}}"#),
    ("POST {wheels}", r#"{"apiVersion":"{group}/v1","kind":"Wheel","metadata":{"name":"p3"}}"#),
    ("GET {wheels}?limit=2", ""),
    ("DELETE {wheels}/p3", ""),
    ("GET {wheels}?limit=2&continue={continue}", ""),
    ("GET {wheels}?limit=2", ""),
    ("METADATA {wheels}", ""),
    ("METADATA {wheels}/p1", ""),
    ("~TABLE {wheels}/p1", ""),
    // Apply.
    (
        "APPLY {cms}/ap?fieldManager=one",
        r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"ap"},"data":{"k":"1","l":"1"}}"#,
    ),
    (
        "APPLY {cms}/ap?fieldManager=one",
        r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"ap"},"data":{"k":"1","l":"1"}}"#,
    ),
    (
        "APPLY {cms}/ap?fieldManager=two",
        r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"ap"},"data":{"k":"2","m":"2"}}"#,
    ),
    (
        "APPLY {cms}/ap?fieldManager=two&force=true",
        r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"ap"},"data":{"k":"2","m":"2"}}"#,
    ),
    (
        "APPLY {cms}/ap?fieldManager=one",
        r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"ap"},"data":{"n":"3"}}"#,
    ),
    ("APPLY {cms}/ap", r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"ap"},"data":{"n":"3"}}"#),
    ("~APPLY {cms}/ap?fieldManager=one", r#"{"metadata":{"name":"ap"},"data":{"n":"3"}}"#),
    ("MERGE {cms}/ap", r#"{"data":{"m":"9"}}"#),
    (
        "APPLY {cms}/ap?fieldManager=two",
        r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"ap"},"data":{"m":"2"}}"#,
    ),
    (
        "APPLY {cms}/ap?fieldManager=two&force=true",
        r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"ap"},"data":{}}"#,
    ),
    // Deployments, which have defaults, a scale and lists with keys.
    ("#POST {deps}", DEPLOYMENT),
    ("#MERGE {deps}/d", r#"{"spec":{"replicas":2}}"#),
    ("#MERGE {deps}/d", r#"{"metadata":{"labels":{"a":"b"}}}"#),
    (
        "#STRATEGIC {deps}/d",
        r#"{"spec":{"template":{"spec":{"containers":[{"name":"side","image":"s"},{"name":"web","image":"w:2"}]}}}}"#,
    ),
    ("#STRATEGIC {deps}/d", r#"{"spec":{"template":{"spec":{"containers":[{"name":"side","$patch":"delete"}]}}}}"#),
    ("#GET {deps}/d/scale", ""),
    ("#MERGE {deps}/d/scale", r#"{"spec":{"replicas":4}}"#),
    ("#PUT {deps}/d/scale", r#"{"metadata":{"name":"d","namespace":"{ns}"},"spec":{"replicas":5}}"#),
    ("#PUT {deps}/d/scale", r#"{"metadata":{"name":"d","resourceVersion":"1"},"spec":{"replicas":6}}"#),
    ("#GET {deps}/none/scale", ""),
    ("#APPLY {deps}/d?fieldManager=me", r#"{"apiVersion":"apps/v1","kind":"Deployment","spec":{"replicas":7}}"#),
    (
        "#APPLY {deps}/d?fieldManager=me&force=true",
        r#"{"apiVersion":"apps/v1","kind":"Deployment","spec":{"replicas":7,"template":{"spec":{"containers":[{"name":"web","tty":true}]}}}}"#,
    ),
    ("#APPLY {deps}/d?fieldManager=me", r#"{"apiVersion":"apps/v1","kind":"Deployment","spec":{"replicas":7}}"#),
    ("#DELETE {deps}/d", r#"{"preconditions":{"uid":"another"}}"#),
    // Dry runs, and several objects at once.
    ("POST {cms}?dryRun=All", r#"{"metadata":{"name":"dry"}}"#),
    ("GET {cms}/dry", ""),
    ("POST {cms}", r#"{"metadata":{"name":"m1","labels":{"many":"1"}}}"#),
    ("POST {cms}", r#"{"metadata":{"name":"m2","labels":{"many":"1"}}}"#),
    ("MERGE {cms}/m1?dryRun=All", r#"{"data":{"k":"1"}}"#),
    ("DELETE {cms}/m1?dryRun=All", ""),
    ("GET {cms}?labelSelector=many", ""),
    ("DELETE {cms}?labelSelector=many", ""),
    ("GET {cms}?labelSelector=many", ""),
];

const DEPLOYMENT: &str = r#"{"metadata":{"name":"d"},"spec":{"paused":true,"replicas":1,"selector":{"matchLabels":{"app":"d"}},
    "template":{"metadata":{"labels":{"app":"d"}},"spec":{"containers":[{"name":"web","image":"w"}]}}}}"#;

#[test]
fn a_simulated_cluster_answers_as_a_real_server_does() {
    let Some(mut plane) = plane() else { return };
    let namespace = plane.namespace("simulated");
    let group = plane.name("wheels") + ".example";
    let definition = definition(&group);
    plane.create_global("apiextensions.k8s.io/v1/customresourcedefinitions", &definition);
    let wheels = listwatch_core::Resource::named(&format!("{group}/v1/wheels")).unwrap().in_namespace(&namespace);
    while !plane.has(&wheels) {}

    let cluster = SimulatedCluster::new();
    let at = [json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": namespace } })];
    at.into_iter().for_each(|object| drop(cluster.create(object).unwrap()));
    let cluster = cluster.with_kind(&format!("{group}/v1"), "Wheel", "wheels", true);
    let names = Names { namespace, group };
    let (mut real, mut simulated) = (Memory::default(), Memory::default());
    let mut differences = String::new();
    for (line, body) in STEPS {
        let (how, line) = line.split_at(line.find(|c: char| c.is_ascii_uppercase()).unwrap());
        let expected = real.answer(&names.request(&real, line, body), &plane.client, how);
        let answer = simulated.answer(&names.request(&simulated, line, body), &cluster, how);
        if expected != answer {
            writeln!(differences, "\n{line} {body}\n  real      {expected}\n  simulated {answer}").unwrap();
        }
    }
    assert!(differences.is_empty(), "{differences}");
}

struct Names {
    namespace: String,
    group: String,
}

/// What is kept of the last answers.
#[derive(Default)]
struct Memory {
    version: String,
    token: String,
}

impl Names {
    fn request(&self, memory: &Memory, line: &str, body: &str) -> ApiRequest {
        let configmaps = format!("/api/v1/namespaces/{}/configmaps", self.namespace);
        let wheels = format!("/apis/{}/v1/namespaces/{}/wheels", self.group, self.namespace);
        let deployments = format!("/apis/apps/v1/namespaces/{}/deployments", self.namespace);
        let filled = |text: &str| {
            let text = text.replace("{deps}", &deployments).replace("{ns}", &self.namespace);
            let text = text.replace("{cms}", &configmaps).replace("{wheels}", &wheels).replace("{group}", &self.group);
            let text = text.replace("{version}", &memory.version);
            text.replace("{continue}", &memory.token)
        };
        let (verb, target) = line.split_once(' ').unwrap();
        let (method, content_type) = match verb {
            "GET" | "METADATA" | "TABLE" => (Method::Get, None),
            "POST" => (Method::Post, Some("application/json")),
            "PUT" => (Method::Put, Some("application/json")),
            "DELETE" => (Method::Delete, Some("application/json").filter(|_| !body.is_empty())),
            "MERGE" => (Method::Patch, Some("application/merge-patch+json")),
            "JSON" => (Method::Patch, Some("application/json-patch+json")),
            "STRATEGIC" => (Method::Patch, Some("application/strategic-merge-patch+json")),
            "APPLY" => (Method::Patch, Some("application/apply-patch+yaml")),
            _ => (Method::Patch, Some("application/json")),
        };
        let mut request = ApiRequest::new(method, filled(target));
        request.content_type = content_type;
        request.accept = match verb {
            "METADATA" if target.ends_with("wheels}") => {
                "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
            }
            "METADATA" => "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
            "TABLE" => "application/json;as=Nonsense;g=meta.k8s.io;v=v1",
            _ => "application/json",
        };
        request.body = filled(body).into_bytes();
        request
    }
}

impl Memory {
    /// Sends a request, and returns what is comparable of its answer.
    fn answer(&mut self, request: &ApiRequest, client: &impl ApiClient, how: &str) -> String {
        let answer = client.send(request).unwrap();
        let mut body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let metadata = &body["metadata"];
        if body["kind"] != "Status" {
            (self.version, self.token) = (text(&metadata["resourceVersion"]), text(&metadata["continue"]));
        }
        body = match how {
            "~" => json!({ "reason": body["reason"], "status": body["status"] }),
            "#" => without_defaults(&body),
            _ => body,
        };
        normalize(&mut body);
        format!("{} {body}", answer.status)
    }
}

/// What a server that sets defaults has in common with one that does not.
fn without_defaults(body: &Value) -> Value {
    let containers = body["spec"]["template"]["spec"]["containers"].as_array().into_iter().flatten();
    let containers = containers.map(|it| json!({ "name": it["name"], "image": it["image"], "tty": it["tty"] }));
    json!({ "kind": body["kind"], "message": body["message"], "details": body["details"],
        "generation": body["metadata"]["generation"], "name": body["metadata"]["name"],
        "replicas": body["spec"]["replicas"], "containers": containers.collect::<Vec<_>>() })
}

/// Takes what differs between two servers from an answer.
fn normalize(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(normalize),
        Value::Object(fields) => {
            // A list of custom resources has a token even where nothing follows.
            fields.retain(|field, value| field != "managedFields" && (field != "continue" || *value != ""));
            for (field, value) in fields.iter_mut() {
                match (field.as_str(), &mut *value) {
                    (
                        "uid" | "resourceVersion" | "creationTimestamp" | "deletionTimestamp" | "continue",
                        Value::String(_),
                    ) => *value = json!("…"),
                    ("message", Value::String(text)) => *text = without_numbers(text),
                    _ => normalize(value),
                }
            }
        }
        _ => {}
    }
}

/// A text with a sign in place of each number and each uid.
fn without_numbers(text: &str) -> String {
    let mut words = Vec::new();
    for word in text.split_inclusive([' ', '(', ')', ',', ':', '"']) {
        let is_number = word.chars().any(|c| c.is_ascii_digit())
            && word.chars().all(|c| c.is_ascii_hexdigit() || "-(),: \"".contains(c));
        words.push(if is_number { "#" } else { word });
    }
    words.concat()
}

fn definition(group: &str) -> Value {
    let any = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let schema = json!({ "openAPIV3Schema": { "type": "object", "properties": { "spec": any, "status": any } } });
    let version =
        json!({ "name": "v1", "served": true, "storage": true, "schema": schema, "subresources": { "status": {} } });
    let names = json!({ "plural": "wheels", "singular": "wheel", "kind": "Wheel" });
    let spec = json!({ "group": group, "scope": "Namespaced", "names": names, "versions": [version] });
    json!({ "metadata": { "name": format!("wheels.{group}") }, "spec": spec })
}
