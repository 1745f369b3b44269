//! Changes that are told as one.

use super::change::{Change, HistoryChange};
use super::state::ResourceState;
use crate::error::Fault;
use crate::object::{ObjectText, Unreadable, key_of, version_of};
use core::time::Duration;
use listwatch_core::Key;
use serde_json::Value;
use std::collections::{HashMap, HashSet};

/// The changes of a resource that a reader skips: the last state of each object stays.
#[derive(Debug, Default)]
pub(super) struct Skipped {
    /// The objects that were there before.
    before: HashSet<Key>,
    changed: HashMap<Key, Last>,
    gone: HashSet<Key>,
    /// Whether objects changed, or may have.
    has_news: bool,
    version: u64,
    /// The time of the last change.
    at: Duration,
}

/// What is not told of skipped changes.
#[derive(Debug, Default)]
pub(super) struct Left {
    /// The states that cannot be read.
    pub(super) unreadable: Vec<Unreadable>,
    /// Why the states behind one are left out.
    pub(super) fault: Option<Fault>,
}

/// The last state of an object. What a watch told is decoded at the end.
#[derive(Debug)]
enum Last {
    ObjectText(ObjectText),
    Listed(Value),
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
                self.set(object.key.clone(), Last::ObjectText(object));
            }
            Change::Deleted(object) => {
                self.reach(object.version);
                self.remove(object.key);
            }
            Change::Reached(version) => self.reach(version),
            Change::Relisted { changed, gone, version } => {
                self.reach(version);
                gone.into_iter().for_each(|key| self.remove(key));
                for object in changed {
                    let Some(key) = key_of(&object) else { continue };
                    self.set(key, Last::Listed(object));
                }
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
        let mut last: Vec<(Key, Last)> = self.changed.drain().collect();
        last.sort_by(|(key, one), (other_key, other)| (one.version(), key).cmp(&(other.version(), other_key)));
        let mut changed: Vec<Value> = Vec::new();
        for (key, last) in last {
            match last.value() {
                Ok(object) => match resource.weigh(&key, &object) {
                    Ok(()) => changed.push(object),
                    Err(fault) => {
                        left.fault.get_or_insert(fault);
                        break;
                    }
                },
                Err(error) => {
                    left.unreadable.push(error);
                    self.remove(key);
                }
            }
        }
        let mut gone: Vec<Key> = self.gone.into_iter().collect();
        gone.sort_unstable();
        Some((at, HistoryChange::Relisted { changed, gone, version }))
    }

    fn reach(&mut self, version: u64) {
        self.version = self.version.max(version);
    }

    fn set(&mut self, key: Key, last: Last) {
        self.gone.remove(&key);
        self.changed.insert(key, last);
    }

    fn remove(&mut self, key: Key) {
        self.changed.remove(&key);
        if self.before.contains(&key) {
            self.gone.insert(key);
        }
    }
}

impl Last {
    fn version(&self) -> u64 {
        match self {
            Self::ObjectText(object) => object.version,
            Self::Listed(object) => version_of(object),
        }
    }

    fn value(self) -> Result<Value, Unreadable> {
        match self {
            Self::ObjectText(object) => object.value(),
            Self::Listed(object) => Ok(object),
        }
    }
}
