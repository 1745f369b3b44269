//! Whether a value is as its schema says, with the words of a server (kube-openapi `validation/validate`).
//!
//! A server visits the fields of an object in any order; here they are visited by their names.

use super::correlation::{Old, is_same};
use super::formats;
use super::pruning::child;
use super::structural::{Additional, Schema};
use crate::refusal::{Cause, FieldError, number_text};
use serde_json::{Map, Number, Value, json};
use std::collections::HashSet;

/// What is wrong with a value, which replaces another one. What was wrong before and is unchanged is taken.
///
/// `at` is the path of the value in its object; empty for the object.
pub(crate) fn faults(schema: &Schema, at: &str, value: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let check = Check { at };
    check.node(schema, value, "", old).faults.into_iter().map(|fault| fault.error).collect()
}

/// What the checks of a value found.
#[derive(Debug, Default)]
struct Outcome {
    faults: Vec<Fault>,
    /// Their texts.
    known: HashSet<String>,
    /// How many checks were made. It tells which alternative is meant.
    matched: usize,
}

#[derive(Debug)]
struct Fault {
    /// What it says, by which a fault that is found twice is told once.
    text: String,
    error: FieldError,
}

impl Outcome {
    fn passed() -> Self {
        Self { matched: 1, ..Self::default() }
    }

    fn add(&mut self, fault: Fault) {
        if self.known.insert(fault.text.clone()) {
            self.faults.push(fault);
        }
    }

    fn merge(&mut self, other: Self) {
        self.matched += other.matched;
        other.faults.into_iter().for_each(|fault| self.add(fault));
    }

    /// Merges the outcome of a check, which counts.
    fn take(&mut self, check: Self) {
        self.merge(check);
        self.matched += 1;
    }
}

impl From<Fault> for Outcome {
    fn from(fault: Fault) -> Self {
        vec![fault].into()
    }
}

impl From<Vec<Fault>> for Outcome {
    fn from(faults: Vec<Fault>) -> Self {
        let mut outcome = Self::default();
        faults.into_iter().for_each(|fault| outcome.add(fault));
        outcome
    }
}

/// The checks of one object, or of its status.
struct Check<'c> {
    at: &'c str,
}

impl Check<'_> {
    /// Checks a value that has one before it.
    fn node(&self, schema: &Schema, value: &Value, path: &str, old: Option<&Value>) -> Outcome {
        let outcome = self.value(schema, value, path, Old { schema, value: old });
        let is_old = || old.is_some_and(|old| is_same(schema, value, old));
        if !outcome.faults.is_empty() && is_old() {
            return Outcome { matched: outcome.matched, ..Outcome::default() };
        }
        outcome
    }

    /// Checks a value. The values of its fields and elements may be old ones.
    fn value(&self, schema: &Schema, value: &Value, path: &str, old: Old<'_>) -> Outcome {
        let mut outcome = Outcome::default();
        if value.is_null() {
            outcome.merge(self.null(schema, path));
            outcome.merge(self.enumerated(schema, value, path));
            return outcome;
        }
        if !schema.types().is_empty() || !format_of(schema).is_empty() {
            outcome.take(self.typed(schema, value, path));
        }
        outcome.take(self.branches(schema, value, path, old));
        match value {
            Value::String(text) => {
                outcome.take(self.text(schema, text, path));
                let format = format_of(schema);
                if formats::is_known(format) {
                    let fault = || self.other_type(path, format, value).into();
                    outcome.take(if formats::is_valid(format, text) { Outcome::default() } else { fault() });
                }
            }
            Value::Number(number) => outcome.take(self.number(schema, number, path)),
            Value::Array(elements) => outcome.take(self.elements(schema, elements, path, old)),
            _ => {}
        }
        outcome.take(self.enumerated(schema, value, path));
        if let Value::Object(fields) = value {
            outcome.take(self.fields(schema, fields, path, old));
        }
        outcome.matched += 1;
        outcome
    }

    fn null(&self, schema: &Schema, path: &str) -> Outcome {
        let types = schema.types();
        if types.is_empty() || schema.nullable {
            return Outcome::passed();
        }
        self.other_type(path, &types.join(","), &json!("null")).into()
    }

    fn typed(&self, schema: &Schema, value: &Value, path: &str) -> Outcome {
        let (types, format) = (schema.types(), format_of(schema));
        let (name, own_format) = match value {
            Value::Bool(_) => ("boolean", ""),
            Value::Number(number) if is_integer(number) => ("integer", "int64"),
            Value::Number(_) => ("number", "float64"),
            Value::String(_) => ("string", ""),
            Value::Array(_) => ("array", ""),
            Value::Object(_) | Value::Null => ("object", ""),
        };
        let is_whole = value.as_f64().is_some_and(|number| number.fract() == 0.0);
        let fits = types.contains(&name)
            || name == "number" && is_whole && types.contains(&"integer")
            || name == "integer" && types.contains(&"number");
        let is_text = value.is_string() || value.is_array();
        if !(is_text || format.is_empty() || fits || format == own_format) {
            return self.other_type(path, format, &json!(own_format)).into();
        }
        let is_numeric = types.iter().any(|it| ["number", "integer"].contains(it));
        if fits || is_text && !format.is_empty() && !is_numeric {
            return Outcome::passed();
        }
        self.other_type(path, &types.join(","), &json!(name)).into()
    }

    fn text(&self, schema: &Schema, text: &str, path: &str) -> Outcome {
        let length = i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
        if let Some(most) = schema.max_length.filter(|most| length > *most) {
            let unit = if most == 1 { "byte" } else { "bytes" };
            let said = format!("{path} in body should be at most {most} chars long");
            return self.fault(Cause::TooLong, path, said, &format!("may not be more than {most} {unit}")).into();
        }
        if let Some(least) = schema.min_length.filter(|least| length < *least) {
            return self.invalid(path, &json!(text), &format!("should be at least {least} chars long")).into();
        }
        let pattern = &schema.pattern;
        if pattern.text.is_empty() {
            return Outcome::default();
        }
        let wrong = match pattern.matches(text) {
            Ok(matches) => (!matches).then(|| pattern.text.clone()),
            Err(why) => Some(format!("{}, but pattern is invalid: {why}", pattern.text)),
        };
        let fault = wrong.map(|pattern| self.invalid(path, &json!(text), &format!("should match '{pattern}'")));
        fault.map_or_else(Outcome::default, Outcome::from)
    }

    fn number(&self, schema: &Schema, number: &Number, path: &str) -> Outcome {
        let value = Value::Number(number.clone());
        let mut outcome = Outcome::default();
        let range = Range::of(schema);
        range.fault("Checked", number, path).into_iter().for_each(|why| outcome.add(self.bare(why)));
        let mut bound = |name: &str, bound: Option<f64>, find: &dyn Fn(f64) -> Option<String>| {
            let Some(bound) = bound else { return };
            let as_number = Number::from_f64(bound);
            let fault = as_number.and_then(|number| range.fault(name, &number, path));
            fault.into_iter().for_each(|why| outcome.add(self.bare(why)));
            find(bound).into_iter().for_each(|why| outcome.add(self.invalid(path, &value, &why)));
        };
        bound("MultipleOf", schema.multiple_of, &|factor| not_multiple(number, factor));
        bound("Minimum boundary", schema.minimum, &|least| {
            let is_out = is_beyond(number, least, schema.exclusive_minimum, |value, bound| value < bound);
            let words = if schema.exclusive_minimum { "greater than" } else { "greater than or equal to" };
            is_out.then(|| format!("should be {words} {}", bound_text(number, least)))
        });
        bound("Maximum boundary", schema.maximum, &|most| {
            let is_out = is_beyond(number, most, schema.exclusive_maximum, |value, bound| value > bound);
            let words = if schema.exclusive_maximum { "less than" } else { "less than or equal to" };
            is_out.then(|| format!("should be {words} {}", bound_text(number, most)))
        });
        outcome.matched += 1;
        outcome
    }

    fn elements(&self, schema: &Schema, elements: &[Value], path: &str, old: Old<'_>) -> Outcome {
        let mut outcome = Outcome::default();
        if let Some(element_schema) = schema.element() {
            let before = old.elements();
            for (place, element) in elements.iter().enumerate() {
                let path = format!("{path}[{place}]");
                outcome.merge(self.node(element_schema, element, &path, before.before(element)));
            }
        }
        let count = i64::try_from(elements.len()).unwrap_or(i64::MAX);
        if let Some(least) = schema.min_items.filter(|least| count < *least) {
            outcome.add(self.invalid(path, &json!(count), &format!("should have at least {least} items")));
        }
        if let Some(most) = schema.max_items.filter(|most| count > *most) {
            outcome.add(self.too_many(path, count, most, "items"));
        }
        let mut seen = HashSet::new();
        if schema.unique_items && !elements.iter().all(|element| seen.insert(element)) {
            outcome.add(self.invalid(path, &json!(""), "shouldn't contain duplicates"));
        }
        outcome.matched += 1;
        outcome
    }

    fn enumerated(&self, schema: &Schema, value: &Value, path: &str) -> Outcome {
        let is_equal = |known: &Value| {
            known == value || known.is_number() && value.is_number() && known.as_f64() == value.as_f64()
        };
        if schema.values.is_empty() || schema.values.iter().any(|known| !known.is_null() && is_equal(known)) {
            return Outcome::default();
        }
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let texts: Vec<String> = schema.values.iter().map(text).collect();
        let said = format!("{path} in body should be one of [{}]", texts.join(" "));
        let quoted: Vec<String> = texts.iter().map(|text| format!("{text:?}")).collect();
        let why = format!("supported values: {}", quoted.join(", "));
        let error = FieldError::with_value(Cause::Unsupported, &self.field(path), value, &why);
        Fault { text: said, error }.into()
    }

    fn fields(&self, schema: &Schema, fields: &Map<String, Value>, path: &str, old: Old<'_>) -> Outcome {
        let mut outcome = Outcome::from(self.field_count(schema, fields.len(), path));
        for (name, value) in fields.iter().filter(|(name, _)| !schema.properties.contains_key(*name)) {
            match &schema.additional_properties {
                Some(Additional::Allowed(false)) => {
                    let said = format!("{path}.{name} in body is a forbidden property");
                    outcome.add(self.said(path, &json!(name), said));
                }
                Some(Additional::Of(additional)) => {
                    outcome.merge(self.node(additional, value, &format!("{path}.{name}"), old.field(name)));
                }
                Some(Additional::Allowed(true)) | None => {}
            }
        }
        for (name, property) in &schema.properties {
            if let Some(value) = fields.get(name) {
                outcome.merge(self.node(property, value, &child(path, name), old.field(name)));
            }
        }
        for name in schema.required.iter().filter(|name| !fields.contains_key(*name)) {
            let path = format!("{path}.{name}");
            outcome.add(self.fault(Cause::Required, &path, format!("{path} in body is required"), ""));
        }
        outcome
    }

    fn field_count(&self, schema: &Schema, count: usize, path: &str) -> Vec<Fault> {
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        let few = schema
            .min_properties
            .filter(|least| count < *least)
            .map(|least| self.invalid(path, &json!(count), &format!("should have at least {least} properties")));
        let many = schema.max_properties.filter(|most| count > *most);
        let many = many.map(|most| self.too_many(path, count, most, "properties"));
        few.into_iter().chain(many).collect()
    }

    fn branches(&self, schema: &Schema, value: &Value, path: &str, old: Old<'_>) -> Outcome {
        let mut outcome = Outcome::default();
        let check = |branch: &Schema| self.value(branch, value, path, old);
        if !schema.any_of.is_empty() {
            outcome.merge(self.any_of(path, &schema.any_of, &check));
        }
        if !schema.one_of.is_empty() {
            outcome.merge(self.one_of(path, schema.one_of.iter().map(&check).collect()));
        }
        if !schema.all_of.is_empty() {
            outcome.merge(self.all_of(path, schema.all_of.iter().map(&check).collect()));
        }
        if schema.not.as_ref().is_some_and(|not| check(not).faults.is_empty()) {
            outcome.add(self.bare(format!("{path:?} must not validate the schema (not)")));
        }
        outcome.matched += 1;
        outcome
    }

    fn any_of(&self, path: &str, branches: &[Schema], check: &dyn Fn(&Schema) -> Outcome) -> Outcome {
        let mut failed = Vec::new();
        for branch in branches {
            let found = check(branch);
            if found.faults.is_empty() {
                return found;
            }
            failed.push(found);
        }
        let mut outcome: Outcome = self.bare(format!("{path:?} must validate at least one schema (anyOf)")).into();
        best(failed).into_iter().for_each(|best| outcome.merge(best));
        outcome
    }

    fn one_of(&self, path: &str, found: Vec<Outcome>) -> Outcome {
        let (mut passed, failed): (Vec<Outcome>, _) = found.into_iter().partition(|found| found.faults.is_empty());
        if passed.len() == 1 {
            return passed.remove(0);
        }
        let found = match passed.len() {
            0 => "Found none valid".to_owned(),
            count => format!("Found {count} valid alternatives"),
        };
        let mut outcome: Outcome =
            self.bare(format!("{path:?} must validate one and only one schema (oneOf). {found}")).into();
        if passed.is_empty() {
            best(failed).into_iter().for_each(|best| outcome.merge(best));
        }
        outcome
    }

    fn all_of(&self, path: &str, found: Vec<Outcome>) -> Outcome {
        let (count, passed) = (found.len(), found.iter().filter(|found| found.faults.is_empty()).count());
        let mut outcome = Outcome::default();
        found.into_iter().for_each(|found| outcome.merge(found));
        if passed < count {
            let none = if passed == 0 { ". None validated" } else { "" };
            outcome.add(self.bare(format!("{path:?} must validate all the schemas (allOf){none}")));
        }
        outcome
    }

    /// The path of a field in its object.
    fn field(&self, path: &str) -> String {
        let path = path.trim_start_matches('.');
        match (self.at, path) {
            ("", "") => "<nil>".to_owned(),
            (at, "") => at.to_owned(),
            ("", path) => path.to_owned(),
            (at, path) => format!("{at}.{path}"),
        }
    }

    fn fault(&self, cause: Cause, path: &str, said: String, why: &str) -> Fault {
        Fault { text: said, error: FieldError::new(cause, &self.field(path), why) }
    }

    fn invalid(&self, path: &str, value: &Value, rule: &str) -> Fault {
        self.said(path, value, format!("{path} in body {rule}"))
    }

    fn said(&self, path: &str, value: &Value, said: String) -> Fault {
        let error = FieldError::with_value(Cause::Invalid, &self.field(path), value, &said);
        Fault { text: said, error }
    }

    /// A fault to which a server gives no field.
    fn bare(&self, said: String) -> Fault {
        self.said("", &json!(""), said)
    }

    fn other_type(&self, path: &str, wanted: &str, given: &Value) -> Fault {
        let said = format!("{path} in body must be of type {wanted}: {given}");
        let error = FieldError::with_value(Cause::Type, &self.field(path), given, &said);
        Fault { text: said, error }
    }

    fn too_many(&self, path: &str, count: i64, most: i64, what: &str) -> Fault {
        let item = if most == 1 { "item" } else { "items" };
        let why = format!("{count}: must have at most {most} {item}");
        self.fault(Cause::TooMany, path, format!("{path} in body should have at most {most} {what}"), &why)
    }
}

/// The alternative that is meant: the first of those with the most checks.
fn best(failed: Vec<Outcome>) -> Option<Outcome> {
    failed.into_iter().reduce(|best, next| if next.matched > best.matched { next } else { best })
}

/// The format that a server checks; empty for none.
fn format_of(schema: &Schema) -> &str {
    let format = schema.format.as_str();
    let is_checked = match schema.types() {
        ["integer"] => ["int32", "int64"].contains(&format),
        ["number"] => ["float", "double"].contains(&format),
        [] | ["string"] | ["integer", "string"] => formats::is_known(format),
        _ => false,
    };
    if is_checked { format } else { "" }
}

/// The range of a type of numbers.
struct Range<'s> {
    of: &'s str,
    format: &'s str,
}

impl<'s> Range<'s> {
    fn of(schema: &'s Schema) -> Self {
        match schema.types() {
            ["integer"] => Self { of: "integer", format: format_of(schema) },
            ["number"] => Self { of: "number", format: format_of(schema) },
            _ => Self { of: "", format: "" },
        }
    }

    /// A number that the type does not have.
    fn fault(&self, name: &str, number: &Number, path: &str) -> Option<String> {
        let value = number.as_f64().unwrap_or(f64::INFINITY);
        let is_whole = is_integer(number) || value.fract() == 0.0 && value.abs() < 9.2e18;
        let is_out = match (self.of, self.format) {
            ("integer", "int32") => !is_whole || value < f64::from(i32::MIN) || value > f64::from(i32::MAX),
            ("integer", _) => !is_whole,
            (_, "float") => value.abs() > f64::from(f32::MAX),
            _ => false,
        };
        let format = match self.format {
            "" => "(default format)".to_owned(),
            format => format!("with format {format}"),
        };
        is_out.then(|| format!("{name} value must be of type {} {format} in {path}", self.of))
    }
}

fn is_integer(number: &Number) -> bool {
    number.is_i64()
}

/// Whether a number is beyond a bound, or at it where the bound is none of its own range. A whole number is compared with a
/// whole bound.
fn is_beyond(number: &Number, bound: f64, is_exclusive: bool, is_beyond: fn(f64, f64) -> bool) -> bool {
    let value = number.as_f64().unwrap_or_default();
    let bound = if is_integer(number) { bound.trunc() } else { bound };
    is_beyond(value, bound) || is_exclusive && value == bound
}

fn bound_text(number: &Number, bound: f64) -> String {
    number_text(if is_integer(number) { bound.trunc() } else { bound })
}

fn not_multiple(number: &Number, factor: f64) -> Option<String> {
    let factor = if is_integer(number) { factor.trunc() } else { factor };
    if factor <= 0.0 {
        return Some("has a factor MultipleOf that is not positive".to_owned());
    }
    let value = number.as_f64().unwrap_or_default();
    let times = if factor < 1.0 { 1.0 / factor * value } else { value / factor };
    let is_multiple = (times - times.round()).abs() < 1e-9;
    (!is_multiple).then(|| format!("should be a multiple of {}", number_text(factor)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(schema: Value, value: Value, old: Option<Value>) -> Vec<String> {
        let schema = json!({ "type": "object", "properties": { "spec": schema } });
        let object = |spec: Value| json!({ "spec": spec });
        let schema = Schema::read(&schema).unwrap();
        let old = old.map(object);
        faults(&schema, "", &object(value), old.as_ref()).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn each_keyword_has_the_words_of_a_server() {
        for (schema, value, expected) in [
            (
                json!({ "type": "string" }),
                json!(1),
                "spec: Invalid value: \"integer\": spec in body must be of type string: \"integer\"",
            ),
            (
                json!({ "type": "string" }),
                json!(null),
                "spec: Invalid value: \"null\": spec in body must be of type string: \"null\"",
            ),
            (json!({ "type": "string", "maxLength": 2 }), json!("abc"), "spec: Too long: may not be more than 2 bytes"),
            (
                json!({ "type": "string", "minLength": 2 }),
                json!("a"),
                "spec: Invalid value: \"a\": spec in body should be at least 2 chars long",
            ),
            (
                json!({ "type": "string", "pattern": "^b" }),
                json!("a"),
                "spec: Invalid value: \"a\": spec in body should match '^b'",
            ),
            (
                json!({ "type": "string", "enum": ["a", "b"] }),
                json!("c"),
                "spec: Unsupported value: \"c\": supported values: \"a\", \"b\"",
            ),
            (
                json!({ "type": "integer", "enum": [1, 2] }),
                json!(3),
                "spec: Unsupported value: 3: supported values: \"1\", \"2\"",
            ),
            (
                json!({ "type": "integer", "minimum": 1 }),
                json!(0),
                "spec: Invalid value: 0: spec in body should be greater than or equal to 1",
            ),
            (
                json!({ "type": "integer", "maximum": 1, "exclusiveMaximum": true }),
                json!(1),
                "spec: Invalid value: 1: spec in body should be less than 1",
            ),
            (
                json!({ "type": "number", "maximum": 1.5 }),
                json!(1.75),
                "spec: Invalid value: 1.75: spec in body should be less than or equal to 1.5",
            ),
            (
                json!({ "type": "integer", "multipleOf": 3 }),
                json!(4),
                "spec: Invalid value: 4: spec in body should be a multiple of 3",
            ),
            (
                json!({ "type": "integer", "format": "int32" }),
                json!(3_000_000_000_i64),
                "<nil>: Invalid value: \"\": Checked value must be of type integer with format int32 in spec",
            ),
            (
                json!({ "type": "array", "items": { "type": "string" }, "minItems": 1 }),
                json!([]),
                "spec: Invalid value: 0: spec in body should have at least 1 items",
            ),
            (
                json!({ "type": "array", "items": { "type": "string" }, "maxItems": 1 }),
                json!(["a", "b"]),
                "spec: Too many: 2: must have at most 1 item",
            ),
            (
                json!({ "type": "array", "items": { "type": "string" } }),
                json!([1]),
                "spec[0]: Invalid value: \"integer\": spec[0] in body must be of type string: \"integer\"",
            ),
            (json!({ "type": "object", "required": ["a"] }), json!({}), "spec.a: Required value"),
            (
                json!({ "type": "object", "minProperties": 1 }),
                json!({}),
                "spec: Invalid value: 0: spec in body should have at least 1 properties",
            ),
            (
                json!({ "type": "object", "additionalProperties": { "type": "integer" } }),
                json!({ "a": "b" }),
                "spec.a: Invalid value: \"string\": spec.a in body must be of type integer: \"string\"",
            ),
            (
                json!({ "type": "string", "format": "date" }),
                json!("x"),
                "spec: Invalid value: \"x\": spec in body must be of type date: \"x\"",
            ),
            (
                json!({ "x-kubernetes-int-or-string": true }),
                json!(true),
                "spec: Invalid value: \"boolean\": spec in body must be of type integer,string: \"boolean\"",
            ),
        ] {
            assert_eq!(found(schema.clone(), value, None), [expected], "{schema}");
        }
        for (schema, value) in [
            (json!({ "type": "integer" }), json!(3.0)),
            (json!({ "type": "number" }), json!(3)),
            (json!({ "type": "string", "nullable": true }), json!(null)),
            (json!({ "type": "string", "format": "unknown" }), json!("x")),
            (json!({ "x-kubernetes-int-or-string": true }), json!("80%")),
            (json!({}), json!({ "any": 1 })),
        ] {
            assert_eq!(found(schema.clone(), value, None), [""; 0], "{schema}");
        }
    }

    #[test]
    fn alternatives_are_told_with_the_one_that_is_meant() {
        let branch = |name: &str| json!({ "required": [name] });
        let schema = |word: &str| json!({ "type": "object", word: [branch("a"), branch("b")] });
        let no_field = |said: &str| format!("<nil>: Invalid value: \"\": \"spec\" {said}");
        assert_eq!(
            found(schema("oneOf"), json!({}), None),
            [
                no_field("must validate one and only one schema (oneOf). Found none valid"),
                "spec.a: Required value".into()
            ]
        );
        assert_eq!(
            found(schema("oneOf"), json!({ "a": 1, "b": 1 }), None),
            [no_field("must validate one and only one schema (oneOf). Found 2 valid alternatives")]
        );
        assert_eq!(
            found(schema("anyOf"), json!({}), None),
            [no_field("must validate at least one schema (anyOf)"), "spec.a: Required value".into()]
        );
        assert_eq!(
            found(schema("allOf"), json!({ "a": 1 }), None),
            ["spec.b: Required value".to_owned(), no_field("must validate all the schemas (allOf)")]
        );
        let not = json!({ "type": "object", "not": branch("a") });
        assert_eq!(found(not, json!({ "a": 1 }), None), [no_field("must not validate the schema (not)")]);
    }

    #[test]
    fn a_fault_that_was_there_before_is_taken_as_long_as_its_value_stays() {
        let schema = json!({ "type": "object", "properties": {
            "a": { "type": "integer", "maximum": 5 }, "b": { "type": "integer", "maximum": 5 } } });
        let old = json!({ "a": 9, "b": 1 });
        assert_eq!(found(schema.clone(), json!({ "a": 9, "b": 2 }), Some(old.clone())), [""; 0]);
        let expected = "spec.a: Invalid value: 8: spec.a in body should be less than or equal to 5";
        assert_eq!(found(schema, json!({ "a": 8, "b": 2 }), Some(old)), [expected]);
    }

    #[test]
    fn the_status_has_a_path_of_its_own() {
        let schema =
            Schema::read(&json!({ "type": "object", "properties": { "seen": { "type": "integer" } } })).unwrap();
        let said = |value: Value| faults(&schema, "status", &value, None)[0].to_string();
        let expected = "status.seen: Invalid value: \"string\": seen in body must be of type integer: \"string\"";
        assert_eq!(said(json!({ "seen": "x" })), expected);
        assert_eq!(said(json!([])), "status: Invalid value: \"array\":  in body must be of type object: \"array\"");
    }
}
