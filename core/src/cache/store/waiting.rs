use crate::storage::{Heap, Keyed, Slot, Table, never_full};
use crate::sync::wakers::Wakers;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::hash::Hash;
use core::task::Waker;

/// The tasks that wait for objects, by key. A change wakes those of its key alone.
pub(super) struct Waiting<K: Hash + Eq> {
    keys: Table<Sleepers<K>, Heap>,
}

/// The tasks that wait for one object.
struct Sleepers<K> {
    key: K,
    wakers: Wakers,
}

/// Where the waker of a task is that waits for an object.
#[derive(Debug, Default)]
pub(super) struct Registration {
    key: Option<Slot>,
    sleeper: Option<Slot>,
    /// The version that the task waits for.
    pub(super) version: Option<Decimal>,
    /// The stream in which it waits for that version.
    pub(super) stream: Option<usize>,
    pub(super) by_version: Option<Slot>,
}

/// A decimal number of any length, without leading zeros: its length, and its digits.
pub(super) type Decimal = (usize, Box<str>);

impl Registration {
    /// That of a task that waits for a version, if that has an order.
    pub(super) fn for_version(version: Option<Decimal>) -> Self {
        Self { version, ..Self::default() }
    }
}

impl<K: Hash + Eq> Waiting<K> {
    pub(super) fn seed_if_idle(&mut self, seed: u64) {
        if self.keys.len() == 0 {
            self.keys = Table::with_seed(seed);
        }
    }

    /// Takes the wakers of the tasks that wait for this object.
    pub(super) fn wake(&mut self, key: &K, woken: &mut Vec<Waker>) {
        if self.keys.len() > 0
            && let Some(slot) = self.keys.find(key)
        {
            woken.append(&mut self.keys[slot].wakers.take_all());
        }
    }

    /// Takes the wakers of all tasks.
    pub(super) fn wake_all(&mut self, woken: &mut Vec<Waker>) {
        let mut at = self.keys.next_used(None);
        while let Some(slot) = at {
            woken.append(&mut self.keys[slot].wakers.take_all());
            at = self.keys.next_used(at);
        }
    }

    #[must_use]
    pub(super) fn register(&mut self, key: &K, registration: &mut Registration, waker: &Waker) -> Option<Waker>
    where
        K: Clone,
    {
        let slot = *registration.key.get_or_insert_with(|| {
            let sleepers = || Sleepers { key: key.clone(), wakers: Wakers::default() };
            self.keys.find(key).unwrap_or_else(|| never_full(self.keys.try_insert(sleepers())))
        });
        self.keys[slot].wakers.register(&mut registration.sleeper, waker)
    }

    #[must_use]
    pub(super) fn remove(&mut self, registration: &mut Registration) -> Option<Waker> {
        let slot = registration.key.take()?;
        let wakers = &mut self.keys[slot].wakers;
        let waker = wakers.remove(&mut registration.sleeper);
        if wakers.has_no_tasks() {
            self.keys.remove(slot);
        }
        waker
    }

    #[cfg(test)]
    pub(super) fn has_no_tasks(&self) -> bool {
        self.keys.len() == 0
    }
}

impl<K: Hash + Eq> Keyed for Sleepers<K> {
    type Key = K;

    fn key(&self) -> &K {
        &self.key
    }
}

impl<K: Hash + Eq> Default for Waiting<K> {
    fn default() -> Self {
        Self { keys: Table::with_seed(0) }
    }
}
