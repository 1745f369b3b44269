//! What a run may leave behind: what the undisturbed runs do, with what differs between them.

use crate::end::End;
use crate::value::told;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// The objects that are expected in the end.
///
/// Undisturbed runs may differ, as when one kind is told later than the others. Then the presence of an object may vary,
/// or a value in it: the rest of the object has to be as it is.
#[derive(Clone, Debug)]
pub(crate) struct Expected {
    forms: BTreeMap<String, Form>,
    /// What the test does not compare, and whether it is there.
    left_out: BTreeMap<String, bool>,
}

/// An object as it is expected.
#[derive(Clone, Debug)]
struct Form {
    value: Value,
    presence: Presence,
    /// The values that were seen by their paths, where there are several.
    seen: BTreeMap<String, Vec<Value>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Presence {
    Always,
    Sometimes,
}

/// A value that differs.
pub(crate) struct Difference<'a> {
    /// The object, and the field in it.
    pub(crate) path: String,
    pub(crate) expected: &'a Value,
    pub(crate) found: &'a Value,
}

/// The value of a field that is absent.
static NULL: Value = Value::Null;

impl Expected {
    /// As one run ended. What the test leaves out is not compared: a resource, an object or a field.
    pub(crate) fn new(end: &End, left_out: &BTreeSet<String>) -> Self {
        let form = |value: &Value| Form { value: value.clone(), presence: Presence::Always, seen: BTreeMap::new() };
        let forms = end.0.iter().map(|(key, value)| (key.clone(), form(value))).collect();
        let mut expected = Self { forms, left_out: left_out.iter().map(|path| (path.clone(), false)).collect() };
        expected.look_for_left_out(end);
        expected
    }

    /// Another run ended so, which is as right.
    pub(crate) fn learn(&mut self, end: &End) {
        for (key, form) in &mut self.forms {
            match end.0.get(key) {
                Some(value) => form.learn(key, value),
                None => form.presence = Presence::Sometimes,
            }
        }
        for (key, value) in &end.0 {
            let form = || Form { value: value.clone(), presence: Presence::Sometimes, seen: BTreeMap::new() };
            self.forms.entry(key.clone()).or_insert_with(form);
        }
        self.look_for_left_out(end);
    }

    /// What an end has differently.
    pub(crate) fn differences(&self, end: &End) -> Vec<String> {
        let mut found = Vec::new();
        let keys: BTreeSet<&String> = self.forms.keys().chain(end.0.keys()).collect();
        for key in keys {
            match (self.forms.get(key), end.0.get(key)) {
                _ if self.is_left_out(key) => {}
                (Some(form), Some(value)) => {
                    let differences = differences(key, &form.value, value).into_iter();
                    let wrong = differences.filter(|it| !form.may_be(it) && !self.is_left_out(&it.path));
                    let told = |value| told(key.split(' ').next().unwrap_or_default(), value);
                    found.extend(
                        wrong.map(|it| format!("{} is {} instead of {}", it.path, told(it.found), told(it.expected))),
                    );
                }
                (Some(form), None) if form.presence == Presence::Always => found.push(format!("{key} is missing")),
                (None, Some(object)) => found.push(format!("{key} is {}", end.superfluous(key, object))),
                (Some(_) | None, None) => {}
            }
        }
        found
    }

    /// Looks in an end for what the test leaves out.
    pub(crate) fn look_for_left_out(&mut self, end: &End) {
        for (path, is_there) in self.left_out.iter_mut().filter(|(_, is_there)| !**is_there) {
            *is_there = path.is_empty() || end.0.iter().any(|(key, value)| has(key, value, path));
        }
    }

    /// What the test leaves out, and no run has.
    pub(crate) fn never_there(&self) -> impl Iterator<Item = &str> {
        self.left_out.iter().filter(|(_, is_there)| !**is_there).map(|(path, _)| path.as_str())
    }

    fn is_left_out(&self, path: &str) -> bool {
        self.left_out.keys().any(|left_out| is_inside(path, left_out))
    }
}

impl Form {
    /// The object has this value in another run.
    fn learn(&mut self, key: &str, value: &Value) {
        for Difference { path, expected, found } in differences(key, &self.value, value) {
            let seen = self.seen.entry(path).or_insert_with(|| vec![expected.clone()]);
            if !seen.contains(found) {
                seen.push(found.clone());
            }
        }
    }

    /// Whether a value may differ so: it was seen, or others of several.
    fn may_be(&self, difference: &Difference<'_>) -> bool {
        self.seen.get(&difference.path).is_some_and(|seen| {
            let values = seen.iter().filter(|value| !value.is_null()).count();
            seen.contains(difference.found) || (values > 1 && !difference.found.is_null())
        })
    }
}

/// Whether a path is that of a place, or of something in it.
fn is_inside(path: &str, place: &str) -> bool {
    place.is_empty() || path.strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

/// Whether an object is, has or is inside of what a path names.
fn has(key: &str, value: &Value, path: &str) -> bool {
    let fields = || differences(key, &NULL, value);
    let is_field = || path.starts_with(key) && fields().iter().any(|it| is_inside(&it.path, path));
    is_inside(key, path) || is_field()
}

/// The fields of two values that differ, each by itself. A list of another length differs as a whole.
pub(crate) fn differences<'a>(path: &str, expected: &'a Value, found: &'a Value) -> Vec<Difference<'a>> {
    let mut all = Vec::new();
    compare(path, expected, found, &mut all);
    all
}

fn compare<'a>(path: &str, expected: &'a Value, found: &'a Value, all: &mut Vec<Difference<'a>>) {
    let (one, two) = match (expected, found) {
        (Value::Object(one), Value::Object(two)) => (Some(one), Some(two)),
        (Value::Object(one), Value::Null) => (Some(one), None),
        (Value::Null, Value::Object(two)) => (None, Some(two)),
        (Value::Array(one), Value::Array(two)) if one.len() == two.len() => {
            let both = one.iter().zip(two).enumerate();
            return both.for_each(|(index, (one, two))| compare(&format!("{path} {index}"), one, two, all));
        }
        _ if expected == found => return,
        _ => return all.push(Difference { path: path.to_owned(), expected, found }),
    };
    let names: BTreeSet<&String> = [one, two].into_iter().flatten().flat_map(Map::keys).collect();
    for name in names {
        let field = |fields: Option<&'a Map<String, Value>>| fields.and_then(|it| it.get(name)).unwrap_or(&NULL);
        compare(&format!("{path} {name}"), field(one), field(two), all);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use listwatch::testing::SimulatedCluster;
    use serde_json::json;

    const A: &str = "v1/configmaps default/a";

    fn end(maps: &[(&str, Value)]) -> End {
        let cluster = SimulatedCluster::new();
        for (name, rest) in maps {
            let mut map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name } });
            map["data"] = rest["data"].clone();
            map["metadata"]["ownerReferences"] = rest["owners"].clone();
            cluster.create(map).expect("the cluster takes it");
        }
        End::of(&cluster, None)
    }

    fn of(data: Value) -> End {
        end(&[("a", json!({ "data": data }))])
    }

    fn expected(end: &End) -> Expected {
        Expected::new(end, &BTreeSet::new())
    }

    #[test]
    fn a_missing_object_an_orphan_and_a_field_are_differences() {
        let before = end(&[("a", json!({ "data": { "x": "1" } })), ("b", json!({}))]);
        let owners = json!([{ "apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "gone" }]);
        let after = end(&[("a", json!({ "data": { "x": "2" } })), ("c", json!({ "owners": owners }))]);
        assert_eq!(
            expected(&before).differences(&after),
            [
                "v1/configmaps default/a data x is \"2\" instead of \"1\"",
                "v1/configmaps default/b is missing",
                "v1/configmaps default/c is an orphan: its owner is gone",
            ]
        );
    }

    #[test]
    fn no_value_of_a_secret_is_told() {
        let secret = |x: &str| End([("v1/secrets default/a".to_owned(), json!({ "data": { "x": x } }))].into());
        let told = expected(&secret("one")).differences(&secret("two")).concat();
        assert!(told.starts_with("v1/secrets default/a data x is (secret "), "{told}");
        assert!(!told.contains("one") && !told.contains("two"), "{told}");
    }

    #[test]
    fn an_object_that_may_be_absent_is_compared_where_it_is() {
        let whole = of(json!({ "x": "1" }));
        let mut expected = expected(&whole);
        expected.learn(&end(&[]));
        assert_eq!(expected.differences(&end(&[])), [""; 0]);
        assert_eq!(expected.differences(&of(json!({ "x": "2" }))), [format!("{A} data x is \"2\" instead of \"1\"")]);
        expected.learn(&end(&[("a", json!({ "data": { "x": "1" } })), ("b", json!({ "data": { "y": "1" } }))]));
        assert_eq!(expected.differences(&end(&[("b", json!({ "data": { "y": "2" } }))])).len(), 1);
    }

    #[test]
    fn a_field_that_varies_leaves_the_others_compared() {
        let mut expected = expected(&of(json!({ "x": "1", "y": "1", "z": "1" })));
        expected.learn(&of(json!({ "x": "2", "z": "1" })));
        assert_eq!(expected.differences(&of(json!({ "x": "3", "z": "1" }))), [""; 0]);
        let wrong = expected.differences(&of(json!({ "y": "2", "z": "2" })));
        let texts = ["x is null instead of \"1\"", "y is \"2\" instead of \"1\"", "z is \"2\" instead of \"1\""];
        assert_eq!(wrong, texts.map(|text| format!("{A} data {text}")));
    }

    #[test]
    fn what_a_test_leaves_out_is_not_compared_and_has_to_be_there() {
        let left_out = ["v1/configmaps default/a data x", "v1/secrets"].map(str::to_owned).into();
        let mut expected = Expected::new(&of(json!({ "x": "1", "xx": "1" })), &left_out);
        assert_eq!(expected.differences(&of(json!({ "x": "2", "xx": "1" }))), [""; 0]);
        assert_eq!(expected.differences(&of(json!({ "x": "2", "xx": "2" }))).len(), 1);
        assert_eq!(expected.never_there().collect::<Vec<_>>(), ["v1/secrets"]);
        expected.look_for_left_out(&End([("v1/secrets default/a".to_owned(), json!({}))].into()));
        assert_eq!(expected.never_there().count(), 0);
    }
}
