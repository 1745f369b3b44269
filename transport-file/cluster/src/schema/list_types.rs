//! Lists whose elements are told apart: none is there twice (apiextensions `schema/listtype`).

use super::pruning::child;
use super::structural::{ListType, Schema, keys_of};
use crate::refusal::{Cause, FieldError};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The elements of sets and of lists with keys that are there twice.
pub(crate) fn faults(schema: &Schema, object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    check(schema, object, "", &mut errors);
    errors
}

fn check(schema: &Schema, value: &Value, path: &str, errors: &mut Vec<FieldError>) {
    match value {
        Value::Object(fields) => check_fields(schema, fields, path, errors),
        Value::Array(elements) => {
            match schema.list_type() {
                ListType::Atomic => {}
                ListType::Set => {
                    check_twice(elements.iter().map(|element| (element.clone(), element.to_string())), path, errors);
                }
                ListType::Map(keys) => check_keys(keys, elements, path, errors),
            }
            if let Some(element_schema) = schema.element() {
                for (place, element) in elements.iter().enumerate() {
                    check(element_schema, element, &format!("{path}[{place}]"), errors);
                }
            }
        }
        _ => {}
    }
}

fn check_fields(schema: &Schema, fields: &Map<String, Value>, path: &str, errors: &mut Vec<FieldError>) {
    if let Some(additional) = schema.additional() {
        for (name, value) in fields {
            check(additional, value, &format!("{path}[{name}]"), errors);
        }
    }
    for (name, property) in &schema.properties {
        if let Some(value) = fields.get(name) {
            check(property, value, &child(path, name), errors);
        }
    }
}

fn check_keys(keys: &[String], elements: &[Value], path: &str, errors: &mut Vec<FieldError>) {
    if let Some((place, other)) = elements.iter().enumerate().find(|(_, it)| !it.is_object() && !it.is_null()) {
        let why = "must be an object for an array of list-type map";
        return errors.push(FieldError::with_value(Cause::Invalid, &format!("{path}[{place}]"), other, why));
    }
    let keyed = elements.iter().map(|element| {
        let given = keys.iter().filter_map(|key| Some((key.clone(), element.get(key)?.clone()))).collect::<Value>();
        (given, format!("{:?}", keys_of(keys, element)))
    });
    check_twice(keyed, path, errors);
}

/// Finds the elements that are there twice, each of them once.
fn check_twice(elements: impl Iterator<Item = (Value, String)>, path: &str, errors: &mut Vec<FieldError>) {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for (place, (shown, identity)) in elements.enumerate() {
        let times = seen.entry(identity).or_default();
        *times += 1;
        if *times == 2 {
            errors.push(FieldError::with_value(Cause::Duplicate, &format!("{path}[{place}]"), &shown, ""));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_element_that_is_there_twice_is_named_once() {
        let port = json!({ "type": "object", "properties": { "port": { "type": "integer" }, "protocol": { "type": "string" } } });
        let schema = json!({ "type": "object", "properties": {
            "set": { "type": "array", "x-kubernetes-list-type": "set", "items": { "type": "string" } },
            "map": { "type": "object", "additionalProperties": { "type": "array", "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["port", "protocol"], "items": port } } } });
        let schema = Schema::read(&schema).unwrap();
        let said = |object: Value| faults(&schema, &object).iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(said(json!({ "set": ["a", "b", "a", "a"] })), ["set[2]: Duplicate value: \"a\""]);
        let ports = json!([{ "port": 1, "protocol": "TCP" }, { "port": 1, "protocol": "UDP" }, { "protocol": "TCP", "port": 1 }]);
        assert_eq!(
            said(json!({ "map": { "k": ports } })),
            ["map[k][2]: Duplicate value: {\"port\":1,\"protocol\":\"TCP\"}"]
        );
        assert_eq!(said(json!({ "map": { "k": [{ "port": 1 }, { "port": 2 }] } })), [""; 0]);
    }
}
