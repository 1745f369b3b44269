//! Sets of fields: those that a value has, and those in which two values differ (structured-merge-diff `typed`).

use super::field_path::{Path, Step};
use crate::kinds::{FieldType, ObjectType, Shape};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

/// Paths of fields, and of the objects and elements around them.
pub(super) type FieldSet = BTreeSet<Path>;

/// The type of a value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout<'f> {
    shape: &'f Shape,
    of: ObjectType<'f>,
    /// Whether each element of a list is one value.
    has_atomic_elements: bool,
    /// Whether each object inside has a type that names its fields. A map names none.
    is_typed: bool,
}

/// What a value consists of.
enum Parts<'v> {
    Nothing,
    /// It is one value.
    One,
    Fields(&'v Map<String, Value>),
    Elements(Elements<'v>),
}

/// The elements of a list that can be told apart. One step may lead to several.
pub(super) type Elements<'v> = BTreeMap<Step, Vec<&'v Value>>;

/// Where two values differ.
#[derive(Debug, Default)]
pub(super) struct Comparison {
    removed: FieldSet,
    modified: FieldSet,
    added: FieldSet,
}

impl<'f> Layout<'f> {
    /// That of an object. Those of Kubernetes name the fields of all objects inside.
    pub(super) fn new(of: ObjectType<'f>, is_typed: bool) -> Self {
        Self { shape: &Shape::Plain, of, has_atomic_elements: false, is_typed }
    }

    pub(super) fn shape(self) -> &'f Shape {
        self.shape
    }

    /// The type of a field.
    pub(super) fn field(self, name: &str) -> Self {
        let field = self.of.field(name);
        Self {
            shape: field.map_or(&Shape::Plain, |field| &field.shape),
            of: field.map_or(ObjectType::UNKNOWN, FieldType::object_type),
            has_atomic_elements: field.is_some_and(FieldType::has_atomic_elements),
            is_typed: self.is_typed || field.is_some_and(FieldType::is_named),
        }
    }

    /// The type of the elements of a list.
    pub(super) fn element(self) -> Self {
        let shape = if self.has_atomic_elements { &Shape::Atomic } else { &Shape::Plain };
        Self { shape, has_atomic_elements: false, ..self }
    }

    /// Whether the type names a field.
    fn names(self, name: &str) -> bool {
        self.is_typed || self.of.named_field(name).is_some()
    }

    fn parts<'v>(self, value: Option<&'v Value>) -> Parts<'v> {
        match (self.shape, value) {
            (_, None | Some(Value::Null)) => Parts::Nothing,
            (Shape::Plain, Some(Value::Object(fields))) => Parts::Fields(fields),
            (shape, Some(Value::Array(list))) => elements(shape, list).map_or(Parts::One, Parts::Elements),
            _ => Parts::One,
        }
    }
}

/// The elements of a list by their steps, if it has a shape by which they can be told apart.
pub(super) fn elements<'v>(shape: &Shape, list: &'v [Value]) -> Option<Elements<'v>> {
    let mut found = Elements::new();
    for element in list {
        found.entry(Step::to(shape, element)?).or_default().push(element);
    }
    matches!(shape, Shape::Set | Shape::Keyed(_)).then_some(found)
}

/// Whether a field is somebody's. Those that name the object are nobody's.
fn counts(path: &[Step], name: &str) -> bool {
    const SETTABLE: [&str; 5] = ["annotations", "finalizers", "generateName", "labels", "ownerReferences"];
    match path {
        [] => !["apiVersion", "kind"].contains(&name),
        [Step::Field(metadata)] if metadata == "metadata" => SETTABLE.contains(&name),
        _ => true,
    }
}

/// Does something at a path one step further.
fn at<T>(path: &mut Path, step: Step, act: impl FnOnce(&mut Path) -> T) -> T {
    path.push(step);
    let done = act(path);
    path.pop();
    done
}

fn metadata() -> Path {
    vec![Step::Field("metadata".to_owned())]
}

/// The fields of an object.
pub(super) fn field_set(of: Layout<'_>, object: &Value) -> FieldSet {
    let mut set = FieldSet::new();
    note(of, object, &mut Path::new(), &mut set);
    set.remove(&metadata());
    set
}

fn note(of: Layout<'_>, value: &Value, path: &mut Path, set: &mut FieldSet) {
    match of.parts(Some(value)) {
        Parts::Nothing | Parts::One => _ = set.insert(path.clone()),
        Parts::Fields(fields) => {
            for (name, value) in fields {
                if !counts(path, name) {
                    continue;
                }
                let is_empty = value.as_object().is_some_and(Map::is_empty);
                at(path, Step::Field(name.clone()), |path| {
                    note(of.field(name), value, path, set);
                    if is_empty || !of.names(name) {
                        set.insert(path.clone());
                    }
                });
            }
        }
        Parts::Elements(elements) => {
            for (step, values) in elements {
                at(path, step, |path| {
                    if let [value] = values[..] {
                        note(of.element(), value, path, set);
                    }
                    set.insert(path.clone());
                });
            }
        }
    }
}

impl Comparison {
    pub(super) fn of(of: Layout<'_>, old: &Value, new: &Value) -> Self {
        let mut found = Self::default();
        found.compare(of, Some(old), Some(new), &mut Path::new());
        for set in [&mut found.removed, &mut found.modified, &mut found.added] {
            set.remove(&metadata());
        }
        found
    }

    /// The fields that are new or have another value, and those that are gone.
    pub(super) fn changed_and_removed(mut self) -> (FieldSet, FieldSet) {
        self.modified.append(&mut self.added);
        (self.modified, self.removed)
    }

    fn compare(&mut self, of: Layout<'_>, old: Option<&Value>, new: Option<&Value>, path: &mut Path) {
        match (of.parts(old), of.parts(new)) {
            (Parts::Fields(old_fields), Parts::Fields(new_fields)) => {
                self.compare_fields(of, [old, new], [old_fields, new_fields], path);
            }
            (Parts::Elements(old_elements), Parts::Elements(new_elements)) => {
                self.compare_elements(of, [old, new], [&old_elements, &new_elements], path);
            }
            (Parts::Nothing | Parts::One, Parts::Nothing | Parts::One) => self.compare_one(old, new, path),
            // What has no parts of the same sort is empty.
            (one, other) => [one, other].into_iter().enumerate().for_each(|(side, parts)| {
                self.compare_side(of, [old, new], side, parts, path);
            }),
        }
    }

    /// Compares the parts of one of two values with none.
    fn compare_side(
        &mut self,
        of: Layout<'_>,
        both: [Option<&Value>; 2],
        side: usize,
        parts: Parts<'_>,
        path: &mut Path,
    ) {
        let (no_fields, no_elements) = (Map::new(), Elements::new());
        match (parts, side) {
            (Parts::Nothing, _) => {}
            (Parts::One, _) => self.compare_one(both[0], both[1], path),
            (Parts::Fields(old), 0) => self.compare_fields(of, both, [old, &no_fields], path),
            (Parts::Fields(new), _) => self.compare_fields(of, both, [&no_fields, new], path),
            (Parts::Elements(old), 0) => self.compare_elements(of, both, [&old, &no_elements], path),
            (Parts::Elements(new), _) => self.compare_elements(of, both, [&no_elements, &new], path),
        }
    }

    fn compare_one(&mut self, old: Option<&Value>, new: Option<&Value>, path: &Path) {
        let set = match (old, new) {
            (None, _) => &mut self.added,
            (_, None) => &mut self.removed,
            (old, new) if old != new => &mut self.modified,
            _ => return,
        };
        set.insert(path.clone());
    }

    fn compare_fields(
        &mut self,
        of: Layout<'_>,
        both: [Option<&Value>; 2],
        [old, new]: [&Map<String, Value>; 2],
        path: &mut Path,
    ) {
        if old.is_empty() && new.is_empty() {
            return self.compare_one(both[0], both[1], path);
        }
        let names: BTreeSet<&String> = old.keys().chain(new.keys()).filter(|name| counts(path, name)).collect();
        for name in names {
            at(path, Step::Field(name.clone()), |path| {
                self.compare(of.field(name), old.get(name), new.get(name), path);
            });
        }
        self.note_whole(both, path);
    }

    fn compare_elements(
        &mut self,
        of: Layout<'_>,
        both: [Option<&Value>; 2],
        [old, new]: [&Elements<'_>; 2],
        path: &mut Path,
    ) {
        if old.is_empty() && new.is_empty() {
            return self.compare_one(both[0], both[1], path);
        }
        let steps: BTreeSet<&Step> = old.keys().chain(new.keys()).collect();
        for step in steps {
            let [old, new] = [old, new].map(|it| it.get(step).map_or(&[][..], Vec::as_slice));
            at(path, step.clone(), |path| self.compare_element(of.element(), old, new, path));
        }
        self.note_whole(both, path);
    }

    /// Compares what a step leads to. Elements that are there twice are compared as one value.
    fn compare_element(&mut self, of: Layout<'_>, old: &[&Value], new: &[&Value], path: &mut Path) {
        match (old, new) {
            ([] | [_], [] | [_]) => self.compare(of, old.first().copied(), new.first().copied(), path),
            ([_, _, ..], [_, _, ..]) => {
                if old != new {
                    self.modified.insert(path.clone());
                }
            }
            ([_, _, ..], _) => {
                new.first().into_iter().for_each(|new| self.compare(of, None, Some(new), path));
                self.removed.insert(path.clone());
            }
            _ => {
                old.first().into_iter().for_each(|old| self.compare(of, Some(old), None, path));
                self.added.insert(path.clone());
            }
        }
    }

    /// Notes an object or a list that is new or gone.
    fn note_whole(&mut self, [old, new]: [Option<&Value>; 2], path: &Path) {
        match (old, new) {
            (None, _) => _ = self.added.insert(path.clone()),
            (_, None) => _ = self.removed.insert(path.clone()),
            _ => {}
        }
    }
}

/// A set with the objects that types name around its fields.
pub(super) fn with_named(of: Layout<'_>, set: &FieldSet) -> FieldSet {
    let mut named = set.clone();
    for path in set {
        let mut of = of;
        for (place, step) in path.iter().enumerate().take(path.len().saturating_sub(1)) {
            let Step::Field(name) = step else {
                of = of.element();
                continue;
            };
            if of.names(name) && !named.contains(&path[..=place]) {
                named.insert(path[..=place].to_vec());
            }
            of = of.field(name);
        }
    }
    named.remove(&metadata());
    named
}

/// A value without some fields. What has nothing left is null.
pub(super) fn without(of: Layout<'_>, value: &Value, gone: &FieldSet) -> Value {
    if gone.is_empty() { value.clone() } else { left(of, value, gone, &mut Path::new()) }
}

fn left(of: Layout<'_>, value: &Value, gone: &FieldSet, path: &mut Path) -> Value {
    match (of.parts(Some(value)), value) {
        (Parts::Fields(fields), _) => {
            let parts = fields.iter().filter_map(|(name, value)| {
                let step = Step::Field(name.clone());
                Some((name.clone(), at(path, step, |path| left_part(of.field(name), value, gone, path))?))
            });
            Some(parts.collect::<Map<_, _>>()).filter(|left| !left.is_empty()).map_or(Value::Null, Value::Object)
        }
        (Parts::Elements(_), Value::Array(list)) => {
            let parts = list.iter().filter_map(|value| {
                let step = Step::to(of.shape, value)?;
                at(path, step, |path| left_part(of.element(), value, gone, path))
            });
            Some(parts.collect::<Vec<_>>()).filter(|left| !left.is_empty()).map_or(Value::Null, Value::Array)
        }
        (_, Value::Array(_) | Value::Object(_)) => Value::Null,
        (_, value) => value.clone(),
    }
}

/// What stays of a part; `None` if it goes.
fn left_part(of: Layout<'_>, value: &Value, gone: &FieldSet, path: &mut Path) -> Option<Value> {
    if gone.contains(path) {
        return None;
    }
    Some(if has_below(gone, path) { left(of, value, gone, path) } else { value.clone() })
}

/// Whether a set has a path inside of this one.
fn has_below(set: &FieldSet, path: &Path) -> bool {
    let below = set.range::<Path, _>((Bound::Excluded(path), Bound::Unbounded)).next();
    below.is_some_and(|below| below.starts_with(path))
}
