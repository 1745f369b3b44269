//! The values of absent fields (apiextensions `schema/defaulting`).

use super::structural::Schema;
use serde_json::Value;

/// Gives a value the defaults of its schema.
pub(crate) fn set_defaults(schema: &Schema, value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, property) in &schema.properties {
                let Some(default) = &property.default else { continue };
                if fields.get(name).is_none_or(|value| lacks_value(property, value)) {
                    fields.insert(name.clone(), default.clone());
                }
            }
            for (name, value) in fields {
                if let Some(field) = schema.field(name) {
                    set_element(field, !schema.properties.contains_key(name), value);
                }
            }
        }
        Value::Array(elements) => {
            if let Some(element_schema) = schema.element() {
                elements.iter_mut().for_each(|element| set_element(element_schema, true, element));
            }
        }
        _ => {}
    }
}

/// Gives a value its defaults; an element that is null becomes its own.
fn set_element(schema: &Schema, is_element: bool, value: &mut Value) {
    if is_element && lacks_value(schema, value) {
        *value = schema.default.clone().unwrap_or_default();
    }
    set_defaults(schema, value);
}

fn lacks_value(schema: &Schema, value: &Value) -> bool {
    value.is_null() && !schema.nullable
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_absent_field_gets_its_default_at_every_depth() {
        let port = json!({ "type": "object", "properties": { "protocol": { "type": "string", "default": "TCP" } } });
        let schema = json!({ "type": "object", "properties": {
            "spec": { "type": "object", "default": {}, "properties": {
                "size": { "type": "integer", "default": 3 },
                "note": { "type": "string", "nullable": true, "default": "n" },
                "ports": { "type": "array", "items": port }, "byName": { "type": "object", "additionalProperties": port } } } } });
        let schema = Schema::read(&schema).unwrap();
        for (given, expected) in [
            (json!({}), json!({ "spec": { "size": 3, "note": "n" } })),
            (json!({ "spec": { "size": null, "note": null } }), json!({ "spec": { "size": 3, "note": null } })),
            (
                json!({ "spec": { "size": 0, "note": "", "ports": [{}], "byName": { "a": {} } } }),
                json!({ "spec": { "size": 0, "note": "", "ports": [{ "protocol": "TCP" }],
                    "byName": { "a": { "protocol": "TCP" } } } }),
            ),
        ] {
            let mut object = given;
            set_defaults(&schema, &mut object);
            assert_eq!(object, expected);
        }
    }
}
