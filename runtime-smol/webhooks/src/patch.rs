//! The difference of two values as a JSON patch (RFC 6902), which an answer to a review has.

use serde_json::{Value, json};

/// The operations that make `new` out of `old`, in their order.
///
/// Lists of the same length are compared element by element. A list of another length is replaced as a whole.
pub(crate) fn json_patch(old: &Value, new: &Value) -> Vec<Value> {
    let mut operations = Vec::new();
    compare(&mut String::new(), old, new, &mut operations);
    operations
}

fn compare(path: &mut String, old: &Value, new: &Value, operations: &mut Vec<Value>) {
    match (old, new) {
        _ if old == new => {}
        (Value::Object(old), Value::Object(new)) => {
            for (name, old) in old {
                within(path, name, |path| match new.get(name) {
                    Some(new) => compare(path, old, new, operations),
                    None => operations.push(json!({ "op": "remove", "path": path })),
                });
            }
            for (name, value) in new.iter().filter(|(name, _)| !old.contains_key(*name)) {
                let add = |path: &mut String| operations.push(json!({ "op": "add", "path": path, "value": value }));
                within(path, name, add);
            }
        }
        (Value::Array(old), Value::Array(new)) if old.len() == new.len() => {
            for (at, (old, new)) in old.iter().zip(new).enumerate() {
                within(path, &at.to_string(), |path| compare(path, old, new, operations));
            }
        }
        _ => operations.push(json!({ "op": "replace", "path": path, "value": new })),
    }
}

/// Acts at a place below the path.
fn within(path: &mut String, name: &str, act: impl FnOnce(&mut String)) {
    let length = path.len();
    path.push('/');
    path.push_str(&name.replace('~', "~0").replace('/', "~1"));
    act(path);
    path.truncate(length);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_names_what_differs_and_nothing_else() {
        let old = json!({ "spec": { "a": 1, "gone": 2, "list": [{ "x": 1, "y": 2 }, 3], "args": ["a"] }, "kept": [1] });
        let new =
            json!({ "spec": { "a": 5, "list": [{ "x": 1, "y": 7 }, 3], "args": ["a", "b"], "new": {} }, "kept": [1] });
        let expected = json!([
            { "op": "replace", "path": "/spec/a", "value": 5 },
            { "op": "replace", "path": "/spec/args", "value": ["a", "b"] },
            { "op": "remove", "path": "/spec/gone" },
            { "op": "replace", "path": "/spec/list/0/y", "value": 7 },
            { "op": "add", "path": "/spec/new", "value": {} },
        ]);
        assert_eq!(Value::from(json_patch(&old, &new)), expected);
        assert!(json_patch(&new, &new).is_empty());
    }

    #[test]
    fn a_name_with_a_slash_or_a_tilde_is_escaped() {
        let patch = json_patch(&json!({}), &json!({ "example.com/a~b": 1 }));
        assert_eq!(patch, [json!({ "op": "add", "path": "/example.com~1a~0b", "value": 1 })]);
    }
}
