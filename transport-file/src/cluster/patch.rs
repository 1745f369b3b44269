//! Patches that are no merge patches (RFC 7386): JSON Patch (RFC 6902), and strategic merge patches.

use super::merge_keys::ListType;
use super::refusal::Refusal;
use serde::Deserialize;
use serde_json::{Map, Value};

/// Applies a strategic merge patch. The elements of lists are told apart by the keys that the types of Kubernetes have.
/// An order of elements (`$setElementOrder`) is not kept.
pub(super) fn strategic(target: &mut Value, patch: &Value) {
    let Some(fields) = patch.as_object() else {
        *target = patch.clone();
        return;
    };
    if fields.get("$patch").is_some_and(|how| how == "replace") {
        *target = Value::Object(without_directives(fields));
        return;
    }
    let object = object_of(target);
    for (field, value) in fields {
        match (field.split_once('/'), value) {
            (Some(("$deleteFromPrimitiveList", list)), Value::Array(gone)) => {
                let elements = object.get_mut(list).and_then(Value::as_array_mut);
                elements.into_iter().for_each(|elements| elements.retain(|element| !gone.contains(element)));
            }
            _ if field.starts_with('$') => {}
            (_, Value::Null) => drop(object.remove(field)),
            (_, Value::Array(patch)) => strategic_list(object.entry(field).or_insert(Value::Null), field, patch),
            _ => strategic(object.entry(field).or_insert(Value::Null), value),
        }
    }
}

fn strategic_list(target: &mut Value, field: &str, patch: &[Value]) {
    let directive = |element: &Value, wanted: &str| element.get("$patch").is_some_and(|how| how == wanted);
    let replaces = patch.iter().any(|element| directive(element, "replace"));
    let kept: Vec<Value> = patch.iter().filter(|element| !directive(element, "replace")).cloned().collect();
    let (Some(elements), false) = (target.as_array_mut(), replaces) else {
        *target = Value::Array(kept.into_iter().filter(|element| !directive(element, "delete")).collect());
        return;
    };
    let list = ListType::of(true, field, &kept);
    if list == ListType::Atomic {
        *elements = kept;
        return;
    }
    let same = |one: &Value, other: &Value| list.is_same(one, other);
    let before = std::mem::take(elements);
    let (gone, patches): (Vec<Value>, Vec<Value>) = kept.into_iter().partition(|element| directive(element, "delete"));
    let left = before.iter().filter(|element| !gone.iter().any(|gone| same(gone, element)));
    let patched = patches.iter().map(|patch| {
        let known = before.iter().find(|element| same(patch, element));
        let mut element = known.cloned().unwrap_or_default();
        strategic(&mut element, patch);
        element
    });
    let others = left.filter(|element| !patches.iter().any(|patch| same(patch, element))).cloned();
    let place = |element: &Value| before.iter().position(|known| same(known, element));
    *elements = merge_sorted(others.collect(), patched.collect(), place);
}

/// Merges the elements that a patch does not name into those that it names. The order before counts for two that were
/// there (apimachinery `strategicpatch.mergeSortedSlice`).
fn merge_sorted(others: Vec<Value>, patched: Vec<Value>, place: impl Fn(&Value) -> Option<usize>) -> Vec<Value> {
    let mut merged = Vec::with_capacity(others.len() + patched.len());
    let mut others = others.into_iter().peekable();
    for element in patched {
        let after = place(&element);
        while let Some(other) = others.next_if(|other| after.is_some_and(|after| place(other) < Some(after))) {
            merged.push(other);
        }
        merged.push(element);
    }
    merged.extend(others);
    merged
}

fn without_directives(fields: &Map<String, Value>) -> Map<String, Value> {
    fields
        .iter()
        .filter(|(field, _)| !field.starts_with('$'))
        .map(|(field, value)| (field.clone(), value.clone()))
        .collect()
}

fn object_of(target: &mut Value) -> &mut Map<String, Value> {
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    target.as_object_mut().expect("it was made one above")
}

/// An operation of a JSON Patch.
#[derive(Deserialize)]
#[serde(tag = "op", rename_all = "lowercase")]
enum Operation {
    Add { path: String, value: Value },
    Copy { from: String, path: String },
    Move { from: String, path: String },
    Remove { path: String },
    Replace { path: String, value: Value },
    Test { path: String, value: Value },
}

/// Applies a JSON patch: all of its operations, or none.
pub(super) fn json(target: &Value, patch: &Value) -> Result<Value, Refusal> {
    let operations = Vec::<Operation>::deserialize(patch);
    let operations = operations.map_err(|error| Refusal::bad_request(format!("error decoding patch: {error}")))?;
    let mut target = target.clone();
    for operation in operations {
        perform(&mut target, operation).ok_or_else(Refusal::unprocessable)?;
    }
    Ok(target)
}

/// Performs an operation; `None` if its place is not there, or a test fails.
fn perform(target: &mut Value, operation: Operation) -> Option<()> {
    match operation {
        Operation::Add { path, value } => add(target, &path, value),
        Operation::Copy { from, path } => {
            let value = target.pointer(&from)?.clone();
            add(target, &path, value)
        }
        Operation::Move { from, path } => {
            let value = take(target, &from)?;
            add(target, &path, value)
        }
        Operation::Remove { path } => take(target, &path).map(drop),
        Operation::Replace { path, value } => {
            *target.pointer_mut(&path)? = value;
            Some(())
        }
        Operation::Test { path, value } => (*target.pointer(&path)? == value).then_some(()),
    }
}

fn add(target: &mut Value, path: &str, value: Value) -> Option<()> {
    if path.is_empty() {
        *target = value;
        return Some(());
    }
    let (parent, last) = split(path)?;
    match target.pointer_mut(parent)? {
        Value::Object(fields) => drop(fields.insert(last, value)),
        Value::Array(elements) if last == "-" => elements.push(value),
        Value::Array(elements) => {
            let place = last.parse().ok().filter(|place| *place <= elements.len())?;
            elements.insert(place, value);
        }
        _ => return None,
    }
    Some(())
}

fn take(target: &mut Value, path: &str) -> Option<Value> {
    let (parent, last) = split(path)?;
    match target.pointer_mut(parent)? {
        Value::Object(fields) => fields.remove(&last),
        Value::Array(elements) => {
            let place = last.parse().ok().filter(|place| *place < elements.len())?;
            Some(elements.remove(place))
        }
        _ => None,
    }
}

/// The parent of a path, and its last segment.
fn split(path: &str) -> Option<(&str, String)> {
    let (parent, last) = path.rsplit_once('/')?;
    Some((parent, last.replace("~1", "/").replace("~0", "~")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_json_patch_does_all_of_its_operations_or_none() {
        let target = json!({ "a": { "b~/c": 1 }, "l": [1, 3] });
        let patch = json!([
            { "op": "test", "path": "/a/b~0~1c", "value": 1 },
            { "op": "add", "path": "/l/1", "value": 2 },
            { "op": "add", "path": "/l/-", "value": 4 },
            { "op": "move", "from": "/a", "path": "/m" },
            { "op": "remove", "path": "/l/0" },
        ]);
        assert_eq!(json(&target, &patch), Ok(json!({ "l": [2, 3, 4], "m": { "b~/c": 1 } })));
        for operation in [
            json!({ "op": "add", "path": "/l/9", "value": 0 }),
            json!({ "op": "remove", "path": "/none" }),
            json!({ "op": "replace", "path": "/none", "value": 0 }),
            json!({ "op": "test", "path": "/l/0", "value": 9 }),
            json!({ "op": "add", "path": "/none/a", "value": 9 }),
        ] {
            let refused = json(&target, &json!([{ "op": "remove", "path": "/a" }, operation]));
            assert_eq!(refused.map_err(|refusal| refusal.code), Err(422), "{operation}");
        }
        assert_eq!(json(&target, &json!([{ "op": "grow", "path": "/l" }])).map_err(|refusal| refusal.code), Err(400));
    }

    #[test]
    fn a_strategic_patch_tells_elements_apart_by_their_keys() {
        let mut pod = json!({ "containers": [{ "name": "a", "image": "1" }, { "name": "b", "image": "1" }],
            "tolerations": [{ "key": "x" }], "finalizers": ["x/y"], "labels": { "k": "v", "l": "w" } });
        let patch = json!({ "containers": [{ "name": "b", "image": "2" }, { "name": "a", "$patch": "delete" }, { "name": "c" }],
            "$setElementOrder/containers": [{ "name": "c" }], "tolerations": [{ "key": "y" }],
            "finalizers": ["x/z", "x/y"], "labels": { "$patch": "replace", "m": "1" } });
        strategic(&mut pod, &patch);
        let expected = json!({ "containers": [{ "name": "b", "image": "2" }, { "name": "c" }],
            "tolerations": [{ "key": "y" }], "finalizers": ["x/z", "x/y"], "labels": { "m": "1" } });
        assert_eq!(pod, expected);
        strategic(&mut pod, &json!({ "$deleteFromPrimitiveList/finalizers": ["x/y"], "labels": null }));
        assert_eq!((&pod["finalizers"], &pod["labels"]), (&json!(["x/z"]), &Value::Null));
    }
}
