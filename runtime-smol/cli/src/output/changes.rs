//! What changed between two states of an object, in a few words: `spec.replicas 2 → 4`.

use super::secrets::is_secret;
use listwatch::text::Printable;
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write};
use std::hash::{DefaultHasher, Hash, Hasher};

/// The characters of a path at the most.
const PATH: usize = 120;

/// Fields that change whenever an object does, and times at which something was seen to live.
const QUIET: &[&str] = &[
    "generation",
    "lastHeartbeatTime",
    "lastProbeTime",
    "lastTransitionTime",
    "lastUpdateTime",
    "managedFields",
    "renewTime",
    "resourceVersion",
];

/// The fields by which objects of a list are known, the first that all of them have.
const NAMES: &[&str] = &["name", "type", "uid", "containerPort", "port", "ip"];

/// How changes are told.
#[derive(Clone, Copy)]
pub(crate) struct Look {
    /// The changes that are listed one by one; the others are counted.
    pub(crate) listed: usize,
    /// The characters of a value that is shown. Of a longer one, it is said that it changed.
    pub(crate) value: usize,
    /// The fields that are left out, wherever they stand.
    pub(crate) left_out: &'static [&'static str],
    /// Whether values of Secrets are shown.
    pub(crate) secrets: bool,
    pub(crate) members: Members,
}

/// How an object is told that was added or removed.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Members {
    /// As a whole, or not at all.
    Whole,
    /// Field by field, if it is too long to be shown as a whole.
    OfLong,
    /// Field by field, and so is a list.
    Each,
}

/// A line of `watch`.
const LINE: Look = Look { listed: 6, value: 40, left_out: QUIET, secrets: false, members: Members::Whole };

/// The changes from one state to the next; those of fields that change often come last.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Changes {
    pub(crate) listed: Vec<FieldChange>,
    /// How many are not listed.
    pub(crate) more: usize,
}

/// The change of a field. What cannot be shown of its values is absent.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct FieldChange {
    pub(crate) field: String,
    change: Sort,
    #[serde(skip_serializing_if = "Option::is_none")]
    old: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    new: Option<String>,
}

/// A field before or behind a change.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Held {
    Nothing,
    /// A value that cannot be shown.
    Something,
    Value(String),
}

impl FieldChange {
    /// The field before the change, and behind it.
    pub(crate) fn held(&self) -> [Held; 2] {
        let held = |value: &Option<String>, none: Sort| match value {
            _ if self.change == none => Held::Nothing,
            Some(value) => Held::Value(value.clone()),
            None => Held::Something,
        };
        [held(&self.old, Sort::Added), held(&self.new, Sort::Removed)]
    }

    /// Leaves the field alone.
    pub(crate) fn forget_values(&mut self) {
        (self.old, self.new) = (None, None);
    }

    /// Whether it takes another change back.
    pub(crate) fn undoes(&self, other: &Self) -> bool {
        self.field == other.field && self.old == other.new && self.new == other.old
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Sort {
    Added,
    Removed,
    Changed,
}

/// The changes from one state to the next, in one line; empty if there are none worth a word. Of a `secret`, no value is
/// shown.
pub(super) fn changes(old: &Value, new: &Value, secret: bool) -> String {
    Changes::between(old, new, secret, LINE).to_string()
}

/// A hash of all but the fields that change whenever an object does.
pub(crate) fn fingerprint(object: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    hash(object, &mut hasher);
    hasher.finish()
}

fn hash(value: &Value, hasher: &mut DefaultHasher) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields.iter().filter(|(name, _)| !QUIET.contains(&name.as_str())) {
                name.hash(hasher);
                hash(value, hasher);
            }
        }
        Value::Array(items) => {
            items.len().hash(hasher);
            items.iter().for_each(|item| hash(item, hasher));
        }
        plain => plain.hash(hasher),
    }
}

impl Changes {
    /// Compares two states, of a Secret or of another object.
    pub(crate) fn between(old: &Value, new: &Value, secret: bool, look: Look) -> Self {
        let hides = !look.secrets && (secret || is_secret(old) || is_secret(new));
        let mut comparison = Comparison { look, hides, ..Comparison::default() };
        comparison.compare(&mut String::new(), old, new);
        let Comparison { mut listed, quiet, more, .. } = comparison;
        let room = look.listed - listed.len();
        let more = more + quiet.len().saturating_sub(room);
        listed.extend(quiet.into_iter().take(room));
        Self { listed, more }
    }
}

impl fmt::Display for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let more = (self.more > 0).then(|| format!("and {} more", self.more));
        let words: Vec<String> = self.listed.iter().map(FieldChange::to_string).chain(more).collect();
        f.write_str(&words.join(", "))
    }
}

impl fmt::Display for FieldChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { field, change, old, new } = self;
        match (change, old, new) {
            (Sort::Added, _, Some(new)) => write!(f, "+{field} {new}"),
            (Sort::Added, ..) => write!(f, "+{field}"),
            (Sort::Removed, Some(old), _) => write!(f, "-{field} {old}"),
            (Sort::Removed, ..) => write!(f, "-{field}"),
            (Sort::Changed, Some(old), Some(new)) => write!(f, "{field} {old} → {new}"),
            (Sort::Changed, ..) => write!(f, "{field} changed"),
        }
    }
}

/// The comparison of two states.
#[derive(Default)]
struct Comparison {
    look: Look,
    /// No value is shown.
    hides: bool,
    listed: Vec<FieldChange>,
    /// Those of fields that change often.
    quiet: Vec<FieldChange>,
    is_quiet: bool,
    more: usize,
}

impl Default for Look {
    fn default() -> Self {
        LINE
    }
}

impl Comparison {
    fn compare(&mut self, path: &mut String, old: &Value, new: &Value) {
        match (old, new) {
            _ if old == new => {}
            (Value::Object(old), Value::Object(new)) => self.compare_maps(path, old, new),
            (Value::Array(old), Value::Array(new)) => self.compare_lists(path, old, new),
            _ => match (self.value(old), self.value(new)) {
                (Some(old), Some(new)) => self.note(path, Sort::Changed, Some(old), Some(new)),
                _ => self.note(path, Sort::Changed, None, None),
            },
        }
    }

    /// The status and the spec tell more than the metadata, so these come last.
    fn compare_maps(&mut self, path: &mut String, old: &Map<String, Value>, new: &Map<String, Value>) {
        let is_top = path.is_empty();
        let added = new.keys().filter(|name| !old.contains_key(*name));
        let mut names: Vec<&String> =
            old.keys().chain(added).filter(|name| !self.look.left_out.contains(&name.as_str())).collect();
        names.sort_by_key(|name| (is_top && *name == "metadata", is_top && *name == "status", *name));
        for name in names {
            // An object of a list that is new is named by its place.
            let is_name = |value: &Value| value.as_str().is_some_and(|text| path.ends_with(&format!("[{text}]")));
            if NAMES.contains(&name.as_str())
                && (old.is_empty() || new.is_empty())
                && old.get(name).or_else(|| new.get(name)).is_some_and(is_name)
            {
                continue;
            }
            let before = self.is_quiet;
            self.is_quiet |= QUIET.contains(&name.as_str());
            self.at(path, &field(name), |changes, path| changes.compare_members(path, old.get(name), new.get(name)));
            self.is_quiet = before;
        }
    }

    fn compare_members(&mut self, path: &mut String, old: Option<&Value>, new: Option<&Value>) {
        match (old, new) {
            (Some(old), Some(new)) => self.compare(path, old, new),
            (None, Some(new)) => match (self.value(new), new) {
                (shown, Value::Object(new)) if self.is_told_apart(new.is_empty(), shown.is_some()) => {
                    self.compare_maps(path, &Map::new(), new);
                }
                (_, Value::Array(new)) if self.look.members == Members::Each && !new.is_empty() => {
                    self.compare_lists(path, &[], new);
                }
                (shown, _) => self.note(path, Sort::Added, None, shown),
            },
            (Some(old), None) => match (self.value(old), old) {
                (shown, Value::Object(old)) if self.is_told_apart(old.is_empty(), shown.is_some()) => {
                    self.compare_maps(path, old, &Map::new());
                }
                (_, Value::Array(old)) if self.look.members == Members::Each && !old.is_empty() => {
                    self.compare_lists(path, old, &[]);
                }
                (shown, _) => self.note(path, Sort::Removed, shown, None),
            },
            (None, None) => {}
        }
    }

    /// Whether the fields of an object that was added or removed are told one by one.
    fn is_told_apart(&self, is_empty: bool, is_short: bool) -> bool {
        match self.look.members {
            Members::Whole => false,
            Members::OfLong => !is_short,
            Members::Each => !is_empty,
        }
    }

    /// Compares objects of the same name, and other values by their places.
    fn compare_lists(&mut self, path: &mut String, old: &[Value], new: &[Value]) {
        let Some((old_names, new_names)) = NAMES.iter().find_map(|name| Some((names(old, name)?, names(new, name)?)))
        else {
            return self.compare_places(path, old, new);
        };
        let places = |names: Vec<String>| names.into_iter().zip(0..).collect::<BTreeMap<String, usize>>();
        let (old_places, new_places) = (places(old_names), places(new_names));
        for (name, place) in &old_places {
            let now = new_places.get(name).and_then(|place| new.get(*place));
            self.at(path, &format!("[{name}]"), |changes, path| changes.compare_members(path, old.get(*place), now));
        }
        for (name, place) in new_places.iter().filter(|(name, _)| !old_places.contains_key(*name)) {
            self.at(path, &format!("[{name}]"), |changes, path| changes.compare_members(path, None, new.get(*place)));
        }
    }

    fn compare_places(&mut self, path: &mut String, old: &[Value], new: &[Value]) {
        for index in 0..old.len().max(new.len()) {
            self.at(path, &format!("[{index}]"), |changes, path| {
                changes.compare_members(path, old.get(index), new.get(index));
            });
        }
    }

    fn at(&mut self, path: &mut String, part: &str, compare: impl FnOnce(&mut Self, &mut String)) {
        let before = path.len();
        let part = if before == 0 { part.strip_prefix('.').unwrap_or(part) } else { part };
        path.push_str(part);
        compare(self, path);
        path.truncate(before);
    }

    fn note(&mut self, path: &str, change: Sort, old: Option<String>, new: Option<String>) {
        let list = if self.is_quiet { &mut self.quiet } else { &mut self.listed };
        if list.len() == self.look.listed {
            self.more += 1;
            return;
        }
        let field = Printable::new(path).at_most(PATH).to_string();
        list.push(FieldChange { field, change, old, new });
    }

    /// A value that is short enough to be shown, and no secret. Of an empty object or list nothing is worth a word.
    fn value(&self, value: &Value) -> Option<String> {
        let text = match value {
            _ if self.hides => return None,
            Value::String(text) if is_plain(text) => text.clone(),
            Value::Object(_) | Value::Array(_) if value != &Value::Array(Vec::new()) => {
                short_json(value, self.look.value)?
            }
            other => other.to_string(),
        };
        (text.chars().count() <= self.look.value).then(|| Printable::new(text).to_string())
    }
}

/// The JSON of a small value; a large one is not even written.
fn short_json(value: &Value, most: usize) -> Option<String> {
    fn size(value: &Value) -> usize {
        match value {
            Value::Object(map) => map.iter().map(|(name, value)| name.len() + size(value) + 4).sum(),
            Value::Array(list) => list.iter().map(|value| size(value) + 1).sum(),
            Value::String(text) => text.len(),
            _ => 1,
        }
    }
    (size(value) <= most).then(|| value.to_string())
}

/// Whether a string needs no quotes.
fn is_plain(text: &str) -> bool {
    !text.is_empty() && !text.contains([' ', ',', '"', '→'])
}

/// A field as a part of a path.
fn field(name: &str) -> String {
    let mut part = String::new();
    let written = match name.contains(['.', '/', '[', ' ', ',']) {
        true => write!(part, "[{name}]"),
        false => write!(part, ".{name}"),
    };
    debug_assert!(written.is_ok(), "a String takes any text");
    part
}

/// The names of the objects of a list, if each has one of its own.
fn names(list: &[Value], field: &str) -> Option<Vec<String>> {
    let name = |object: &Value| match object.get(field)? {
        Value::String(name) => Some(name.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    let names: Vec<String> = list.iter().map(name).collect::<Option<_>>()?;
    let unique: BTreeSet<&String> = names.iter().collect();
    (unique.len() == names.len()).then_some(names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn changes(old: &Value, new: &Value) -> String {
        super::changes(old, new, false)
    }

    #[test]
    fn fields_that_differ_are_listed_with_their_old_and_new_values() {
        let old = json!({ "spec": { "replicas": 2, "paused": true }, "status": { "phase": "Pending" } });
        let new = json!({ "spec": { "replicas": 4, "image": "a b" }, "status": { "phase": "Running" },
            "metadata": { "labels": { "x.io/name": "web" } } });
        assert_eq!(
            changes(&old, &new),
            "+spec.image \"a b\", -spec.paused true, spec.replicas 2 → 4, status.phase Pending → Running, +metadata \
             {\"labels\":{\"x.io/name\":\"web\"}}"
        );
        assert_eq!(changes(&new, &new), "");
    }

    #[test]
    fn containers_and_conditions_are_known_by_their_names() {
        let state = |image: &str, ready: &str, first: bool| {
            let (web, log) = (json!({ "name": "web", "image": image }), json!({ "name": "log", "image": "l:1" }));
            let containers = if first { json!([web, log]) } else { json!([log, web]) };
            json!({ "spec": { "containers": containers, "args": ["a", image] },
                "status": { "conditions": [{ "type": "Ready", "status": ready, "lastTransitionTime": image }] } })
        };
        assert_eq!(
            changes(&state("w:1", "False", true), &state("w:2", "True", false)),
            "spec.args[1] w:1 → w:2, spec.containers[web].image w:1 → w:2, status.conditions[Ready].status False → True"
        );
    }

    #[test]
    fn what_changes_with_every_heartbeat_is_no_change() {
        let state = |time: &str| {
            json!({ "metadata": { "resourceVersion": time, "managedFields": [time], "generation": 1 },
                "spec": { "renewTime": time }, "status": { "conditions": [{ "type": "Ready", "lastHeartbeatTime": time }] } })
        };
        assert_eq!(changes(&state("1"), &state("2")), "");
    }

    #[test]
    fn long_values_and_long_lists_are_cut() {
        let (old, new) =
            (json!({ "data": { "a": "x".repeat(50) } }), json!({ "data": { "a": "y", "b": "z".repeat(50) } }));
        assert_eq!(changes(&old, &new), "data.a changed, +data.b");
        let many = |value: u32| Value::Object((0..100).map(|field| (format!("f{field:02}"), json!(value))).collect());
        let told = changes(&many(1), &many(2));
        assert!(told.starts_with("f00 1 → 2, f01 ") && told.ends_with("f05 1 → 2, and 94 more"), "{told}");
        let deep = changes(&json!({ "k".repeat(5_000): 1 }), &json!({ "k".repeat(5_000): 2 }));
        assert!(deep.chars().count() < 200, "{deep}");
    }

    #[test]
    fn no_value_of_a_secret_is_told() {
        let secret = |value: &str| {
            json!({ "kind": "Secret", "apiVersion": "v1", "metadata": { "annotations": { "a": value } },
                "data": { "password": value } })
        };
        let mut old = secret("hunter1");
        old["data"]["old"] = json!("hunter3");
        let told = changes(&old, &secret("hunter2"));
        assert_eq!(told, "-data.old, data.password changed, metadata.annotations.a changed");
    }

    #[test]
    fn names_and_values_of_a_change_cannot_steer_a_terminal() {
        let told = changes(&json!({ "a\u{1b}[2J": "b" }), &json!({ "a\u{1b}[2J": "\u{202e}c\n" }));
        assert!(!told.contains(['\u{1b}', '\u{202e}', '\n']), "{told:?}");
    }
}
