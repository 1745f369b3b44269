use super::error::{ChangeError, ChangeErrorKind};
use super::place::Place;
use super::value::{find_null, names, same};
use serde_json::Value;

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
