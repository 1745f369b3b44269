//! From what clients were told to changes of a resource.

use super::change::{Change, HistoryChange, Told};
use super::scope::{RecordedResource, Scope};
use crate::error::Fault;
use crate::memory::{ENTRY, Memory, TEXT, weight, weight_of_key};
use crate::object::{ObjectText, Unreadable};
use listwatch_core::Key;
use serde_json::Value;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The versions of the objects of a resource.
///
/// An object may be in several scopes. It is gone when no scope shows it.
#[derive(Debug)]
pub(crate) struct ResourceState {
    pub(crate) resource: Arc<RecordedResource>,
    objects: HashMap<Key, Known>,
    scopes: Vec<ScopeState>,
    places: HashMap<Arc<Scope>, usize>,
    memory: Memory,
    /// That of the objects, which callers keep.
    kept: Memory,
    /// Whether a log tells of it, whose events may be out of order.
    is_log: bool,
}

/// What is not told of changes.
#[derive(Debug, Default)]
pub(crate) struct Left {
    /// The states that cannot be read.
    pub(crate) unreadable: Vec<Unreadable>,
    /// Why the states behind one are left out.
    pub(crate) fault: Option<Fault>,
}

/// The newest state of an object that was told.
#[derive(Debug, Default)]
struct Known {
    version: u64,
    /// How many scopes show it.
    shown_by: usize,
    /// The memory of the object.
    weight: u64,
}

#[derive(Debug, Default)]
struct ScopeState {
    version: u64,
    /// Whether its clients have to list again.
    expired: bool,
    /// The keys of the objects that it shows.
    keys: HashSet<Key>,
}

impl ResourceState {
    pub(crate) fn new(resource: Arc<RecordedResource>, is_log: bool, memory: &Memory, kept: &Memory) -> Self {
        let (objects, scopes, places) = (HashMap::new(), Vec::new(), HashMap::new());
        Self { resource, objects, scopes, places, memory: memory.clone(), kept: kept.clone(), is_log }
    }

    /// Takes what a client was told. Older news than the scope's version change nothing.
    ///
    /// # Errors
    /// There is no memory for it.
    pub(crate) fn take(&mut self, scope: &Arc<Scope>, told: Told) -> Result<Option<Change>, Fault> {
        let place = self.place(scope)?;
        Ok(match told {
            Told::Watching { .. } | Told::Failed(_) => None,
            Told::Expired => {
                self.scopes[place].expired = true;
                None
            }
            Told::State { objects, version } => {
                let is_first = self.scopes[place].version == 0;
                let is_news = is_first || self.is_news(place, version);
                is_news.then(|| self.state(place, objects, version)).transpose()?
            }
            Told::Relisted { objects, version } => {
                let newest = version.max(self.scopes[place].version);
                Some(self.state(place, objects, newest)?)
            }
            Told::Reached { version, .. } => self.is_news(place, version).then(|| {
                self.scopes[place].version = version;
                Change::Reached(version)
            }),
            Told::Set(object) if self.event(place, &object) => self.set(place, object)?,
            Told::Deleted(object) if self.event(place, &object) => self.delete(place, object),
            Told::Set(_) | Told::Deleted(_) => None,
        })
    }

    /// Whether a client was told of this scope.
    pub(crate) fn is_told_of(&self, scope: &Arc<Scope>) -> bool {
        self.places.contains_key(scope)
    }

    /// The keys of the objects that are there.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &Key> {
        self.objects.keys()
    }

    /// The change with its objects; `None` if those are left out. Of a deletion that cannot be read, the object is its
    /// place alone.
    pub(crate) fn decoded(&mut self, change: Change, left: &mut Left) -> Option<HistoryChange> {
        let mut values = |objects: Vec<ObjectText>| self.values(objects, left, drop);
        Some(match change {
            Change::Added(object) => HistoryChange::Added(values(vec![object]).pop()?),
            Change::Modified(object) => HistoryChange::Modified(values(vec![object]).pop()?),
            Change::Deleted(object) => HistoryChange::Deleted(object.value().unwrap_or_else(|_| object.place())),
            Change::Reached(version) => HistoryChange::Reached(version),
            Change::Relisted { changed, gone, version } => {
                HistoryChange::Relisted { changed: values(changed), gone, version }
            }
        })
    }

    /// Decodes objects, as far as there is memory for them. Calls `on_unreadable` for each that cannot be read.
    pub(crate) fn values(
        &mut self,
        objects: Vec<ObjectText>,
        left: &mut Left,
        mut on_unreadable: impl FnMut(Key),
    ) -> Vec<Value> {
        let mut values = Vec::with_capacity(objects.len());
        for object in objects {
            match object.value() {
                Ok(value) => {
                    let known = self.objects.get_mut(&object.key);
                    if let Err(fault) = known.map_or(Ok(()), |known| known.weigh(weight(&value), &self.kept)) {
                        left.fault.get_or_insert(fault);
                        break;
                    }
                    values.push(value);
                }
                Err(error) => {
                    left.unreadable.push(error);
                    on_unreadable(object.key);
                }
            }
        }
        values
    }

    fn place(&mut self, scope: &Arc<Scope>) -> Result<usize, Fault> {
        if let Some(place) = self.places.get(scope) {
            return Ok(*place);
        }
        self.memory.take(ENTRY)?;
        self.scopes.push(ScopeState::default());
        self.places.insert(Arc::clone(scope), self.scopes.len() - 1);
        Ok(self.scopes.len() - 1)
    }

    fn is_news(&self, place: usize, version: u64) -> bool {
        version > self.scopes[place].version
    }

    /// Whether an event is news. Versions that are no numbers have no order. A log tells what is news for its object, and
    /// nothing again.
    fn event(&mut self, place: usize, object: &ObjectText) -> bool {
        let version = object.version;
        let is_behind = || self.objects.get(&object.key).is_none_or(|known| version > known.version);
        let is_news = version == 0 || self.is_news(place, version) || (self.is_log && is_behind());
        if is_news {
            self.scopes[place].version = self.scopes[place].version.max(version);
        }
        is_news
    }

    fn set(&mut self, place: usize, object: ObjectText) -> Result<Option<Change>, Fault> {
        let was_there = self.objects.contains_key(&object.key);
        Ok(self.show(place, &object)?.then_some(match was_there {
            true => Change::Modified(object),
            false => Change::Added(object),
        }))
    }

    fn delete(&mut self, place: usize, object: ObjectText) -> Option<Change> {
        self.hide(place, &object.key).then_some(Change::Deleted(object))
    }

    /// Compares a list with what is known.
    fn state(&mut self, place: usize, objects: Vec<ObjectText>, version: u64) -> Result<Change, Fault> {
        let expired = std::mem::take(&mut self.scopes[place].expired);
        self.scopes[place].version = version;
        let present: HashSet<&Key> = objects.iter().map(|object| &object.key).collect();
        let shown = self.scopes[place].keys.iter();
        let mut absent: Vec<Key> = shown.filter(|key| !present.contains(key)).cloned().collect();
        absent.sort_unstable();
        let gone: Vec<Key> = absent.into_iter().filter(|key| self.hide(place, key)).collect();
        let mut changed = Vec::new();
        for object in objects {
            if self.show(place, &object)? {
                changed.push(object);
            }
        }
        Ok(match changed.is_empty() && gone.is_empty() && !expired {
            true => Change::Reached(version),
            false => Change::Relisted { changed, gone, version },
        })
    }

    /// Notes that a scope shows an object. Returns whether this state is newer than the known one.
    fn show(&mut self, place: usize, object: &ObjectText) -> Result<bool, Fault> {
        let (key, version) = (object.key.clone(), object.version);
        let known = match self.objects.entry(key.clone()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => {
                self.memory.take(weight_of_key(&key))?;
                unknown.insert(Known::default())
            }
        };
        let keys = &mut self.scopes[place].keys;
        if !keys.contains(&key) {
            self.memory.take(weight_of_key(&key))?;
            keys.insert(key);
            known.shown_by += 1;
        }
        let is_newer = known.version == 0 || version == 0 || version > known.version;
        known.version = known.version.max(version);
        if is_newer {
            // The value before it stays until this one is known.
            known.weigh(known.weight.max(TEXT * object.len() as u64), &self.kept)?;
        }
        Ok(is_newer)
    }

    /// Notes that a scope shows an object no more. Returns whether no scope does.
    fn hide(&mut self, place: usize, key: &Key) -> bool {
        let Some(known) = self.objects.get_mut(key) else { return false };
        if self.scopes[place].keys.remove(key) {
            self.memory.give_back(weight_of_key(key));
            known.shown_by -= 1;
        }
        let is_gone = known.shown_by == 0;
        if is_gone {
            self.memory.give_back(weight_of_key(key));
            self.kept.give_back(known.weight);
            self.objects.remove(key);
        }
        is_gone
    }
}

impl Known {
    /// Replaces its weight, unless there is no memory for the new one.
    fn weigh(&mut self, weight: u64, memory: &Memory) -> Result<(), Fault> {
        memory.take(weight.saturating_sub(self.weight))?;
        memory.give_back(self.weight.saturating_sub(weight));
        self.weight = weight;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::Collection;
    use serde_json::json;

    #[test]
    fn a_relist_is_compared_with_the_objects_of_its_own_scope() {
        let collection = |namespace: &str| Collection { name: "v1/pods".into(), namespace: Some(namespace.into()) };
        let [small, large] = ["a", "b"].map(|namespace| Arc::new(Scope::whole(collection(namespace))));
        let (resource, memory) = (collection("a").resource(None, false), Memory::at_most(1 << 20));
        let mut state = ResourceState::new(Arc::new(resource), false, &memory, &memory);
        let named = |name: &&str| json!({ "metadata": { "name": name, "resourceVersion": "1" } }).to_string();
        let objects = |names: &[&str]| names.iter().filter_map(|name| ObjectText::of(&named(name))).collect();
        let told = |names: &[&str], version| Told::State { objects: objects(names), version };
        state.take(&large, told(&["x", "y", "z"], 5)).unwrap();
        state.take(&small, told(&["x"], 5)).unwrap();
        assert_eq!(state.scopes[state.places[&small]].keys, HashSet::from([Key::from("x")]));
        state.take(&large, told(&["z"], 6)).unwrap();
        assert_eq!(state.keys().map(Key::as_str).collect::<std::collections::BTreeSet<_>>(), ["x", "z"].into());
    }
}
