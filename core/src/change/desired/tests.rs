use super::{Desired, Drift};
use crate::change::{ChangeError, ChangeErrorKind as Kind};
use crate::object::{Meta, MetaBuilder};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::string::{String, ToString};
use std::vec::Vec;

/// What a program keeps of a Deployment.
#[derive(Debug, Deserialize, Serialize)]
struct Deployment {
    spec: Spec,
    status: Option<Value>,
}

#[derive(Debug, Deserialize, Serialize)]
struct Spec {
    replicas: Option<i32>,
    #[serde(default)]
    containers: Vec<Container>,
}

#[derive(Debug, Deserialize, Serialize)]
struct Container {
    image: String,
}

fn desired(body: Value) -> Desired {
    Desired::new(&body).unwrap()
}

/// The patch of a body over a raw object.
fn patch(body: Value, raw: &Value) -> Option<Value> {
    desired(body).lay_over_as::<Value>(raw).unwrap_or_else(|error| panic!("{error}"))
}

/// The list that a body makes of a list; `None` if it stays.
fn list(body: Value, raw: Value) -> Option<Value> {
    patch(json!({ "list": body }), &json!({ "list": raw, "other": 1 })).map(|patch| {
        assert_eq!(patch.as_object().unwrap().len(), 1, "{patch}");
        patch["list"].clone()
    })
}

fn meta(labels: &[(&str, &str)]) -> Meta {
    let mut meta = MetaBuilder::default();
    meta.set_name("a");
    labels.iter().for_each(|(name, value)| meta.add_label(name, value));
    meta.build().unwrap()
}

fn drift(body: Value, raw: &Value) -> Drift {
    desired(body).drift_of(&Deployment::deserialize(raw).unwrap(), &meta(&[("app", "web")])).unwrap()
}

fn raw() -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": { "name": "a", "labels": { "app": "web", "team": "x" }, "finalizers": ["x/y"] },
        "spec": { "replicas": 2, "paused": true, "containers": [{ "name": "web", "image": "web:1", "tty": true }] },
        "status": { "ready": 1 },
    })
}

#[test]
fn only_the_fields_that_the_body_names_are_changed() {
    assert_eq!(patch(json!({ "spec": { "replicas": 3 } }), &raw()), Some(json!({ "spec": { "replicas": 3 } })));
    assert_eq!(patch(json!({ "spec": { "replicas": 2, "paused": null } }), &raw()), None);
    assert_eq!(patch(json!({ "spec": { "replicas": 2.0, "selector": null, "volumes": [] } }), &raw()), None);
    let labels = json!({ "metadata": { "labels": { "app": "shop" } } });
    assert_eq!(patch(labels.clone(), &raw()), Some(labels));
    let added = json!({ "spec": { "selector": { "matchLabels": { "app": "web" } }, "strategy": {} } });
    assert_eq!(patch(added.clone(), &raw()), Some(added));
}

#[test]
fn a_body_that_an_object_was_created_of_makes_no_patch() {
    let body = json!({
        "apiVersion": "apps/v1beta1",
        "kind": "Deployment",
        "metadata": { "name": "a", "namespace": "web", "ownerReferences": [{ "uid": "u" }], "finalizers": [] },
        "spec": { "replicas": 2, "containers": [{ "name": "web", "image": "web:1" }] },
        "status": { "ready": 7 },
    });
    assert_eq!(patch(body.clone(), &raw()), None);
    assert_eq!(drift(body, &raw()), Drift::Unshown, "the type shows no names of containers");
}

#[test]
fn an_element_with_a_key_gets_what_the_body_names_and_keeps_the_rest() {
    let (a, b) = (json!({ "name": "a", "image": "1", "x": "a" }), json!({ "name": "b", "image": "2", "x": "b" }));
    let both = || json!([a, b]);
    let image = |name, image| json!({ "name": name, "image": image });
    assert_eq!(list(json!([image("a", "1"), image("b", "2")]), both()), None);
    let changed = json!([a, { "name": "b", "image": "3", "x": "b" }]);
    assert_eq!(list(json!([image("a", "1"), image("b", "3")]), both()), Some(changed));
    assert_eq!(list(json!([image("b", "2"), image("a", "1")]), both()), Some(json!([b, a])));
    assert_eq!(list(json!([image("b", "2")]), both()), Some(json!([b])));
    assert_eq!(list(json!([image("c", "3"), image("a", "1")]), both()), Some(json!([image("c", "3"), a])));
    assert_eq!(list(json!([]), both()), Some(json!([])));
}

/// The type shows the image alone, and a change by the type writes no more than that.
#[test]
fn an_element_that_another_client_replaced_gets_all_that_the_body_names() {
    let wanted = json!({ "name": "web", "image": "web:1", "ports": [{ "containerPort": 80 }] });
    let body = json!({ "spec": { "containers": [wanted] } });
    let mut replaced = raw();
    replaced["spec"]["containers"] = json!([{ "name": "evil", "image": "evil:1", "tty": true }]);
    assert_eq!(drift(body.clone(), &replaced), Drift::NeedsRaw);
    let patch = desired(body.clone()).lay_over_as::<Deployment>(&replaced).unwrap();
    assert_eq!(patch, Some(body));
}

#[test]
fn elements_without_a_key_are_found_by_their_value_or_their_place() {
    assert_eq!(list(json!(["a", "b"]), json!(["a", "b"])), None);
    assert_eq!(list(json!(["b", "a", "a"]), json!(["a", "b", "c"])), Some(json!(["b", "a", "a"])));
    let rules = || json!([{ "verbs": ["get"], "x": 1 }, { "verbs": ["list"], "x": 2 }]);
    assert_eq!(list(json!([{ "verbs": ["get"] }, { "verbs": ["list"] }]), rules()), None);
    let second = json!([{ "verbs": ["get"], "x": 1 }, { "verbs": ["watch"], "x": 2 }]);
    assert_eq!(list(json!([{ "verbs": ["get"] }, { "verbs": ["watch"] }]), rules()), Some(second));
    assert_eq!(list(json!([{ "verbs": ["get"] }]), rules()), Some(json!([{ "verbs": ["get"] }])));
}

#[test]
fn a_type_shows_a_difference_in_what_it_knows_and_none_elsewhere() {
    assert_eq!(
        drift(json!({ "spec": { "replicas": 3, "paused": false } }), &raw()),
        Drift::Patch(json!({ "spec": { "replicas": 3 } }))
    );
    assert_eq!(drift(json!({ "spec": { "paused": false, "selector": { "a": ["b"] } } }), &raw()), Drift::Unshown);
    assert_eq!(
        drift(json!({ "spec": { "containers": [{ "name": "web", "image": "web:2" }] } }), &raw()),
        Drift::NeedsRaw
    );
    // What the type cannot read says nothing about the object.
    assert_eq!(drift(json!({ "spec": { "replicas": "two" } }), &raw()), Drift::NeedsRaw);
    for (labels, drifted) in [(json!({ "app": "web" }), Drift::None), (json!({ "app": "shop" }), Drift::NeedsRaw)] {
        assert_eq!(drift(json!({ "metadata": { "labels": labels } }), &raw()), drifted);
    }
}

/// A type that shows one form of an object loses the fields of the other form.
#[test]
fn a_patch_names_no_field_that_the_body_does_not_name() {
    #[derive(Deserialize, Serialize)]
    #[serde(untagged)]
    enum Source {
        Secret { secret: String },
        Map { map: String },
    }
    let known = Source::Map { map: "m".into() };
    let drift = desired(json!({ "secret": "s" })).drift_of(&known, &meta(&[])).unwrap();
    assert_eq!(drift, Drift::Patch(json!({ "secret": "s" })));
}

/// A page of a site that the body does not name any more goes from its ConfigMap.
#[test]
fn an_exact_place_loses_the_keys_that_the_body_does_not_name() {
    let exact = |body: Value, place: &str, raw: Value| {
        desired(body).exactly(place).unwrap().lay_over_as::<Value>(&raw).unwrap()
    };
    let map = || json!({ "data": { "a": "1" }, "binaryData": { "c": "x" } });
    let pages = json!({ "data": { "a": "1" } });
    assert_eq!(
        exact(pages.clone(), "/data", json!({ "data": { "a": "1", "b": "2" } })),
        Some(json!({ "data": { "b": null } }))
    );
    assert_eq!(exact(pages.clone(), "/data", map()), None);
    assert_eq!(exact(json!({ "data": {} }), "/data", map()), Some(json!({ "data": { "a": null } })));
    assert_eq!(exact(json!({ "data": {} }), "/data", json!({ "kind": "ConfigMap" })), None, "it is not there");
    let rolling = json!({ "spec": { "strategy": { "type": "RollingUpdate", "rollingUpdate": { "maxSurge": 1 } } } });
    let recreate = json!({ "spec": { "strategy": { "type": "Recreate" } } });
    let patch = json!({ "spec": { "strategy": { "type": "Recreate", "rollingUpdate": null } } });
    assert_eq!(exact(recreate, "/spec/strategy", rolling), Some(patch));
    let volumes = |volume: Value| json!({ "volumes": [{ "name": "x" }, volume] });
    let before = volumes(json!({ "name": "pages", "configMap": { "name": "a" } }));
    let after = volumes(json!({ "name": "pages", "emptyDir": {} }));
    assert_eq!(exact(after.clone(), "/volumes/1", before), Some(after));
    let error = desired(pages).exactly("/spec").unwrap_err();
    assert_eq!(error.to_string(), "/spec: the body names nothing here: give a place that it has, such as `/data`");
}

#[test]
fn whether_there_is_more_than_the_body_names_is_not_told_by_a_type() {
    let web = json!({ "spec": { "containers": [{ "image": "web:1" }] } });
    let known = Deployment::deserialize(raw()).unwrap();
    let exact = |body: &Value| desired(body.clone()).exactly("/spec").unwrap().drift_of(&known, &meta(&[])).unwrap();
    assert_eq!(exact(&json!({ "spec": { "replicas": 2, "containers": [{ "image": "web:1" }] } })), Drift::Unshown);
    assert_eq!(exact(&web), Drift::NeedsRaw, "the replicas are removed");
}

#[test]
fn a_body_that_cannot_be_laid_over_is_an_error_that_says_where() {
    let error = |body: Value| desired(body).lay_over_as::<Deployment>(&raw()).unwrap_err();
    let named = error(json!({ "metadata": { "uid": "u" } }));
    assert_eq!(named, ChangeError { path: "metadata.uid".to_string(), kind: Kind::ReadOnly });
    assert!(matches!(error(json!({ "spec": { "replicas": "two" } })).kind, Kind::Unreadable(_)));
    assert!(matches!(Desired::new(&json!([])).unwrap_err().kind, Kind::Unwritable(_)));
    let mut deep = json!(1);
    for _ in 0..200 {
        deep = json!({ "a": deep });
    }
    assert_eq!(Desired::new(&deep).unwrap_err().kind, Kind::TooDeep);
}
