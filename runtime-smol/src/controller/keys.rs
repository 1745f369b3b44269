use core::fmt;
use core::marker::PhantomData;
use listwatch_core::Key;
use listwatch_core::queue::Priority;
use std::collections::HashMap;

/// The keys that a mapper finds for one object. They go to the queue when the mapper returns, each once; if it panics,
/// none of them does.
pub struct Keys<'a> {
    found: Found,
    priority: Priority,
    /// A mapper cannot keep it.
    _call: PhantomData<&'a ()>,
}

/// Distinct keys in the order in which they were found, each with its highest priority.
#[derive(Default)]
pub(super) struct Found {
    keys: Vec<(Key, Priority)>,
    /// The places of the keys.
    places: HashMap<Key, usize>,
}

impl Keys<'_> {
    pub(super) fn new(priority: Priority) -> Self {
        Self { found: Found::default(), priority, _call: PhantomData }
    }

    /// Lets the controller reconcile `key`: with [`Priority::Low`] if the object is part of an initial list, and with
    /// [`Priority::Normal`] otherwise.
    pub fn add(&mut self, key: impl Into<Key>) {
        self.found.add(key.into(), self.priority);
    }

    /// Lets the controller reconcile `key` with this priority.
    pub fn add_with_priority(&mut self, key: impl Into<Key>, priority: Priority) {
        self.found.add(key.into(), priority);
    }

    pub(super) fn into_found(self) -> Found {
        self.found
    }
}

impl Found {
    fn add(&mut self, key: Key, priority: Priority) {
        let next = self.keys.len();
        let place = *self.places.entry(key.clone()).or_insert(next);
        if let Some((_, known)) = self.keys.get_mut(place) {
            *known = priority.max(*known);
        } else {
            self.keys.push((key, priority));
        }
    }

    /// Adds the keys of `other`.
    pub(super) fn merge(&mut self, other: Self) {
        other.keys.into_iter().for_each(|(key, priority)| self.add(key, priority));
    }

    pub(super) fn into_keys(self) -> Vec<(Key, Priority)> {
        self.keys
    }
}

impl fmt::Debug for Keys<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keys").field("priority", &self.priority).finish_non_exhaustive()
    }
}
