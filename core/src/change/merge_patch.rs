use super::error::{ChangeError, ChangeErrorKind, Place};
use super::value::{find_null, names, same};
use serde_json::{Map, Value};

/// Applies a merge patch (RFC 7386, section 2), as an API server applies `application/merge-patch+json`.
///
/// A field of the patch replaces the field of the target; two objects are merged. A null removes the field, and a list
/// replaces the whole list. A patch that is no object replaces the target.
///
/// ```
/// use listwatch_core::change::apply_merge_patch;
/// use serde_json::json;
///
/// let mut object = json!({ "metadata": { "labels": { "a": "1", "b": "2" } }, "spec": { "ports": [80, 443] } });
/// apply_merge_patch(&mut object, &json!({ "metadata": { "labels": { "a": null } }, "spec": { "ports": [8080] } }));
/// assert_eq!(object, json!({ "metadata": { "labels": { "b": "2" } }, "spec": { "ports": [8080] } }));
/// ```
pub fn apply_merge_patch(target: &mut Value, patch: &Value) {
    let Value::Object(fields) = patch else {
        *target = patch.clone();
        return;
    };
    let mut object = match target.take() {
        Value::Object(object) => object,
        _ => Map::new(),
    };
    for (name, value) in fields {
        if value.is_null() {
            object.remove(name);
        } else {
            apply_merge_patch(object.entry(name).or_insert(Value::Null), value);
        }
    }
    *target = Value::Object(object);
}

/// The merge patch (RFC 7386) that makes `new` out of `old`.
pub(super) fn merge_patch(place: Place<'_>, old: &Value, new: &Value) -> Result<Value, ChangeError> {
    let changed = names(old, new).into_iter().filter(|name| !same(&old[*name], &new[*name]));
    changed.map(|name| Ok((name, merge_value(place.field(name), &old[name], &new[name])?))).collect()
}

fn merge_value(place: Place<'_>, old: &Value, new: &Value) -> Result<Value, ChangeError> {
    if old.is_object() && new.is_object() {
        return merge_patch(place, old, new);
    }
    // A server (evanphx/json-patch, `pruneNulls`) takes the nulls out of a list that it replaces.
    match find_null(place, new) {
        Some(path) => Err(ChangeError { path, kind: ChangeErrorKind::Null }),
        None => Ok(new.clone()),
    }
}

/// Whether the merge patch would replace or remove a list, or remove an object: the type may not show all of those.
pub(super) fn needs_raw(before: &Value, after: &Value) -> bool {
    match (before, after) {
        _ if same(before, after) => false,
        (Value::Array(_), _) | (_, Value::Array(_)) => true,
        (_, Value::Object(_)) => names(before, after).into_iter().any(|name| needs_raw(&before[name], &after[name])),
        (Value::Object(_), _) => true,
        _ => false,
    }
}

/// The merge patch that makes `laid` of `raw`, if they differ.
pub(super) fn patch_to(laid: &Value, raw: &Value) -> Result<Option<Value>, ChangeError> {
    let patch = merge_patch(Place::Root, raw, laid)?;
    Ok(Some(patch).filter(|patch| patch.as_object().is_some_and(|fields| !fields.is_empty())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_merge_patch_is_applied_as_in_each_example_of_its_rfc() {
        for (target, patch, expected) in [
            (json!({ "a": "b" }), json!({ "a": "c" }), json!({ "a": "c" })),
            (json!({ "a": "b" }), json!({ "b": "c" }), json!({ "a": "b", "b": "c" })),
            (json!({ "a": "b" }), json!({ "a": null }), json!({})),
            (json!({ "a": "b", "b": "c" }), json!({ "a": null }), json!({ "b": "c" })),
            (json!({ "a": ["b"] }), json!({ "a": "c" }), json!({ "a": "c" })),
            (json!({ "a": "c" }), json!({ "a": ["b"] }), json!({ "a": ["b"] })),
            (json!({ "a": { "b": "c" } }), json!({ "a": { "b": "d", "c": null } }), json!({ "a": { "b": "d" } })),
            (json!({ "a": [{ "b": "c" }] }), json!({ "a": [1] }), json!({ "a": [1] })),
            (json!(["a", "b"]), json!(["c", "d"]), json!(["c", "d"])),
            (json!({ "a": "b" }), json!(["c"]), json!(["c"])),
            (json!({ "a": "foo" }), json!(null), json!(null)),
            (json!({ "a": "foo" }), json!("bar"), json!("bar")),
            (json!({ "e": null }), json!({ "a": 1 }), json!({ "e": null, "a": 1 })),
            (json!([1, 2]), json!({ "a": "b", "c": null }), json!({ "a": "b" })),
            (json!({}), json!({ "a": { "bb": { "ccc": null } } }), json!({ "a": { "bb": {} } })),
        ] {
            let mut patched = target.clone();
            apply_merge_patch(&mut patched, &patch);
            assert_eq!(patched, expected, "{patch} on {target}");
        }
    }
}
