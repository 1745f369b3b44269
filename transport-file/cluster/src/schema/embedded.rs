//! Objects inside of an object: they have a type, and valid metadata (apiextensions `schema/objectmeta`).

use super::pruning::child;
use super::structural::Schema;
use crate::refusal::{Cause, FieldError};
use crate::rules::metadata_faults;
use serde_json::Value;

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
    for name in ["apiVersion", "kind"] {
        let field = child(path, name);
        match object.get(name) {
            None => errors.push(FieldError::new(Cause::Required, &field, "")),
            Some(Value::String(text)) if text.is_empty() => {
                errors.push(FieldError::invalid(&field, "", "must not be empty"));
            }
            Some(Value::String(_)) => {}
            Some(other) => errors.push(FieldError::with_value(Cause::Invalid, &field, other, "must be a string")),
        }
    }
    errors.extend(metadata_faults(object, true).into_iter().map(|error| error.below(path)));
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
    }
}
