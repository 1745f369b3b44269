//! Changes that are told as one.

use super::change::{Change, HistoryChange};
use super::state::{Left, ResourceState};
use crate::object::ObjectText;
use core::time::Duration;
use listwatch_core::Key;
use std::collections::{HashMap, HashSet};

/// The changes of a resource that a reader skips: the last state of each object stays.
#[derive(Debug, Default)]
pub(super) struct Skipped {
    /// The objects that were there before.
    before: HashSet<Key>,
    changed: HashMap<Key, ObjectText>,
    gone: HashSet<Key>,
    /// Whether objects changed, or may have.
    has_news: bool,
    version: u64,
    /// The time of the last change.
    at: Duration,
}

impl Skipped {
    /// Nothing was skipped yet, of a resource with these objects.
    pub(super) fn behind<'a>(keys: impl Iterator<Item = &'a Key>) -> Self {
        Self { before: keys.cloned().collect(), ..Self::default() }
    }

    pub(super) fn take(&mut self, at: Duration, change: Change) {
        self.at = at;
        self.has_news |= !matches!(change, Change::Reached(_));
        match change {
            Change::Added(object) | Change::Modified(object) => {
                self.reach(object.version);
                self.set(object);
            }
            Change::Deleted(object) => {
                self.reach(object.version);
                self.remove(object.key);
            }
            Change::Reached(version) => self.reach(version),
            Change::Relisted { changed, gone, version } => {
                self.reach(version);
                gone.into_iter().for_each(|key| self.remove(key));
                changed.into_iter().for_each(|object| self.set(object));
            }
        }
    }

    /// The time of the last change and what the changes come to, if there was one. An object whose last state cannot be
    /// read is gone: no older one is true. From the first state on for which the resource has no memory, objects stay as
    /// they were.
    pub(super) fn end(mut self, resource: &mut ResourceState, left: &mut Left) -> Option<(Duration, HistoryChange)> {
        let (version, at) = (self.version, self.at);
        if !self.has_news {
            return (version > 0).then_some((at, HistoryChange::Reached(version)));
        }
        let mut last: Vec<ObjectText> = self.changed.drain().map(|(_, object)| object).collect();
        last.sort_by(|one, other| (one.version, &one.key).cmp(&(other.version, &other.key)));
        let changed = resource.values(last, left, |key| self.remove(key));
        let mut gone: Vec<Key> = self.gone.into_iter().collect();
        gone.sort_unstable();
        Some((at, HistoryChange::Relisted { changed, gone, version }))
    }

    fn reach(&mut self, version: u64) {
        self.version = self.version.max(version);
    }

    fn set(&mut self, object: ObjectText) {
        self.gone.remove(&object.key);
        self.changed.insert(object.key.clone(), object);
    }

    fn remove(&mut self, key: Key) {
        self.changed.remove(&key);
        if self.before.contains(&key) {
            self.gone.insert(key);
        }
    }
}
