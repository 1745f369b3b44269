//! What a server takes in the metadata of an object (apimachinery `api/validation`).

use super::decoding::has_any_json;
use super::metadata::{FOREGROUND, ORPHAN, Part};
use super::names::{SUBDOMAIN, is_subdomain};
use super::refusal::{Cause, FieldError};
use crate::kinds::ServedKind;
use serde_json::{Value, json};

/// The most bytes of all annotations of an object, names and values.
const ANNOTATIONS: usize = 256 * 1024;

/// The groups of Kubernetes whose metadata are checked as those of custom resources.
const GENERIC: [&str; 6] = [
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "apiregistration.k8s.io",
    "coordination.k8s.io",
    "node.k8s.io",
    "policy",
];

/// What is wrong with an object of a kind, apart from its name, by a request for this part of it.
pub(super) fn faults(kind: &ServedKind, object: &Value, part: Part) -> Vec<FieldError> {
    // The status of a CronJob is stored without the checks of its kind.
    let is_unchecked = part == Part::Status && kind.name() == "batch/v1/cronjobs";
    let takes_any_finalizer =
        is_unchecked || kind.is_custom() || kind.kind == "Event" || GENERIC.contains(&kind.group());
    let mut errors = metadata_faults(object, takes_any_finalizer);
    if !kind.is_custom() && !has_any_json(kind) && has_null(object) {
        check_nulls(object, "", &mut errors);
    }
    errors
}

/// What is wrong with the metadata of an object, apart from its name.
pub(super) fn metadata_faults(object: &Value, takes_any_finalizer: bool) -> Vec<FieldError> {
    let metadata = &object["metadata"];
    let mut errors = Vec::new();
    if metadata["generation"].as_i64().is_some_and(|generation| generation < 0) {
        let why = format!("{}: must be greater than or equal to 0", metadata["generation"]);
        errors.push(FieldError::new(Cause::Invalid, "metadata.generation", why));
    }
    check_labels(&metadata["labels"], &mut errors);
    check_annotations(&metadata["annotations"], &mut errors);
    check_owners(&metadata["ownerReferences"], &mut errors);
    check_finalizers(&metadata["finalizers"], takes_any_finalizer, &mut errors);
    errors
}

fn has_null(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.values().any(has_null),
        Value::Array(elements) => elements.iter().any(|element| element.is_null() || has_null(element)),
        _ => false,
    }
}

/// No element of a list is null.
fn check_nulls(value: &Value, path: &str, errors: &mut Vec<FieldError>) {
    match value {
        Value::Object(fields) => {
            let dot = if path.is_empty() { "" } else { "." };
            fields.iter().for_each(|(name, value)| check_nulls(value, &format!("{path}{dot}{name}"), errors));
        }
        Value::Array(elements) => {
            for (place, element) in elements.iter().enumerate() {
                let path = format!("{path}[{place}]");
                if element.is_null() {
                    errors.push(FieldError::new(Cause::Required, &path, ""));
                }
                check_nulls(element, &path, errors);
            }
        }
        _ => {}
    }
}

fn check_labels(labels: &Value, errors: &mut Vec<FieldError>) {
    let field = "metadata.labels";
    for (name, value) in labels.as_object().into_iter().flatten() {
        errors.extend(name_faults(name).into_iter().map(|why| FieldError::invalid(field, name, &why)));
        let value = value.as_str().unwrap_or_default();
        let is_valid = value.is_empty() || is_word(value);
        let faults = [(value.len() <= 63, "must be no more than 63 bytes"), (is_valid, VALUE)];
        errors.extend(broken(faults).map(|why| FieldError::invalid(field, value, why)));
    }
}

fn check_annotations(annotations: &Value, errors: &mut Vec<FieldError>) {
    let (field, mut bytes) = ("metadata.annotations", 0);
    for (name, value) in annotations.as_object().into_iter().flatten() {
        let faults = name_faults(&name.to_lowercase());
        errors.extend(faults.into_iter().map(|why| FieldError::invalid(field, name, &why)));
        bytes += name.len() + value.as_str().map_or(0, str::len);
    }
    if bytes > ANNOTATIONS {
        errors.push(FieldError::too_long(field, ANNOTATIONS));
    }
}

fn check_owners(owners: &Value, errors: &mut Vec<FieldError>) {
    let mut controller = None;
    for (place, owner) in owners.as_array().into_iter().flatten().enumerate() {
        let field = format!("metadata.ownerReferences[{place}]");
        let text = |field: &str| owner[field].as_str().unwrap_or_default();
        let version = text("apiVersion");
        if version.matches('/').count() > 1 {
            let why = "must be <group>/<version> or <version>";
            errors.push(FieldError::invalid(&format!("{field}.apiVersion"), version, why));
        }
        for name in ["apiVersion", "kind", "name", "uid"].into_iter().filter(|name| text(name).is_empty()) {
            errors.push(FieldError::new(Cause::Required, &format!("{field}.{name}"), "must not be empty"));
        }
        if (version, text("kind")) == ("v1", "Event") {
            let why = format!("{}: /v1, Kind=Event is disallowed from being an owner", written(owner));
            errors.push(FieldError::new(Cause::Invalid, &field, why));
        }
        if owner["controller"] == true {
            let name = format!("{}/{}", text("kind"), text("name"));
            match &controller {
                None => controller = Some(name),
                Some(first) => errors.push(two_controllers(owners, first, &name)),
            }
        }
    }
}

fn two_controllers(owners: &Value, first: &str, second: &str) -> FieldError {
    let owners: Vec<String> = owners.as_array().into_iter().flatten().map(written).collect();
    let why = format!(
        "[{}]: Only one reference can have Controller set to true. Found \"true\" in references for {first} and {second}",
        owners.join(",")
    );
    FieldError::new(Cause::Invalid, "metadata.ownerReferences", why)
}

/// A reference to an owner, with its fields in the order of their type.
fn written(owner: &Value) -> String {
    let fields = ["apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion"];
    let written = fields.iter().filter_map(|field| Some(format!("\"{field}\":{}", owner.get(field)?)));
    format!("{{{}}}", written.collect::<Vec<_>>().join(","))
}

fn check_finalizers(finalizers: &Value, takes_any: bool, errors: &mut Vec<FieldError>) {
    let field = "metadata.finalizers";
    let names: Vec<&str> = finalizers.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for name in &names {
        errors.extend(name_faults(name).into_iter().map(|why| FieldError::invalid(field, name, &why)));
    }
    if names.contains(&ORPHAN) && names.contains(&FOREGROUND) {
        let why = format!("{}: finalizer {ORPHAN} and {FOREGROUND} cannot be both set", json!(names));
        errors.push(FieldError::new(Cause::Invalid, field, why));
    }
    // A custom resource gets a warning.
    for (place, name) in names.iter().enumerate().filter(|_| !takes_any) {
        if !name.contains('/') && !["kubernetes", ORPHAN, FOREGROUND].contains(name) {
            let why = "name is neither a standard finalizer name nor is it fully qualified";
            errors.push(FieldError::invalid(&format!("{field}[{place}]"), name, why));
        }
    }
}

/// Removes the owners that are there twice.
pub(super) fn remove_double_owners(object: &mut Value) {
    let Some(owners) = object.pointer_mut("/metadata/ownerReferences").and_then(Value::as_array_mut) else { return };
    let mut kept: Vec<Value> = Vec::with_capacity(owners.len());
    for owner in owners.drain(..) {
        if !kept.contains(&owner) {
            kept.push(owner);
        }
    }
    *owners = kept;
}

/// What is wrong with a name that may have a domain before it (`IsQualifiedName`).
fn name_faults(name: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let word = match name.split('/').collect::<Vec<_>>()[..] {
        [word] => word,
        [prefix, word] => {
            let is_valid = prefix.is_empty() || is_subdomain(prefix);
            let rules = [(!prefix.is_empty(), "must be non-empty"), (is_valid, SUBDOMAIN)];
            faults.extend(broken(rules).map(|why| format!("prefix part {why}")));
            word
        }
        _ => {
            let optional = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
            return vec![format!("a valid label key {WORD} {optional}")];
        }
    };
    let rules = [
        (!word.is_empty(), "must be non-empty"),
        (word.len() <= 63, "must be no more than 63 bytes"),
        (is_word(word), WORD),
    ];
    faults.extend(broken(rules).map(|why| format!("name part {why}")));
    faults
}

fn broken<const N: usize>(rules: [(bool, &'static str); N]) -> impl Iterator<Item = &'static str> {
    rules.into_iter().filter_map(|(holds, why)| (!holds).then_some(why))
}

fn is_word(text: &str) -> bool {
    let ends = [text.bytes().next(), text.bytes().next_back()];
    ends.iter().all(|end| end.is_some_and(|byte| byte.is_ascii_alphanumeric()))
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

const WORD: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric \
                    character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
                    '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must \
                     start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used \
                     for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::Kinds;

    #[test]
    fn annotations_have_256_kib_at_most() {
        let kind = ServedKind::custom("v1", "Foo", "foos", true);
        for (bytes, is_valid) in [(ANNOTATIONS - 1, true), (ANNOTATIONS, false)] {
            let object = json!({ "metadata": { "annotations": { "a": "x".repeat(bytes) } } });
            assert_eq!(faults(&kind, &object, Part::Whole).is_empty(), is_valid, "{bytes}");
        }
    }

    #[test]
    fn a_finalizer_has_a_domain_but_in_the_groups_that_are_checked_as_custom_resources() {
        let kinds = Kinds::new();
        let object = json!({ "metadata": { "finalizers": ["plain"] } });
        for (collection, is_valid) in [
            ("v1/pods", false),
            ("node.k8s.io/v1/runtimeclasses", true),
            ("policy/v1/poddisruptionbudgets", true),
            ("coordination.k8s.io/v1/leases", true),
            ("rbac.authorization.k8s.io/v1/roles", false),
        ] {
            let kind = kinds.known(collection).unwrap();
            assert_eq!(faults(&kind, &object, Part::Whole).is_empty(), is_valid, "{collection}");
        }
    }

    #[test]
    fn an_owner_that_is_there_twice_is_kept_once() {
        let owner = |controller: bool| json!({ "uid": "1", "controller": controller });
        let mut object = json!({ "metadata": { "ownerReferences": [owner(true), owner(false), owner(true)] } });
        remove_double_owners(&mut object);
        assert_eq!(object["metadata"]["ownerReferences"], json!([owner(true), owner(false)]));
    }
}
