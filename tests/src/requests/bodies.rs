//! Bodies of requests: objects, patches and options, most of them valid.

use super::specimen::Specimen;
use crate::sim::Dice;
use listwatch_core::change::apply_merge_patch;
use serde_json::{Map, Value, json};

/// Draws one of several values.
pub(super) fn one<'v, T>(dice: &mut Dice, values: &'v [T]) -> Option<&'v T> {
    (!values.is_empty()).then(|| &values[dice.below(values.len() as u64) as usize])
}

/// An object of a kind.
pub(super) fn object(dice: &mut Dice, specimen: &Specimen, name: &str) -> Value {
    let mut object = Value::Object(specimen.object.clone());
    for _ in 0..dice.below(3) {
        apply_merge_patch(&mut object, &change(dice, specimen));
    }
    (object["apiVersion"], object["kind"]) = (json!(specimen.api_version()), json!(specimen.kind));
    object["metadata"] = metadata(dice, specimen, name);
    object
}

/// The metadata of a new object.
fn metadata(dice: &mut Dice, specimen: &Specimen, name: &str) -> Value {
    let mut metadata = json!({ "name": name });
    if dice.chance(50) {
        metadata["labels"] = labels(dice);
    }
    if dice.chance(20) {
        metadata["annotations"] = json!({ "example.com/note": dice.below(3).to_string() });
    }
    if dice.chance(8) {
        metadata["finalizers"] = dice.pick(&FINALIZERS).iter().copied().collect();
    }
    if dice.chance(8) {
        metadata["ownerReferences"] = json!([owner()]);
    }
    if specimen.cluster && dice.chance(95) {
        let of_run = json!({ "labels": { "of": "{ns}" } });
        apply_merge_patch(&mut metadata, &of_run);
    }
    metadata
}

fn labels(dice: &mut Dice) -> Value {
    let mut labels = Map::new();
    for _ in 0..=dice.below(2) {
        let (name, value) = (dice.pick(&["app", "tier", "example.com/x"]), dice.pick(&["x", "y", ""]));
        labels.insert(name.to_owned(), json!(value));
    }
    Value::Object(labels)
}

const FINALIZERS: [&[&str]; 3] = [&["example.com/a"], &["example.com/a", "example.com/b"], &["example.com/b"]];

/// A reference to an owner that may be there.
pub(super) fn owner() -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "<uid v1/configmaps/a>" })
}

/// A merge patch of what is not metadata.
fn change(dice: &mut Dice, specimen: &Specimen) -> Value {
    let names: Vec<&String> = specimen.values.keys().collect();
    if dice.chance(60)
        && let Some(name) = one(dice, &names)
        && let Some(value) = one(dice, &specimen.values[*name])
    {
        return json!({ "spec": { *name: value } });
    }
    one(dice, &specimen.changes).cloned().unwrap_or_else(|| json!({}))
}

/// A merge patch.
pub(super) fn merge_patch(dice: &mut Dice, specimen: &Specimen) -> Value {
    match dice.below(10) {
        0..5 => change(dice, specimen),
        5 | 6 => json!({ "metadata": { "labels": labels(dice) } }),
        7 => dice.pick(&METADATA_PATCHES)(),
        8 => json!({ "status": status(dice, specimen) }),
        _ => {
            let field = one(dice, &specimen.object.keys().collect::<Vec<_>>()).map(|it| (*it).clone());
            json!({ field.unwrap_or_default(): null })
        }
    }
}

const METADATA_PATCHES: [fn() -> Value; 9] = [
    || json!({ "metadata": { "labels": null } }),
    || json!({ "metadata": { "labels": { "app": null } } }),
    || json!({ "metadata": { "annotations": { "example.com/note": "9" } } }),
    || json!({ "metadata": { "annotations": null } }),
    || json!({ "metadata": { "finalizers": ["example.com/a"] } }),
    || json!({ "metadata": { "finalizers": null } }),
    || json!({ "metadata": { "finalizers": ["example.com/b", "example.com/a"] } }),
    || json!({ "metadata": { "ownerReferences": [owner()] } }),
    || json!({ "metadata": { "ownerReferences": null } }),
];

/// A status of a kind.
pub(super) fn status(dice: &mut Dice, specimen: &Specimen) -> Value {
    one(dice, &specimen.statuses).cloned().unwrap_or_else(|| json!({ "seen": 1 }))
}

/// A strategic merge patch.
pub(super) fn strategic_patch(dice: &mut Dice, specimen: &Specimen) -> Value {
    match dice.below(10) {
        0..5 if !specimen.strategic.is_empty() => one(dice, &specimen.strategic).cloned().unwrap_or_default(),
        5 | 6 => dice.pick(&DIRECTIVES)(),
        _ => merge_patch(dice, specimen),
    }
}

const DIRECTIVES: [fn() -> Value; 7] = [
    || json!({ "metadata": { "labels": { "$patch": "replace", "app": "z" } } }),
    || json!({ "metadata": { "finalizers": ["example.com/b"] } }),
    || json!({ "metadata": { "$deleteFromPrimitiveList/finalizers": ["example.com/a"] } }),
    || json!({ "metadata": { "$setElementOrder/finalizers": ["example.com/b", "example.com/a"], "finalizers": ["example.com/b"] } }),
    || json!({ "metadata": { "ownerReferences": [owner()] } }),
    || json!({ "metadata": { "ownerReferences": [{ "uid": "<uid v1/configmaps/a>", "$patch": "delete" }] } }),
    || json!({ "metadata": { "annotations": { "$retainKeys": ["example.com/note"], "example.com/note": "1" } } }),
];

/// A JSON patch.
pub(super) fn json_patch(dice: &mut Dice, specimen: &Specimen) -> Value {
    let operation = |dice: &mut Dice| if dice.chance(50) { dice.pick(&OPERATIONS)() } else { of_field(dice, specimen) };
    (0..=dice.below(3)).map(|_| operation(dice)).collect()
}

/// An operation on a field that a change names.
fn of_field(dice: &mut Dice, specimen: &Specimen) -> Value {
    let (mut path, mut value) = (String::new(), change(dice, specimen));
    while let Some((field, inside)) = value.as_object().and_then(|fields| fields.iter().next()) {
        path = format!("{path}/{}", field.replace('~', "~0").replace('/', "~1"));
        let inside = inside.clone();
        value = inside;
    }
    match dice.below(6) {
        0 => json!({ "op": "remove", "path": path }),
        1 => json!({ "op": "test", "path": path, "value": value }),
        2 => json!({ "op": "add", "path": path, "value": value }),
        _ => json!({ "op": "replace", "path": path, "value": value }),
    }
}

const OPERATIONS: [fn() -> Value; 17] = [
    || json!({ "op": "add", "path": "/metadata/labels", "value": { "app": "x" } }),
    || json!({ "op": "add", "path": "/metadata/labels/app", "value": "y" }),
    || json!({ "op": "remove", "path": "/metadata/labels/app" }),
    || json!({ "op": "replace", "path": "/metadata/labels/app", "value": "z" }),
    || json!({ "op": "test", "path": "/metadata/labels/app", "value": "x" }),
    || json!({ "op": "remove", "path": "/metadata/labels" }),
    || json!({ "op": "copy", "from": "/metadata/labels", "path": "/metadata/annotations" }),
    || json!({ "op": "move", "from": "/metadata/labels/app", "path": "/metadata/labels/tier" }),
    || json!({ "op": "add", "path": "/metadata/finalizers", "value": ["example.com/a"] }),
    || json!({ "op": "add", "path": "/metadata/finalizers/-", "value": "example.com/b" }),
    || json!({ "op": "add", "path": "/metadata/finalizers/0", "value": "example.com/c" }),
    || json!({ "op": "remove", "path": "/metadata/finalizers" }),
    || json!({ "op": "remove", "path": "/metadata/finalizers/0" }),
    || json!({ "op": "test", "path": "/metadata/finalizers", "value": null }),
    || json!({ "op": "replace", "path": "/metadata/resourceVersion", "value": "1" }),
    || json!({ "op": "add", "path": "/metadata/annotations/example.com~1note", "value": "5" }),
    || json!({ "op": "test", "path": "/kind", "value": "None" }),
];

/// What a manager applies.
pub(super) fn applied(dice: &mut Dice, specimen: &Specimen, name: &str) -> Value {
    let mut applied = match dice.below(4) {
        0 | 1 => object(dice, specimen, name),
        2 => change(dice, specimen),
        _ => json!({ "metadata": { "labels": labels(dice) } }),
    };
    apply_merge_patch(&mut applied, &json!({ "metadata": { "name": name } }));
    (applied["apiVersion"], applied["kind"]) = (json!(specimen.api_version()), json!(specimen.kind));
    applied
}

/// The options of a deletion.
pub(super) fn delete_options(dice: &mut Dice, key: &str) -> Value {
    let mut options = json!({});
    for _ in 0..=dice.below(2) {
        let (field, value) = match dice.below(10) {
            0..4 => ("propagationPolicy", json!(dice.pick(&["Background", "Foreground", "Orphan", "Nonsense"]))),
            4 => ("orphanDependents", json!(dice.chance(50))),
            5 => ("preconditions", json!({ "uid": format!("<uid {key}>") })),
            6 => ("preconditions", json!({ "uid": "another" })),
            7 => {
                ("preconditions", json!({ "resourceVersion": format!("<{} {key}>", dice.pick(&["version", "older"])) }))
            }
            8 => ("dryRun", dice.pick(&[|| json!(["All"]), || json!([]), || json!(["Some"])])()),
            _ => dice.pick(&[("gracePeriodSeconds", json!(0)), ("kind", json!("DeleteOptions"))].each_ref()).clone(),
        };
        options[field] = value;
    }
    options
}
