//! The writes of one reconcile.

use super::expected::Expected;
use core::any::Any;
use listwatch_core::Key;
use listwatch_core::object::Version;
use std::collections::BTreeMap;
use std::sync::Weak;

/// What the stores are to show after a reconcile. All of it is by the object.
pub(super) struct Writes {
    /// What is awaited before the key's next reconcile.
    awaited: BTreeMap<Key, Vec<Expected>>,
    /// What was awaited before, too often.
    stale: BTreeMap<Key, Vec<Expected>>,
    /// The versions that were read live, each with its informer.
    seen: BTreeMap<Key, Vec<(Informer, Version)>>,
    is_over: bool,
}

type Informer = Weak<dyn Any + Send + Sync>;

impl Writes {
    /// Those of a reconcile that begins, with those of earlier ones.
    pub(super) fn new(awaited: Vec<Expected>, stale: Vec<Expected>) -> Self {
        Self { awaited: by_object(awaited), stale: by_object(stale), seen: BTreeMap::new(), is_over: false }
    }

    /// An object was read live at this version.
    pub(super) fn saw(&mut self, informer: Informer, object: &Key, version: Version) {
        let seen = self.seen.entry(object.clone()).or_default();
        if !seen.iter().any(|(known, last)| known.ptr_eq(&informer) && *last == version) {
            seen.push((informer, version));
        }
    }

    /// Waits for a write, if the reconcile is not over yet. One wait serves all writes of an object.
    pub(super) fn expect(&mut self, mut new: Expected) -> bool {
        if self.is_over {
            return false;
        }
        let object = new.write.object.clone();
        for (informer, version) in self.seen.get(&object).into_iter().flatten() {
            if new.is_of(informer, &object) {
                new.reach(version);
            }
        }
        let awaited = self.awaited.entry(object.clone()).or_default();
        while let Some((at, both)) = awaited.iter().enumerate().find_map(|(at, known)| Some((at, known.with(&new)?))) {
            awaited.remove(at);
            new = both;
        }
        if !self.stale.get(&object).into_iter().flatten().any(|stale| stale.is_same(&new)) {
            awaited.push(new);
        }
        true
    }

    /// Ends the reconcile: what is awaited now.
    pub(super) fn end(&mut self) -> Vec<Expected> {
        self.is_over = true;
        core::mem::take(&mut self.awaited).into_values().flatten().collect()
    }
}

fn by_object(writes: Vec<Expected>) -> BTreeMap<Key, Vec<Expected>> {
    let mut objects = BTreeMap::<_, Vec<_>>::new();
    writes.into_iter().for_each(|write| objects.entry(write.write.object.clone()).or_default().push(write));
    objects
}
