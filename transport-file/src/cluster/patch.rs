//! Patches: JSON Merge Patch (RFC 7386), and JSON Patch (RFC 6902).

use serde_json::Value;

/// Applies a merge patch.
pub(super) fn merge(target: &mut Value, patch: &Value) {
    let Some(fields) = patch.as_object() else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(serde_json::Map::new());
    }
    let Some(object) = target.as_object_mut() else { return };
    for (field, value) in fields {
        if value.is_null() {
            object.remove(field);
        } else {
            merge(object.entry(field).or_insert(Value::Null), value);
        }
    }
}
