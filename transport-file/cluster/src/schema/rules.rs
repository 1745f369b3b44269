//! The rules of a schema in CEL (`x-kubernetes-validations`; apiextensions `schema/cel`).

use super::correlation::{Old, is_same};
use super::expressions::{Expression, Failure, optional, to_cel};
use super::pruning::child;
use super::structural::{ListType, Rule, Schema};
use crate::refusal::{Cause, FieldError};
use core::ops::ControlFlow;
use kube_cel::cel::Value as Cel;
use serde_json::Value;
use std::collections::BTreeMap;

/// What the rules of one object cost at most.
const BUDGET: u64 = 10_000_000;
/// The most bytes of a message that is evaluated.
const MESSAGE: usize = 5 * 1024;

/// The rules of a value and of those in it.
#[derive(Debug)]
pub(crate) struct Rules {
    own: Vec<Compiled>,
    properties: BTreeMap<String, Self>,
    additional: Option<Box<Self>>,
    element: Option<Box<Self>>,
}

/// A rule, ready for evaluation.
#[derive(Debug)]
struct Compiled {
    rule: Rule,
    holds: Result<Expression, String>,
    /// What is said if it does not hold.
    message: Option<Result<Expression, String>>,
    /// Whether it compares with the value before it.
    looks_back: bool,
}

impl Compiled {
    fn read(rule: &Rule) -> Self {
        let message = Some(&rule.message_expression).filter(|text| !text.trim().is_empty());
        let holds = Expression::read(&rule.rule);
        let looks_back = holds.as_ref().is_ok_and(|read| read.names("oldSelf"));
        Self { rule: rule.clone(), holds, message: message.map(|text| Expression::read(text)), looks_back }
    }

    /// What a server says of a rule that cannot be evaluated.
    fn words(&self) -> &str {
        if self.rule.message.is_empty() { &self.rule.rule } else { &self.rule.message }.trim()
    }

    /// What is wrong with it. `within` is the list or the map in which no value is known to replace another one.
    fn unsound(&self, at: &str, within: Option<&str>) -> Option<FieldError> {
        let (text, optional) = (&self.rule.rule, self.rule.optional_old_self);
        self.uncompiled(at).or_else(|| match (within, optional) {
            (Some(within), _) if self.looks_back => {
                let why = format!("oldSelf cannot be used on the uncorrelatable portion of the schema within {within}");
                Some(FieldError::invalid(&format!("{at}.rule"), text, &why))
            }
            (_, Some(optional)) if !self.looks_back => {
                let (field, why) = (format!("{at}.optionalOldSelf"), "may not be set if oldSelf is not used in rule");
                Some(FieldError::with_value(Cause::Invalid, &field, &Value::Bool(optional), why))
            }
            _ => None,
        })
    }

    fn uncompiled(&self, at: &str) -> Option<FieldError> {
        let unread = |field: &str, text: &str, why: &str| {
            FieldError::invalid(&format!("{at}.{field}"), text, &format!("compilation failed: {why}"))
        };
        let holds = self.holds.as_ref().err().map(|why| unread("rule", &self.rule.rule, why));
        let message = || match &self.message {
            Some(Err(why)) => Some(unread("messageExpression", &self.rule.message_expression, why)),
            _ => None,
        };
        holds.or_else(message)
    }
}

impl Rules {
    /// The rules of a schema; `None` if it has none.
    pub(crate) fn read(schema: &Schema) -> Option<Self> {
        let below = |schema: Option<&Schema>| schema.and_then(Self::read).map(Box::new);
        let properties = schema.properties.iter();
        let rules = Self {
            own: schema.rules.iter().map(Compiled::read).collect(),
            properties: properties.filter_map(|(name, schema)| Some((name.clone(), Self::read(schema)?))).collect(),
            additional: below(schema.additional()),
            element: below(schema.element()),
        };
        let is_empty = rules.own.is_empty() && rules.properties.is_empty() && rules.additional.is_none();
        (!is_empty || rules.element.is_some()).then_some(rules)
    }

    /// The rules that are not obeyed by an object, which replaces another one.
    pub(crate) fn faults(&self, schema: &Schema, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let mut run = Run { left: BUDGET, errors: Vec::new() };
        // It may break off, with an error.
        let _end = self.check(&mut run, schema, object, old, "", false);
        run.errors
    }

    fn check(
        &self,
        run: &mut Run,
        schema: &Schema,
        value: &Value,
        old: Option<&Value>,
        path: &str,
        is_old: bool,
    ) -> ControlFlow<()> {
        if value.is_null() {
            return ControlFlow::Continue(());
        }
        let old = old.filter(|old| !old.is_null());
        let is_old = old.map_or(is_old, |old| is_same(schema, value, old));
        if !self.own.is_empty() {
            let (current, before) = (to_cel(Some(schema), value), old.map(|old| to_cel(Some(schema), old)));
            let subject = Subject { schema, value, path, is_old, current, before };
            self.own.iter().try_for_each(|rule| run.evaluate(rule, &subject))?;
        }
        let before = Old { schema, value: old };
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    let (rules, path) = match self.properties.get(name) {
                        Some(rules) => (Some(rules), child(path, name)),
                        None => (self.additional.as_deref(), format!("{path}[{name}]")),
                    };
                    if let Some((rules, schema)) = rules.zip(schema.field(name)) {
                        rules.check(run, schema, value, before.field(name), &path, is_old)?;
                    }
                }
            }
            Value::Array(elements) => {
                let Some((rules, schema)) = self.element.as_deref().zip(schema.element()) else {
                    return ControlFlow::Continue(());
                };
                let before = before.elements();
                for (place, element) in elements.iter().enumerate() {
                    let path = format!("{path}[{place}]");
                    rules.check(run, schema, element, before.before(element), &path, is_old)?;
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }

    /// The rules of a schema that no server takes.
    pub(crate) fn unsound(&self, schema: &Schema, at: &str) -> Vec<FieldError> {
        let mut errors = Vec::new();
        self.find_unsound(schema, at, None, &mut errors);
        errors
    }

    fn find_unsound(&self, schema: &Schema, at: &str, within: Option<&str>, errors: &mut Vec<FieldError>) {
        let own = self.own.iter().enumerate();
        errors.extend(
            own.filter_map(|(number, rule)| rule.unsound(&format!("{at}.x-kubernetes-validations[{number}]"), within)),
        );
        let mut find = |rules: &Self, below: Option<&Schema>, word: &str, within| {
            below.into_iter().for_each(|schema| rules.find_unsound(schema, &format!("{at}.{word}"), within, errors));
        };
        for (name, rules) in &self.properties {
            find(rules, schema.properties.get(name), &format!("properties[{name}]"), within);
        }
        if let Some(rules) = &self.additional {
            find(rules, schema.additional(), "additionalProperties", within);
        }
        if let Some(rules) = &self.element {
            let is_keyed = matches!(schema.list_type(), ListType::Map(_));
            find(rules, schema.element(), "items", within.or_else(|| (!is_keyed).then_some(at)));
        }
    }
}

/// A value whose rules are evaluated.
struct Subject<'s> {
    schema: &'s Schema,
    value: &'s Value,
    path: &'s str,
    /// Whether it is as it was before.
    is_old: bool,
    current: Cel,
    before: Option<Cel>,
}

impl Subject<'_> {
    /// What rules know; the old value may be optional.
    fn variables(&self, is_optional: bool) -> Vec<(&'static str, Cel)> {
        let before = self.before.clone();
        let old = if is_optional { Some(optional(before)) } else { before };
        [("self", self.current.clone())].into_iter().chain(old.map(|old| ("oldSelf", old))).collect()
    }

    fn invalid(&self, path: &str, why: &str) -> FieldError {
        FieldError::invalid(path, &self.schema.of, why)
    }
}

/// The evaluation of the rules of one object.
struct Run {
    /// What the rules may still cost.
    left: u64,
    errors: Vec<FieldError>,
}

impl Run {
    /// Evaluates a rule. It breaks where no further rules are evaluated.
    fn evaluate(&mut self, rule: &Compiled, subject: &Subject<'_>) -> ControlFlow<()> {
        let is_optional = rule.rule.optional_old_self == Some(true);
        if rule.looks_back && subject.before.is_none() && !is_optional {
            return ControlFlow::Continue(());
        }
        let Ok(holds) = &rule.holds else { return ControlFlow::Continue(()) };
        let failure = match holds.evaluate(&subject.variables(is_optional), &mut self.left) {
            Ok(Cel::Bool(true)) => return ControlFlow::Continue(()),
            Ok(Cel::Bool(false)) => return self.refuse(rule, subject),
            Ok(_) => Failure::Error(NO_OVERLOAD.to_owned()),
            Err(failure) => failure,
        };
        self.errors.push(subject.invalid(&field(subject.path), &unevaluated(rule, &failure)));
        if matches!(failure, Failure::Error(_)) { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }

    /// Notes that a rule does not hold, unless it did not hold before.
    fn refuse(&mut self, rule: &Compiled, subject: &Subject<'_>) -> ControlFlow<()> {
        let (error, flow) = match self.message(rule, subject) {
            Ok(message) => (broken(&rule.rule, subject, &message), ControlFlow::Continue(())),
            Err(why) => (subject.invalid(&path_of(&rule.rule, subject), &why), ControlFlow::Break(())),
        };
        if rule.looks_back || !subject.is_old {
            self.errors.push(error);
        }
        flow
    }

    /// What is said of a rule that does not hold. `Err` says why nothing can be said.
    fn message(&mut self, rule: &Compiled, subject: &Subject<'_>) -> Result<String, String> {
        let given = || match rule.rule.message.trim() {
            "" => format!("failed rule: {}", rule.words()),
            message => message.to_owned(),
        };
        let Some(Ok(message)) = &rule.message else { return Ok(given()) };
        let source = &rule.rule.message_expression;
        match message.evaluate(&subject.variables(false), &mut self.left) {
            Ok(Cel::String(text)) if is_message(text.trim()) => Ok(text.trim().to_owned()),
            Err(Failure::Spent) => Err(format!("messageExpression evaluation failed due to {OUT_OF_BUDGET}")),
            Err(Failure::Costly) => Err(format!("{COSTLY} messageExpression: {source:?}")),
            Ok(_) | Err(Failure::Error(_)) => Ok(given()),
        }
    }
}

const NO_OVERLOAD: &str = "no such overload";
const OUT_OF_BUDGET: &str = "running out of cost budget, no further validation rules will be run";
const COSTLY: &str = "no further validation rules will be run due to call cost exceeds limit for";

/// What a server says of a rule that it cannot evaluate.
fn unevaluated(rule: &Compiled, failure: &Failure) -> String {
    let words = rule.words();
    match failure {
        Failure::Error(why) if why == NO_OVERLOAD => format!(
            "'{why}': call arguments did not match a supported operator, function or macro signature for rule: {words}"
        ),
        Failure::Error(why) => format!("{why} evaluating rule: {words}"),
        Failure::Costly => format!("'operation cancelled: actual cost limit exceeded': {COSTLY} rule: {words}"),
        Failure::Spent => format!("validation failed due to {OUT_OF_BUDGET}"),
    }
}

fn is_message(text: &str) -> bool {
    !text.is_empty() && text.len() <= MESSAGE && !text.contains('\n')
}

fn broken(rule: &Rule, subject: &Subject<'_>, message: &str) -> FieldError {
    let path = path_of(rule, subject);
    let is_omitted = ["object", "array"].contains(&subject.schema.of.as_str());
    let with_value = |cause: Cause, why: &str| match is_omitted {
        true => FieldError::new(cause, &path, why),
        false => FieldError::with_value(cause, &path, subject.value, why),
    };
    match rule.reason.as_deref() {
        Some("FieldValueForbidden") => FieldError::new(Cause::Forbidden, &path, message),
        Some("FieldValueRequired") => FieldError::new(Cause::Required, &path, message),
        Some("FieldValueDuplicate") => with_value(Cause::Duplicate, ""),
        _ => with_value(Cause::Invalid, message),
    }
}

/// The path of the field that a rule is about.
fn path_of(rule: &Rule, subject: &Subject<'_>) -> String {
    let at = rule.field_path.replace("['", ".").replace("']", "");
    if at.is_empty() { field(subject.path) } else { child(subject.path, at.trim_start_matches('.')) }
}

fn field(path: &str) -> String {
    if path.is_empty() { "<nil>".to_owned() } else { path.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn said(schema: &Value, object: Value, old: Option<Value>) -> Vec<String> {
        let rules = Rules::read(&Schema::read(schema).unwrap()).unwrap();
        let found = rules.faults(&Schema::read(schema).unwrap(), &object, old.as_ref());
        found.iter().map(ToString::to_string).collect()
    }

    fn unsound(schema: &Value) -> Vec<String> {
        let schema = Schema::read(schema).unwrap();
        Rules::read(&schema).unwrap().unsound(&schema, "s").iter().map(ToString::to_string).collect()
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
        let unevaluated = json!({ "type": "object", "x-kubernetes-validations": [{ "rule": "self.none > 1" }] });
        assert_eq!(
            said(&unevaluated, json!({}), Some(json!({}))).len(),
            1,
            "one that cannot be evaluated is not taken"
        );
    }

    #[test]
    fn a_rule_that_is_no_expression_is_refused() {
        let schema = json!({ "type": "object", "x-kubernetes-validations": [{ "rule": "self.a >" }] });
        let found = unsound(&schema);
        assert!(found[0].starts_with("s.x-kubernetes-validations[0].rule: Invalid value: \"self.a >\": compilation"));
    }

    #[test]
    fn the_rules_of_an_object_end_when_they_cost_too_much() {
        let rule = |rule: &str| json!({ "type": "array", "items": { "type": "integer" }, "x-kubernetes-validations": [{ "rule": rule }] });
        let schema = |first: &str| json!({ "type": "object", "properties": { "a": rule(first), "b": rule("self.size() == 1") } });
        let object = json!({ "a": vec![1; 1_000], "b": [1, 2] });
        let costly = "self.all(a, self.all(b, self.all(c, c > 0)))";
        assert_eq!(
            said(&schema(costly), object.clone(), None),
            [format!(
                "a: Invalid value: \"array\": 'operation cancelled: actual cost limit exceeded': no further validation rules \
                 will be run due to call cost exceeds limit for rule: {costly}"
            )]
        );
        let many = json!({ "type": "object", "properties": { "a": { "type": "array", "items": rule("self.all(a, self.exists(b, b == a))") } } });
        let found = said(&many, json!({ "a": vec![(0..200).collect::<Vec<_>>(); 200] }), None);
        let expected = "validation failed due to running out of cost budget, no further validation rules will be run";
        assert!(found.len() == 1 && found[0].ends_with(expected), "{found:?}");
        assert_eq!(said(&schema("self.size() == 1"), object, None).len(), 2);
    }

    #[test]
    fn a_rule_with_values_of_other_types_is_told_so() {
        let schema = json!({ "type": "object", "properties": { "a": { "x-kubernetes-int-or-string": true,
            "x-kubernetes-validations": [{ "rule": "self > 1" }] } } });
        assert_eq!(
            said(&schema, json!({ "a": "x" }), None),
            [
                "a: Invalid value: \"\": 'no such overload': call arguments did not match a supported operator, function or macro \
              signature for rule: self > 1"
            ]
        );
    }

    #[test]
    fn a_transition_rule_needs_a_value_that_is_known_to_be_replaced() {
        let rule = |rule: &str, more: Value| {
            let mut rule = json!({ "rule": rule });
            more.as_object().unwrap().iter().for_each(|(name, value)| rule[name] = value.clone());
            json!({ "type": "object", "properties": { "k": { "type": "string" } }, "x-kubernetes-validations": [rule] })
        };
        let list = |of: &str| {
            let fixed = rule("self == oldSelf", json!({ "optionalOldSelf": true }));
            json!({ "type": "array", "x-kubernetes-list-type": of, "x-kubernetes-list-map-keys": ["k"], "items": fixed })
        };
        let within = "s.properties[a].items.x-kubernetes-validations[0].rule: Invalid value: \"self == oldSelf\": oldSelf cannot be \
                      used on the uncorrelatable portion of the schema within s.properties[a]";
        let schema = |of: Value| json!({ "type": "object", "properties": { "a": of } });
        assert_eq!(unsound(&schema(list("atomic"))), [within]);
        assert_eq!(unsound(&schema(list("map"))), [""; 0]);
        let unused = "s.x-kubernetes-validations[0].optionalOldSelf: Invalid value: false: may not be set if oldSelf is not used in \
                      rule";
        assert_eq!(unsound(&rule("true", json!({ "optionalOldSelf": false }))), [unused]);
    }
}
