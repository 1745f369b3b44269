//! Records at stable addresses.

use super::sealed::Records;
use super::{Mem, Slot};
use core::marker::PhantomData;
use core::ops;

/// An array of records in which a freed place is used again, the last freed first.
///
/// A record keeps its slot until it is removed. Iteration goes by slot, so it depends on the operations alone, never
/// on hashing.
pub(crate) struct Slab<R, M: Mem, A = <M as Mem>::Records<Entry<R>>> {
    pub(super) entries: A,
    free: Option<Slot>,
    len: usize,
    of: PhantomData<fn() -> (R, M)>,
}

/// The index functions of an indexer.
pub(crate) type IndexSlab<R, M> = Slab<R, M, <M as Mem>::Indexes<Entry<R>>>;

/// The pairs of object and index value of an indexer.
pub(crate) type PostingSlab<R, M> = Slab<R, M, <M as Mem>::Postings<Entry<R>>>;

/// A place for a record.
#[derive(Debug)]
pub enum Entry<R> {
    Used(R),
    Free { next: Option<Slot> },
}

/// An array for the places of a slab, in such memory.
pub trait Places<R, M: Mem>: Records<Entry<R>, Full = M::Full<Entry<R>>> {}

impl<R, M: Mem, A: Records<Entry<R>, Full = M::Full<Entry<R>>>> Places<R, M> for A {}

impl<R, M: Mem, A: Places<R, M>> Slab<R, M, A> {
    pub(crate) const EMPTY: Self = Self { entries: A::EMPTY, free: None, len: 0, of: PhantomData };

    #[inline]
    pub(crate) fn try_insert(&mut self, record: R) -> Result<Slot, M::Full<R>> {
        self.try_insert_with(|| record)
    }

    /// Inserts a record that is made in place. The copy of a record that was just made elsewhere waits for each of its
    /// fields, which takes longer than the rest of the insertion.
    #[inline]
    pub(crate) fn try_insert_with(&mut self, record: impl FnOnce() -> R) -> Result<Slot, M::Full<R>> {
        let slot = match self.free {
            Some(slot) => slot,
            None => match self.try_grow() {
                Ok(slot) => slot,
                Err(full) => return Err(M::map_full(full, |()| record())),
            },
        };
        let entry = self.entry(slot);
        let Entry::Free { next } = *entry else { unreachable!("a free slot holds no record") };
        *entry = Entry::Used(record());
        self.free = next;
        self.len += 1;
        self.entries.occupy(slot.index());
        Ok(slot)
    }

    /// Makes one more free place, where there is none.
    #[cold]
    #[inline(never)]
    fn try_grow(&mut self) -> Result<Slot, M::Full<()>> {
        let slot = Slot::at(self.entries.next());
        self.entries.try_push(Entry::Free { next: None }).map_err(|full| M::map_full(full, drop))?;
        Ok(slot)
    }

    /// The slot that the next record gets, if there is room for one.
    #[inline]
    pub(crate) fn vacant(&self) -> Option<Slot> {
        self.free.or_else(|| Some(self.entries.next()).filter(|next| *next < A::CAPACITY).map(Slot::at))
    }

    /// Takes the record out of `slot`, which must hold one.
    #[inline]
    pub(crate) fn remove(&mut self, slot: Slot) -> R {
        let freed = Entry::Free { next: self.free.replace(slot) };
        self.len -= 1;
        let record = core::mem::replace(self.entry(slot), freed).into_record();
        self.vacate(slot);
        record
    }

    /// Drops the record in `slot`, which must hold one, where it is.
    #[inline]
    pub(crate) fn discard(&mut self, slot: Slot) {
        let freed = Entry::Free { next: self.free.replace(slot) };
        self.len -= 1;
        let entry = self.entry(slot);
        debug_assert!(matches!(entry, Entry::Used(_)), "a slot is only used while it holds a record");
        *entry = freed;
        self.vacate(slot);
    }

    /// Notes that a slot was freed, and gives back the places that are needless then.
    #[inline]
    fn vacate(&mut self, slot: Slot) {
        if let Some(places) = self.entries.vacate(slot.index()) {
            self.try_give_back(places);
        }
    }

    /// Takes free places out of the chain of them, and gives them back, unless the chain is long.
    #[cold]
    fn try_give_back(&mut self, places: ops::Range<usize>) {
        let next = |slot: &Slot| match self.entries.get(slot.index()) {
            Some(Entry::Free { next }) => *next,
            Some(Entry::Used(_)) | None => None,
        };
        if core::iter::successors(self.free, next).nth(4 * places.len()).is_some() {
            return;
        }
        let (mut last, mut at) = (None, self.free.take());
        while let Some(slot) = at {
            let Entry::Free { next } = *self.entry(slot) else { unreachable!("a free slot holds no record") };
            if !places.contains(&slot.index()) {
                match last.replace(slot) {
                    None => self.free = Some(slot),
                    Some(last) => *self.entry(last) = Entry::Free { next: Some(slot) },
                }
            }
            at = next;
        }
        if let Some(last) = last {
            *self.entry(last) = Entry::Free { next: None };
        }
        self.entries.give_back(places);
    }

    /// The record in `slot`, if there is one.
    #[inline]
    pub(crate) fn get(&self, slot: Slot) -> Option<&R> {
        match self.entries.get(slot.index())? {
            Entry::Used(record) => Some(record),
            Entry::Free { .. } => None,
        }
    }

    #[inline]
    fn entry(&mut self, slot: Slot) -> &mut Entry<R> {
        self.entries.get_mut(slot.index()).expect("a slot is of the slab that made it")
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Whether there is room for that many records in all; memory that grows does not compute the number.
    pub(crate) fn try_room(&self, records: impl FnOnce() -> usize) -> Result<(), M::Full<()>> {
        M::try_room(A::CAPACITY, records)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Slot, &R)> {
        (0..self.entries.len()).filter_map(|index| match self.entries.get(index) {
            Some(Entry::Used(record)) => Some((Slot::at(index), record)),
            Some(Entry::Free { .. }) | None => None,
        })
    }

    /// The records in a range of slots, by their indexes.
    #[cfg(any(feature = "json", feature = "fixed"))]
    pub(crate) fn range(&self, slots: ops::Range<usize>) -> impl Iterator<Item = &R> {
        slots.map_while(|index| self.entries.get(index)).filter_map(|entry| match entry {
            Entry::Used(record) => Some(record),
            Entry::Free { .. } => None,
        })
    }

    /// The record behind `after`, or the first, in the order of [`iter`](Self::iter): a walk that borrows nothing.
    pub(crate) fn next_used(&self, after: Option<Slot>) -> Option<Slot> {
        let start = after.map_or(0, |slot| slot.index() + 1);
        let used = |index: &usize| matches!(self.entries.get(*index), Some(Entry::Used(_)));
        (start..self.entries.len()).find(used).map(Slot::at)
    }

    /// Gives back the memory of an empty slab that was large once.
    pub(crate) fn release(&mut self) {
        debug_assert_eq!(self.len, 0, "no record has a slot");
        if self.entries.release() {
            self.free = None;
        }
    }

    pub(crate) fn clear(&mut self) {
        self.entries.clear();
        self.free = None;
        self.len = 0;
    }
}

impl<R> Entry<R> {
    #[inline]
    fn into_record(self) -> R {
        match self {
            Self::Used(record) => record,
            Self::Free { .. } => unreachable!("a slot is only used while it holds a record"),
        }
    }
}

impl<R, M: Mem, A: Places<R, M>> Default for Slab<R, M, A> {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl<R, M: Mem, A: Places<R, M>> ops::Index<Slot> for Slab<R, M, A> {
    type Output = R;

    #[inline]
    fn index(&self, slot: Slot) -> &R {
        match self.entries.get(slot.index()) {
            Some(Entry::Used(record)) => record,
            Some(Entry::Free { .. }) | None => unreachable!("a slot is only used while it holds a record"),
        }
    }
}

impl<R, M: Mem, A: Places<R, M>> ops::IndexMut<Slot> for Slab<R, M, A> {
    #[inline]
    fn index_mut(&mut self, slot: Slot) -> &mut R {
        match self.entry(slot) {
            Entry::Used(record) => record,
            Entry::Free { .. } => unreachable!("a slot is only used while it holds a record"),
        }
    }
}

impl<R: core::fmt::Debug, M: Mem, A: Places<R, M>> core::fmt::Debug for Slab<R, M, A> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_map().entries(self.iter().map(|(slot, record)| (slot.index(), record))).finish()
    }
}

#[cfg(test)]
#[cfg(all(feature = "alloc", feature = "fixed"))]
mod tests {
    use super::*;

    crate::storage::in_both_memories!(a_slot_stays_with_its_record_and_is_reused_after_it);

    fn a_slot_stays_with_its_record_and_is_reused_after_it<M: Mem>() {
        let mut slab = Slab::<&str, M>::default();
        let a = slab.try_insert("a").ok().unwrap();
        let b = slab.try_insert("b").ok().unwrap();
        assert_eq!(slab.remove(a), "a");
        assert_eq!(slab[b], "b");
        assert_eq!(slab.try_insert("c").ok().unwrap(), a);
        assert_eq!(slab.iter().map(|(_, r)| *r).collect::<alloc::vec::Vec<_>>(), ["c", "b"]);
        assert_eq!(slab.len(), 2);
        slab.remove(a);
        assert_eq!((slab.next_used(None), slab.next_used(Some(b))), (Some(b), None));
    }

    #[test]
    fn a_large_slab_that_is_empty_gives_its_memory_back() {
        let mut slab = Slab::<u64, crate::storage::Heap>::default();
        for size in [10, 5000] {
            let slots: alloc::vec::Vec<Slot> = (0..size).map(|n| slab.try_insert(n).ok().unwrap()).collect();
            for slot in slots {
                slab.remove(slot);
            }
            slab.release();
        }
        assert_eq!(slab.entries.len(), 0);
        let first = slab.try_insert(1).ok().unwrap();
        assert_eq!((first.index(), slab[first]), (0, 1));
    }

    #[test]
    fn a_full_slab_gives_the_record_back() {
        let mut slab = Slab::<u8, crate::storage::Fixed<1>>::default();
        let only = slab.try_insert(1).unwrap();
        assert_eq!(slab.try_insert(2).unwrap_err().0, 2);
        slab.remove(only);
        assert!(slab.try_insert(3).is_ok());
    }
}
