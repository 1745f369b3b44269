//! What a server refuses in a definition, as far as a client can tell (apiextensions `validation.go`).

use super::path::{Place, Step, place, steps};
use super::structural::{ANY, INT_OR_STRING, WORDS};
use crate::object::is_domain;
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use serde_json::Value;

/// All that is wrong with a definition.
pub(super) fn faults(definition: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    check_names(definition, &mut faults);
    let versions = definition["spec"]["versions"].as_array().map_or(&[][..], Vec::as_slice);
    check_versions(versions, &mut faults);
    for version in versions {
        let mut found = Vec::new();
        check_schema(&version["schema"]["openAPIV3Schema"], &mut found);
        check_places(version, &mut found);
        let name = text(&version["name"]);
        faults.extend(found.into_iter().map(|fault| format!("version {name}: {fault}")));
    }
    faults
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn elements(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn check_names(definition: &Value, faults: &mut Vec<String>) {
    let (spec, names) = (&definition["spec"], &definition["spec"]["names"]);
    let (group, plural) = (text(&spec["group"]), text(&names["plural"]));
    match group {
        "" => faults
            .push("it has no group: the core group has no definitions; name one, as in `example.com/v1`".to_owned()),
        group if !is_domain(group) || !group.contains('.') => {
            faults.push(format!("the group `{group}` is no domain with a dot, such as `example.com`"));
        }
        group if is_of_kubernetes(group) && text(&definition["metadata"]["annotations"][APPROVAL]).is_empty() => {
            faults.push(format!("a group of Kubernetes, {group}, needs the annotation {APPROVAL}"));
        }
        _ => {}
    }
    if text(&definition["metadata"]["name"]) != format!("{plural}.{group}") {
        faults
            .push(format!("metadata.name is `{}`, and not `{plural}.{group}`", text(&definition["metadata"]["name"])));
    }
    if !matches!(text(&spec["scope"]), "Namespaced" | "Cluster") {
        faults.push("spec.scope is neither Namespaced nor Cluster".to_owned());
    }
    let lower = ["plural", "singular"].map(|field| (field, text(&names[field]).to_owned()));
    let mixed = ["kind", "listKind"].map(|field| (field, text(&names[field]).to_lowercase()));
    let lists =
        ["shortNames", "categories"].map(|list| elements(&names[list]).map(move |name| (list, text(name).to_owned())));
    for (field, name) in lower.into_iter().chain(mixed).chain(lists.into_iter().flatten()) {
        let may_lack = matches!(field, "singular" | "listKind");
        let is_absent = may_lack && name.is_empty();
        if !is_absent && !is_label(&name) {
            faults.push(format!(
                "spec.names.{field}, `{name}`, is no DNS label: small letters, digits and dashes, 63 at most"
            ));
        }
    }
}

/// The annotation that the server asks of groups of Kubernetes.
const APPROVAL: &str = "api-approved.kubernetes.io";

fn is_of_kubernetes(group: &str) -> bool {
    [".k8s.io", ".kubernetes.io"].iter().any(|end| group.ends_with(end)) || matches!(group, "k8s.io" | "kubernetes.io")
}

/// A DNS label (RFC 1123).
fn is_label(name: &str) -> bool {
    name.len() <= 63 && !name.contains('.') && is_domain(name)
}

fn check_versions(versions: &[Value], faults: &mut Vec<String>) {
    let names: Vec<&str> = versions.iter().map(|version| text(&version["name"])).collect();
    for (place, name) in names.iter().enumerate() {
        if !is_label(name) {
            faults.push(format!("version `{name}` is no DNS label, such as `v1`"));
        }
        if names[..place].contains(name) {
            faults.push(format!("version {name} is there twice"));
        }
    }
    let stored: Vec<&str> =
        versions.iter().filter(|version| version["storage"] == true).map(|version| text(&version["name"])).collect();
    match *stored {
        [_] => {}
        [] => faults.push("no version is stored (`storage: true`)".to_owned()),
        _ => faults.push(format!("several versions are stored, and one can be: {}", stored.join(", "))),
    }
    if !versions.iter().any(|version| version["served"] == true) {
        faults.push("no version is served".to_owned());
    }
}

/// The paths that a version names beside its schema.
fn check_places(version: &Value, faults: &mut Vec<String>) {
    let schema = &version["schema"]["openAPIV3Schema"];
    for column in elements(&version["additionalPrinterColumns"]) {
        if let Err(why) = place(schema, text(&column["jsonPath"])) {
            faults.push(format!("column {}: {why}", text(&column["name"])));
        }
    }
    let scale = &version["subresources"]["scale"];
    for (field, root, of) in [
        ("specReplicasPath", "spec", "integer"),
        ("statusReplicasPath", "status", "integer"),
        ("labelSelectorPath", "", "string"),
    ] {
        let path = text(&scale[field]);
        let is_wanted = !scale.is_null() && (field != "labelSelectorPath" || !path.is_empty());
        if is_wanted && let Some(why) = scale_fault(schema, path, root, of) {
            faults.push(format!("scale, {field}: {why}"));
        }
    }
    let selectable: Vec<&str> = elements(&version["selectableFields"]).map(|field| text(&field["jsonPath"])).collect();
    for path in &selectable {
        let why = match place(schema, path) {
            Ok(Place::Schema(schema)) if matches!(text(&schema["type"]), "string" | "integer" | "boolean") => None,
            Ok(_) => Some(format!("`{path}` is no text, integer or boolean")),
            Err(why) => Some(why),
        };
        faults.extend(why.map(|why| format!("selectable field: {why}")));
    }
    if selectable.len() > 8 {
        faults.push("eight fields at most are selectable".to_owned());
    }
}

fn scale_fault(schema: &Value, path: &str, root: &str, of: &str) -> Option<String> {
    let steps = match steps(path) {
        Ok(steps) => steps,
        Err(why) => return Some(why),
    };
    if steps.contains(&Step::Elements) {
        return Some(format!("`{path}` leads into a list"));
    }
    let roots = if root.is_empty() { &["spec", "status"][..] } else { &[root][..] };
    if !roots.iter().any(|root| steps.first() == Some(&Step::Field((*root).to_owned()))) {
        return Some(format!("`{path}` is not below .{}", roots.join(" or .")));
    }
    match place(schema, path) {
        Ok(Place::Schema(schema)) if schema["type"] != of => Some(format!("`{path}` is no {of}")),
        Ok(_) => None,
        Err(why) => Some(why),
    }
}

fn check_schema(schema: &Value, faults: &mut Vec<String>) {
    if !schema.is_object() {
        return faults.push("it has no schema".to_owned());
    }
    if schema["type"] != "object" {
        faults.push("the schema of an object has the type object".to_owned());
    }
    if schema["nullable"] == true || !schema["additionalProperties"].is_null() {
        faults.push("an object itself has neither nullable nor additionalProperties".to_owned());
    }
    if elements(&schema["required"]).any(|field| field == "status") {
        let why =
            "the status is required, and a new object has none; let it be an Option, or give it #[serde(default)]";
        faults.push(why.to_owned());
    }
    let metadata = schema["properties"]["metadata"].as_object().into_iter().flatten();
    if metadata.clone().any(|(word, _)| !matches!(word.as_str(), "type" | "properties" | "description")) {
        faults.push(".metadata says more than the type object and a name".to_owned());
    }
    check_structure(schema, "", faults);
}

/// A schema says of each place what it is. The place of the object itself is the empty one.
fn check_structure(schema: &Value, at: &str, faults: &mut Vec<String>) {
    let shown = if at.is_empty() { "the object" } else { at };
    let Some(fields) = schema.as_object() else {
        return faults.push(format!("{shown}: the schema is no JSON object"));
    };
    if fields.contains_key("$ref") {
        let why =
            "the type is part of itself, and no structural schema is; take `#[schemars(with = \"serde_json::Value\")]`";
        return faults.push(format!("{shown}: {why}"));
    }
    let mut fault = |why: &str| faults.push(format!("{shown}: {why}"));
    for word in fields
        .keys()
        .filter(|word| !WORDS.contains(&word.as_str()) && !word.starts_with("x-kubernetes-") && *word != "title")
    {
        fault(&format!("the server knows no `{word}` in a schema"));
    }
    let of = text(&schema["type"]);
    match of {
        "" if schema[ANY] == true || schema[INT_OR_STRING] == true => {}
        "" => fault("it has no type"),
        "array" if !schema["items"].is_object() => fault("a list has one schema for its elements, `items`"),
        "array" | "boolean" | "integer" | "number" | "object" | "string" => {}
        other => fault(&format!("there is no type {other}")),
    }
    let has_own = schema["properties"].as_object().is_some_and(|own| !own.is_empty());
    if has_own && !matches!(schema["additionalProperties"], Value::Null | Value::Bool(true)) {
        fault("it has both properties and additionalProperties");
    }
    check_branches(schema, schema, shown, faults);
    for (name, below) in schema["properties"].as_object().into_iter().flatten() {
        check_structure(below, &format!("{at}.{name}"), faults);
    }
    for (below, step) in [(&schema["items"], "[*]"), (&schema["additionalProperties"], ".*")] {
        if !matches!(below, Value::Null | Value::Bool(_)) {
            check_structure(below, &format!("{at}{step}"), faults);
        }
    }
}

/// Branches say what a value may be. What it is stands beside them.
fn check_branches(schema: &Value, whole: &Value, shown: &str, faults: &mut Vec<String>) {
    // A number or a text may be written so.
    let is_spelled_out = whole[INT_OR_STRING] == true;
    for word in ["allOf", "anyOf", "oneOf"].into_iter().filter(|_| !is_spelled_out) {
        for branch in elements(&schema[word]) {
            check_branch(branch, whole, &format!("{shown}, {word}"), faults);
        }
    }
    if !schema["not"].is_null() {
        check_branch(&schema["not"], whole, &format!("{shown}, not"), faults);
    }
}

fn check_branch(branch: &Value, whole: &Value, shown: &str, faults: &mut Vec<String>) {
    const OF_WHOLES: [&str; 6] = ["type", "description", "default", "title", "nullable", "additionalProperties"];
    let words = branch.as_object().into_iter().flatten().map(|(word, _)| word.as_str());
    for word in words.filter(|word| OF_WHOLES.contains(word) || word.starts_with("x-kubernetes-")) {
        faults.push(format!("{shown}: `{word}` stands beside it, and not in it"));
    }
    for (name, below) in branch["properties"].as_object().into_iter().flatten() {
        match whole["properties"].get(name) {
            Some(whole) => check_branch(below, whole, &format!("{shown}.{name}"), faults),
            None => faults.push(format!("{shown}: `{name}` is no field outside of it")),
        }
    }
    check_branches(branch, whole, shown, faults);
}
