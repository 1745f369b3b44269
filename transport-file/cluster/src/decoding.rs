//! What a server reads of the JSON of an object: metadata have their types, and nulls are absent.

use super::config_data::ConfigKind;
use crate::kinds::ServedKind;
use listwatch_core::time::WallTime;
use serde_json::{Map, Value, json};

/// Reads an object of a kind. `Err` says what no object of the kind can have.
pub(super) fn decode(kind: &ServedKind, object: &mut Value) -> Result<(), String> {
    if let Some(metadata) = object.get_mut("metadata") {
        decode_metadata(metadata)?;
    }
    if let Some(config) = ConfigKind::of(kind) {
        config.decode(object)?;
    }
    if kind.is_custom() || has_any_json(kind) {
        return Ok(());
    }
    object.as_object_mut().into_iter().for_each(remove_nulls);
    Ok(())
}

/// Whether the objects of a kind have fields that take any JSON.
pub(super) fn has_any_json(kind: &ServedKind) -> bool {
    kind.kind == "ControllerRevision" || ["apiextensions.k8s.io", "resource.k8s.io"].contains(&kind.group())
}

/// Reads metadata. `Err` says what no metadata can have.
pub(super) fn decode_metadata(metadata: &mut Value) -> Result<(), String> {
    if metadata.is_null() {
        *metadata = json!({});
    }
    let metadata = metadata.as_object_mut().ok_or("`metadata` is no object")?;
    for (name, value) in metadata.iter_mut().filter(|(_, value)| !value.is_null()) {
        let is_valid = match name.as_str() {
            "labels" | "annotations" => decode_texts(value),
            "finalizers" => decode_elements(value, &json!(""), Value::is_string),
            "ownerReferences" | "managedFields" => decode_elements(value, &json!({}), Value::is_object),
            "name" | "namespace" | "generateName" | "uid" | "resourceVersion" | "selfLink" => value.is_string(),
            "creationTimestamp" | "deletionTimestamp" => value.as_str().is_some_and(is_time),
            "generation" | "deletionGracePeriodSeconds" => value.is_i64() || value.is_u64(),
            _ => true,
        };
        if !is_valid {
            return Err(format!("`metadata.{name}` has a value of another type"));
        }
    }
    Ok(())
}

/// Takes a null for an empty text.
fn decode_texts(value: &mut Value) -> bool {
    let Some(texts) = value.as_object_mut() else { return false };
    texts.values_mut().filter(|text| text.is_null()).for_each(|text| *text = json!(""));
    texts.values().all(Value::is_string)
}

/// Takes a null for an empty element.
fn decode_elements(value: &mut Value, empty: &Value, is_valid: fn(&Value) -> bool) -> bool {
    let Some(elements) = value.as_array_mut() else { return false };
    elements.iter_mut().filter(|element| element.is_null()).for_each(|element| element.clone_from(empty));
    elements.iter().all(is_valid)
}

fn is_time(text: &str) -> bool {
    text.parse::<WallTime>().is_ok()
}

/// Removes the fields that are null. Those in lists stay: no server takes them.
pub(super) fn remove_nulls(fields: &mut Map<String, Value>) {
    fields.retain(|_, value| !value.is_null());
    for (name, value) in fields {
        match value {
            Value::Object(below) if ["matchLabels", "nodeSelector"].contains(&name.as_str()) => {
                below.values_mut().filter(|text| text.is_null()).for_each(|text| *text = json!(""));
            }
            Value::Object(below) => remove_nulls(below),
            Value::Array(elements) => elements.iter_mut().filter_map(Value::as_object_mut).for_each(remove_nulls),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::Kinds;

    fn decoded(collection: &str, mut object: Value) -> Result<Value, String> {
        let kind = Kinds::new().of_collection(collection, true).unwrap();
        decode(&kind, &mut object).map(|()| object)
    }

    #[test]
    fn a_null_is_absent_or_empty() {
        let pod = json!({ "metadata": { "labels": { "a": null } }, "spec": { "nodeName": null, "nodeSelector": { "a": null },
            "containers": [{ "name": "a", "command": null }] } });
        let expected = json!({ "metadata": { "labels": { "a": "" } },
            "spec": { "nodeSelector": { "a": "" }, "containers": [{ "name": "a" }] } });
        assert_eq!(decoded("v1/pods", pod), Ok(expected));
        let foo = json!({ "spec": { "a": null, "b": [null] } });
        assert_eq!(decoded("example.com/v1/foos", foo.clone()), Ok(foo));
    }

    #[test]
    fn metadata_of_another_type_are_refused() {
        for metadata in [
            json!([]),
            json!({ "labels": { "a": 1 } }),
            json!({ "labels": [] }),
            json!({ "annotations": { "a": true } }),
            json!({ "finalizers": "x" }),
            json!({ "ownerReferences": [1] }),
            json!({ "name": 1 }),
            json!({ "creationTimestamp": "x" }),
        ] {
            assert!(decoded("example.com/v1/foos", json!({ "metadata": metadata })).is_err(), "{metadata}");
        }
    }
}
