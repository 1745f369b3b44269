//! Definitions of types: a server takes them, obeys them, and shows what they name.

use crate::kubectl::kubectl;
use crate::real_server::plane::{Plane, plane};
use listwatch::definition::{DefineError, Definition};
use listwatch::object::{Conditions, LabelSelector};
use listwatch::time::WallTime;
use listwatch::{Client, Clock, Executor, Resource, kind, run};
use listwatch_core::api::{Api, Patch};
use listwatch_transport_http::HttpClient;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

const GEARS: &str = "define.example.com/v1/gears";
const DEFINITIONS: &str = "apiextensions.k8s.io/v1/customresourcedefinitions";

#[derive(Deserialize, Serialize, JsonSchema)]
struct Gear {
    spec: GearSpec,
    #[serde(default)]
    status: GearStatus,
}

/// A field of each form that a schema has.
#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct GearSpec {
    /// How many there are.
    #[schemars(range(min = 0, max = 1000))]
    replicas: i32,
    class: Option<String>,
    #[serde(default = "red")]
    color: Color,
    finish: Option<Color>,
    size: Option<u32>,
    offset: Option<i8>,
    ratio: Option<f64>,
    port: Option<Port>,
    drive: Option<Drive>,
    store: Option<Store>,
    any: Option<Value>,
    labels: Option<BTreeMap<String, String>>,
    numbers: Option<BTreeMap<u16, bool>>,
    tags: Option<BTreeSet<String>>,
    pair: Option<(i32, i32)>,
    since: Option<WallTime>,
    selector: Option<LabelSelector>,
    #[serde(default)]
    parts: Vec<Part>,
    #[schemars(extend("x-kubernetes-validations" = [{ "rule": "self == oldSelf", "message": "it stays" }]))]
    fixed: Option<String>,
    #[serde(flatten)]
    others: Others,
}

#[derive(Default, Deserialize, Serialize, JsonSchema)]
struct GearStatus {
    replicas: Option<i32>,
    selector: Option<String>,
    #[serde(default)]
    conditions: Conditions,
}

#[derive(Clone, Copy, Deserialize, Serialize, JsonSchema)]
enum Color {
    /// As blood.
    Red,
    Green,
}

fn red() -> Color {
    Color::Red
}

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(untagged)]
enum Port {
    Number(i32),
    Name(String),
}

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
enum Drive {
    Belt { width: i32 },
    Chain(String),
}

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(tag = "kind")]
enum Store {
    Disk { path: String },
    Net { host: String, path: Option<String> },
}

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Part {
    name: String,
    #[serde(default)]
    weight: u64,
}

#[derive(Default, Deserialize, Serialize, JsonSchema)]
struct Others {
    note: Option<String>,
}

kind!(Gear, "define.example.com/v1", "gears");

mod old {
    use super::*;

    #[derive(Deserialize, Serialize, JsonSchema)]
    pub(super) struct Gear {
        spec: OldSpec,
    }

    #[derive(Deserialize, Serialize, JsonSchema)]
    struct OldSpec {
        replicas: i32,
    }

    kind!(Gear, "define.example.com/v1beta1", "gears");
}

fn definition() -> Definition {
    Definition::of::<Gear>()
        .short_names(["gr"])
        .column("Replicas", ".spec.replicas")
        .column("Color", ".spec.color")
        .column("Ready", r#".status.conditions[?(@.type=="Ready")].status"#)
        .wide_column("Class", ".spec.class")
        .scale(".spec.replicas", ".status.replicas")
        .scale_selector(".status.selector")
        .selectable(".spec.class")
        .rule(".spec", "self.replicas <= 10", "at most ten")
        .version::<old::Gear>()
        .deprecated("take v1")
}

fn define(plane: &Plane, definition: &Definition) -> Result<(), DefineError> {
    let clock = Clock::real();
    let client = Client::new(HttpClient::from(&plane.cluster), clock.clone());
    run(&clock, &Executor::new(), client.define(definition))
}

fn gear(name: &str, spec: &Value) -> Value {
    json!({ "apiVersion": "define.example.com/v1", "kind": "Gear", "metadata": { "name": name }, "spec": spec })
}

#[test]
fn a_server_takes_the_definition_of_a_type_and_does_what_it_says() {
    let Some(mut plane) = plane() else { return };
    let namespace = plane.namespace("define");
    define(&plane, &definition()).unwrap();
    let gears = Resource::named(GEARS).unwrap().in_namespace(&namespace);
    let create = |name: &str, spec: Value| Api::<Value>::new(&gears).create(&gear(name, &spec)).send(&plane.client);

    let full = json!({
        "replicas": 2, "class": "a", "finish": "Green", "size": 4_000_000_000_u32, "offset": -100, "ratio": 0.5, "port": "http",
        "drive": { "belt": { "width": 3 } }, "store": { "kind": "Net", "host": "h" }, "any": { "deep": [1, null] },
        "labels": { "a": "b" }, "numbers": { "7": true }, "tags": ["x", "y"], "pair": [1, 2],
        "since": "2026-01-01T00:00:00Z", "selector": { "matchLabels": { "app": "web" } },
        "parts": [{ "name": "p", "weight": 1 }], "note": "n", "fixed": "f",
    });
    let created = create("full", full.clone()).unwrap();
    let mut expected = full;
    expected["color"] = json!("Red");
    assert_eq!(created["spec"], expected, "{created}");
    serde_json::from_value::<Gear>(created).unwrap();
    // What the program writes of an absent field is a null.
    let absent: GearSpec = serde_json::from_value(json!({ "replicas": 1, "class": "b" })).unwrap();
    let mut absent = serde_json::to_value(absent).unwrap();
    absent.as_object_mut().unwrap().retain(|name, _| name != "finish");
    let created = create("bare", absent).unwrap();
    assert_eq!(created["status"], json!(null), "{created}");

    for (spec, place) in [
        (json!({ "replicas": 11 }), "at most ten"),
        (json!({ "replicas": -1 }), "spec.replicas"),
        (json!({}), "spec.replicas: Required value"),
        (json!({ "replicas": 1, "color": "Blue" }), "spec.color"),
        (json!({ "replicas": 1, "size": -1 }), "spec.size"),
        (json!({ "replicas": 1, "offset": 200 }), "spec.offset"),
        (json!({ "replicas": 1, "port": true }), "spec.port"),
        (json!({ "replicas": 1, "drive": { "belt": { "width": 1 }, "chain": "c" } }), "spec.drive"),
        (json!({ "replicas": 1, "drive": {} }), "spec.drive"),
        (json!({ "replicas": 1, "store": { "kind": "Disk", "host": "h" } }), "spec.store"),
        (json!({ "replicas": 1, "tags": ["x", "x"] }), "spec.tags"),
        (json!({ "replicas": 1, "since": "yesterday" }), "spec.since"),
        (json!({ "replicas": 1, "parts": [{ "weight": 1 }] }), "spec.parts[0].name"),
        (
            json!({ "replicas": 1, "selector": { "matchExpressions": [{ "key": "a", "operator": "Near" }] } }),
            "operator",
        ),
    ] {
        let refused = create("wrong", spec.clone()).unwrap_err().to_string();
        assert!(refused.contains(place), "{spec}: {refused}");
    }

    let changed = Api::<Value>::new(&gears).patch("full", &Patch::Merge(&json!({ "spec": { "fixed": "g" } })));
    assert!(changed.send(&plane.client).unwrap_err().to_string().contains("it stays"));
    let ready = json!({ "type": "Ready", "status": "True", "reason": "Fine", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z" });
    plane.change_status(
        &gears,
        "full",
        &json!({ "status": { "replicas": 2, "selector": "app=web", "conditions": [ready] } }),
    );
    let scale = Api::<Value>::new(&gears).scale().get("full").send(&plane.client).unwrap();
    assert_eq!((scale.spec.replicas, scale.status.replicas, &*scale.status.selector), (2, 2, "app=web"));
    let of_class = |class: &str| {
        plane.list(&gears.clone().with_field_selector(&format!("spec.class={class}"))).into_keys().collect::<Vec<_>>()
    };
    assert_eq!((of_class("a"), of_class("c")), (vec![format!("{namespace}/full")], Vec::new()));
    let beta = Resource::named("define.example.com/v1beta1/gears").unwrap().in_namespace(&namespace);
    assert_eq!(plane.get(&beta, "full").unwrap()["spec"], json!({ "replicas": 2 }));
    prints_columns(&plane, &namespace);

    // The same again changes nothing, and another column is one more.
    let version = |plane: &Plane| {
        plane.get(&Resource::named(DEFINITIONS).unwrap(), "gears.define.example.com").unwrap()["metadata"]["generation"]
            .clone()
    };
    let before = version(&plane);
    define(&plane, &definition()).unwrap();
    assert_eq!(version(&plane), before);
    define(&plane, &definition().column("Replicas", ".spec.replicas")).unwrap();
    assert_ne!(version(&plane), before);
    plane.delete(&Resource::named(DEFINITIONS).unwrap(), "gears.define.example.com").unwrap();
}

/// What `kubectl get` and `kubectl scale` make of the definition.
fn prints_columns(plane: &Plane, namespace: &str) {
    let Some(kubectl) = kubectl() else { return };
    let call = |arguments: &str| {
        let mut command = Command::new(kubectl);
        command.args(arguments.split_whitespace()).args(["-n", namespace, "--kubeconfig"]).arg(plane.kubeconfig());
        let output = command.output().unwrap();
        assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect::<Vec<_>>()
    };
    assert_eq!(call("get gr"), ["NAME REPLICAS COLOR READY", "bare 1 Red", "full 2 Red True"]);
    assert_eq!(call("get gears full -o wide"), ["NAME REPLICAS COLOR READY CLASS", "full 2 Red True a"]);
    call("scale gear full --replicas=3");
    assert_eq!(call("get gears full -o jsonpath={.spec.replicas}"), ["3"]);
    let explained = call("explain gear.spec.replicas").join("\n");
    assert!(explained.contains("How many there are."), "{explained}");
}

#[test]
fn what_a_server_refuses_in_a_definition_is_told() {
    let Some(plane) = plane() else { return };
    let refused = define(&plane, &definition().rule(".spec", "self.none > 1", "never")).unwrap_err();
    let DefineError::Api { name, error } = &refused else { panic!("{refused}") };
    assert_eq!(name, "gears.define.example.com");
    assert!(error.to_string().contains("x-kubernetes-validations"), "{error}");
    assert!(matches!(define(&plane, &definition().column("None", ".spec.none")), Err(DefineError::Wrong(_))));
}
