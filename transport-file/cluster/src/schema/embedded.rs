//! Objects inside of an object: they have a type, and valid metadata (apiextensions `schema/objectmeta`).

use super::pruning::child;
use super::structural::Schema;
use crate::decoding::decode_metadata;
use crate::metadata::remove_empty;
use crate::names::{DNS_LABEL, MIXED_CASE, embedded_faults, is_dns_label};
use crate::refusal::{Cause, FieldError};
use crate::rules::metadata_faults;
use serde_json::{Map, Value};

/// What is wrong with the embedded objects of an object.
pub(crate) fn faults(schema: &Schema, object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    check(schema, object, "", &mut errors);
    errors
}

fn check(schema: &Schema, value: &Value, path: &str, errors: &mut Vec<FieldError>) {
    match value {
        Value::Object(fields) => {
            if schema.is_embedded {
                check_embedded(value, path, errors);
            }
            for (name, value) in fields {
                let is_property = schema.properties.contains_key(name);
                let path = if is_property { child(path, name) } else { format!("{path}[{name}]") };
                schema.field(name).into_iter().for_each(|field| check(field, value, &path, errors));
            }
        }
        Value::Array(elements) => {
            for (place, element) in elements.iter().enumerate() {
                let element_schema = schema.element();
                element_schema.into_iter().for_each(|it| check(it, element, &format!("{path}[{place}]"), errors));
            }
        }
        _ => {}
    }
}

fn check_embedded(object: &Value, path: &str, errors: &mut Vec<FieldError>) {
    for (name, rule) in [("apiVersion", version_fault as fn(&str) -> Option<String>), ("kind", kind_fault)] {
        let field = child(path, name);
        match object.get(name) {
            None => errors.push(FieldError::new(Cause::Required, &field, "")),
            Some(Value::String(text)) if text.is_empty() => {
                errors.push(FieldError::invalid(&field, "", "must not be empty"));
            }
            Some(Value::String(text)) => errors.extend(rule(text).map(|why| FieldError::invalid(&field, text, &why))),
            Some(other) => errors.push(FieldError::with_value(Cause::Invalid, &field, other, "must be a string")),
        }
    }
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
    let found = metadata_faults(object, true).into_iter().chain(embedded_faults(text("name"), text("namespace")));
    errors.extend(found.map(|error| error.below(path)));
}

fn version_fault(version: &str) -> Option<String> {
    (version.matches('/').count() > 1).then(|| format!("unexpected GroupVersion string: {version}"))
}

fn kind_fault(kind: &str) -> Option<String> {
    (!is_dns_label(&kind.to_lowercase())).then(|| format!("{MIXED_CASE}{DNS_LABEL}"))
}

/// Makes of embedded objects what a server makes of them, and returns the paths of the metadata that it does not know.
/// `Err` says what no object can have.
pub(crate) fn coerce(schema: &Schema, object: &mut Value) -> Result<Vec<String>, String> {
    let mut unknown = Vec::new();
    coerce_value(schema, object, "", &mut unknown)?;
    unknown.sort_unstable();
    Ok(unknown)
}

fn coerce_value(schema: &Schema, value: &mut Value, path: &str, unknown: &mut Vec<String>) -> Result<(), String> {
    match value {
        Value::Object(fields) => {
            if schema.is_embedded {
                unknown.extend(coerce_embedded(fields, path)?);
            }
            for (name, value) in fields {
                let Some(field) = schema.field(name) else { continue };
                let is_property = schema.properties.contains_key(name);
                let path = if is_property { child(path, name) } else { format!("{path}[{name}]") };
                coerce_value(field, value, &path, unknown)?;
            }
        }
        Value::Array(elements) => {
            let Some(of) = schema.element() else { return Ok(()) };
            for (place, element) in elements.iter_mut().enumerate() {
                coerce_value(of, element, &format!("{path}[{place}]"), unknown)?;
            }
        }
        _ => {}
    }
    Ok(())
}

fn coerce_embedded(fields: &mut Map<String, Value>, path: &str) -> Result<Vec<String>, String> {
    for name in ["apiVersion", "kind"] {
        if let Some(other) = fields.get(name).filter(|value| !value.is_string()) {
            let error = FieldError::with_value(Cause::Invalid, &child(path, name), other, "must be a string");
            return Err(error.to_string());
        }
    }
    let Some(metadata) = fields.get_mut("metadata") else { return Ok(Vec::new()) };
    decode_metadata(metadata, None).map_err(|why| format!("{path}: {why}"))?;
    let Some(metadata) = metadata.as_object_mut() else { return Ok(Vec::new()) };
    let unknown = prune_metadata(metadata, path);
    remove_empty(metadata);
    Ok(unknown)
}

/// The fields of metadata that every object may have.
const METADATA: [&str; 15] = [
    "annotations",
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "finalizers",
    "generateName",
    "generation",
    "labels",
    "managedFields",
    "name",
    "namespace",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
    "uid",
];
const OWNER: [&str; 6] = ["apiVersion", "blockOwnerDeletion", "controller", "kind", "name", "uid"];
const MANAGER: [&str; 7] = ["apiVersion", "fieldsType", "fieldsV1", "manager", "operation", "subresource", "time"];

/// Removes the fields of metadata that no object has, and returns their paths in order.
pub(crate) fn prune_metadata(metadata: &mut Map<String, Value>, path: &str) -> Vec<String> {
    let path = child(path, "metadata");
    let mut unknown = Vec::new();
    for (list, known) in [("managedFields", &MANAGER[..]), ("ownerReferences", &OWNER)] {
        let elements = metadata.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten();
        for (place, element) in elements.enumerate().filter_map(|(place, it)| Some((place, it.as_object_mut()?))) {
            keep(element, known, &format!("{path}.{list}[{place}]"), &mut unknown);
        }
    }
    keep(metadata, &METADATA, &path, &mut unknown);
    unknown
}

fn keep(fields: &mut Map<String, Value>, known: &[&str], path: &str, unknown: &mut Vec<String>) {
    fields.retain(|name, _| {
        let is_known = known.contains(&name.as_str());
        if !is_known {
            unknown.push(child(path, name));
        }
        is_known
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_embedded_object_has_a_type_and_valid_metadata() {
        let of = json!({ "type": "object", "x-kubernetes-embedded-resource": true,
            "x-kubernetes-preserve-unknown-fields": true });
        let schema = Schema::read(&json!({ "type": "object", "properties": { "of": of } })).unwrap();
        let said = |of: Value| {
            let errors = faults(&schema, &json!({ "of": of }));
            errors.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let metadata = json!({ "labels": { "a": "-" } });
        let found = said(json!({ "kind": 1, "metadata": metadata }));
        assert_eq!(found[..2], ["of.apiVersion: Required value", "of.kind: Invalid value: 1: must be a string"]);
        assert!(found[2].starts_with("of.metadata.labels: Invalid value: \"-\": a valid label"), "{found:?}");
        assert_eq!(said(json!({ "apiVersion": "v1", "kind": "A" })), [""; 0]);
        let found =
            said(json!({ "apiVersion": "a/b/c", "kind": "a.b", "metadata": { "name": "a/b", "namespace": "-" } }));
        let fields: Vec<&str> = found.iter().filter_map(|found| found.split(": Invalid").next()).collect();
        assert_eq!(fields, ["of.apiVersion", "of.kind", "of.metadata.name", "of.metadata.namespace"], "{found:?}");
    }

    #[test]
    fn the_metadata_of_an_embedded_object_have_their_types_and_no_other_fields() {
        let of = json!({ "type": "array", "items": { "type": "object", "x-kubernetes-embedded-resource": true } });
        let schema = Schema::read(&json!({ "type": "object", "properties": { "of": of } })).unwrap();
        let coerced = |of: Value| {
            let mut object = json!({ "of": [of] });
            coerce(&schema, &mut object).map(|unknown| (object["of"][0].take(), unknown))
        };
        let metadata = json!({ "x": 1, "labels": null, "annotations": { "a": null }, "ownerReferences": [{ "uid": "u", "y": 1 }] });
        let expected = json!({ "metadata": { "annotations": { "a": "" }, "ownerReferences": [{ "uid": "u" }] } });
        let unknown = ["of[0].metadata.ownerReferences[0].y", "of[0].metadata.x"].map(str::to_owned).to_vec();
        assert_eq!(coerced(json!({ "metadata": metadata })), Ok((expected, unknown)));
        assert_eq!(coerced(json!({ "metadata": null })), Ok((json!({ "metadata": {} }), Vec::new())));
        assert_eq!(coerced(json!({ "kind": 1 })), Err("of[0].kind: Invalid value: 1: must be a string".into()));
        assert!(coerced(json!({ "metadata": { "name": 1 } })).is_err() && coerced(json!({ "metadata": "x" })).is_err());
    }
}
