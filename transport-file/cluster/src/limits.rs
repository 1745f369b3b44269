//! How large an object may be.

use super::refusal::Refusal;
use serde_json::{Value, json};

/// The most bytes of an object, as an API server takes them in a request.
pub(super) const BYTES: usize = 3 * 1024 * 1024;

/// The most bytes of an object that etcd stores.
const STORED: usize = 3 * 1024 * 1024 / 2;

/// The most levels of objects and arrays: as many as serde_json reads.
pub(super) const LEVELS: usize = 127;

/// The most bytes of the paths of fields that the field managers of an object have, all of them together. Each path
/// repeats the names above its field.
pub(super) const PATHS: usize = 64 * 1024 * 1024;

/// About how many bytes a step of a path takes beside its name.
pub(super) const STEP: usize = 32;

/// Checks the size of an object, and of the paths of its fields.
pub(super) fn check(object: &Value) -> Result<(), Refusal> {
    if bytes_of(object, LEVELS).ok_or_else(too_deep)? > BYTES {
        return Err(Refusal::too_large_entity(&format!("the object has more than {BYTES} bytes")));
    }
    check_paths(paths_of(object, STEP))
}

/// Checks whether etcd stores an object.
pub(super) fn check_stored(object: &Value) -> Result<(), Refusal> {
    match bytes_of(object, LEVELS) {
        Some(bytes) if bytes > STORED => Err(Refusal::without_reason(500, "etcdserver: request is too large")),
        _ => Ok(()),
    }
}

/// Checks how many bytes the paths of fields have.
pub(super) fn check_paths(bytes: usize) -> Result<(), Refusal> {
    if bytes <= PATHS {
        return Ok(());
    }
    Err(Refusal::too_large_entity(&format!("the paths of the managed fields have more than {PATHS} bytes")))
}

pub(super) fn too_deep() -> Refusal {
    let why = format!("the patched object has more than {LEVELS} levels");
    Refusal::new(422, "Invalid", why).with_details(json!({}))
}

/// About how many bytes a value has as JSON; `None` if it has more levels than this.
pub(super) fn bytes_of(value: &Value, levels: usize) -> Option<usize> {
    match value {
        Value::Array(elements) => {
            let below = levels.checked_sub(1)?;
            elements.iter().try_fold(2, |sum, element| Some(sum + 1 + bytes_of(element, below)?))
        }
        Value::Object(fields) => {
            let below = levels.checked_sub(1)?;
            fields.iter().try_fold(2, |sum, (field, value)| Some(sum + 4 + field.len() + bytes_of(value, below)?))
        }
        Value::String(text) => Some(2 + text.len()),
        Value::Null | Value::Bool(_) | Value::Number(_) => Some(4),
    }
}

/// About how many bytes the paths of the fields in a value have, below a path of this many.
fn paths_of(value: &Value, above: usize) -> usize {
    let sum = |paths: &mut dyn Iterator<Item = usize>| paths.fold(above, usize::saturating_add);
    match value {
        Value::Array(elements) => sum(&mut elements.iter().map(|element| paths_of(element, above + key_of(element)))),
        Value::Object(fields) => {
            sum(&mut fields.iter().map(|(field, value)| paths_of(value, above + STEP + field.len())))
        }
        _ => above,
    }
}

/// About how many bytes name an element in a path: an element itself or, of one with fields, its key.
fn key_of(element: &Value) -> usize {
    let text = |value: &Value| value.as_str().map_or(STEP, |text| STEP + text.len());
    element.as_object().map_or_else(|| text(element), |fields| fields.values().map(text).max().unwrap_or(STEP))
}
