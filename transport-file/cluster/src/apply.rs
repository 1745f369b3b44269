//! Server-side apply: which field manager owns which field, and what an apply makes of an object.

use super::field_path::{Path, Step, text};
use super::field_set::{Comparison, FieldSet, Layout, elements, field_set, with_named, without};
use super::limits;
use super::refusal::Refusal;
use crate::kinds::Shape;
use listwatch_core::text::Counted;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The owners of the fields of one object.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct FieldOwners(BTreeMap<Manager, FieldSet>);

/// A field manager: one that applies, or one that changes by other requests.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Manager {
    pub(super) name: String,
    /// The version by which it changed; `None` where it applies.
    pub(super) update: Option<String>,
    /// The part of the object by whose request it changed; empty for all of it.
    pub(super) subresource: String,
}

impl FieldOwners {
    /// Takes note of a change by another request than an apply.
    pub(super) fn on_update(&mut self, manager: &Manager, of: Layout<'_>, before: &Value, after: &Value) {
        let (changed, removed) = Comparison::of(of, before, after).changed_and_removed();
        for owned in self.0.values_mut() {
            owned.retain(|path| !changed.contains(path) && !removed.contains(path));
        }
        self.0.entry(manager.clone()).or_default().extend(changed);
        self.0.retain(|_, owned| !owned.is_empty());
    }

    /// What becomes of an object when a manager applies its fields (structured-merge-diff `Updater.Apply`).
    pub(super) fn apply(
        &mut self,
        manager: &Manager,
        of: Layout<'_>,
        live: &Value,
        applied: &Value,
        force: bool,
    ) -> Result<Value, Refusal> {
        let mut merged = live.clone();
        merge(of, &mut merged, applied);
        let last = self.0.insert(manager.clone(), field_set(of, applied)).unwrap_or_default();
        let object = if last.is_empty() { merged } else { self.pruned(of, &merged, &last) };
        let (changed, removed) = Comparison::of(of, live, &object).changed_and_removed();
        let others = self.0.iter().filter(|(other, _)| *other != manager);
        let conflicts: Vec<(&Manager, &Path)> =
            others.flat_map(|(other, owned)| owned.intersection(&changed).map(move |path| (other, path))).collect();
        if !conflicts.is_empty() && !force {
            return Err(refused(conflicts));
        }
        for (_, owned) in self.0.iter_mut().filter(|(other, _)| *other != manager) {
            owned.retain(|path| !changed.contains(path) && !removed.contains(path));
        }
        self.0.retain(|_, owned| !owned.is_empty());
        limits::check_paths(self.bytes())?;
        Ok(object)
    }

    /// A merged object without what its manager applied last, as far as nobody owns it now.
    fn pruned(&self, of: Layout<'_>, merged: &Value, last: &FieldSet) -> Value {
        let named = |set: &FieldSet| with_named(of, set);
        let (all, last) = (named(&field_set(of, merged)), named(last));
        let owned = named(&self.0.values().flatten().cloned().collect());
        let rest = named(&field_set(of, &without(of, merged, &last)));
        let unowned = all.iter().filter(|path| !rest.contains(*path) && !owned.contains(*path)).cloned().collect();
        // What was nobody's stays.
        let kept = named(&field_set(of, &without(of, merged, &unowned)));
        let gone = all.into_iter().filter(|path| !kept.contains(path) && last.contains(path)).collect();
        without(of, merged, &gone)
    }

    /// The managers that a client names, as far as they own fields of this version that are no elements of lists.
    pub(super) fn named(managers: &[Value], version: &str) -> Self {
        let text = |manager: &Value, field: &str| manager[field].as_str().unwrap_or_default().to_owned();
        let of_version = managers.iter().filter(|manager| manager["apiVersion"] == version);
        let owners = of_version.map(|it| {
            let update = (it["operation"] != "Apply").then(|| version.to_owned());
            let manager = Manager { name: text(it, "manager"), subresource: text(it, "subresource"), update };
            let mut owned = FieldSet::new();
            note_named(&it["fieldsV1"], &mut Vec::new(), &mut owned);
            (manager, owned)
        });
        Self(owners.filter(|(_, owned)| !owned.is_empty()).collect())
    }

    /// Whether nobody owns anything.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether somebody owns a field.
    pub(super) fn has(&self, path: &Path) -> bool {
        self.0.values().any(|owned| owned.contains(path))
    }

    /// Gives a field an owner.
    pub(super) fn add(&mut self, manager: Manager, path: Path) {
        self.0.entry(manager).or_default().insert(path);
    }

    /// Takes a field from its owners.
    pub(super) fn release(&mut self, path: &Path) {
        for owned in self.0.values_mut() {
            owned.remove(path);
        }
        self.0.retain(|_, owned| !owned.is_empty());
    }

    /// About how many bytes the paths have.
    fn bytes(&self) -> usize {
        let steps = self.0.values().flatten().flatten();
        steps.map(|step| limits::STEP + step.len()).sum()
    }
}

/// Notes the paths of fields that a manager names (`f:spec`).
fn note_named(fields: &Value, path: &mut Path, owned: &mut FieldSet) {
    for (name, inside) in fields.as_object().into_iter().flatten() {
        let Some(name) = name.strip_prefix("f:") else { continue };
        path.push(Step::Field(name.to_owned()));
        if inside.as_object().is_none_or(|inside| inside.is_empty() || inside.contains_key(".")) {
            owned.insert(path.clone());
        }
        note_named(inside, path, owned);
        path.pop();
    }
}

/// Merges what is applied into a value. Nothing takes no parts away: those have owners of their own.
fn merge(of: Layout<'_>, target: &mut Value, applied: &Value) {
    match (of.shape(), &mut *target, applied) {
        (Shape::Plain, Value::Object(fields), Value::Null) if !fields.is_empty() => {}
        (Shape::Set | Shape::Keyed(_), Value::Array(list), Value::Null) if !list.is_empty() => {}
        (Shape::Plain, Value::Object(fields), Value::Object(applied)) => {
            for (name, value) in applied {
                match fields.get_mut(name) {
                    Some(target) => merge(of.field(name), target, value),
                    None => drop(fields.insert(name.clone(), value.clone())),
                }
            }
        }
        (Shape::Set | Shape::Keyed(_), Value::Array(list), Value::Array(applied)) => {
            *list = merged_list(of, list, applied).unwrap_or_else(|| applied.clone());
        }
        _ => target.clone_from(applied),
    }
}

/// A list into which another one is applied, if their elements can be told apart. What is applied keeps its order, and
/// the others stay before what they were before (structured-merge-diff `visitListItems`).
fn merged_list(of: Layout<'_>, live: &[Value], applied: &[Value]) -> Option<Vec<Value>> {
    let shape = of.shape();
    let (known, wanted) = (elements(shape, live)?, elements(shape, applied)?);
    let steps: Vec<Step> = applied.iter().filter_map(|element| Step::to(shape, element)).collect();
    let merged = |place: usize| {
        // What is there twice is merged with nothing.
        let live = known.get(&steps[place]).filter(|elements| elements.len() == 1);
        let mut element = live.map_or(Value::Null, |elements| elements[0].clone());
        merge(of.element(), &mut element, &applied[place]);
        element
    };
    let mut shared = (0..applied.len()).filter(|place| known.contains_key(&steps[*place])).peekable();
    let (mut list, mut next) = (Vec::new(), 0);
    for element in live {
        let step = Step::to(shape, element)?;
        if !wanted.contains_key(&step) {
            list.push(element.clone());
            continue;
        }
        let end = match shared.next_if(|place| steps[*place] == step) {
            Some(place) => place + 1,
            None if shared.peek().is_some() => next,
            // It is there again, and gives its place to the next one.
            None => applied.len().min(next + 1),
        };
        list.extend((next..end).map(merged));
        next = end;
    }
    list.extend((next..applied.len()).map(merged));
    Some(list)
}

/// The refusal of an apply, with the conflicts in the order of their managers (apimachinery `getConflictMessage`).
fn refused(mut conflicts: Vec<(&Manager, &Path)>) -> Refusal {
    let by = |Manager { name, subresource, update }: &Manager| {
        let part = if subresource.is_empty() { String::new() } else { format!(" with subresource \"{subresource}\"") };
        let using = update.as_ref().map_or_else(String::new, |version| format!(" using {version}"));
        format!("with \"{name}\"{part}{using}")
    };
    // A manager of a subresource comes before one of the whole object, because their JSON does. What is inside of a value is
    // told after the values beside it.
    conflicts.sort_by_key(|(manager, path)| {
        let steps = path.iter().enumerate().map(|(place, step)| (place + 1 < path.len(), step));
        let Manager { name, update, subresource } = *manager;
        (name, update, subresource.is_empty(), subresource, steps.collect::<Vec<_>>())
    });
    let causes = conflicts.iter().map(|(manager, path)| {
        json!({ "reason": "FieldManagerConflict", "message": format!("conflict {}", by(manager)), "field": text(path) })
    });
    let causes: Vec<Value> = causes.collect();
    let groups = conflicts.chunk_by(|(one, _), (other, _)| one == other).map(|group| match group {
        [(manager, path)] if conflicts.len() == 1 => format!("conflict {}: {}", by(manager), text(path)),
        group => {
            let paths = group.iter().map(|(_, path)| format!("\n- {}", text(path)));
            format!("conflicts {}:{}", by(group[0].0), paths.collect::<String>())
        }
    });
    let count = Counted(conflicts.len(), "conflict", "conflicts");
    let message = format!("Apply failed with {count}: {}", groups.collect::<Vec<_>>().join("\n"));
    Refusal::new(409, "Conflict", message).with_details(json!({ "causes": causes }))
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

    fn pod() -> Layout<'static> {
        Layout::new(Kinds::new().known("v1/pods").unwrap().object_type(), true)
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
    fn an_owner_is_one_value() {
        let mut owners = FieldOwners::default();
        let update = Manager { name: "kubectl".into(), subresource: String::new(), update: Some("v1".into()) };
        let owner = |controller: Value| {
            let owner =
                json!({ "apiVersion": "v1", "kind": "Node", "name": "a", "uid": "1", "controller": controller });
            json!({ "metadata": { "ownerReferences": [owner] } })
        };
        let (live, applied) =
            (owner(json!(true)), json!({ "metadata": { "ownerReferences": [{ "uid": "1", "name": "a" }] } }));
        owners.on_update(&update, pod(), &json!({}), &live);
        let refusal = owners.clone().apply(&applies("me"), pod(), &live, &applied, false).unwrap_err();
        let field = &refusal.status.unwrap()["details"]["causes"][0]["field"];
        assert_eq!(field, ".metadata.ownerReferences[uid=\"1\"]");
        assert_eq!(owners.apply(&applies("me"), pod(), &live, &applied, true), Ok(applied));
    }

    #[test]
    fn whoever_makes_an_element_a_double_one_owns_it() {
        let finalizers = |list: Value| json!({ "metadata": { "finalizers": list } });
        let (mut owners, me) = (FieldOwners::default(), applies("me"));
        let update = Manager { name: "kubectl".into(), subresource: String::new(), update: Some("v1".into()) };
        let one = owners.apply(&me, pod(), &json!({}), &finalizers(json!(["x/a", "x/b"])), false).unwrap();
        let two = finalizers(json!(["x/a", "x/b", "x/b"]));
        owners.on_update(&update, pod(), &one, &two);
        assert_eq!(owners.apply(&me, pod(), &two, &json!({}), false), Ok(finalizers(json!(["x/b", "x/b"]))));
    }

    #[test]
    fn elements_that_are_there_twice_stay_each_as_it_is_beside_one_that_is_applied() {
        let env = |list: &[(&str, &str)]| {
            let list: Vec<Value> = list.iter().map(|(name, value)| json!({ "name": name, "value": value })).collect();
            spec(&json!({ "containers": [{ "name": "a", "env": list }] }))
        };
        let (mut owners, live) = (FieldOwners::default(), env(&[("A", "1"), ("A", "2")]));
        let update = Manager { name: "kubectl".into(), subresource: String::new(), update: Some("v1".into()) };
        owners.on_update(&update, pod(), &json!({}), &live);
        let all = env(&[("A", "1"), ("A", "2"), ("B", "3")]);
        assert_eq!(owners.apply(&applies("me"), pod(), &live, &env(&[("B", "3")]), false), Ok(all));
    }

    #[test]
    fn an_element_that_is_there_twice_is_replaced_by_one_that_is_applied() {
        let ports = |list: Value| spec(&json!({ "containers": [{ "name": "a", "ports": list }] }));
        let port = |name: &str| json!({ "containerPort": 80, "protocol": "TCP", "name": name });
        let live = ports(json!([port("a"), port("b")]));
        let wanted = ports(json!([{ "containerPort": 80, "protocol": "TCP", "hostPort": 8080 }]));
        let object = FieldOwners::default().apply(&applies("me"), pod(), &live, &wanted, false);
        assert_eq!(object, Ok(wanted));
    }

    #[test]
    fn an_element_that_is_there_again_lets_the_next_one_that_is_applied_go_first() {
        let finalizers = |list: &[&str]| json!({ "metadata": { "finalizers": list } });
        let (live, wanted) = (finalizers(&["x/a", "x/a", "x/l"]), finalizers(&["x/a", "x/r"]));
        let object = FieldOwners::default().apply(&applies("me"), pod(), &live, &wanted, false);
        assert_eq!(object, Ok(finalizers(&["x/a", "x/r", "x/l"])));
    }

    #[test]
    fn who_applies_an_empty_object_owns_its_return() {
        let labels = |labels: Value| json!({ "metadata": { "labels": labels } });
        let (one, two, absent) = (applies("one"), applies("two"), json!({ "metadata": {} }));
        let mut owners = FieldOwners::default();
        owners.apply(&one, pod(), &absent, &labels(json!({})), false).unwrap();
        let other = Manager { name: "kubectl".into(), subresource: String::new(), update: Some("v1".into()) };
        owners.on_update(&other, pod(), &absent, &json!({ "metadata": {}, "spec": { "x": 1 } }));
        let wanted = labels(json!({ "a": "b" }));
        let refusal = owners.apply(&two, pod(), &absent, &wanted, false).unwrap_err();
        let message = &refusal.status.unwrap()["message"];
        assert_eq!(message, "Apply failed with 1 conflict: conflict with \"one\": .metadata.labels");
        assert_eq!(owners.apply(&two, pod(), &absent, &wanted, true).unwrap()["metadata"]["labels"]["a"], "b");
        assert_eq!(owners.apply(&one, pod(), &wanted, &json!({}), false), Ok(wanted));
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
        assert_eq!(owners.0[&update].len(), 2, "it has lost the field, and neither the other one nor the spec");
    }
}
