//! Records found by their key.

use super::sealed::{Empty, Index};
use super::slab::{Entry, Places};
use super::{Keyed, Mem, Slab, Slot};
use core::borrow::Borrow;
use core::hash::Hash;
use core::hint::black_box;
use core::ops;

/// A slab with an index over the records' keys. Hashing is seeded and never decides an order that can be seen.
pub struct Table<R, M: Mem, A: Places<R, M> = <M as Mem>::Records<Entry<R>>> {
    records: Slab<R, M, A>,
    index: A::Index,
    seed: u64,
}

/// A table in one piece, of keys that come and go: to add and remove one costs less, to find one as much as in any other.
pub(crate) type PassingTable<R, M> = Table<R, M, <M as Mem>::Array<Entry<R>>>;

/// The distinct index values of an indexer.
pub(crate) type ValueTable<R, M> = Table<R, M, <M as Mem>::Values<Entry<R>>>;

impl<R: Keyed, M: Mem, A: Places<R, M>> Table<R, M, A> {
    /// An empty table whose hashes depend on `seed`.
    pub(crate) const fn with_seed(seed: u64) -> Self {
        Self { records: Slab::EMPTY, index: A::Index::EMPTY, seed }
    }

    /// Makes the hashes of a table, which must be empty, depend on `seed`.
    pub(crate) fn set_seed(&mut self, seed: u64) {
        debug_assert_eq!(self.len(), 0, "no record was found by another hash");
        self.seed = seed;
    }

    /// Reads the memory where these keys will be looked for, and returns the slots that they probably find. Each step is
    /// taken for all keys before the next one, so that the processor waits for all of them at once.
    #[inline]
    pub(crate) fn read_ahead<const N: usize>(&self, keys: &[Option<&R::Key>; N]) -> [Option<Slot>; N] {
        let found = self.look_ahead(&keys.map(|key| key.map(|key| self.hash(key))));
        found.iter().flatten().for_each(|slot| _ = black_box(self.records[*slot].bytes()));
        let is_it = |(key, slot): (&Option<&R::Key>, Slot)| key.is_some_and(|key| self.records[slot].key() == key);
        keys.iter().zip(found).for_each(|(key, slot)| _ = black_box(slot.map(|slot| is_it((key, slot)))));
        found
    }

    /// As [`read_ahead`](Self::read_ahead), by the hashes of the keys and without reading the keys.
    #[inline]
    pub(crate) fn look_ahead<const N: usize>(&self, hashes: &[Option<u32>; N]) -> [Option<Slot>; N] {
        let found = hashes.map(|hash| self.index.find(hash?, |_| true));
        found.iter().flatten().for_each(|slot| _ = black_box(self.records.get(*slot).is_some()));
        found
    }

    pub(crate) fn find<Q>(&self, key: &Q) -> Option<Slot>
    where
        R::Key: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.index.find(self.hash(key), |slot| self.records[slot].key().borrow() == key)
    }

    /// The record whose key hashes as `key` does and is equal by `eq`: for keys that cannot be borrowed in one piece.
    pub(crate) fn find_by(&self, key: &impl Hash, eq: impl Fn(&R::Key) -> bool) -> Option<Slot> {
        self.index.find(self.hash(key), |slot| eq(self.records[slot].key()))
    }

    /// Adds a record; its key must not be in the table yet.
    pub(crate) fn try_insert(&mut self, record: R) -> Result<Slot, M::Full<R>> {
        self.try_insert_hashed(self.hash(record.key()), record)
    }

    /// As [`try_insert`](Self::try_insert), for a caller that has the key's [`hash`](Self::hash).
    pub(crate) fn try_insert_hashed(&mut self, hash: u32, record: R) -> Result<Slot, M::Full<R>> {
        debug_assert!(self.find_hashed(hash, record.key()).is_none(), "a key is inserted once");
        let slot = self.records.try_insert(record)?;
        self.index.insert(hash, slot);
        Ok(slot)
    }

    /// Finds the record of a key, or adds one, for a caller that has the key's [`hash`](Self::hash). `prepare` runs
    /// before the table changes, because it may panic.
    #[inline]
    pub(crate) fn try_entry_hashed<T: Default>(
        &mut self,
        hash: u32,
        key: R::Key,
        prepare: impl FnOnce(&R::Key) -> T,
        record: impl FnOnce(R::Key, T) -> R,
    ) -> Result<Slot, M::Full<R>> {
        let is_it = |slot| *self.records[slot].key() == key;
        let mut prepared = T::default();
        let known = match self.records.vacant() {
            Some(vacant) => self.index.find_or_insert(hash, is_it, || {
                prepared = prepare(&key);
                vacant
            }),
            None => self.index.find(hash, is_it),
        };
        match known {
            Some(slot) => Ok(slot),
            None => self.records.try_insert_with(|| record(key, prepared)),
        }
    }

    /// Adds a record of a key with that [`hash`](Self::hash), which finds it from now on. The slot of the record that
    /// the key found before is returned too: that one stays, and is found no more.
    #[inline]
    pub(crate) fn try_insert_over<T>(
        &mut self,
        hash: u32,
        content: T,
        key: impl Fn(&T) -> &R::Key,
        record: impl FnOnce(T) -> R,
    ) -> Result<(Slot, Option<Slot>), M::Full<R>> {
        let Some(vacant) = self.records.vacant() else {
            return self.records.try_insert(record(content)).map(|slot| (slot, None));
        };
        let key = key(&content);
        let before = self.index.find_or_insert(hash, |slot| self.records[slot].key() == key, || vacant);
        if let Some(before) = before {
            self.redirect(hash, before, Some(vacant));
        }
        self.records.try_insert_with(|| record(content)).map(|slot| (slot, before))
    }

    /// Adds a record that its key does not find.
    pub(crate) fn try_insert_unfound(&mut self, record: R) -> Result<Slot, M::Full<R>> {
        self.records.try_insert(record)
    }

    /// Lets a key with that [`hash`](Self::hash), which finds one record, find another one of its records or none.
    #[inline]
    pub(crate) fn redirect(&mut self, hash: u32, from: Slot, to: Option<Slot>) {
        self.index.remove(hash, from);
        if let Some(to) = to {
            self.index.insert(hash, to);
        }
    }

    /// Lets a key with that [`hash`](Self::hash), which finds no record, find one of its records.
    pub(crate) fn make_found(&mut self, hash: u32, slot: Slot) {
        self.index.insert(hash, slot);
    }

    /// Takes out a record that its key does not find.
    #[inline]
    pub(crate) fn remove_unfound(&mut self, slot: Slot) -> R {
        self.records.remove(slot)
    }

    /// The record that the key of the one in `slot` finds; its key has that [`hash`](Self::hash).
    #[inline]
    pub(crate) fn find_same(&self, hash: u32, slot: Slot) -> Option<Slot> {
        let is_it = |other| other == slot || self.records[other].key() == self.records[slot].key();
        self.index.find(hash, is_it)
    }

    /// As [`find`](Self::find), for a caller that has the key's [`hash`](Self::hash).
    #[inline]
    pub(crate) fn find_hashed(&self, hash: u32, key: &R::Key) -> Option<Slot> {
        self.index.find(hash, |slot| self.records[slot].key() == key)
    }

    /// Drops the record in `slot`, whose key has that [`hash`](Self::hash).
    #[inline]
    pub(crate) fn discard_hashed(&mut self, hash: u32, slot: Slot) {
        self.index.remove(hash, slot);
        self.records.discard(slot);
    }

    /// The record in `slot`, if there is one.
    #[inline]
    pub(crate) fn get(&self, slot: Slot) -> Option<&R> {
        self.records.get(slot)
    }

    pub(crate) fn remove(&mut self, slot: Slot) -> R {
        self.remove_hashed(self.hash(self.records[slot].key()), slot)
    }

    /// Takes out the record in `slot`, whose key has that [`hash`](Self::hash): a key's own `Hash` may panic.
    pub(crate) fn remove_hashed(&mut self, hash: u32, slot: Slot) -> R {
        self.index.remove(hash, slot);
        self.records.remove(slot)
    }

    pub(crate) fn len(&self) -> usize {
        self.records.len()
    }

    /// As [`Slab::try_room`].
    pub(crate) fn try_room(&self, records: impl FnOnce() -> usize) -> Result<(), M::Full<()>> {
        self.records.try_room(records)
    }

    /// Whether there is room for one more record.
    pub(crate) fn has_room(&self) -> bool {
        self.records.vacant().is_some()
    }

    /// The records by slot: in order of insertion, but for places that were freed and used again.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Slot, &R)> {
        self.records.iter()
    }

    /// The records in a range of slots, in the order of [`iter`](Self::iter).
    #[cfg(any(feature = "json", feature = "fixed"))]
    pub(crate) fn range(&self, slots: ops::Range<usize>) -> impl Iterator<Item = &R> {
        self.records.range(slots)
    }

    /// The record behind `after`, or the first, in the order of [`iter`](Self::iter).
    pub(crate) fn next_used(&self, after: Option<Slot>) -> Option<Slot> {
        self.records.next_used(after)
    }

    /// Gives back the memory of an empty table that was large once.
    pub(crate) fn release(&mut self) {
        self.records.release();
        self.index.release();
    }

    pub(crate) fn clear(&mut self) {
        self.records.clear();
        self.index.clear();
    }

    /// The hash by which the index finds a key. Callers keep it with the record, so that they hash each key once.
    #[inline]
    pub(crate) fn hash<Q: Hash + ?Sized>(&self, key: &Q) -> u32 {
        Self::hash_with(self.seed, key)
    }

    /// The hash of a key in a table with that seed.
    #[inline]
    pub(crate) fn hash_with<Q: Hash + ?Sized>(seed: u64, key: &Q) -> u32 {
        M::hash(seed, key)
    }

    #[cfg(feature = "alloc")]
    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }
}

impl<R, M: Mem, A: Places<R, M>> ops::Index<Slot> for Table<R, M, A> {
    type Output = R;

    #[inline]
    fn index(&self, slot: Slot) -> &R {
        &self.records[slot]
    }
}

impl<R, M: Mem, A: Places<R, M>> ops::IndexMut<Slot> for Table<R, M, A> {
    /// The record, whose key must not be changed.
    #[inline]
    fn index_mut(&mut self, slot: Slot) -> &mut R {
        &mut self.records[slot]
    }
}

impl<R: core::fmt::Debug, M: Mem, A: Places<R, M>> core::fmt::Debug for Table<R, M, A> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.records.fmt(f)
    }
}

#[cfg(test)]
#[cfg(all(feature = "alloc", feature = "fixed"))]
mod tests {
    use super::*;

    crate::storage::in_both_memories!(records_are_found_by_key_until_they_are_removed);

    impl Keyed for (u32, &'static str) {
        type Key = u32;

        fn key(&self) -> &u32 {
            &self.0
        }
    }

    fn records_are_found_by_key_until_they_are_removed<M: Mem>() {
        let mut table = Table::<(u32, &str), M>::with_seed(3);
        for key in 0..64 {
            assert!(table.try_insert((key, "x")).is_ok());
        }
        for key in (0..64).step_by(2) {
            let slot = table.find(&key).unwrap();
            assert_eq!(table.remove(slot).0, key);
        }
        assert_eq!(table.len(), 32);
        for key in 0..64 {
            assert_eq!(table.find(&key).is_some(), key % 2 == 1, "{key}");
        }
        table.clear();
        assert!(table.find(&1).is_none() && table.len() == 0);
    }
}
