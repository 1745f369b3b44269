//! What an object has in the places that a body or a change names.

use super::elements::sources;
use super::error::{ChangeError, Place};
use super::merge_patch::merge_patch;
use super::value::{same, written};
use alloc::string::String;
use alloc::vec::Vec;
use serde::Serialize;
use serde_json::Value;

/// What a body names of an object, as a type shows it: [`Desired::view_of`](super::Desired::view_of). Equal views are of
/// equal values.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct View {
    pub(super) seen: Value,
    pub(super) shows: Shows,
}

/// How much of what a body names a type shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Shows {
    /// All of it.
    All,
    /// What it names of the metadata. A server counts changes of all else in the generation.
    Metadata,
    /// Neither.
    Part,
}

impl View {
    /// The values.
    pub fn seen(&self) -> &Value {
        &self.seen
    }

    /// How much of it the type shows.
    pub fn shows(&self) -> Shows {
        self.shows
    }
}

/// What a change wants of an object, and what the object has in those places.
///
/// If a server has not taken a change, the same change of its answer is the same wish. So a caller that remembers the wish
/// need not send it again.
///
/// ```
/// use listwatch_core::change::Wish;
/// use serde_json::json;
///
/// let wished = |found, wanted| Wish::of(&json!({ "ready": found }), &json!({ "ready": wanted }));
/// let (sent, left) = (wished(1, 3)?.unwrap(), wished(2, 3)?.unwrap());
/// assert!(left.is_left_of(sent.patch()) && left != sent);
/// assert_eq!(left.places(), ["ready"]);
/// assert_eq!(wished(3, 3)?, None);
/// # Ok::<(), listwatch_core::change::ChangeError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Wish {
    wanted: Value,
    found: Value,
}

impl Wish {
    /// The wish of a change; `None` if nothing differs.
    ///
    /// # Errors
    /// If a value cannot be written as a JSON object, or a list to be sent has an explicit null.
    pub fn of<T: Serialize + ?Sized>(before: &T, after: &T) -> Result<Option<Self>, ChangeError> {
        let (before, after) = (written(before)?, written(after)?);
        let wanted = merge_patch(Place::Root, &before, &after)?;
        let differs = wanted.as_object().is_some_and(|fields| !fields.is_empty());
        Ok(differs.then(|| Self::of_patch(wanted, &before)))
    }

    /// The wish of a merge patch of this object.
    pub fn of_patch(patch: Value, object: &Value) -> Self {
        Self { found: view(Place::Root, &patch, object, Lists::Whole), wanted: patch }
    }

    /// The wish of a body that is applied (server-side apply). Other elements of its lists may be those of others.
    pub fn of_applied(body: Value, object: &Value) -> Self {
        Self { found: view(Place::Root, &body, object, Lists::Named), wanted: body }
    }

    /// The merge patch of what is wanted. Of a list, it has what the type shows.
    pub fn patch(&self) -> &Value {
        &self.wanted
    }

    /// Whether this is what is left after that patch was sent: the server has taken nothing of it, or a part.
    pub fn is_left_of(&self, patch: &Value) -> bool {
        covers(patch, &self.wanted)
    }

    /// Whether a wanted value is absent: it was dropped, or went to a place that is not named, as the `stringData` of a
    /// Secret does. Servers drop empty values and zeros, which say nothing.
    pub fn is_lost(&self) -> bool {
        is_lost(&self.wanted, &self.found)
    }

    /// The first places that differ, as printable paths. Those of empty values that are absent are none.
    pub fn places(&self) -> Vec<String> {
        let mut places = Vec::new();
        add_places(Place::Root, &self.wanted, &self.found, &mut places);
        places
    }
}

/// The most places that are told.
const MOST: usize = 4;

/// The elements of a list that are seen. Of those that a body names, it is what the body names.
#[derive(Clone, Copy)]
pub(super) enum Lists {
    /// All of them.
    Whole,
    /// Those that the body names, in its order.
    Named,
}

/// What `target` has where `body` names something.
pub(super) fn view(place: Place<'_>, body: &Value, target: &Value, lists: Lists) -> Value {
    match (body, target) {
        (Value::Object(body), Value::Object(_)) => {
            let seen = |name: &String, value| view(place.field(name), value, &target[name], lists);
            Value::Object(body.iter().map(|(name, value)| (name.clone(), seen(name, value))).collect())
        }
        (Value::Array(body), Value::Array(target)) => elements(place, body, target, lists),
        (_, target) => target.clone(),
    }
}

fn elements(place: Place<'_>, body: &[Value], target: &[Value], lists: Lists) -> Value {
    // Which element is which cannot be told: all are seen as they are.
    let Ok(sources) = sources(place, target, body, target) else { return Value::from(target) };
    let seen = |at: usize, value| view(place.element(at), value, &target[at], lists);
    let named = body.iter().zip(sources.of);
    match lists {
        Lists::Named => named.map(|(value, source)| source.map_or(Value::Null, |at| seen(at, value))).collect(),
        Lists::Whole => {
            let mut whole = target.to_vec();
            named.for_each(|(value, source)| source.into_iter().for_each(|at| whole[at] = seen(at, value)));
            Value::Array(whole)
        }
    }
}

/// Whether a patch that was sent has all that another one has.
fn covers(sent: &Value, due: &Value) -> bool {
    match (sent, due) {
        (Value::Object(sent), Value::Object(due)) => {
            due.iter().all(|(name, due)| sent.get(name).is_some_and(|sent| covers(sent, due)))
        }
        (sent, due) => same(sent, due),
    }
}

fn is_lost(wanted: &Value, found: &Value) -> bool {
    match (wanted, found) {
        (Value::Object(wanted), Value::Object(_) | Value::Null) => {
            wanted.iter().any(|(name, wanted)| is_lost(wanted, &found[name]))
        }
        (Value::Array(wanted), Value::Array(found)) if wanted.len() == found.len() => {
            wanted.iter().zip(found).any(|(wanted, found)| is_lost(wanted, found))
        }
        (Value::Array(wanted), Value::Array(found)) => wanted.len() > found.len(),
        (wanted, Value::Null) => !is_empty(wanted),
        _ => false,
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(elements) => elements.is_empty(),
        _ => false,
    }
}

/// Adds the places of `wanted` where `found` is another value.
fn add_places(place: Place<'_>, wanted: &Value, found: &Value, places: &mut Vec<String>) {
    match (wanted, found) {
        _ if places.len() == MOST || same(wanted, found) => {}
        (wanted, Value::Null) if !wanted.is_null() && !is_lost(wanted, found) => {}
        (Value::Object(fields), Value::Object(_)) => {
            fields.iter().for_each(|(name, wanted)| add_places(place.field(name), wanted, &found[name], places));
        }
        (Value::Array(wanted), Value::Array(found)) if wanted.len() == found.len() => {
            let pairs = wanted.iter().zip(found).enumerate();
            pairs.for_each(|(at, (wanted, found))| add_places(place.element(at), wanted, found, places));
        }
        _ => places.push(place.path()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn seen(body: &Value, target: Value) -> Value {
        view(Place::Root, body, &target, Lists::Whole)
    }

    #[test]
    fn a_view_has_what_the_body_names_and_the_rest_of_its_lists() {
        let body = json!({ "cpu": "1000m", "off": false, "ports": [{ "port": 80 }, { "port": 443 }], "gone": null });
        let ports = json!([{ "port": 443, "node": 1 }, { "port": 80, "node": 2 }, { "port": 22, "node": 3 }]);
        let target = json!({ "cpu": "1", "other": 1, "ports": ports, "gone": 7 });
        let expected = json!([{ "port": 443 }, { "port": 80 }, { "port": 22, "node": 3 }]);
        assert_eq!(seen(&body, target), json!({ "cpu": "1", "off": null, "ports": expected, "gone": 7 }));
    }

    #[test]
    fn what_the_body_does_not_name_leaves_the_view_and_another_order_of_a_list_does_not() {
        let body = json!({ "list": [{ "name": "a", "x": 1 }, { "name": "b" }] });
        let of = |list: Value| seen(&body, json!({ "list": list }));
        let before = of(json!([{ "name": "a", "x": 2 }, { "name": "b" }]));
        assert_eq!(of(json!([{ "name": "a", "x": 2, "y": 3 }, { "name": "b", "y": 3 }])), before);
        for other in [
            json!([{ "name": "b" }, { "name": "a", "x": 2 }]),
            json!([{ "name": "a", "x": 1 }, { "name": "b" }]),
            json!([{ "name": "a", "x": 2 }]),
            json!([{ "name": "a", "x": 2 }, { "name": "b" }, { "name": "c" }]),
        ] {
            assert_ne!(of(other.clone()), before, "{other}");
        }
    }

    #[test]
    fn a_wish_that_follows_its_answer_is_not_what_is_left_of_it() {
        let wish = |before: Value, after: Value| Wish::of(&before, &after).unwrap().unwrap();
        let sent = wish(json!({ "n": 1, "list": [1] }), json!({ "n": 2, "list": [2], "new": { "a": 1 } }));
        assert!(!wish(json!({ "n": 2 }), json!({ "n": 3 })).is_left_of(sent.patch()), "one more each time");
        assert!(wish(json!({ "n": 1, "new": {} }), json!({ "n": 2, "new": { "a": 1 } })).is_left_of(sent.patch()));
        let removed = |n: u8| wish(json!({ "n": n }), json!({}));
        assert!(removed(1).is_left_of(removed(2).patch()) && removed(1) != removed(2), "a removal is of a value");
    }

    #[test]
    fn the_elements_of_others_are_no_part_of_an_applied_list() {
        let body = json!({ "ports": [{ "port": 80 }, { "port": 443, "name": "tls" }] });
        let of = |ports: Value| Wish::of_applied(body.clone(), &json!({ "ports": ports }));
        let before = of(json!([{ "port": 22 }, { "port": 443, "name": "tls" }, { "port": 80, "node": 1 }]));
        assert_eq!(before, of(json!([{ "port": 80 }, { "port": 443, "name": "tls" }])));
        assert!(before.places().is_empty() && !before.is_lost());
        let lost = of(json!([{ "port": 443, "name": "x" }, { "port": 22 }]));
        assert!(lost.is_lost() && lost.places() == ["ports[0]", "ports[1].name"], "{:?}", lost.places());
    }

    #[test]
    fn a_value_that_is_absent_is_lost_unless_servers_drop_it() {
        for (wanted, found, is_expected) in [
            (json!({ "stringData": { "a": "b" } }), json!({ "data": { "a": "Yg==" } }), true),
            (json!({ "off": false, "text": "", "map": {}, "list": [], "zero": 0.0 }), json!({}), false),
            (json!({ "cpu": "1000m" }), json!({ "cpu": "1" }), false),
            (json!({ "list": [{ "name": "a", "x": 1 }] }), json!({ "list": [{ "name": "a" }] }), true),
            (json!({ "list": [1, 1] }), json!({ "list": [1] }), true),
        ] {
            assert_eq!(Wish::of_patch(wanted.clone(), &found).is_lost(), is_expected, "{wanted}");
        }
    }

    #[test]
    fn the_places_that_differ_are_told_up_to_a_limit() {
        let wanted = json!({ "a": { "b": 1, "c": 2 }, "list": [{ "x": 1 }, { "x": 2 }], "short": [1] });
        let found = json!({ "a": { "b": 1 }, "list": [{ "x": 1 }, { "x": 3 }], "short": [1, 2] });
        assert_eq!(Wish::of_patch(wanted, &found).places(), ["a.c", "list[1].x", "short"]);
        let many: Value = (0..9).map(|number| (std::format!("f{number}"), json!(number))).collect();
        assert_eq!(Wish::of_patch(many, &json!({})).places().len(), MOST);
    }
}
