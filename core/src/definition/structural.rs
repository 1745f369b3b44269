//! From the schema that schemars makes of a type to a structural one, as definitions have it.
//!
//! A structural schema says of each place what it is, once. schemars says it in alternatives: those of an enum are laid
//! over each other here, and only what tells them apart stays in a `oneOf` or `anyOf`. Where no schema can say it, such as
//! for a number or an object, the place takes anything.

use crate::change::without_nulls;
use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

type Fields = Map<String, Value>;

pub(super) const ANY: &str = "x-kubernetes-preserve-unknown-fields";
pub(super) const INT_OR_STRING: &str = "x-kubernetes-int-or-string";

/// The words of a schema that the server knows, but for those of Kubernetes (`x-kubernetes-…`).
pub(super) const WORDS: [&str; 28] = [
    "additionalProperties",
    "allOf",
    "anyOf",
    "default",
    "description",
    "enum",
    "example",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "externalDocs",
    "format",
    "items",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "not",
    "nullable",
    "oneOf",
    "pattern",
    "properties",
    "required",
    "type",
];

/// The schema of a type's objects. The server knows the metadata.
pub(super) fn schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::openapi3().with(|settings| settings.inline_subschemas = true);
    let mut root = structural(settings.into_generator().into_root_schema_for::<T>().to_value());
    ["default", "example", "nullable"].iter().for_each(|word| drop(root.remove(*word)));
    let mut properties = take(&mut root, "properties");
    for name in ["apiVersion", "kind", "metadata"] {
        properties.remove(name);
        if let Some(required) = root.get_mut("required").and_then(Value::as_array_mut) {
            required.retain(|field| field != name);
        }
    }
    // An object without a status would get one by the read of its creation.
    if let Some(Value::Object(status)) = properties.get_mut("status") {
        status.remove("default");
    }
    root.insert("properties".to_owned(), Value::Object(properties));
    root.retain(|word, value| word != "required" || value.as_array().is_some_and(|names| !names.is_empty()));
    Value::Object(root)
}

/// Makes a schema structural. A reference stays: it is one of a type to itself.
pub(super) fn structural(schema: Value) -> Fields {
    let Value::Object(mut fields) = schema else { return anything() };
    if fields.contains_key("$ref") {
        return fields;
    }
    resolve_values(&mut fields);
    resolve_numbers(&mut fields);
    resolve_fields(&mut fields);
    resolve_elements(&mut fields);
    for word in ["allOf", "oneOf", "anyOf"] {
        if let Some(Value::Array(branches)) = fields.remove(word) {
            resolve_branches(&mut fields, word, branches);
        }
    }
    fields.retain(|word, _| WORDS.contains(&word.as_str()) || word.starts_with("x-kubernetes-"));
    resolve_type(&mut fields);
    fields
}

fn anything() -> Fields {
    Fields::from_iter([(ANY.to_owned(), true.into())])
}

fn is_set(fields: &Fields, word: &str) -> bool {
    fields.get(word) == Some(&Value::Bool(true))
}

/// Takes the object under a word; an empty one if there is none.
fn take(fields: &mut Fields, word: &str) -> Fields {
    match fields.remove(word) {
        Some(Value::Object(taken)) => taken,
        _ => Fields::new(),
    }
}

/// Types, constants and defaults. A null is no value, but a place that may be null.
fn resolve_values(fields: &mut Fields) {
    if let Some(value) = fields.remove("const") {
        fields.insert("enum".to_owned(), json!([value]));
    }
    if let Some(Value::Array(types)) = fields.get_mut("type") {
        let types: Vec<Value> = core::mem::take(types);
        let named: Vec<&str> = types.iter().filter_map(Value::as_str).filter(|of| *of != "null").collect();
        let is_nullable = named.len() < types.len();
        fields.remove("type");
        match *named {
            [of] => _ = fields.insert("type".to_owned(), of.into()),
            ["integer", "string"] | ["string", "integer"] => _ = fields.insert(INT_OR_STRING.to_owned(), true.into()),
            _ => _ = fields.insert(ANY.to_owned(), true.into()),
        }
        if is_nullable {
            fields.insert("nullable".to_owned(), true.into());
        }
    }
    if fields.get("type").is_some_and(|of| of == "null") {
        fields.remove("type");
        fields.insert("nullable".to_owned(), true.into());
    }
    if let Some(Value::Array(values)) = fields.get_mut("enum") {
        let before = values.len();
        values.retain(|value| !value.is_null());
        let (left, is_nullable) = (values.len(), values.len() < before);
        if left == 0 {
            fields.remove("enum");
        }
        if is_nullable {
            fields.insert("nullable".to_owned(), true.into());
        }
    }
    match fields.get_mut("default") {
        Some(Value::Null) => drop(fields.remove("default")),
        Some(default) => *default = without_nulls(default.take()),
        None => {}
    }
}

/// The formats of numbers are those that the server checks. Bounds say the rest.
fn resolve_numbers(fields: &mut Fields) {
    let format = fields.get("format").and_then(Value::as_str).unwrap_or_default();
    let is_u32 = format == "uint32";
    match format {
        "int8" | "int16" | "uint8" | "uint16" => _ = fields.insert("format".to_owned(), "int32".into()),
        "uint32" | "uint64" | "uint" | "int" => _ = fields.insert("format".to_owned(), "int64".into()),
        "int128" | "uint128" => _ = fields.remove("format"),
        _ => {}
    }
    if is_u32 {
        fields.entry("maximum").or_insert_with(|| u32::MAX.into());
    }
    for (exclusive, bound) in [("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")] {
        if let Some(Value::Number(number)) = fields.get(exclusive).cloned() {
            fields.insert(bound.to_owned(), Value::Number(number));
            fields.insert(exclusive.to_owned(), true.into());
        }
    }
}

/// An object has fields of its own, or others. With both, it keeps what it does not know.
fn resolve_fields(fields: &mut Fields) {
    if let Some(Value::Object(properties)) = fields.get_mut("properties") {
        properties.values_mut().for_each(|property| *property = Value::Object(structural(property.take())));
    }
    let has_own = fields.get("properties").and_then(Value::as_object).is_some_and(|own| !own.is_empty());
    let of_patterns = match fields.remove("patternProperties") {
        Some(Value::Object(patterns)) => patterns.into_iter().map(|(_, of)| structural(of)).reduce(widened),
        _ => None,
    };
    let others = match fields.remove("additionalProperties") {
        None | Some(Value::Bool(false)) => of_patterns,
        Some(others) => Some(structural(others)),
    };
    match others {
        Some(_) if has_own => _ = fields.insert(ANY.to_owned(), true.into()),
        Some(others) => _ = fields.insert("additionalProperties".to_owned(), Value::Object(others)),
        None => {}
    }
}

/// All elements of a list have one schema, also those of a tuple.
fn resolve_elements(fields: &mut Fields) {
    let of = match fields.remove("items") {
        Some(Value::Array(each)) => each.into_iter().map(structural).reduce(widened),
        Some(all) => Some(structural(all)),
        None => None,
    };
    if fields.get("type").is_none_or(|of| of != "array") {
        return;
    }
    let of = of.unwrap_or_else(anything);
    let is_scalar = matches!(type_of(&of), "string" | "integer" | "number" | "boolean");
    if fields.remove("uniqueItems") == Some(Value::Bool(true)) && is_scalar {
        fields.entry("x-kubernetes-list-type").or_insert_with(|| "set".into());
    }
    fields.insert("items".to_owned(), Value::Object(of));
}

/// The type of a schema; empty if it says none.
fn type_of(fields: &Fields) -> &str {
    fields.get("type").and_then(Value::as_str).unwrap_or_default()
}

/// A place without a type says what it takes.
fn resolve_type(fields: &mut Fields) {
    if is_set(fields, INT_OR_STRING) {
        ["type", "anyOf", "format", ANY].iter().for_each(|word| drop(fields.remove(*word)));
        return;
    }
    if !type_of(fields).is_empty() || is_set(fields, ANY) {
        return;
    }
    let is_text = |values: &Value| values.as_array().is_some_and(|values| values.iter().all(Value::is_string));
    let of = match fields {
        _ if fields.contains_key("properties") || fields.contains_key("additionalProperties") => "object",
        _ if fields.contains_key("items") => "array",
        _ if fields.get("enum").is_some_and(is_text) => "string",
        _ => {
            fields.insert(ANY.to_owned(), true.into());
            return;
        }
    };
    fields.insert("type".to_owned(), of.into());
}

/// Lays the branches over the schema. Branches that only say what a value may be stay as they are.
fn resolve_branches(fields: &mut Fields, word: &str, branches: Vec<Value>) {
    const TYPED: [&str; 7] = ["$ref", "type", "const", "enum", "allOf", "anyOf", "oneOf"];
    let is_typed = |branch: &Value| match branch {
        Value::Object(of) => {
            of.is_empty() || TYPED.iter().any(|word| of.contains_key(*word)) || is_set(of, INT_OR_STRING)
        }
        _ => true,
    };
    if !branches.iter().any(is_typed) {
        fields.insert(word.to_owned(), Value::Array(branches));
        return;
    }
    let (typed, bare): (Vec<_>, Vec<_>) = branches.into_iter().partition(|branch| word != "allOf" || is_typed(branch));
    if !bare.is_empty() {
        fields.insert(word.to_owned(), Value::Array(bare));
    }
    let mut branches: Vec<Fields> = typed.into_iter().map(structural).collect();
    let all = branches.len();
    branches.retain(|branch| !is_null(branch));
    let is_nullable = branches.len() < all || (word != "allOf" && branches.iter().any(|of| is_set(of, "nullable")));
    branches.iter_mut().for_each(|branch| drop(branch.remove("nullable")));
    if is_nullable {
        fields.insert("nullable".to_owned(), true.into());
    }
    if word == "allOf" || branches.len() == 1 {
        return branches.into_iter().for_each(|branch| merge(fields, branch));
    }
    let told: Vec<Fields> = branches.iter().map(told_apart).collect();
    let Some(whole) = branches.into_iter().reduce(widened) else { return };
    let is_object = type_of(&whole) == "object";
    merge(fields, whole);
    if is_object && !told.iter().any(Fields::is_empty) {
        merge(fields, Fields::from_iter([(word.to_owned(), told.into_iter().map(Value::Object).collect())]));
    }
}

/// Whether a schema takes a null alone.
fn is_null(fields: &Fields) -> bool {
    is_set(fields, "nullable") && fields.keys().all(|word| matches!(word.as_str(), "nullable" | ANY | "description"))
}

/// What tells an alternative from others: the fields that it must have, and the values of its tags.
fn told_apart(branch: &Fields) -> Fields {
    let mut told = Fields::new();
    if let Some(required) = branch.get("required") {
        told.insert("required".to_owned(), required.clone());
    }
    let properties = branch.get("properties").and_then(Value::as_object).into_iter().flatten();
    let tags: Fields = properties
        .filter(|(_, of)| of["enum"].as_array().is_some_and(|values| values.len() == 1))
        .map(|(name, of)| (name.clone(), json!({ "enum": of["enum"] })))
        .collect();
    if !tags.is_empty() {
        told.insert("properties".to_owned(), Value::Object(tags));
    }
    told
}

/// Adds to a schema what another one says of the same value.
fn merge(fields: &mut Fields, other: Fields) {
    for (word, value) in other {
        match (word.as_str(), value) {
            ("properties", Value::Object(others)) => {
                let mut own = take(fields, &word);
                for (name, of) in others {
                    own.entry(name).or_insert(of);
                }
                fields.insert(word, Value::Object(own));
            }
            ("required", Value::Array(others)) => {
                let own = fields.entry("required").or_insert_with(|| json!([]));
                let Some(own) = own.as_array_mut() else { continue };
                own.extend(others);
                own.sort_by(|one, other| one.as_str().cmp(&other.as_str()));
                own.dedup();
            }
            ("oneOf" | "anyOf", value) if fields.contains_key(&word) => {
                let all = fields.entry("allOf").or_insert_with(|| json!([]));
                all.as_array_mut().into_iter().for_each(|all| all.push(json!({ (word.as_str()): value })));
            }
            (_, value) => _ = fields.entry(word).or_insert(value),
        }
    }
}

/// The schema of what either of two schemas takes, or more.
fn widened(one: Fields, other: Fields) -> Fields {
    if one == other {
        return one;
    }
    let is_nullable = is_set(&one, "nullable") || is_set(&other, "nullable");
    let description = one.get("description").cloned().filter(|text| Some(text) == other.get("description"));
    let keeps_unknown = is_set(&one, ANY) || is_set(&other, ANY);
    let mut both = match (type_of(&one), type_of(&other)) {
        ("object", "object") => widened_objects(one, other),
        ("array", "array") => {
            let elements =
                [one, other].map(|of| of.get("items").and_then(Value::as_object).cloned().unwrap_or_default());
            let [one, other] = elements;
            Fields::from_iter([
                ("type".to_owned(), "array".into()),
                ("items".to_owned(), Value::Object(widened(one, other))),
            ])
        }
        (of, same) if of == same && !of.is_empty() => widened_scalars(&one, &other),
        _ if [&one, &other]
            .iter()
            .all(|it| matches!(type_of(it), "integer" | "string") || is_set(it, INT_OR_STRING)) =>
        {
            Fields::from_iter([(INT_OR_STRING.to_owned(), true.into())])
        }
        _ => anything(),
    };
    if keeps_unknown && !is_set(&both, INT_OR_STRING) {
        both.insert(ANY.to_owned(), true.into());
    }
    if is_nullable {
        both.insert("nullable".to_owned(), true.into());
    }
    description.into_iter().for_each(|text| _ = both.insert("description".to_owned(), text));
    both
}

fn widened_scalars(one: &Fields, other: &Fields) -> Fields {
    let mut both: Fields = one.iter().filter(|(word, value)| other.get(*word) == Some(value)).map(owned).collect();
    if let (Some(Value::Array(one)), Some(Value::Array(other))) = (one.get("enum"), other.get("enum")) {
        let new = other.iter().filter(|value| !one.contains(value));
        both.insert("enum".to_owned(), one.iter().chain(new).cloned().collect());
    }
    both
}

fn owned((word, value): (&String, &Value)) -> (String, Value) {
    (word.clone(), value.clone())
}

fn widened_objects(mut one: Fields, mut other: Fields) -> Fields {
    let mut both = Fields::from_iter([("type".to_owned(), "object".into())]);
    let others = [one.remove("additionalProperties"), other.remove("additionalProperties")];
    let has_own = [&one, &other].iter().any(|it| it.contains_key("properties"));
    match others {
        [None, None] => {}
        _ if has_own => _ = both.insert(ANY.to_owned(), true.into()),
        [Some(Value::Object(one)), Some(Value::Object(other))] => {
            both.insert("additionalProperties".to_owned(), Value::Object(widened(one, other)));
        }
        others => {
            let known = others.into_iter().flatten().next().unwrap_or_default();
            both.insert("additionalProperties".to_owned(), known);
        }
    }
    if has_own {
        let mut properties = take(&mut one, "properties");
        for (name, of) in take(&mut other, "properties") {
            let both = match (properties.remove(&name), of) {
                (Some(Value::Object(one)), Value::Object(other)) => Value::Object(widened(one, other)),
                (_, of) => of,
            };
            properties.insert(name, both);
        }
        both.insert("properties".to_owned(), Value::Object(properties));
    }
    let required = |of: &Fields| of.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let in_both: Vec<Value> = required(&one).into_iter().filter(|name| required(&other).contains(name)).collect();
    if !in_both.is_empty() {
        both.insert("required".to_owned(), Value::Array(in_both));
    }
    both
}
