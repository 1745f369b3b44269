//! The keys that wait for subscribers besides the entries of the log: one record for each subscriber and key.

use super::Transition;
use super::folded::Folded;
use crate::storage::{DrainingTable, Keyed, Linked, Links, List, Mem, Slot, Versioned};
use crate::time::Instant;

/// The records of all subscribers; each subscriber has a list of its own, in the order in which its keys arrived.
pub(super) struct Backlog<V: Keyed, M: Mem> {
    records: DrainingTable<Record<V>, M>,
}

pub(super) struct Record<V: Keyed> {
    key: (Slot, V::Key),
    /// The key's hash in the table of records.
    hash: u32,
    pub(super) folded: Folded<V>,
    /// The number of the entry that was folded first; the record is told when the cursor has come as far.
    pub(super) number: u64,
    pub(super) arrived: Instant,
    links: Links,
}

pub(super) enum Backlogged {}

impl<V: Versioned<Key: Clone> + Clone, M: Mem> Backlog<V, M> {
    pub(super) const fn with_seed(seed: u64) -> Self {
        Self { records: DrainingTable::<_, M>::with_seed(seed) }
    }

    /// Makes the hashes depend on `seed`, where no key waits.
    pub(super) fn set_seed(&mut self, seed: u64) {
        self.records.set_seed(seed);
    }

    /// Whether there is memory for so many records.
    pub(super) fn try_room(&self, records: usize) -> Result<(), M::Full<()>> {
        self.records.try_room(|| records)
    }

    pub(super) fn len(&self) -> usize {
        self.records.len()
    }

    pub(super) fn find(&self, subscriber: Slot, key: &V::Key) -> Option<Slot> {
        self.records.find_by(&(subscriber, key), |other| other.0 == subscriber && other.1 == *key)
    }

    /// The records of a list, the first to be told first.
    pub(super) fn iter(&self, list: &List<Backlogged>) -> impl Iterator<Item = &Record<V>> {
        self.slots(list).map(|slot| &self.records[slot])
    }

    pub(super) fn get(&self, record: Slot) -> &Folded<V> {
        &self.records[record].folded
    }

    /// Adds a later change to a record, which goes if there is nothing to tell any more.
    pub(super) fn fold(
        &mut self,
        list: &mut List<Backlogged>,
        record: Slot,
        (next, quiet): (&Transition<V>, bool),
        freed: &mut impl FnMut(V),
    ) {
        let folded = &mut self.records[record].folded;
        if folded.is_cancelled_by(next, quiet) {
            self.remove(list, record).free(freed);
        } else {
            freed(folded.fold(next));
        }
    }

    /// Tells the object of a record even if its state is the one that the subscriber was last told.
    pub(super) fn announce(&mut self, record: Slot) {
        self.records[record].folded.announce();
    }

    /// Adds a record of a key that has none.
    pub(super) fn try_insert(
        &mut self,
        list: &mut List<Backlogged>,
        subscriber: Slot,
        folded: Folded<V>,
        (number, arrived): (u64, Instant),
    ) -> Result<(), M::Full<()>> {
        let key = (subscriber, folded.key().clone());
        let hash = self.records.hash(&key);
        let record = Record { key, hash, folded, number, arrived, links: Links::default() };
        let slot = self.records.try_insert(record).map_err(|full| M::map_full(full, drop))?;
        list.push_back(&mut self.records, slot);
        Ok(())
    }

    pub(super) fn remove(&mut self, list: &mut List<Backlogged>, slot: Slot) -> Folded<V> {
        list.unlink(&mut self.records, slot);
        let record = self.records.remove_hashed(self.records[slot].hash, slot);
        if self.records.len() == 0 {
            self.records.release();
        }
        record.folded
    }

    /// Removes the records of a list behind the first `kept`.
    pub(super) fn truncate(&mut self, list: &mut List<Backlogged>, kept: usize, freed: &mut impl FnMut(V)) {
        let mut at = self.slots(list).nth(kept);
        while let Some(slot) = at {
            at = self.records[slot].next();
            self.remove(list, slot).free(freed);
        }
    }

    fn slots(&self, list: &List<Backlogged>) -> impl Iterator<Item = Slot> {
        core::iter::successors(list.front(), |slot| self.records[*slot].next())
    }
}

impl<V: Keyed> Keyed for Record<V> {
    type Key = (Slot, V::Key);

    fn key(&self) -> &Self::Key {
        &self.key
    }
}

impl<V: Keyed> Linked<Backlogged> for Record<V> {
    type Slot = Slot;

    fn links(&mut self) -> &mut Links {
        &mut self.links
    }

    fn next(&self) -> Option<Slot> {
        self.links.next
    }
}
