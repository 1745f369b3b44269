//! The rules of a schema in CEL (`x-kubernetes-validations`; apiextensions `schema/cel`).
//!
//! The crate `kube-cel` evaluates them. It checks no types, and knows no costs.

use super::correlation::{Old, is_same};
use super::pruning::child;
use super::structural::{Rule, Schema};
use crate::refusal::{Cause, FieldError};
use core::error::Error;
use kube_cel::{
    CompilationError, CompilationResult, CompiledSchema, ErrorKind, ValidationError, compile_schema, validate_compiled,
};
use regex_lite::{NoExpand, Regex};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The rules of a value and of those in it.
#[derive(Debug)]
pub(crate) struct Rules {
    /// Those of the value itself; `None` for none.
    own: Option<Own>,
    properties: BTreeMap<String, Self>,
    additional: Option<Box<Self>>,
    element: Option<Box<Self>>,
}

/// The rules of one value.
#[derive(Debug)]
struct Own {
    /// As they are where it replaces another value.
    updated: CompiledSchema,
    /// As they are where it is new; `None` if they are the same.
    new: Option<CompiledSchema>,
}

impl Rules {
    /// The rules of a schema; `None` if it has none.
    pub(crate) fn read(schema: &Value) -> Option<Self> {
        let own = schema["x-kubernetes-validations"].as_array().filter(|rules| !rules.is_empty());
        let is_optional = |rules: &Vec<Value>| rules.iter().any(|rule| rule["optionalOldSelf"] == true);
        let below = |name: &str| schema.get(name).and_then(Self::read).map(Box::new);
        let properties = schema["properties"].as_object().into_iter().flatten();
        let properties = properties.filter_map(|(name, schema)| Some((name.clone(), Self::read(schema)?)));
        let rules = Self {
            own: own.map(|rules| Own {
                updated: compile_schema(&alone(schema, "optional.of(oldSelf)")),
                new: is_optional(rules).then(|| compile_schema(&alone(schema, "optional.none()"))),
            }),
            properties: properties.collect(),
            additional: below("additionalProperties"),
            element: below("items"),
        };
        let is_empty = rules.own.is_none() && rules.properties.is_empty() && rules.additional.is_none();
        (!is_empty || rules.element.is_some()).then_some(rules)
    }

    /// The rules that are not obeyed by an object, which replaces another one.
    pub(crate) fn faults(&self, schema: &Schema, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let mut errors = Vec::new();
        self.check(schema, object, old, "", false, &mut errors);
        errors
    }

    fn check(
        &self,
        schema: &Schema,
        value: &Value,
        old: Option<&Value>,
        path: &str,
        is_old: bool,
        errors: &mut Vec<FieldError>,
    ) {
        if value.is_null() {
            return;
        }
        let old = old.filter(|old| !old.is_null());
        let is_old = old.map_or(is_old, |old| is_same(schema, value, old));
        if let Some(Own { updated, new }) = &self.own {
            let own = new.as_ref().filter(|_| old.is_none()).unwrap_or(updated);
            // The interpreter has no messages such as `a.B{c: 1}`, and panics.
            match catch_unwind(AssertUnwindSafe(|| validate_compiled(own, value, old))) {
                Ok(found) => {
                    let found = found.err().into_iter().flatten();
                    errors.extend(found.filter_map(|error| told(own, schema, value, path, is_old, &error)));
                }
                Err(_) => errors.push(FieldError::invalid(&field(path), &schema.of, "a rule cannot be evaluated")),
            }
        }
        let before = Old { schema, value: old };
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    let (rules, path) = match self.properties.get(name) {
                        Some(rules) => (Some(rules), child(path, name)),
                        None => (self.additional.as_deref(), format!("{path}[{name}]")),
                    };
                    let rules = rules.zip(schema.field(name));
                    rules
                        .into_iter()
                        .for_each(|(it, schema)| it.check(schema, value, before.field(name), &path, is_old, errors));
                }
            }
            Value::Array(elements) => {
                let Some((rules, schema)) = self.element.as_deref().zip(schema.element()) else { return };
                let before = before.elements();
                for (place, element) in elements.iter().enumerate() {
                    let path = format!("{path}[{place}]");
                    rules.check(schema, element, before.before(element), &path, is_old, errors);
                }
            }
            _ => {}
        }
    }

    /// The rules that no server takes.
    pub(crate) fn unsound(&self, at: &str) -> Vec<FieldError> {
        let own = self.own.iter().flat_map(|own| own.updated.validations.iter().enumerate());
        let own = own.filter_map(|(number, rule)| {
            Some(uncompiled(rule.as_ref().err()?, &format!("{at}.x-kubernetes-validations[{number}]")))
        });
        let mut errors: Vec<FieldError> = own.collect();
        for (name, rules) in &self.properties {
            errors.extend(rules.unsound(&format!("{at}.properties[{name}]")));
        }
        for (word, rules) in [("additionalProperties", &self.additional), ("items", &self.element)] {
            errors.extend(rules.iter().flat_map(|rules| rules.unsound(&format!("{at}.{word}"))));
        }
        errors
    }
}

/// A schema with its own rules alone. A rule with `optionalOldSelf` has this in place of `oldSelf`.
fn alone(schema: &Value, old: &str) -> Value {
    let mut alone = without(schema, &["x-kubernetes-validations", "default", "allOf", "anyOf", "oneOf", "not"]);
    let rules = schema["x-kubernetes-validations"].as_array().into_iter().flatten();
    alone["x-kubernetes-validations"] = rules.map(|rule| with_old(rule, old)).collect();
    alone
}

fn with_old(rule: &Value, old: &str) -> Value {
    let mut rule = rule.clone();
    let is_optional = rule["optionalOldSelf"] == true;
    let Some(name) = Regex::new(r"\boldSelf\b").ok().filter(|_| is_optional) else { return rule };
    for word in ["rule", "messageExpression"] {
        if let Some(text) = rule[word].as_str() {
            rule[word] = json!(name.replace_all(text, NoExpand(old)));
        }
    }
    rule
}

fn without(schema: &Value, words: &[&str]) -> Value {
    let Value::Object(fields) = schema else { return schema.clone() };
    let mut kept: Map<String, Value> = fields.clone();
    kept.retain(|word, _| !words.contains(&word.as_str()));
    for (word, below) in &mut kept {
        match (word.as_str(), below) {
            ("properties", Value::Object(properties)) => {
                properties.values_mut().for_each(|property| *property = without(property, words));
            }
            ("additionalProperties" | "items", below) => *below = without(below, words),
            _ => {}
        }
    }
    Value::Object(kept)
}

fn uncompiled(error: &CompilationError, at: &str) -> FieldError {
    let why = format!("compilation failed: {error}");
    match error {
        CompilationError::MessageExpressionParse { message_expression, .. } => {
            FieldError::invalid(&format!("{at}.messageExpression"), message_expression, &why)
        }
        CompilationError::Parse { rule, .. } => FieldError::invalid(&format!("{at}.rule"), rule, &why),
        _ => FieldError::new(Cause::Invalid, &format!("{at}.rule"), why),
    }
}

/// What a server says of a rule that is not obeyed; `None` if the value is the old one.
fn told(
    own: &CompiledSchema,
    schema: &Schema,
    value: &Value,
    path: &str,
    is_old: bool,
    error: &ValidationError,
) -> Option<FieldError> {
    let is_it = |rule: &Result<CompilationResult, _>| rule.as_ref().is_ok_and(|it| it.rule.rule == error.rule);
    let rule = schema.rules.get(own.validations.iter().position(is_it)?)?;
    let looks_back = rule.rule.contains("oldSelf");
    if error.kind == ErrorKind::ValidationFailure {
        return (looks_back || !is_old).then(|| broken(rule, schema, value, path, &error.message));
    }
    let why = error.source().map_or_else(|| error.message.clone(), |why| lowered(&why.to_string()));
    let why =
        format!("{why} evaluating rule: {}", if rule.message.is_empty() { &rule.rule } else { &rule.message }.trim());
    Some(FieldError::invalid(&field(path), &schema.of, &why))
}

fn broken(rule: &Rule, schema: &Schema, value: &Value, path: &str, message: &str) -> FieldError {
    let at = rule.field_path.replace("['", ".").replace("']", "");
    let path = if at.is_empty() { field(path) } else { child(path, at.trim_start_matches('.')) };
    let is_omitted = ["object", "array"].contains(&schema.of.as_str());
    let with_value = |cause: Cause, why: &str| {
        if is_omitted { FieldError::new(cause, &path, why) } else { FieldError::with_value(cause, &path, value, why) }
    };
    match rule.reason.as_deref() {
        Some("FieldValueForbidden") => FieldError::new(Cause::Forbidden, &path, message.trim()),
        Some("FieldValueRequired") => FieldError::new(Cause::Required, &path, message.trim()),
        Some("FieldValueDuplicate") => with_value(Cause::Duplicate, ""),
        _ => with_value(Cause::Invalid, message.trim()),
    }
}

fn field(path: &str) -> String {
    if path.is_empty() { "<nil>".to_owned() } else { path.to_owned() }
}

/// A text that begins with a small letter, as errors do in Go.
fn lowered(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn said(schema: &Value, object: Value, old: Option<Value>) -> Vec<String> {
        let rules = Rules::read(schema).unwrap();
        let found = rules.faults(&Schema::read(schema).unwrap(), &object, old.as_ref());
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_rule_that_is_not_obeyed_is_told_in_the_words_of_a_server() {
        let rule = |rule: Value| {
            json!({ "type": "object", "properties": { "spec": { "type": "object",
                "properties": { "min": { "type": "integer" }, "max": { "type": "integer" } },
                "x-kubernetes-validations": [rule] } } })
        };
        let object = json!({ "spec": { "min": 2, "max": 1 } });
        for (given, expected) in [
            (json!({ "rule": "self.min <= self.max" }), "spec: Invalid value: failed rule: self.min <= self.max"),
            (json!({ "rule": "self.min <= self.max", "message": "too few" }), "spec: Invalid value: too few"),
            (
                json!({ "rule": "self.min <= self.max", "messageExpression": "'at most ' + string(self.max)" }),
                "spec: Invalid value: at most 1",
            ),
            (
                json!({ "rule": "self.min <= self.max", "message": "no", "reason": "FieldValueForbidden", "fieldPath": ".min" }),
                "spec.min: Forbidden: no",
            ),
        ] {
            assert_eq!(said(&rule(given), object.clone(), None), [expected]);
        }
        let absent = said(&rule(json!({ "rule": "self.none > 1" })), object.clone(), None);
        assert_eq!(absent, ["spec: Invalid value: \"object\": no such key: none evaluating rule: self.none > 1"]);
        assert_eq!(said(&rule(json!({ "rule": "self.min > self.max" })), object, None), [""; 0]);
    }

    #[test]
    fn a_transition_rule_compares_with_the_value_before_it() {
        let fixed = json!([{ "rule": "self == oldSelf", "message": "is immutable" }]);
        let schema = json!({ "type": "object", "properties": {
            "name": { "type": "string", "x-kubernetes-validations": fixed },
            "list": { "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items":
                { "type": "object", "properties": { "k": { "type": "string" },
                    "v": { "type": "string", "x-kubernetes-validations": fixed } } } } } });
        let object = |name: &str, list: Value| json!({ "name": name, "list": list });
        let old = object("a", json!([{ "k": "x", "v": "1" }, { "k": "y", "v": "2" }]));
        assert_eq!(said(&schema, old.clone(), None), [""; 0], "nothing was before it");
        let swapped = object("a", json!([{ "k": "y", "v": "2" }, { "k": "x", "v": "1" }, { "k": "z", "v": "3" }]));
        assert_eq!(said(&schema, swapped, Some(old.clone())), [""; 0]);
        let changed = object("b", json!([{ "k": "y", "v": "9" }]));
        assert_eq!(
            said(&schema, changed, Some(old)),
            ["list[0].v: Invalid value: \"9\": is immutable", "name: Invalid value: \"b\": is immutable"]
        );
    }

    #[test]
    fn an_old_value_that_is_optional_is_none_for_a_new_object() {
        let rule = json!({ "rule": "oldSelf.hasValue() ? self >= oldSelf.value() : self == 1", "optionalOldSelf": true,
            "message": "begins with 1, and grows" });
        let schema = json!({ "type": "object", "properties": { "n": { "type": "integer", "x-kubernetes-validations": [rule] } } });
        let broken = |n: u64| vec![format!("n: Invalid value: {n}: begins with 1, and grows")];
        assert_eq!(said(&schema, json!({ "n": 1 }), None), [""; 0]);
        assert_eq!(said(&schema, json!({ "n": 2 }), None), broken(2));
        assert_eq!(said(&schema, json!({ "n": 3 }), Some(json!({ "n": 2 }))), [""; 0]);
        assert_eq!(said(&schema, json!({ "n": 1 }), Some(json!({ "n": 2 }))), broken(1));
    }

    #[test]
    fn a_rule_that_was_broken_before_is_taken_as_long_as_its_value_stays() {
        let schema = json!({ "type": "object", "properties": {
            "a": { "type": "integer", "x-kubernetes-validations": [{ "rule": "self < 5" }] }, "b": { "type": "integer" } } });
        assert_eq!(said(&schema, json!({ "a": 9, "b": 2 }), Some(json!({ "a": 9, "b": 1 }))), [""; 0]);
        assert_eq!(said(&schema, json!({ "a": 8 }), Some(json!({ "a": 9 }))).len(), 1);
    }

    #[test]
    fn a_rule_that_is_no_expression_is_refused() {
        let schema = json!({ "type": "object", "x-kubernetes-validations": [{ "rule": "self.a >" }] });
        let found = Rules::read(&schema).unwrap().unsound("s");
        assert!(
            found[0]
                .to_string()
                .starts_with("s.x-kubernetes-validations[0].rule: Invalid value: \"self.a >\": compilation")
        );
    }
}
