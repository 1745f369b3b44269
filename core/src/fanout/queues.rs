//! What waits for subscribers besides the entries of the log.

use crate::storage::{Chained, Keyed, Linked, List, Mem, Slot, Table};
use crate::time::Instant;
use core::hash::Hash;

/// Items by subscriber and key. Each subscriber has a list of its own, in the order in which its keys arrived.
pub(super) struct Queues<K: Hash + Eq, T, M: Mem> {
    items: Table<Linked<Item<K, T>>, M>,
}

pub(super) struct Item<K, T> {
    key: (Slot, K),
    /// The key's hash in the table.
    hash: u32,
    pub(super) content: T,
    pub(super) arrived: Instant,
}

impl<K: Hash + Eq, T, M: Mem> Queues<K, T, M> {
    pub(super) const fn with_seed(seed: u64) -> Self {
        Self { items: Table::with_seed(seed) }
    }

    /// Makes the hashes depend on `seed`, where nothing waits.
    pub(super) fn set_seed(&mut self, seed: u64) {
        self.items.set_seed(seed);
    }

    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there is memory for so many items.
    pub(super) fn try_room(&self, items: usize) -> Result<(), M::Full<()>> {
        self.items.try_room(|| items)
    }

    /// The item of a subscriber whose key hashes as `key` does and is equal by `eq`.
    pub(super) fn find(&self, subscriber: Slot, key: &(impl Hash + ?Sized), eq: impl Fn(&K) -> bool) -> Option<Slot> {
        self.items.find_by(&(subscriber, key), |other| other.0 == subscriber && eq(&other.1))
    }

    /// The items of a list, the first to be told first.
    pub(super) fn iter(&self, list: &List) -> impl Iterator<Item = &Item<K, T>> {
        list.iter(&self.items).map(|slot| &*self.items[slot])
    }

    pub(super) fn get(&self, item: Slot) -> &T {
        &self.items[item].content
    }

    pub(super) fn get_mut(&mut self, item: Slot) -> &mut T {
        &mut self.items[item].content
    }

    /// Adds an item of a key that has none.
    pub(super) fn try_push(
        &mut self,
        list: &mut List,
        key: (Slot, K),
        content: T,
        arrived: Instant,
    ) -> Result<(), M::Full<()>> {
        let hash = self.items.hash(&key);
        let item = Linked::new(Item { key, hash, content, arrived });
        let slot = self.items.try_insert_hashed(hash, item).map_err(|full| M::map_full(full, drop))?;
        list.push_back(&mut self.items, slot);
        Ok(())
    }

    pub(super) fn pop(&mut self, list: &mut List) -> Option<(K, T)> {
        list.front().map(|item| self.remove(list, item))
    }

    pub(super) fn remove(&mut self, list: &mut List, item: Slot) -> (K, T) {
        list.unlink(&mut self.items, item);
        let Item { key, content, .. } = self.items.remove_hashed(self.items[item].hash, item).into_record();
        if self.items.len() == 0 {
            self.items.release();
        }
        (key.1, content)
    }

    /// Removes the items of a list behind the first `kept`.
    pub(super) fn truncate(&mut self, list: &mut List, kept: usize, mut removed: impl FnMut(T)) {
        let mut at = list.iter(&self.items).nth(kept);
        while let Some(slot) = at {
            at = self.items[slot].next();
            removed(self.remove(list, slot).1);
        }
    }
}

impl<K: Hash + Eq, T> Keyed for Item<K, T> {
    type Key = (Slot, K);

    fn key(&self) -> &Self::Key {
        &self.key
    }
}
