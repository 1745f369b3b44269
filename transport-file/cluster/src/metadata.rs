//! The fields of metadata that a server sets, or looks at.

use super::refusal::Refusal;
use crate::kinds::ServedKind;
use serde_json::{Map, Value, json};

/// The part of an object that a request changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Whole,
    Status,
}

/// The finalizer that keeps an object until its dependents have lost their reference to it.
pub(super) const ORPHAN: &str = "orphan";
/// The finalizer that keeps an object until its dependents are gone.
pub(super) const FOREGROUND: &str = "foregroundDeletion";

/// The finalizer that keeps objects of a kind while they are in use.
pub(super) fn protection(kind: &ServedKind) -> Option<&'static str> {
    match kind.name().as_str() {
        CLAIMS => Some("kubernetes.io/pvc-protection"),
        VOLUMES => Some("kubernetes.io/pv-protection"),
        _ => None,
    }
}

/// The claims of pods to volumes.
pub(super) const CLAIMS: &str = "v1/persistentvolumeclaims";
const VOLUMES: &str = "v1/persistentvolumes";

/// The fields that the server alone sets, once the object is there.
pub(super) const SERVER_FIELDS: [&str; 8] = [
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// The metadata of an object, which it gets if it has none.
pub(super) fn metadata_of(object: &mut Value) -> &mut Map<String, Value> {
    if !object.is_object() {
        *object = json!({});
    }
    if !object["metadata"].is_object() {
        object["metadata"] = json!({});
    }
    object["metadata"].as_object_mut().expect("it was made one above")
}

/// Sets a field of an object in an object, which it gets if it has none.
pub(super) fn set_inside(object: &mut Value, path: [&str; 2], value: Value) -> Result<(), Refusal> {
    let [parent, field] = path;
    let refused = || Refusal::bad_request(format!("the object provided is unrecognized: `{parent}` is no object"));
    let parent = object.as_object_mut().ok_or_else(refused)?.entry(parent).or_insert(Value::Null);
    if parent.is_null() {
        *parent = json!({});
    }
    parent.as_object_mut().ok_or_else(refused)?.insert(field.to_owned(), value);
    Ok(())
}

/// Removes the fields that say nothing.
pub(super) fn remove_empty(metadata: &mut Map<String, Value>) {
    metadata.retain(|_, value| match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(elements) => !elements.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        _ => true,
    });
}

pub(super) fn is_deleting(object: &Value) -> bool {
    !object["metadata"]["deletionTimestamp"].is_null()
}

pub(super) fn finalizers(object: &Value) -> Vec<&str> {
    object["metadata"]["finalizers"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

pub(super) fn set_finalizers(object: &mut Value, finalizers: Vec<String>) {
    let metadata = metadata_of(object);
    if finalizers.is_empty() {
        metadata.remove("finalizers");
    } else {
        metadata.insert("finalizers".into(), json!(finalizers));
    }
}

pub(super) fn generation(object: &Value) -> u64 {
    object["metadata"]["generation"].as_u64().unwrap_or(0)
}
