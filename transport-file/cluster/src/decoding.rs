//! What a server reads of the JSON of an object: metadata have their types, and nulls are absent.

use super::config_data::ConfigKind;
use super::typed::{decode_texts, mismatch};
use crate::kinds::ServedKind;
use listwatch_core::time::WallTime;
use serde_json::{Map, Value, json};

/// Reads an object of a kind. `Err` says what no object of the kind can have.
pub(super) fn decode(kind: &ServedKind, object: &mut Value) -> Result<(), String> {
    decode_applied(kind, object)?;
    remove_own_nulls(kind, object);
    Ok(())
}

/// Reads what is applied, whose nulls take values away.
pub(super) fn decode_applied(kind: &ServedKind, object: &mut Value) -> Result<(), String> {
    if let Some(metadata) = object.get_mut("metadata") {
        decode_metadata(metadata, (!kind.is_custom()).then_some(kind.kind.as_str()))?;
    }
    if let Some(config) = ConfigKind::of(kind) {
        config.decode(object)?;
    }
    Ok(())
}

/// Removes the nulls of an object of Kubernetes' own kinds.
pub(super) fn remove_own_nulls(kind: &ServedKind, object: &mut Value) {
    match object.as_object_mut() {
        Some(fields) if !kind.is_custom() && has_any_json(kind) => fields.retain(|_, value| !value.is_null()),
        Some(fields) if !kind.is_custom() => remove_nulls(fields),
        _ => {}
    }
}

/// Whether the objects of a kind have fields that take any JSON.
pub(super) fn has_any_json(kind: &ServedKind) -> bool {
    kind.kind == "ControllerRevision" || ["apiextensions.k8s.io", "resource.k8s.io"].contains(&kind.group())
}

/// The metadata that map names to texts.
pub(super) const TEXTS: [&str; 2] = ["annotations", "labels"];

/// Takes the nulls of labels and annotations for empty texts.
pub(super) fn fill_texts(object: &mut Value) {
    for field in TEXTS {
        let texts = object.get_mut("metadata").and_then(|metadata| metadata.get_mut(field)?.as_object_mut());
        texts.into_iter().flatten().filter(|(_, text)| text.is_null()).for_each(|(_, text)| *text = json!(""));
    }
}

/// Reads metadata, those of a kind of Kubernetes together with the object. `Err` says what no metadata can have.
pub(super) fn decode_metadata(metadata: &mut Value, kind: Option<&str>) -> Result<(), String> {
    if metadata.is_null() {
        *metadata = json!({});
    }
    let (whole, inside) = match kind {
        Some(kind) => (format!("struct field {kind}.metadata"), "struct field ObjectMeta.metadata"),
        None => ("value".to_owned(), "struct field ObjectMeta"),
    };
    let fields = match metadata {
        Value::Object(fields) => fields,
        other => return Err(mismatch(other, &whole, "v1.ObjectMeta")),
    };
    // Go reads on after a value of another type, but not after a text that is no date.
    let dates = ["creationTimestamp", "deletionTimestamp"].into_iter().filter_map(|name| fields.get(name));
    dates.filter(|date| date.is_string()).try_for_each(decode_time)?;
    for (name, value) in fields.iter_mut().filter(|(_, value)| !value.is_null()) {
        let inside = format!("{inside}.{name}");
        match name.as_str() {
            "labels" | "annotations" => decode_texts(value, &inside, "string")?,
            "finalizers" => decode_elements(value, &inside, "string", &json!(""))?,
            "ownerReferences" => decode_elements(value, &inside, "v1.OwnerReference", &json!({}))?,
            "managedFields" => decode_elements(value, &inside, "v1.ManagedFieldsEntry", &json!({}))?,
            "uid" if !value.is_string() => return Err(mismatch(value, &inside, "types.UID")),
            "name" | "namespace" | "generateName" | "resourceVersion" | "selfLink" if !value.is_string() => {
                return Err(mismatch(value, &inside, "string"));
            }
            "creationTimestamp" | "deletionTimestamp" => decode_time(value)?,
            "generation" | "deletionGracePeriodSeconds" if !value.is_i64() && !value.is_u64() => {
                return Err(mismatch(value, &inside, "int64"));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Takes a null for an empty element.
fn decode_elements(value: &mut Value, place: &str, of: &str, empty: &Value) -> Result<(), String> {
    let elements = match value {
        Value::Array(elements) => elements,
        other => return Err(mismatch(other, place, &format!("[]{of}"))),
    };
    elements.iter_mut().filter(|element| element.is_null()).for_each(|element| element.clone_from(empty));
    let is_valid =
        |element: &Value| element.is_string() == empty.is_string() && element.is_object() == empty.is_object();
    elements.iter().find(|element| !is_valid(element)).map_or(Ok(()), |other| Err(mismatch(other, place, of)))
}

fn decode_time(value: &Value) -> Result<(), String> {
    let Some(text) = value.as_str() else { return Err(mismatch(value, "value", "string")) };
    if text.parse::<WallTime>().is_ok() {
        return Ok(());
    }
    Err(format!("parsing time {text:?} as \"2006-01-02T15:04:05Z07:00\": cannot parse {text:?} as \"2006\""))
}

/// The fields that map names to texts, where a null is an empty text.
const STRING_MAPS: [&str; 4] = ["annotations", "labels", "matchLabels", "nodeSelector"];

/// The fields that map names to quantities, where a null is a zero.
const QUANTITY_MAPS: [&str; 9] =
    ["capacity", "default", "defaultRequest", "hard", "limits", "max", "maxLimitRequestRatio", "min", "requests"];

/// Removes the fields that are null. In a list of texts a null is an empty text, and in other lists it stays: no server takes
/// it there.
pub(super) fn remove_nulls(fields: &mut Map<String, Value>) {
    fields.retain(|_, value| !value.is_null());
    for (name, value) in fields {
        let of_null = match name.as_str() {
            name if STRING_MAPS.contains(&name) => Some(""),
            name if QUANTITY_MAPS.contains(&name) => Some("0"),
            _ => None,
        };
        match value {
            Value::Object(below) if of_null.is_some() => {
                below.values_mut().filter(|value| value.is_null()).for_each(|value| *value = json!(of_null));
            }
            Value::Object(below) => remove_nulls(below),
            Value::Array(elements) if elements.iter().any(Value::is_string) => {
                elements.iter_mut().filter(|element| element.is_null()).for_each(|element| *element = json!(""));
            }
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
        let range = |least: Value| json!({ "metadata": {}, "spec": { "limits": [{ "min": { "storage": least } }] } });
        assert_eq!(decoded("v1/limitranges", range(json!(null))), Ok(range(json!("0"))));
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
