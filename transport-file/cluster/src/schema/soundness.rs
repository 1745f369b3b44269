//! What a server refuses in the schema of a definition (apiextensions `schema/validation.go` and `apis/.../validation`).

use super::pruning::prune;
use super::structural::{Additional, Items, Rule, Schema};
use super::{embedded, validation};
use crate::refusal::{Cause, FieldError};
use serde_json::{Value, json};

/// What is wrong with a schema, which stands at a path of its definition.
pub(crate) fn faults(schema: &Schema, at: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if schema.nullable {
        errors.push(forbidden(&format!("{at}.nullable"), "nullable cannot be true at the root"));
    }
    let mut found = structural_faults(schema, at);
    if found.is_empty() {
        check_defaults(schema, at, false, &mut found);
    }
    errors.extend(found);
    check_keywords(schema, at, &Place { is_root: true, ..Place::default() }, &mut errors);
    errors
}

/// Why a schema is not structural.
fn structural_faults(schema: &Schema, at: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    check_structure(schema, Level::Root, at, &mut errors);
    for (word, branch) in schema.branches() {
        check_completeness(branch, Some(schema), at, &format!("{at}.{word}"), &mut errors);
    }
    errors.sort_by_cached_key(ToString::to_string);
    errors
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    Root,
    Element,
    Field,
}

fn check_structure(schema: &Schema, level: Level, at: &str, errors: &mut Vec<FieldError>) {
    if schema.of == "array" && schema.items.is_none() {
        errors.push(required(&format!("{at}.items"), "must be specified"));
    }
    if let Some(element) = schema.element() {
        check_structure(element, Level::Element, &format!("{at}.items"), errors);
    }
    for (name, property) in &schema.properties {
        check_structure(property, Level::Field, &format!("{at}.properties[{name}]"), errors);
    }
    let additional = format!("{at}.additionalProperties");
    if schema.additional_properties.is_some() && level == Level::Root {
        errors.push(forbidden(&additional, "must not be used at the root"));
    }
    if let Some(of) = schema.additional() {
        check_structure(of, Level::Field, &additional, errors);
    }
    check_extensions(schema, at, errors);
    check_branches(
        schema,
        is_int_or_string(&schema.any_of),
        schema.all_of.first().is_some_and(|it| is_int_or_string(&it.any_of)),
        at,
        errors,
    );
    check_type(schema, level, at, errors);
    let checks_metadata = level == Level::Root || schema.is_embedded;
    for name in ["kind", "apiVersion"].into_iter().filter(|_| checks_metadata) {
        if let Some(property) = schema.properties.get(name).filter(|property| property.of != "string") {
            let field = format!("{at}.properties[{name}].type");
            errors.push(FieldError::invalid(&field, &property.of, "must be string"));
        }
    }
    if let Some(metadata) = schema.properties.get("metadata") {
        check_metadata(metadata, checks_metadata, level, &format!("{at}.properties[metadata]"), errors);
    }
    if schema.is_embedded && !schema.preserves_unknown() && schema.properties.is_empty() {
        let why =
            "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields";
        errors.push(required(&format!("{at}.properties"), why));
    }
}

fn check_type(schema: &Schema, level: Level, at: &str, errors: &mut Vec<FieldError>) {
    let field = format!("{at}.type");
    if schema.is_embedded && schema.of != "object" {
        let why = "must be object if x-kubernetes-embedded-resource is true";
        errors.push(wrong_type(&field, &schema.of, why));
    } else if schema.of.is_empty() && !schema.is_int_or_string && !schema.preserves_unknown() {
        errors.push(required(
            &field,
            match level {
                Level::Root => "must not be empty at the root",
                Level::Element => "must not be empty for specified array items",
                Level::Field => "must not be empty for specified object fields",
            },
        ));
    }
    if schema.is_embedded && schema.additional_properties.is_some() {
        let why = "must not be used if x-kubernetes-embedded-resource is set";
        errors.push(forbidden(&format!("{at}.additionalProperties"), why));
    }
    if level == Level::Root && !schema.of.is_empty() && schema.of != "object" {
        errors.push(FieldError::invalid(&field, &schema.of, "must be object at the root"));
    }
}

fn check_extensions(schema: &Schema, at: &str, errors: &mut Vec<FieldError>) {
    let why = "must be false if x-kubernetes-int-or-string is true";
    for (name, is_set) in [
        ("x-kubernetes-preserve-unknown-fields", schema.preserves_unknown()),
        ("x-kubernetes-embedded-resource", schema.is_embedded),
    ] {
        if schema.is_int_or_string && is_set {
            errors.push(FieldError::with_value(Cause::Invalid, &format!("{at}.{name}"), &json!(true), why));
        }
    }
}

fn check_metadata(schema: &Schema, is_own: bool, level: Level, at: &str, errors: &mut Vec<FieldError>) {
    if is_own && schema.of != "object" {
        errors.push(FieldError::invalid(&format!("{at}.type"), &schema.of, "must be object"));
    }
    let names_alone = schema.properties.keys().all(|name| ["name", "generateName"].contains(&name.as_str()));
    let has_more = !schema.description.is_empty()
        || !schema.required.is_empty()
        || schema.additional_properties.is_some()
        || schema.preserves_unknown()
        || !schema.rules.is_empty()
        || schema.branches().next().is_some();
    if level == Level::Root && (!names_alone || has_more) {
        let why = "must not specify anything other than name and generateName, but metadata is implicitly specified";
        errors.push(forbidden(at, why));
    }
}

/// Whether alternatives are those of a number or a text.
fn is_int_or_string(branches: &[Schema]) -> bool {
    let is_bare = |schema: &Schema, of: &str| {
        schema.of == of
            && schema.pattern.text.is_empty()
            && schema.format.is_empty()
            && schema.values.is_empty()
            && [schema.maximum, schema.minimum].iter().all(Option::is_none)
            && [schema.max_length, schema.min_length].iter().all(Option::is_none)
    };
    matches!(branches, [first, second] if is_bare(first, "integer") && is_bare(second, "string"))
}

impl Schema {
    /// The schemas of the same value, with the words that lead to them.
    fn branches(&self) -> impl Iterator<Item = (String, &Self)> {
        let lists = [("allOf", &self.all_of), ("anyOf", &self.any_of), ("oneOf", &self.one_of)];
        let branches = lists.into_iter().flat_map(|(word, branches)| {
            branches.iter().enumerate().map(move |(place, branch)| (format!("{word}[{place}]"), branch))
        });
        branches.chain(self.not.iter().map(|not| ("not".to_owned(), &**not)))
    }
}

fn check_branches(schema: &Schema, skips_any: bool, skips_first: bool, at: &str, errors: &mut Vec<FieldError>) {
    for (word, branch) in schema.branches().filter(|(word, _)| !(skips_any && word.starts_with("anyOf"))) {
        check_branch(branch, skips_first && word == "allOf[0]", &format!("{at}.{word}"), errors);
    }
    if !schema.pattern.text.is_empty()
        && let Some(why) = schema.pattern.fault()
    {
        let why = format!("must be a valid regular expression, but isn't: {why}");
        errors.push(FieldError::invalid(&format!("{at}.pattern"), &schema.pattern.text, &why));
    }
}

/// A branch says what a value may be, and not what it is.
fn check_branch(branch: &Schema, skips_any: bool, at: &str, errors: &mut Vec<FieldError>) {
    check_branches(branch, skips_any, false, at, errors);
    if let Some(element) = branch.element() {
        check_branch(element, false, &format!("{at}.items"), errors);
    }
    for (name, property) in &branch.properties {
        check_branch(property, false, &format!("{at}.properties[{name}]"), errors);
    }
    for (word, is_there, what) in [
        ("type", !branch.of.is_empty(), "empty"),
        ("additionalProperties", branch.additional_properties.is_some(), "undefined"),
        ("default", branch.default.is_some(), "undefined"),
        ("title", !branch.title.is_empty(), "empty"),
        ("description", !branch.description.is_empty(), "empty"),
        ("nullable", branch.nullable, "false"),
        ("x-kubernetes-preserve-unknown-fields", branch.preserves_unknown(), "false"),
        ("x-kubernetes-embedded-resource", branch.is_embedded, "false"),
        ("x-kubernetes-int-or-string", branch.is_int_or_string, "false"),
        ("x-kubernetes-list-map-keys", !branch.list_keys.is_empty(), "empty"),
        ("x-kubernetes-list-type", branch.list_type.is_some(), "undefined"),
        ("x-kubernetes-map-type", branch.map_type.is_some(), "undefined"),
        ("x-kubernetes-validations", !branch.rules.is_empty(), "empty"),
    ] {
        if is_there {
            errors.push(forbidden(&format!("{at}.{word}"), &format!("must be {what} to be structural")));
        }
    }
    if branch.properties.contains_key("metadata") {
        let why = "must not be specified in a nested context";
        errors.push(forbidden(&format!("{at}.properties[metadata]"), why));
    }
}

/// What a branch speaks of has to be there outside of it. A server looks at those of the object alone.
fn check_completeness(branch: &Schema, of: Option<&Schema>, at: &str, path: &str, errors: &mut Vec<FieldError>) {
    let Some(schema) = of else {
        return errors.push(required(at, &format!("because it is defined in {path}")));
    };
    for (word, branch) in branch.branches() {
        check_completeness(branch, of, at, &format!("{path}.{word}"), errors);
    }
    if let Some(element) = branch.element() {
        check_completeness(element, schema.element(), &format!("{at}.items"), &format!("{path}.items"), errors);
    }
    for (name, property) in &branch.properties {
        let below = format!("properties[{name}]");
        let known = schema.properties.get(name);
        check_completeness(property, known, &format!("{at}.{below}"), &format!("{path}.{below}"), errors);
    }
}

/// A default is a value that its schema takes, and that is not pruned.
fn check_defaults(schema: &Schema, at: &str, is_metadata: bool, errors: &mut Vec<FieldError>) {
    if let Some(default) = schema.default.as_ref().filter(|_| !is_metadata) {
        let field = format!("{at}.default");
        if !prune_default(schema, &mut default.clone()).is_empty() {
            errors.push(FieldError::with_value(Cause::Invalid, &field, default, "must not have unknown fields"));
        }
        let found = embedded::faults(schema, default).into_iter().map(|error| error.below(&field));
        let found: Vec<FieldError> = found.collect();
        errors.extend(if found.is_empty() { validation::faults(schema, &field, default, None) } else { found });
    }
    if let Some(element) = schema.element() {
        check_defaults(element, &format!("{at}.items"), is_metadata, errors);
    }
    for (name, property) in &schema.properties {
        let is_metadata =
            is_metadata || schema.is_embedded && ["metadata", "apiVersion", "kind"].contains(&name.as_str());
        check_defaults(property, &format!("{at}.properties[{name}]"), is_metadata, errors);
    }
}

/// The unknown fields of a default.
fn prune_default(schema: &Schema, default: &mut Value) -> Vec<String> {
    match default {
        Value::Array(elements) => {
            let Some(of) = schema.element() else { return Vec::new() };
            elements.iter_mut().flat_map(|element| prune_default(of, element)).collect()
        }
        default => prune(schema, default),
    }
}

/// Where a schema is, as far as it matters to what it may say.
#[derive(Clone, Debug, Default)]
struct Place {
    is_root: bool,
    is_in_metadata: bool,
    /// Why it has no defaults; empty if it may have some.
    no_defaults: String,
}

fn check_keywords(schema: &Schema, at: &str, place: &Place, errors: &mut Vec<FieldError>) {
    check_supported(schema, at, place, errors);
    if schema.unique_items {
        let why = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
        errors.push(forbidden(&format!("{at}.uniqueItems"), why));
    }
    let has_additional = !matches!(schema.additional_properties, None | Some(Additional::Allowed(true)));
    if has_additional && !schema.properties.is_empty() {
        let why = "additionalProperties and properties are mutual exclusive";
        errors.push(forbidden(&format!("{at}.additionalProperties"), why));
    }
    let below = Place { is_root: false, ..place.clone() };
    if let Some(additional) = schema.additional() {
        check_keywords(additional, &format!("{at}.additionalProperties"), &below, errors);
    }
    for (name, property) in &schema.properties {
        let is_metadata = ["metadata", "kind", "apiVersion"].contains(&name.as_str());
        let mut below = below.clone();
        below.is_in_metadata |= is_metadata && (place.is_root || schema.is_embedded);
        if is_metadata && place.is_root {
            below.no_defaults = format!(" in top-level {name}");
        }
        check_keywords(property, &format!("{at}.properties[{name}]"), &below, errors);
    }
    for (word, branch) in schema.branches() {
        check_keywords(branch, &format!("{at}.{word}"), &below, errors);
    }
    match &schema.items {
        Some(Items::All(element)) => check_keywords(element, &format!("{at}.items"), &below, errors),
        Some(Items::Each(elements)) => {
            for (place, element) in elements.iter().enumerate() {
                check_keywords(element, &format!("{at}.items[{place}]"), &below, errors);
            }
        }
        None => {}
    }
    if schema.preserves_unknown == Some(false) {
        let field = format!("{at}.x-kubernetes-preserve-unknown-fields");
        errors.push(FieldError::with_value(Cause::Invalid, &field, &json!(false), "must be true or undefined"));
    }
    check_collections(schema, at, errors);
    for (number, rule) in schema.rules.iter().enumerate() {
        check_rule(rule, &format!("{at}.x-kubernetes-validations[{number}]"), errors);
    }
}

fn check_supported(schema: &Schema, at: &str, place: &Place, errors: &mut Vec<FieldError>) {
    const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];
    if !schema.of.is_empty() && !TYPES.contains(&schema.of.as_str()) {
        errors.push(FieldError::unsupported(&format!("{at}.type"), &schema.of, &TYPES));
    }
    if schema.default.is_some() && !place.no_defaults.is_empty() {
        errors.push(forbidden(&format!("{at}.default"), &format!("must not be set{}", place.no_defaults)));
    }
    for (word, is_there) in [
        ("id", !schema.id.is_empty()),
        ("additionalItems", schema.additional_items.is_some()),
        ("patternProperties", schema.pattern_properties.is_some()),
        ("definitions", schema.definitions.is_some()),
        ("dependencies", schema.dependencies.is_some()),
        ("$ref", schema.reference.is_some()),
    ] {
        if is_there {
            errors.push(forbidden(&format!("{at}.{word}"), &format!("{word} is not supported")));
        }
    }
    if matches!(schema.items, Some(Items::Each(_))) {
        errors.push(forbidden(&format!("{at}.items"), "items must be a schema object and not an array"));
    }
    if place.is_in_metadata && schema.is_embedded {
        let why = "must not be used inside of resource meta";
        errors.push(forbidden(&format!("{at}.x-kubernetes-embedded-resource"), why));
    }
}

/// Checks how lists and maps are compared.
fn check_collections(schema: &Schema, at: &str, errors: &mut Vec<FieldError>) {
    for (word, given, of, known) in [
        ("x-kubernetes-map-type", &schema.map_type, "object", &["atomic", "granular"][..]),
        ("x-kubernetes-list-type", &schema.list_type, "array", &["atomic", "set", "map"][..]),
    ] {
        let Some(given) = given else { continue };
        if schema.of != of {
            errors.push(wrong_type(&format!("{at}.type"), &schema.of, &format!("must be {of} if {word} is specified")));
        }
        if !known.contains(&given.as_str()) {
            errors.push(FieldError::unsupported(&format!("{at}.{word}"), given, known));
        }
    }
    let list_type = schema.list_type.as_deref();
    if !schema.list_keys.is_empty() && list_type != Some("map") {
        let why = "must be map if x-kubernetes-list-map-keys is non-empty";
        errors.push(wrong_type(&format!("{at}.x-kubernetes-list-type"), list_type.unwrap_or_default(), why));
    }
    match (list_type, schema.element()) {
        (Some("set"), Some(element)) => check_set(element, at, errors),
        (Some("map"), element) => check_map(schema, element, at, errors),
        _ => {}
    }
}

fn check_set(element: &Schema, at: &str, errors: &mut Vec<FieldError>) {
    let why = "must be atomic as item of a list with x-kubernetes-list-type=set";
    let is_atomic = |given: &Option<String>| given.as_deref() == Some("atomic");
    match element.of.as_str() {
        "array" if element.list_type.is_some() && !is_atomic(&element.list_type) => {
            let given = json!(element.list_type);
            errors.push(FieldError::with_value(
                Cause::Invalid,
                &format!("{at}.items.x-kubernetes-list-type"),
                &given,
                why,
            ));
        }
        "object" if !is_atomic(&element.map_type) => {
            let given = json!(element.list_type);
            errors.push(FieldError::with_value(
                Cause::Invalid,
                &format!("{at}.items.x-kubernetes-map-type"),
                &given,
                why,
            ));
        }
        _ => {}
    }
    if element.nullable {
        let why = "cannot be nullable when x-kubernetes-list-type is set";
        errors.push(forbidden(&format!("{at}.items.nullable"), why));
    }
}

fn check_map(schema: &Schema, element: Option<&Schema>, at: &str, errors: &mut Vec<FieldError>) {
    let keys_field = format!("{at}.x-kubernetes-list-map-keys");
    if schema.list_keys.is_empty() {
        errors.push(required(&keys_field, "must not be empty if x-kubernetes-list-type is map"));
    }
    let Some(element) = element else {
        return errors.push(required(&format!("{at}.items"), "must have a schema if x-kubernetes-list-type is map"));
    };
    if element.of != "object" {
        let why = "must be object if parent array's x-kubernetes-list-type is map";
        errors.push(FieldError::invalid(&format!("{at}.items.type"), &element.of, why));
    }
    let keys = json!(schema.list_keys);
    for (place, key) in schema.list_keys.iter().enumerate().filter(|_| element.of == "object") {
        match element.properties.get(key) {
            Some(property) if ["array", "object"].contains(&property.of.as_str()) => {
                let why = "must be a scalar type if parent array's x-kubernetes-list-type is map";
                errors.push(FieldError::invalid(&format!("{at}.items.properties[{key}].type"), &element.of, why));
            }
            Some(_) => {}
            None => {
                let why = "entries must all be names of item properties";
                errors.push(FieldError::with_value(Cause::Invalid, &keys_field, &keys, why));
            }
        }
        if schema.list_keys[..place].contains(key) {
            let why = "must not contain duplicate entries";
            errors.push(FieldError::with_value(Cause::Invalid, &keys_field, &keys, why));
        }
    }
    if element.nullable {
        let why = "cannot be nullable when x-kubernetes-list-type is map";
        errors.push(forbidden(&format!("{at}.items.nullable"), why));
    }
    for key in &schema.list_keys {
        let Some(property) = element.properties.get(key) else { continue };
        let field = format!("{at}.items.properties[{key}]");
        if !element.required.contains(key) && property.default.is_none() {
            let why =
                "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property";
            errors.push(required(&format!("{field}.default"), why));
        }
        if property.nullable {
            let why = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
            errors.push(forbidden(&format!("{field}.nullable"), why));
        }
    }
}

fn check_rule(rule: &Rule, at: &str, errors: &mut Vec<FieldError>) {
    let (message, expression) = (rule.message.trim(), rule.message_expression.trim());
    if rule.rule.trim().is_empty() {
        errors.push(required(&format!("{at}.rule"), "rule is not specified"));
    } else if !rule.message.is_empty() && message.is_empty() {
        errors.push(FieldError::invalid(&format!("{at}.message"), &rule.message, "must be non-empty if specified"));
    } else if message.contains(['\n', '\r']) {
        errors.push(FieldError::invalid(&format!("{at}.message"), &rule.message, "must not contain line breaks"));
    } else if rule.rule.trim().contains(['\n', '\r']) && message.is_empty() {
        let why = "message must be specified if rule contains line breaks";
        errors.push(required(&format!("{at}.message"), why));
    }
    if !rule.message_expression.is_empty() && expression.is_empty() {
        let why = "messageExpression must be non-empty if specified";
        errors.push(required(&format!("{at}.messageExpression"), why));
    }
    const REASONS: [&str; 4] =
        ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];
    if let Some(reason) = rule.reason.as_deref().filter(|reason| !REASONS.contains(reason)) {
        errors.push(FieldError::unsupported(&format!("{at}.reason"), reason, &REASONS));
    }
    if !rule.field_path.is_empty() && !rule.field_path.starts_with(['.', '[']) {
        errors.push(FieldError::invalid(&format!("{at}.fieldPath"), &rule.field_path, "must be a valid path"));
    }
}

fn forbidden(field: &str, why: &str) -> FieldError {
    FieldError::new(Cause::Forbidden, field, why)
}

fn required(field: &str, why: &str) -> FieldError {
    FieldError::new(Cause::Required, field, why)
}

/// A type that is absent, or another one than is needed.
fn wrong_type(field: &str, given: &str, why: &str) -> FieldError {
    if given.is_empty() { required(field, why) } else { FieldError::invalid(field, given, why) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(spec: &Value) -> Vec<String> {
        let schema = json!({ "type": "object", "properties": { "spec": spec } });
        faults(&Schema::read(&schema).unwrap(), "s").iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_schema_that_is_not_structural_is_refused() {
        for (spec, expected) in [
            (json!({}), "s.properties[spec].type: Required value: must not be empty for specified object fields"),
            (json!({ "type": "array" }), "s.properties[spec].items: Required value: must be specified"),
            (
                json!({ "type": "object", "anyOf": [{ "type": "object" }] }),
                "s.properties[spec].anyOf[0].type: Forbidden: must be empty to be structural",
            ),
            (
                json!({ "type": "integer", "default": "x" }),
                "s.properties[spec].default: Invalid value: \"string\":  in body must be of type integer: \"string\"",
            ),
            (
                json!({ "type": "object", "default": { "a": 1 } }),
                "s.properties[spec].default: Invalid value: {\"a\":1}: must not have unknown fields",
            ),
            (
                json!({ "type": "thing" }),
                "s.properties[spec].type: Unsupported value: \"thing\": supported values: \"array\", \"boolean\", \"integer\", \"number\", \"object\", \"string\"",
            ),
            (
                json!({ "type": "string", "pattern": "(" }),
                "s.properties[spec].pattern: Invalid value: \"(\": must be a valid regular expression",
            ),
            (
                json!({ "type": "object", "properties": { "a": { "type": "string" } }, "additionalProperties": { "type": "string" } }),
                "s.properties[spec].additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive",
            ),
            (
                json!({ "type": "array", "items": { "type": "string" }, "x-kubernetes-list-type": "map" }),
                "s.properties[spec].x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map",
            ),
        ] {
            let found = found(&spec);
            assert!(found.first().is_some_and(|found| found.starts_with(expected)), "{spec} {found:?}");
        }
        for spec in [
            json!({ "x-kubernetes-int-or-string": true, "anyOf": [{ "type": "integer" }, { "type": "string" }] }),
            json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true }),
            json!({ "type": "object", "default": {}, "properties": { "a": { "type": "integer", "default": 1 } },
                "oneOf": [{ "required": ["a"] }, { "properties": { "a": { "minimum": 3 } } }] }),
        ] {
            assert_eq!(found(&spec), [""; 0], "{spec}");
        }
    }

    #[test]
    fn a_branch_speaks_of_fields_that_are_there() {
        let schema = json!({ "type": "object", "oneOf": [{ "properties": { "a": {} } }] });
        let found = faults(&Schema::read(&schema).unwrap(), "s");
        let expected = "s.properties[a]: Required value: because it is defined in s.oneOf[0].properties[a]";
        assert_eq!(found.iter().map(ToString::to_string).collect::<Vec<_>>(), [expected]);
    }

    #[test]
    fn the_metadata_of_an_object_have_their_own_schema() {
        let schema = |metadata: Value| {
            let schema = Schema::read(&json!({ "type": "object", "properties": { "metadata": metadata } })).unwrap();
            faults(&schema, "s").iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(
            schema(json!({ "type": "object", "properties": { "name": { "type": "string", "maxLength": 5 } } })),
            [""; 0]
        );
        let labels = json!({ "type": "object", "properties": { "labels": { "type": "object" } } });
        assert!(schema(labels)[0].starts_with("s.properties[metadata]: Forbidden: must not specify anything other"));
    }
}
