//! The owners of fields, by the `managedFields` of an object (server-side apply).

use super::values::at;
use alloc::format;
use alloc::string::String;
use serde_json::Value;

/// The manager that set one of these fields last. That is another one than `own`, if there is one.
pub(super) fn manager_of<'o>(object: &'o Value, pointers: &[String], own: &str) -> Option<&'o str> {
    pointers.iter().find_map(|pointer| {
        let entries = object["metadata"]["managedFields"].as_array()?.iter();
        let owners = entries.filter(|entry| owns(&entry["fieldsV1"], object, pointer));
        let named = owners.filter_map(|entry| Some((entry["manager"].as_str()?, entry["time"].as_str())));
        named.max_by_key(|(manager, time)| (*manager != own, *time)).map(|(manager, _)| manager)
    })
}

/// Whether a set of fields has the field at this pointer of `object`, or all that is around it.
fn owns(set: &Value, object: &Value, pointer: &str) -> bool {
    let Some(below) = pointer.strip_prefix('/') else { return !set.is_null() };
    let Some(set) = set.as_object() else { return false };
    // It has all that is below.
    if set.is_empty() {
        return true;
    }
    let (segment, rest) = below.find('/').map_or((below, ""), |end| below.split_at(end));
    let value = at(object, &format!("/{segment}"));
    let name = segment.replace("~1", "/").replace("~0", "~");
    set.iter().any(|(key, set)| is_step(key, &name, object.is_array(), value) && owns(set, value, rest))
}

/// Whether a key of a set leads to this field or element: `f:replicas`, `k:{"name":"web"}`, `v:"a"`, `i:0`.
fn is_step(key: &str, name: &str, is_element: bool, value: &Value) -> bool {
    let parsed = |text: &str| serde_json::from_str::<Value>(text).ok();
    match (key.split_once(':'), is_element) {
        (Some(("f", field)), false) => field == name,
        (Some(("i", index)), true) => index == name,
        (Some(("v", text)), true) => parsed(text).is_some_and(|known| known == *value),
        (Some(("k", text)), true) => {
            let keys = parsed(text);
            let mut keys = keys.as_ref().and_then(Value::as_object).into_iter().flatten().peekable();
            keys.peek().is_some() && keys.all(|(name, known)| value[name] == *known)
        }
        _ => false,
    }
}
