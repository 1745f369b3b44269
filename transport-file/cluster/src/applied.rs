//! What an apply has to be: no element of a list is there twice, and each has its keys.

use super::field_path::{Path, Step, text};
use super::place::Place;
use super::refusal::Refusal;
use crate::kinds::{ListKey, ObjectType, Shape};
use serde_json::Value;
use std::collections::BTreeSet;

/// Gives the elements of lists their keys that have a default. An apply has no element twice.
pub(super) fn completed(place: &Place, mut applied: Value) -> Result<Value, Refusal> {
    let mut errors = Vec::new();
    let undeclared = place.version.iter().flat_map(|version| version.undeclared(&applied));
    errors.extend(undeclared.map(|field| format!(".{field}: field not declared in schema")));
    complete(place.object_type(), &mut applied, &mut Vec::new(), &mut errors);
    let errors = match &errors[..] {
        [] => return Ok(applied),
        [error] => error.clone(),
        errors => format!("errors:\n  {}", errors.join("\n  ")),
    };
    let text = |field: &str| applied["metadata"][field].as_str().unwrap_or_default();
    let (namespace, name) = (text("namespace"), text("name"));
    let (version, kind) = (applied["apiVersion"].as_str().unwrap_or_default(), &place.kind.kind);
    let group = if version.contains('/') { "" } else { "/" };
    let message =
        format!("failed to create typed patch object ({namespace}/{name}; {group}{version}, Kind={kind}): {errors}");
    Err(Refusal::without_reason(500, &message))
}

/// Gives the elements of lists their keys that have a default, and finds those that are there twice, or null.
fn complete(of: ObjectType<'_>, object: &mut Value, path: &mut Path, errors: &mut Vec<String>) {
    for (name, value) in object.as_object_mut().into_iter().flatten() {
        let Some(field) = of.field(name) else { continue };
        path.push(Step::Field(name.clone()));
        match (&field.shape, value) {
            (Shape::Plain, value) => complete(field.object_type(), value, path, errors),
            (Shape::Set, Value::Array(list)) => {
                note_nulls(path, list, "without keys", errors);
                note_twice(path, list.iter().map(|element| Step::Element(element.to_string())), errors);
            }
            (Shape::Keyed(keys), Value::Array(list)) => {
                note_nulls(path, list, "with keys", errors);
                list.iter_mut().for_each(|element| set_default_keys(keys, element));
                note_twice(path, list.iter().filter_map(|element| Step::keyed(keys, element)), errors);
                for element in list {
                    let depth = path.len();
                    path.extend(Step::keyed(keys, element));
                    complete(field.object_type(), element, path, errors);
                    path.truncate(depth);
                }
            }
            _ => {}
        }
        path.pop();
    }
}

fn note_nulls(path: &Path, list: &[Value], keys: &str, errors: &mut Vec<String>) {
    for (place, _) in list.iter().enumerate().filter(|(_, element)| element.is_null()) {
        let why = "has an element that's an explicit null";
        errors.push(format!("{}: element {place}: associative list {keys} {why}", text(path)));
    }
}

fn set_default_keys(keys: &[ListKey], element: &mut Value) {
    // A text that is empty by default is absent in an object.
    for (key, default) in keys.iter().filter(|(_, default)| default.as_deref() != Some("\"\"")) {
        if let (Some(default), Value::Object(fields)) = (default, &mut *element)
            && fields.get(&**key).is_none_or(Value::is_null)
        {
            fields.insert(key.to_string(), serde_json::from_str(default).unwrap_or_default());
        }
    }
}

fn note_twice(path: &Path, steps: impl Iterator<Item = Step>, twice: &mut Vec<String>) {
    let mut seen = BTreeSet::new();
    for step in steps {
        if !seen.contains(&step) {
            seen.insert(step);
            continue;
        }
        let duplicate = format!("{}: duplicate entries for key {}", text(path), text(&[step]));
        if !twice.contains(&duplicate) {
            twice.push(duplicate);
        }
    }
}
