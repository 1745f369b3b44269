//! The fields that a schema does not know, and the nulls that it does not take (apiextensions `schema/pruning`).

use super::structural::Schema;
use serde_json::{Map, Value};

/// The fields of an embedded object that every object has.
const METADATA: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Removes the fields of an object that its schema does not know, and returns their paths in order.
pub(crate) fn prune(schema: &Schema, object: &mut Value) -> Vec<String> {
    let mut unknown = Vec::new();
    if let Value::Object(fields) = object {
        if schema.preserves_unknown() {
            keep_fields(schema, true, fields, "", &mut unknown);
        } else {
            prune_fields(Some(schema), true, fields, "", &mut unknown);
        }
    }
    unknown.sort_unstable();
    unknown
}

fn prune_value(schema: Option<&Schema>, value: &mut Value, path: &str, unknown: &mut Vec<String>) {
    if let Some(schema) = schema.filter(|schema| schema.preserves_unknown()) {
        return keep(schema, value, path, unknown);
    }
    match value {
        Value::Object(fields) => {
            let is_embedded = schema.is_some_and(|schema| schema.is_embedded);
            prune_fields(schema, is_embedded, fields, path, unknown);
        }
        Value::Array(elements) => {
            for (place, element) in elements.iter_mut().enumerate() {
                prune_value(schema.and_then(Schema::element), element, &format!("{path}[{place}]"), unknown);
            }
        }
        _ => {}
    }
}

fn prune_fields(
    schema: Option<&Schema>,
    is_embedded: bool,
    fields: &mut Map<String, Value>,
    path: &str,
    unknown: &mut Vec<String>,
) {
    fields.retain(|name, value| {
        if is_embedded && METADATA.contains(&name.as_str()) {
            return true;
        }
        let path = child(path, name);
        let is_known = schema.is_some_and(|it| it.properties.contains_key(name) || it.additional_properties.is_some());
        if is_known {
            prune_value(schema.and_then(|schema| schema.field(name)), value, &path, unknown);
        } else {
            unknown.push(path);
        }
        is_known
    });
}

/// Removes unknown fields below the known fields of a value that may have others.
fn keep(schema: &Schema, value: &mut Value, path: &str, unknown: &mut Vec<String>) {
    match value {
        Value::Object(fields) => keep_fields(schema, schema.is_embedded, fields, path, unknown),
        Value::Array(elements) => {
            let Some(element_schema) = schema.element() else { return };
            for (place, element) in elements.iter_mut().enumerate() {
                keep(element_schema, element, &format!("{path}[{place}]"), unknown);
            }
        }
        _ => {}
    }
}

fn keep_fields(
    schema: &Schema,
    is_embedded: bool,
    fields: &mut Map<String, Value>,
    path: &str,
    unknown: &mut Vec<String>,
) {
    for (name, value) in fields.iter_mut().filter(|(name, _)| !(is_embedded && METADATA.contains(&name.as_str()))) {
        if schema.properties.contains_key(name) || schema.additional_properties.is_some() {
            prune_value(schema.field(name), value, &child(path, name), unknown);
        }
    }
}

/// Removes the nulls that a schema does not take, unless they have a default.
pub(crate) fn remove_nulls(schema: Option<&Schema>, value: &mut Value) {
    match value {
        Value::Object(fields) => {
            let field = |name: &str| schema.and_then(|schema| schema.field(name));
            let goes = |schema: &Schema| !schema.nullable && schema.default.is_none();
            fields.retain(|name, value| !value.is_null() || !field(name).is_some_and(goes));
            fields.iter_mut().for_each(|(name, value)| remove_nulls(field(name), value));
        }
        Value::Array(elements) => {
            let element_schema = schema.and_then(Schema::element);
            elements.iter_mut().for_each(|element| remove_nulls(element_schema, element));
        }
        _ => {}
    }
}

pub(super) fn child(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pruned(schema: &Value, mut object: Value) -> (Value, Vec<String>) {
        let unknown = prune(&Schema::read(schema).unwrap(), &mut object);
        (object, unknown)
    }

    #[test]
    fn unknown_fields_are_removed_and_named() {
        let inner = json!({ "type": "object", "properties": { "b": { "type": "string" } } });
        let schema = json!({ "type": "object", "properties": { "spec": { "type": "object", "properties": {
            "a": { "type": "integer" }, "list": { "type": "array", "items": inner },
            "map": { "type": "object", "additionalProperties": inner } } } } });
        let object = json!({ "apiVersion": "v1", "kind": "K", "metadata": { "x": 1 }, "top": 1,
            "spec": { "a": 1, "c": { "d": 2 }, "list": [{ "b": "", "e": 1 }], "map": { "k": { "f": 1 } } } });
        let expected = json!({ "apiVersion": "v1", "kind": "K", "metadata": { "x": 1 },
            "spec": { "a": 1, "list": [{ "b": "" }], "map": { "k": {} } } });
        let unknown = ["spec.c", "spec.list[0].e", "spec.map.k.f", "top"].map(str::to_owned);
        assert_eq!(pruned(&schema, object), (expected, unknown.to_vec()));
    }

    #[test]
    fn a_schema_that_preserves_unknown_fields_prunes_below_those_it_knows() {
        let known = json!({ "type": "object", "properties": { "b": { "type": "string" } } });
        let schema = json!({ "type": "object", "properties": { "spec": { "type": "object",
            "x-kubernetes-preserve-unknown-fields": true, "properties": { "known": known } } } });
        let object = json!({ "spec": { "other": { "x": 1 }, "known": { "b": "", "c": 1 } } });
        let expected = json!({ "spec": { "other": { "x": 1 }, "known": { "b": "" } } });
        assert_eq!(pruned(&schema, object), (expected, vec!["spec.known.c".to_owned()]));
    }

    #[test]
    fn an_embedded_object_keeps_its_metadata() {
        let schema = json!({ "type": "object", "properties": { "of": { "type": "object",
            "x-kubernetes-embedded-resource": true, "properties": { "spec": { "type": "object" } } } } });
        let object =
            json!({ "of": { "kind": "A", "apiVersion": "v1", "metadata": { "name": "a" }, "spec": {}, "x": 1 } });
        let expected = json!({ "of": { "kind": "A", "apiVersion": "v1", "metadata": { "name": "a" }, "spec": {} } });
        assert_eq!(pruned(&schema, object), (expected, vec!["of.x".to_owned()]));
    }

    #[test]
    fn a_null_goes_unless_it_is_taken_or_has_a_default() {
        let schema = json!({ "type": "object", "properties": { "a": { "type": "string" },
            "b": { "type": "string", "nullable": true }, "c": { "type": "string", "default": "x" } } });
        let mut object = json!({ "a": null, "b": null, "c": null });
        remove_nulls(Some(&Schema::read(&schema).unwrap()), &mut object);
        assert_eq!(object, json!({ "b": null, "c": null }));
    }
}
