//! Server-side apply: which field manager owns which field, and what an apply makes of an object.

use super::field_path::{Path, Step, leaves, text};
use super::limits;
use super::refusal::Refusal;
use crate::kinds::{ListKey, ObjectType};
use listwatch_core::text::Counted;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

/// The owners of the fields of one object.
#[derive(Clone, Debug, Default)]
pub(super) struct FieldOwners(BTreeMap<Manager, BTreeSet<Path>>);

/// A field manager: one that applies, or one that changes by other requests.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Manager {
    pub(super) name: String,
    /// The part of the object by whose request it changed; empty for all of it.
    pub(super) subresource: String,
    /// The version by which it changed; `None` where it applies.
    pub(super) update: Option<String>,
}

impl FieldOwners {
    /// Takes note of a change by another request than an apply.
    pub(super) fn on_update(&mut self, manager: &Manager, of: ObjectType<'_>, before: &Value, after: &Value) {
        let (old, new) = (leaves(of, before), leaves(of, after));
        let changed: BTreeSet<Path> =
            new.iter().filter(|(path, value)| old.get(*path) != Some(value)).map(|(path, _)| path.clone()).collect();
        for owned in self.0.values_mut() {
            owned.retain(|path| new.contains_key(path) && !changed.contains(path));
        }
        self.0.entry(manager.clone()).or_default().extend(changed);
        self.0.retain(|_, owned| !owned.is_empty());
    }

    /// What becomes of an object when a manager applies its fields.
    pub(super) fn apply(
        &mut self,
        manager: &Manager,
        of: ObjectType<'_>,
        live: &Value,
        applied: &Value,
        force: bool,
    ) -> Result<Value, Refusal> {
        let (mut wanted, current) = (leaves(of, applied), leaves(of, live));
        // A null takes one value away, and no fields that have owners of their own.
        let has_below = |path: &Path| {
            let below = current.range::<Path, _>((Bound::Excluded(path), Bound::Unbounded)).next();
            below.is_some_and(|(below, _)| below.starts_with(path))
        };
        wanted.retain(|path, value| !(value.is_null() && has_below(path)));
        let differs = |path: &Path| current.get(path) != wanted.get(path);
        let conflicts: Vec<(&Manager, &Path)> = self
            .0
            .iter()
            .filter(|(other, _)| *other != manager)
            .flat_map(|(other, owned)| owned.iter().map(move |path| (other, path)))
            .filter(|(_, path)| wanted.contains_key(*path) && differs(path))
            .collect();
        if !conflicts.is_empty() && !force {
            return Err(refused(&conflicts));
        }
        let lost: BTreeSet<Path> = conflicts.into_iter().map(|(_, path)| path.clone()).collect();
        for owned in self.0.values_mut() {
            owned.retain(|path| !lost.contains(path));
        }
        let before = self.0.insert(manager.clone(), wanted.keys().cloned().collect()).unwrap_or_default();
        let mut object = live.clone();
        let is_owned = |path: &Path| self.0.values().any(|owned| owned.contains(path));
        let gone = before.iter().filter(|path| !is_owned(path)).map(|path| self.outermost(of, path));
        let mut gone: Vec<&[Step]> = gone.collect();
        gone.dedup();
        remove_all(&mut object, &gone);
        let wanted: Vec<(&[Step], &Value)> = wanted.iter().map(|(path, value)| (path.as_slice(), *value)).collect();
        set_all(&mut object, &wanted);
        self.0.retain(|_, owned| !owned.is_empty());
        limits::check_paths(self.bytes())?;
        Ok(object)
    }

    /// Takes a field from its owners.
    pub(super) fn release(&mut self, path: &Path) {
        for owned in self.0.values_mut() {
            owned.remove(path);
        }
        self.0.retain(|_, owned| !owned.is_empty());
    }

    /// The outermost field that goes with a path: its type names it, and nobody owns anything inside of it.
    fn outermost<'p>(&self, mut of: ObjectType<'_>, path: &'p [Step]) -> &'p [Step] {
        for (place, step) in path.iter().enumerate() {
            let outer = &path[..=place];
            let Step::Field(name) = step else { continue };
            let Some(field) = of.named_field(name) else { break };
            let has_inside = |owned: &BTreeSet<Path>| {
                owned.range(outer.to_vec()..).next().is_some_and(|first| first.starts_with(outer))
            };
            if !self.0.values().any(has_inside) {
                return outer;
            }
            of = field.object_type();
        }
        path
    }

    /// About how many bytes the paths have.
    fn bytes(&self) -> usize {
        let steps = self.0.values().flatten().flatten();
        steps.map(|step| limits::STEP + step.len()).sum()
    }
}

/// Sets the values at paths, whose parents are made. The paths ascend.
fn set_all(target: &mut Value, mut leaves: &[(&[Step], &Value)]) {
    while let Some(([], value)) = leaves.first() {
        // An object without fields leaves those of others.
        if !(target.is_object() && is_empty(value)) {
            *target = (*value).clone();
        }
        leaves = &leaves[1..];
    }
    let mut places = Places::default();
    for leaves in leaves.chunk_by(|(one, _), (other, _)| one.first() == other.first()) {
        let Some(step) = leaves[0].0.first() else { continue };
        let rest: Vec<(&[Step], &Value)> = leaves.iter().map(|(path, value)| (&path[1..], *value)).collect();
        match step {
            Step::Field(field) => {
                if !target.is_object() {
                    *target = Value::Object(Map::new());
                }
                set_all(&mut target[field], &rest);
            }
            Step::Key(..) | Step::Element(_) => {
                if !target.is_array() {
                    *target = Value::Array(Vec::new());
                }
                let Some(list) = target.as_array_mut() else { return };
                let place = places.of(list, step).unwrap_or_else(|| {
                    list.push(step.element());
                    list.len() - 1
                });
                set_all(&mut list[place], &rest);
            }
        }
    }
}

/// Removes the values at paths, and the parents that they leave empty. The paths ascend.
fn remove_all(target: &mut Value, paths: &[&[Step]]) {
    let (mut places, mut gone) = (Places::default(), BTreeSet::new());
    for paths in paths.chunk_by(|one, other| one.first() == other.first()) {
        let Some(step) = paths[0].first() else { continue };
        let rest: Vec<&[Step]> = paths.iter().map(|path| &path[1..]).collect();
        let goes = |value: &mut Value| {
            remove_all(value, &rest);
            rest[0].is_empty() || is_empty(value)
        };
        match (step, &mut *target) {
            (Step::Field(field), Value::Object(fields)) => {
                let is_gone = fields.get_mut(field).is_some_and(goes);
                if is_gone {
                    fields.remove(field);
                }
            }
            (_, Value::Array(list)) => {
                let place = places.of(list, step);
                gone.extend(place.filter(|place| goes(&mut list[*place])));
            }
            _ => {}
        }
    }
    if let Value::Array(list) = target {
        let mut place = 0..;
        list.retain(|_| place.next().is_none_or(|place| !gone.contains(&place)));
    }
}

/// The places of the elements of a list, by the steps that lead to them.
#[derive(Default)]
struct Places {
    /// The fields by which the elements were told apart; none for sets.
    keys: Option<Arc<[ListKey]>>,
    known: Option<BTreeMap<Step, usize>>,
}

impl Places {
    /// The place to which a step leads. Steps of one sort ascend, so a list is read once for each sort.
    fn of(&mut self, list: &[Value], step: &Step) -> Option<usize> {
        let keys = step.keys();
        let known = self.known.take().filter(|_| self.keys.as_ref() == keys);
        self.keys = keys.cloned();
        let known = self.known.insert(known.unwrap_or_else(|| {
            let steps = list.iter().enumerate().rev();
            steps.filter_map(|(place, element)| Some((step.same_sort(element)?, place))).collect()
        }));
        known.get(step).copied()
    }
}

fn is_empty(value: &Value) -> bool {
    value.as_object().is_some_and(Map::is_empty) || value.as_array().is_some_and(Vec::is_empty)
}

/// The refusal of an apply (structured-merge-diff `merge.Conflicts`).
fn refused(conflicts: &[(&Manager, &Path)]) -> Refusal {
    let by = |Manager { name, subresource, update }: &Manager| {
        let part = if subresource.is_empty() { String::new() } else { format!(" with subresource \"{subresource}\"") };
        let using = update.as_ref().map_or_else(String::new, |version| format!(" using {version}"));
        format!("conflict with \"{name}\"{part}{using}")
    };
    let causes = conflicts.iter().map(
        |(manager, path)| json!({ "reason": "FieldManagerConflict", "message": by(manager), "field": text(path) }),
    );
    let mut groups: BTreeMap<&Manager, Vec<String>> = BTreeMap::new();
    conflicts.iter().for_each(|(manager, path)| groups.entry(manager).or_default().push(text(path)));
    let groups = groups.into_iter().map(|(manager, paths)| match &paths[..] {
        [path] => format!("{}: {path}", by(manager)),
        paths => format!("{}:\n- {}", by(manager).replacen("conflict", "conflicts", 1), paths.join("\n- ")),
    });
    let count = Counted(conflicts.len(), "conflict", "conflicts");
    let message = format!("Apply failed with {count}: {}", groups.collect::<Vec<_>>().join("\n"));
    Refusal::new(409, "Conflict", message).with_details(json!({ "causes": causes.collect::<Vec<_>>() }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::Kinds;

    fn applies(name: &str) -> Manager {
        Manager { name: name.to_owned(), subresource: String::new(), update: None }
    }

    fn spec(value: &Value) -> Value {
        json!({ "spec": value })
    }

    fn pod() -> ObjectType<'static> {
        Kinds::new().known("v1/pods").unwrap().object_type()
    }

    #[test]
    fn a_manager_takes_back_what_it_no_longer_applies_and_nobody_else_owns() {
        let (mut owners, one, two) = (FieldOwners::default(), applies("one"), applies("two"));
        let first = spec(&json!({ "containers": [{ "name": "a", "image": "1", "tty": true }], "x": { "y": 1 } }));
        let live = owners.apply(&one, pod(), &json!({}), &first, false).unwrap();
        assert_eq!(live, first);
        let second = spec(&json!({ "containers": [{ "name": "a", "image": "1" }, { "name": "b", "image": "2" }] }));
        let live = owners.apply(&two, pod(), &live, &second, false).unwrap();
        let less = spec(&json!({ "containers": [{ "name": "a", "image": "1" }] }));
        let live = owners.apply(&one, pod(), &live, &less, false).unwrap();
        assert_eq!(live, second, "tty and x were its own");
        let live = owners.apply(&one, pod(), &live, &json!({}), false).unwrap();
        assert_eq!(live, second, "the rest is another's, too");
    }

    #[test]
    fn an_apply_changes_and_removes_ten_thousand_elements_of_a_list() {
        let (mut owners, one) = (FieldOwners::default(), applies("one"));
        let env = |count: usize, value: &str| {
            let elements = (0..count).map(|place| json!({ "name": format!("{place:05}"), "value": value }));
            spec(&json!({ "containers": [{ "name": "a", "env": elements.collect::<Vec<_>>() }] }))
        };
        let live = owners.apply(&one, pod(), &json!({}), &env(10_000, "1"), false).unwrap();
        let live = owners.apply(&one, pod(), &live, &env(10_000, "2"), false).unwrap();
        assert!(live == env(10_000, "2"));
        assert!(owners.apply(&one, pod(), &live, &env(3, "2"), false).unwrap() == env(3, "2"));
    }

    #[test]
    fn a_field_of_another_manager_is_a_conflict_unless_it_is_equal_or_forced() {
        let mut owners = FieldOwners::default();
        let update = Manager { name: "kubectl".into(), subresource: String::new(), update: Some("v1".into()) };
        let live = spec(&json!({ "replicas": 1, "paused": true }));
        owners.on_update(&update, pod(), &json!({}), &live);
        let apply = |owners: &mut FieldOwners, replicas: u64, force| {
            owners.apply(&applies("me"), pod(), &live, &spec(&json!({ "replicas": replicas })), force)
        };
        assert_eq!(apply(&mut owners.clone(), 1, false), Ok(live.clone()));
        let refusal = apply(&mut owners.clone(), 2, false).unwrap_err();
        let status = refusal.status.unwrap();
        assert_eq!(
            status["message"],
            "Apply failed with 1 conflict: conflict with \"kubectl\" using v1: .spec.replicas"
        );
        assert_eq!(apply(&mut owners, 2, true), Ok(spec(&json!({ "replicas": 2, "paused": true }))));
        assert_eq!(owners.0[&update].len(), 1, "it has lost the field");
    }
}
