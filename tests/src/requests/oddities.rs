//! What can be unusual in an object or a patch.

use super::bodies::owner;
use super::specimen::Specimen;
use crate::sim::Dice;
use serde_json::{Value, json};

/// A way to make a body unusual.
pub(super) struct Oddity {
    pub(super) name: &'static str,
    pub(super) apply: fn(&mut Dice, &Specimen, &mut Value),
}

/// Draws an oddity.
pub(super) fn oddity(dice: &mut Dice) -> &'static Oddity {
    &ODDITIES[dice.below(ODDITIES.len() as u64) as usize]
}

macro_rules! metadata {
    ($name:literal, $field:literal, $($value:tt)+) => {
        Oddity { name: $name, apply: |_, specimen, body| set(body, $field, own(specimen, $field, json!($($value)+))) }
    };
}

const ODDITIES: &[Oddity] = &[
    metadata!("bad label name", "labels", { "_x": "1" }),
    metadata!("bad label prefix", "labels", { "Not_A/x": "1", "a/b/c": "1" }),
    metadata!("bad label value", "labels", { "app": "-" }),
    metadata!("long label", "labels", { "app": LONG, LONG: "x" }),
    metadata!("label that is a number", "labels", { "app": 1 }),
    metadata!("label that is null", "labels", { "app": null }),
    metadata!("labels that are a list", "labels", []),
    metadata!("no labels", "labels", {}),
    metadata!("labels that are null", "labels", null),
    metadata!("bad annotation name", "annotations", { "a b": "1" }),
    metadata!("annotation in capitals", "annotations", { "EXAMPLE.com/A": "1" }),
    metadata!("annotation that is true", "annotations", { "a": true }),
    metadata!("finalizer without a domain", "finalizers", ["plain"]),
    metadata!("bad finalizer", "finalizers", ["a b/c"]),
    metadata!("orphan finalizer", "finalizers", ["orphan"]),
    metadata!("foreground finalizer", "finalizers", ["foregroundDeletion"]),
    metadata!("both finalizers", "finalizers", ["orphan", "foregroundDeletion"]),
    metadata!("finalizer twice", "finalizers", ["example.com/a", "example.com/a"]),
    metadata!("finalizer that is null", "finalizers", [null]),
    metadata!("finalizers that are a text", "finalizers", "example.com/a"),
    metadata!("no finalizers", "finalizers", []),
    Oddity { name: "owner", apply: |_, _, body| set(body, "ownerReferences", json!([owner()])) },
    Oddity { name: "owner twice", apply: |_, _, body| set(body, "ownerReferences", json!([owner(), owner()])) },
    Oddity { name: "controller", apply: |_, _, body| set(body, "ownerReferences", json!([controller("a")])) },
    Oddity {
        name: "two controllers",
        apply: |_, _, body| set(body, "ownerReferences", json!([controller("a"), controller("b")])),
    },
    metadata!("owner without fields", "ownerReferences", [{}]),
    metadata!("owner without a uid", "ownerReferences", [{ "apiVersion": "v1", "kind": "ConfigMap", "name": "a" }]),
    metadata!("owner of a bad version", "ownerReferences", [{ "apiVersion": "a/b/c", "kind": "K", "name": "a", "uid": "1" }]),
    metadata!("Event as an owner", "ownerReferences", [{ "apiVersion": "v1", "kind": "Event", "name": "a", "uid": "1" }]),
    metadata!("owner that is a number", "ownerReferences", [1]),
    metadata!("owner with an unknown field", "ownerReferences", [{ "apiVersion": "v1", "kind": "K", "name": "a", "uid": "1", "x": 1 }]),
    metadata!("another name", "name", "b"),
    metadata!("bad name", "name", "Not_A_Name"),
    metadata!("name with dots", "name", "a.b"),
    metadata!("name with a colon", "name", "a:b"),
    metadata!("long name", "name", LONG),
    metadata!("name that is a number", "name", 1),
    metadata!("empty name", "name", ""),
    metadata!("name that is null", "name", null),
    metadata!("another namespace", "namespace", "other"),
    metadata!("its namespace", "namespace", "{ns}"),
    metadata!("bad prefix", "generateName", "Not_A-"),
    metadata!("a uid", "uid", "mine"),
    metadata!("a generation", "generation", 9),
    metadata!("generation below zero", "generation", -1),
    metadata!("a date", "creationTimestamp", "2020-01-01T00:00:00Z"),
    metadata!("date that is none", "creationTimestamp", "yesterday"),
    metadata!("date of a deletion", "deletionTimestamp", "2020-01-01T00:00:00Z"),
    metadata!("grace period", "deletionGracePeriodSeconds", 5),
    metadata!("a link to itself", "selfLink", "/x"),
    metadata!("a version", "resourceVersion", "1"),
    metadata!("version that is no number", "resourceVersion", "abc"),
    metadata!("version 0", "resourceVersion", "0"),
    metadata!("version that is a number", "resourceVersion", 7),
    metadata!("no managed fields", "managedFields", []),
    metadata!("managed fields", "managedFields", [{ "manager": "m", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": { "f:data": {} } }]),
    metadata!("unknown field of the metadata", "unknown", 1),
    Oddity { name: "metadata that are null", apply: |_, _, body| put(body, "metadata", json!(null)) },
    Oddity { name: "metadata that are a text", apply: |_, _, body| put(body, "metadata", json!("x")) },
    Oddity { name: "metadata that are a list", apply: |_, _, body| put(body, "metadata", json!([])) },
    Oddity { name: "another kind", apply: |_, _, body| put(body, "kind", json!("Other")) },
    Oddity { name: "another version", apply: |_, _, body| put(body, "apiVersion", json!("v9")) },
    Oddity { name: "kind that is a number", apply: |_, _, body| put(body, "kind", json!(1)) },
    Oddity { name: "no kind", apply: |_, _, body| remove(body, "kind") },
    Oddity { name: "no version", apply: |_, _, body| remove(body, "apiVersion") },
    Oddity { name: "unknown field", apply: |_, _, body| put(body, "unknown", json!(1)) },
    Oddity { name: UNKNOWN, apply: unknown },
    Oddity { name: ANOTHER_TYPE, apply: |dice, specimen, body| replace(dice, specimen, body, another_type) },
    Oddity { name: "null in the spec", apply: |dice, specimen, body| replace(dice, specimen, body, |_| json!(null)) },
    Oddity { name: "null in the spec", apply: |dice, specimen, body| replace(dice, specimen, body, |_| json!(null)) },
    Oddity {
        name: "empty object in the spec",
        apply: |dice, specimen, body| replace(dice, specimen, body, |_| json!({})),
    },
    Oddity {
        name: "empty list in the spec",
        apply: |dice, specimen, body| replace(dice, specimen, body, |_| json!([])),
    },
    Oddity { name: MISSING, apply: missing },
];

/// A field that no schema has, inside of the object.
pub const UNKNOWN: &str = "unknown field inside";
/// A value of another type in the spec.
pub const ANOTHER_TYPE: &str = "value of another type";
/// A part that is missing.
pub const MISSING: &str = "missing part";

const LONG: &str = "a-name-that-has-more-than-sixty-three-characters-which-is-one-too-many";

fn controller(name: &str) -> Value {
    let mut owner = owner();
    (owner["controller"], owner["blockOwnerDeletion"], owner["name"]) = (json!(true), json!(true), json!(name));
    owner
}

/// A value of the metadata. A name without a namespace has that of the run in its own, as others may be sent meanwhile.
fn own(specimen: &Specimen, field: &str, value: Value) -> Value {
    match &value {
        Value::String(name) if field == "name" && specimen.cluster && !name.is_empty() => json!(specimen.name(name)),
        _ => value,
    }
}

fn set(body: &mut Value, field: &str, value: Value) {
    if let Some(fields) = body.as_object_mut() {
        let metadata = fields.entry("metadata").or_insert_with(|| json!({}));
        put(metadata, field, value);
    }
}

fn put(value: &mut Value, field: &str, new: Value) {
    if let Some(fields) = value.as_object_mut() {
        fields.insert(field.to_owned(), new);
    }
}

fn remove(value: &mut Value, field: &str) {
    if let Some(fields) = value.as_object_mut() {
        fields.remove(field);
    }
}

fn unknown(dice: &mut Dice, _: &Specimen, body: &mut Value) {
    let paths = paths(body).into_iter().filter(|path| body.pointer(path).is_some_and(Value::is_object));
    let paths: Vec<String> = paths.collect();
    if let Some(inside) = pick(dice, &paths).and_then(|path| body.pointer_mut(path)) {
        put(inside, "unknown", json!(1));
    }
}

fn replace(dice: &mut Dice, _: &Specimen, body: &mut Value, with: fn(&Value) -> Value) {
    let paths = paths(body);
    if let Some(place) = pick(dice, &paths).and_then(|path| body.pointer_mut(path)) {
        *place = with(place);
    }
}

fn another_type(value: &Value) -> Value {
    match value {
        Value::Number(_) | Value::Bool(_) => json!("text"),
        Value::String(_) => json!(1),
        Value::Object(_) => json!([]),
        _ => json!({}),
    }
}

fn missing(dice: &mut Dice, _: &Specimen, body: &mut Value) {
    let paths = paths(body);
    let Some((parent, last)) = pick(dice, &paths).and_then(|path| path.rsplit_once('/')) else { return };
    match body.pointer_mut(parent) {
        Some(Value::Object(fields)) => drop(fields.remove(&last.replace("~1", "/").replace("~0", "~"))),
        Some(Value::Array(elements)) => elements.clear(),
        _ => {}
    }
}

fn pick<'p>(dice: &mut Dice, paths: &'p [String]) -> Option<&'p String> {
    super::bodies::one(dice, paths)
}

/// The paths of all values that are neither the type nor metadata.
fn paths(body: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for (field, value) in body.as_object().into_iter().flatten() {
        if !["apiVersion", "kind", "metadata"].contains(&field.as_str()) {
            note_paths(&format!("/{}", field.replace('~', "~0").replace('/', "~1")), value, &mut found);
        }
    }
    found
}

fn note_paths(path: &str, value: &Value, found: &mut Vec<String>) {
    found.push(path.to_owned());
    match value {
        Value::Object(fields) => fields.iter().for_each(|(field, value)| {
            note_paths(&format!("{path}/{}", field.replace('~', "~0").replace('/', "~1")), value, found);
        }),
        Value::Array(elements) => {
            elements.iter().enumerate().for_each(|(place, value)| note_paths(&format!("{path}/{place}"), value, found));
        }
        _ => {}
    }
}
