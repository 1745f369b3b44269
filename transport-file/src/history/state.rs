//! From what clients were told to changes of a resource.

use super::change::HistoryChange;
use super::observation::{Told, key_of, version_of};
use super::resource::RecordedResource;
use super::scope::Scope;
use listwatch_core::Key;
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The versions of the objects of a resource.
///
/// An object may be in several scopes. It is gone when no scope shows it.
#[derive(Debug)]
pub(super) struct ResourceState {
    pub(super) resource: Arc<RecordedResource>,
    objects: HashMap<Key, Known>,
    scopes: Vec<ScopeState>,
    places: HashMap<Arc<Scope>, usize>,
}

/// The newest state of an object that was told.
#[derive(Debug)]
struct Known {
    version: u64,
    /// The places of the scopes that show it.
    shown_by: Vec<usize>,
}

#[derive(Debug)]
struct ScopeState {
    version: u64,
    /// Whether its clients have to list again.
    expired: bool,
}

impl ResourceState {
    pub(super) fn new(resource: Arc<RecordedResource>) -> Self {
        Self { resource, objects: HashMap::new(), scopes: Vec::new(), places: HashMap::new() }
    }

    /// Takes what a client was told. Older news than the scope's version change nothing.
    pub(super) fn take(&mut self, scope: &Arc<Scope>, told: Told) -> Option<HistoryChange> {
        let place = self.place(scope);
        match told {
            Told::Watching { .. } => None,
            Told::Expired => {
                self.scopes[place].expired = true;
                None
            }
            Told::State { objects, version } => {
                let is_first = self.scopes[place].version == 0;
                (is_first || self.is_news(place, version)).then(|| self.state(place, objects, version))
            }
            Told::Reached(version) => self.is_news(place, version).then(|| {
                self.scopes[place].version = version;
                HistoryChange::Reached(version)
            }),
            Told::Set(object) => self.event(place, &object).then(|| self.set(place, object)).flatten(),
            Told::Deleted(object) => self.event(place, &object).then(|| self.delete(place, object)).flatten(),
        }
    }

    fn place(&mut self, scope: &Arc<Scope>) -> usize {
        if let Some(place) = self.places.get(scope) {
            return *place;
        }
        self.scopes.push(ScopeState { version: 0, expired: false });
        self.places.insert(Arc::clone(scope), self.scopes.len() - 1);
        self.scopes.len() - 1
    }

    fn is_news(&self, place: usize, version: u64) -> bool {
        version > self.scopes[place].version
    }

    /// Whether an event is news. Versions that are no numbers have no order.
    fn event(&mut self, place: usize, object: &Value) -> bool {
        let version = version_of(object);
        let is_news = version == 0 || self.is_news(place, version);
        if is_news {
            self.scopes[place].version = self.scopes[place].version.max(version);
        }
        is_news
    }

    fn set(&mut self, place: usize, object: Value) -> Option<HistoryChange> {
        let key = key_of(&object)?;
        let was_there = self.objects.contains_key(&key);
        self.show(place, key, version_of(&object)).then_some(match was_there {
            true => HistoryChange::Modified(object),
            false => HistoryChange::Added(object),
        })
    }

    fn delete(&mut self, place: usize, object: Value) -> Option<HistoryChange> {
        self.hide(place, &key_of(&object)?).then_some(HistoryChange::Deleted(object))
    }

    /// Compares a list with what is known.
    fn state(&mut self, place: usize, objects: Vec<Value>, version: u64) -> HistoryChange {
        let expired = std::mem::take(&mut self.scopes[place].expired);
        self.scopes[place].version = version;
        let present: HashSet<Key> = objects.iter().filter_map(key_of).collect();
        let shown = self.objects.iter().filter(|(_, known)| known.shown_by.contains(&place)).map(|(key, _)| key);
        let absent: Vec<Key> = shown.filter(|key| !present.contains(*key)).cloned().collect();
        let gone: Vec<Key> = absent.into_iter().filter(|key| self.hide(place, key)).collect();
        let mut is_new = |object: &Value| key_of(object).is_some_and(|key| self.show(place, key, version_of(object)));
        let changed: Vec<Value> = objects.into_iter().filter(|object| is_new(object)).collect();
        match changed.is_empty() && gone.is_empty() && !expired {
            true => HistoryChange::Reached(version),
            false => HistoryChange::Relisted { changed, gone, version },
        }
    }

    /// Notes that a scope shows an object. Returns whether this state is newer than the known one.
    fn show(&mut self, place: usize, key: Key, version: u64) -> bool {
        let known = self.objects.entry(key).or_insert(Known { version: 0, shown_by: Vec::new() });
        if !known.shown_by.contains(&place) {
            known.shown_by.push(place);
        }
        let is_newer = known.version == 0 || version == 0 || version > known.version;
        known.version = known.version.max(version);
        is_newer
    }

    /// Notes that a scope shows an object no more. Returns whether no scope does.
    fn hide(&mut self, place: usize, key: &Key) -> bool {
        let Some(known) = self.objects.get_mut(key) else { return false };
        known.shown_by.retain(|other| *other != place);
        let is_gone = known.shown_by.is_empty();
        if is_gone {
            self.objects.remove(key);
        }
        is_gone
    }
}
