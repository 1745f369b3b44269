//! The keys that wait for subscribers besides the entries of the log: one record for each subscriber and key.

use super::folded::Folded;
use crate::storage::{Keyed, Linked, Links, List, Mem, PassingTable, Slot, Versioned};
use crate::time::Instant;

/// The records of all subscribers; each subscriber has a list of its own, in the order in which its keys arrived.
pub(super) struct Backlog<V: Keyed, M: Mem> {
    records: PassingTable<Record<V>, M>,
}

pub(super) struct Record<V: Keyed> {
    key: (Slot, V::Key),
    pub(super) folded: Folded<V>,
    /// The number of the entry that was folded first; the record is told when the cursor has come as far.
    pub(super) number: u64,
    pub(super) arrived: Instant,
    links: Links,
}

pub(super) enum Backlogged {}

impl<V: Versioned<Key: Clone> + Clone, M: Mem> Backlog<V, M> {
    pub(super) fn with_seed(seed: u64) -> Self {
        Self { records: PassingTable::<_, M>::with_seed(seed) }
    }

    pub(super) fn len(&self) -> usize {
        self.records.len()
    }

    pub(super) fn find(&self, subscriber: Slot, key: &V::Key) -> Option<Slot> {
        self.records.find_by(&(subscriber, key), |other| other.0 == subscriber && other.1 == *key)
    }

    /// The record at the front of a list.
    pub(super) fn front(&self, list: &List<Backlogged>) -> Option<&Record<V>> {
        list.front().map(|slot| &self.records[slot])
    }

    pub(super) fn folded(&mut self, slot: Slot) -> &mut Folded<V> {
        &mut self.records[slot].folded
    }

    pub(super) fn get(&self, slot: Slot) -> &Folded<V> {
        &self.records[slot].folded
    }

    /// Adds a record of a key that has none.
    pub(super) fn try_insert(
        &mut self,
        list: &mut List<Backlogged>,
        (subscriber, key): (Slot, V::Key),
        folded: Folded<V>,
        (number, arrived): (u64, Instant),
    ) -> Result<(), M::Full<()>> {
        let record = Record { key: (subscriber, key), folded, number, arrived, links: Links::default() };
        let slot = self.records.try_insert(record).map_err(|full| M::map_full(full, drop))?;
        list.push_back(&mut self.records, slot);
        Ok(())
    }

    pub(super) fn remove(&mut self, list: &mut List<Backlogged>, slot: Slot) -> Folded<V> {
        list.unlink(&mut self.records, slot);
        let record = self.records.remove(slot);
        if self.records.len() == 0 {
            self.records.release();
        }
        record.folded
    }

    /// Removes the records of a list behind the first `kept`.
    pub(super) fn truncate(&mut self, list: &mut List<Backlogged>, kept: usize) {
        let mut at = core::iter::successors(list.front(), |slot| self.records[*slot].next()).nth(kept);
        while let Some(slot) = at {
            at = self.records[slot].next();
            self.remove(list, slot);
        }
    }
}

impl<V: Keyed> Keyed for Record<V> {
    type Key = (Slot, V::Key);

    fn key(&self) -> &Self::Key {
        &self.key
    }
}

impl<V: Keyed> Linked<Backlogged> for Record<V> {
    fn links(&mut self) -> &mut Links {
        &mut self.links
    }

    fn next(&self) -> Option<Slot> {
        self.links.next
    }
}
