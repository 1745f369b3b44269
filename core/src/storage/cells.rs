//! An index of single cells: open addressing with linear probing.

use super::Slot;
use super::sealed::{Empty, Index};
use alloc::vec;
use alloc::vec::Vec;

/// Cells, of which at most so many `EIGHTHS` are taken. When one is emptied, those behind it move up, so that removed
/// keys make no search longer. A cell has its slot's hash, so that neither a search nor growing looks at other records.
///
/// hashbrown reads 16 tags in one load and then the slot. That load waits until the tag that was written last has gone
/// through to memory, and a key that is far from the processor is waited for twice. A cell is one load.
#[derive(Debug)]
pub(super) struct Cells<const EIGHTHS: usize> {
    /// A power of two, or none.
    cells: Vec<Option<(u32, Slot)>>,
    /// The number of taken cells.
    taken: usize,
}

/// The index of an array in one piece, whose keys come and go. Half of the cells are left empty.
///
/// A large one empties the cells of several removed keys together, and shrinks with its keys. Each cell that is far from
/// the caches costs a wait, and loads that do not depend on each other wait together.
#[derive(Debug)]
pub struct PassingIndex {
    cells: Cells<4>,
    /// What was removed from many cells, and still has its cell.
    removed: Vec<(u32, Slot)>,
}

/// The fewest cells.
const FEWEST: usize = 8;

/// The most cells that an index keeps when it is empty, and from which it empties one by one.
const KEPT: usize = 2048;

/// How many keys a large index removes together.
const TOGETHER: usize = 16;

impl<const EIGHTHS: usize> Cells<EIGHTHS> {
    pub(super) const EMPTY: Self = Self { cells: Vec::new(), taken: 0 };

    /// The number of taken cells.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.taken
    }

    #[cfg(test)]
    pub(super) fn cells(&self) -> usize {
        self.cells.len()
    }

    /// The cell that has the hash and passes, or the empty one where the search ended.
    #[inline]
    pub(super) fn search(&self, hash: u32, mut eq: impl FnMut(Slot) -> bool) -> (usize, Option<Slot>) {
        let mask = self.mask();
        let mut at = hash as usize & mask;
        while let Some(Some((other, slot))) = self.cells.get(at) {
            if *other == hash && eq(*slot) {
                return (at, Some(*slot));
            }
            at = (at + 1) & mask;
        }
        (at, None)
    }

    /// Puts a slot into the empty cell where the search for its hash ended.
    #[inline]
    pub(super) fn put(&mut self, mut at: usize, hash: u32, slot: Slot) {
        if self.is_full() {
            self.resize((self.cells.len() * 2).max(FEWEST));
            at = self.search(hash, |_| false).0;
        }
        self.cells[at] = Some((hash, slot));
        self.taken += 1;
    }

    pub(super) fn insert(&mut self, hash: u32, slot: Slot) {
        let (at, _) = self.search(hash, |_| false);
        self.put(at, hash, slot);
    }

    /// Empties the cell of a slot; says whether there was one.
    #[inline]
    pub(super) fn remove(&mut self, hash: u32, slot: Slot) -> bool {
        let (hole, found) = self.search(hash, |found| found == slot);
        if found.is_some() {
            self.close(hole);
            self.taken -= 1;
        }
        found.is_some()
    }

    /// Halves the cells, if they are more than `most` and few of them are taken.
    #[inline]
    pub(super) fn shrink(&mut self, most: usize) {
        if self.cells.len() > most && self.taken * 6 < self.cells.len() {
            self.resize(self.cells.len() / 2);
        }
    }

    /// Moves those out whose hash passes.
    pub(super) fn split(&mut self, passes: impl Fn(u32) -> bool) -> Self {
        // With fewer cells, the last one would be taken before the half is full, and a search would not end.
        let for_half = (self.taken * 4 / EIGHTHS).next_power_of_two().max(FEWEST);
        let empty = || Self { cells: vec![None; for_half], taken: 0 };
        let (all, mut out) = (core::mem::replace(self, empty()), empty());
        for (hash, slot) in all.cells.into_iter().flatten() {
            if passes(hash) { out.insert(hash, slot) } else { self.insert(hash, slot) }
        }
        out
    }

    pub(super) fn clear(&mut self) {
        self.cells.fill(None);
        self.taken = 0;
    }

    /// The mask that maps a number to a cell, if there are cells.
    #[inline]
    fn mask(&self) -> usize {
        self.cells.len().wrapping_sub(1)
    }

    #[inline]
    fn is_full(&self) -> bool {
        self.taken * 8 >= self.cells.len() * EIGHTHS
    }

    /// Empties a cell and moves up the cells that a search would miss behind it.
    #[inline]
    fn close(&mut self, mut hole: usize) {
        let (mask, mut at) = (self.mask(), hole);
        loop {
            at = (at + 1) & mask;
            let Some((hash, _)) = self.cells[at] else { break };
            let from_its_first = at.wrapping_sub(hash as usize) & mask;
            if from_its_first >= at.wrapping_sub(hole) & mask {
                self.cells[hole] = self.cells[at];
                hole = at;
            }
        }
        self.cells[hole] = None;
    }

    #[cold]
    fn resize(&mut self, cells: usize) {
        for (hash, slot) in core::mem::replace(&mut self.cells, vec![None; cells]).into_iter().flatten() {
            let (at, _) = self.search(hash, |_| false);
            self.cells[at] = Some((hash, slot));
        }
    }
}

impl PassingIndex {
    /// As [`Cells::search`] among those that were not removed, and whether it met a removed one.
    #[inline]
    fn search(&self, hash: u32, mut eq: impl FnMut(Slot) -> bool) -> (usize, Option<Slot>, bool) {
        let mut met_removed = false;
        let (at, found) = self.cells.search(hash, |slot| {
            let is_removed = self.removed.contains(&(hash, slot));
            met_removed |= is_removed;
            !is_removed && eq(slot)
        });
        (at, found, met_removed)
    }

    /// Makes a removed key's cell one of a key that has the same hash and slot.
    #[cold]
    fn restore(&mut self, hash: u32, slot: Slot) -> bool {
        let place = self.removed.iter().position(|removed| *removed == (hash, slot));
        place.map(|place| self.removed.swap_remove(place)).is_some()
    }

    /// Empties the cells of all removed keys.
    #[cold]
    fn vacate_removed(&mut self) {
        let mask = self.cells.mask();
        let loaded = self.removed.iter().filter(|(hash, _)| self.cells.cells[*hash as usize & mask].is_some()).count();
        core::hint::black_box(loaded);
        while let Some((hash, slot)) = self.removed.pop() {
            self.cells.remove(hash, slot);
        }
        self.cells.shrink(KEPT);
    }
}

impl Empty for PassingIndex {
    const EMPTY: Self = Self { cells: Cells::EMPTY, removed: Vec::new() };
}

impl Index for PassingIndex {
    #[inline]
    fn find(&self, hash: u32, eq: impl FnMut(Slot) -> bool) -> Option<Slot> {
        self.search(hash, eq).1
    }

    #[inline]
    fn find_or_insert(&mut self, hash: u32, eq: impl FnMut(Slot) -> bool, new: impl FnOnce() -> Slot) -> Option<Slot> {
        let (mut at, found, met_removed) = self.search(hash, eq);
        if found.is_none() {
            let new = new();
            if met_removed && self.restore(hash, new) {
                return None;
            }
            if self.cells.is_full() && !self.removed.is_empty() {
                self.vacate_removed();
                at = self.cells.search(hash, |_| false).0;
            }
            self.cells.put(at, hash, new);
        }
        found
    }

    fn insert(&mut self, hash: u32, slot: Slot) {
        self.find_or_insert(hash, |_| false, || slot);
    }

    #[inline]
    fn remove(&mut self, hash: u32, slot: Slot) {
        if self.cells.cells.len() <= KEPT {
            self.cells.remove(hash, slot);
            return;
        }
        debug_assert!(self.search(hash, |found| found == slot).1.is_some(), "it is there, and counted");
        self.removed.push((hash, slot));
        if self.removed.len() == TOGETHER {
            self.vacate_removed();
        }
    }

    fn clear(&mut self) {
        self.removed.clear();
        self.cells.clear();
    }

    fn release(&mut self) {
        if self.cells.cells.len() > KEPT {
            *self = Self::EMPTY;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use crate::storage::{Heap, Slab};

    /// Few hashes, so that runs of taken cells are long and go over the end of the array. Slots are used again at once.
    fn churn(index: &mut PassingIndex, slab: &mut Slab<u32, Heap>) -> Vec<Slot> {
        let (mut random, mut known, staying) = (Random::new(3), Vec::<Slot>::new(), slab.len());
        for step in 0..20_000 {
            let wanted = if step / 1_000 % 2 == 0 { 60 } else { 5 };
            if known.len() < wanted {
                let hash = u32::MAX - (random.next() % 20) as u32;
                let slot = slab.try_insert(hash).unwrap_or_else(|full| panic!("{full:?}"));
                assert_eq!(index.find_or_insert(hash, |found| found == slot, || slot), None);
                known.push(slot);
            } else {
                let slot = known.swap_remove(random.next() as usize % known.len());
                index.remove(slab[slot], slot);
                assert_eq!(index.find(slab[slot], |found| found == slot), None);
                slab.remove(slot);
            }
            assert!(known.iter().all(|slot| index.find(slab[*slot], |found| found == *slot) == Some(*slot)));
            assert_eq!(index.cells.taken, staying + known.len() + index.removed.len());
        }
        assert_eq!(index.cells.cells.iter().flatten().count(), index.cells.taken);
        known
    }

    #[test]
    fn what_is_left_is_found_whatever_goes() {
        let (mut slab, mut index) = (Slab::default(), PassingIndex::EMPTY);
        let known = churn(&mut index, &mut slab);
        assert_eq!(index.cells.cells.len(), 128, "it is as large as the most keys ask for");
        index.remove(7, known[0]);
        assert_eq!(index.cells.taken, known.len(), "what is not there cannot be removed");
    }

    #[test]
    fn what_is_left_of_a_large_array_is_found_whatever_goes() {
        let (mut slab, mut index) = (Slab::default(), PassingIndex::EMPTY);
        for n in 0..KEPT as u32 {
            index.insert(n, slab.try_insert(n).unwrap_or_else(|full| panic!("{full:?}")));
        }
        churn(&mut index, &mut slab);
        assert!(index.cells.cells.len() == 4 * KEPT && index.removed.len() < TOGETHER);
        for (slot, n) in slab.iter().filter(|(_, hash)| **hash < KEPT as u32) {
            assert_eq!(index.find(*n, |found| found == slot), Some(slot));
        }
    }

    #[test]
    fn the_cells_of_removed_keys_make_room() {
        let (mut slab, mut index) = (Slab::<(), Heap>::default(), PassingIndex::EMPTY);
        let slot = slab.try_insert(()).unwrap_or_else(|full| panic!("{full:?}"));
        let nearly_full = 2 * KEPT as u32 - 1;
        (0..nearly_full).for_each(|hash| index.insert(hash, slot));
        for hash in 0..nearly_full {
            index.remove(hash, slot);
            index.insert(nearly_full + hash, slot);
        }
        assert_eq!(index.cells.cells.len(), 4 * KEPT);
    }

    #[test]
    fn each_half_of_a_split_shard_has_an_empty_cell() {
        for keys in 0..40 {
            for passes in [|_| false, |hash| hash % 2 == 0, |_| true] {
                let (mut slab, mut whole) = (Slab::<u32, Heap>::default(), Cells::<6>::EMPTY);
                let mut insert = |index: &mut Cells<6>, hash| {
                    let slot = slab.try_insert(hash).unwrap_or_else(|full| panic!("{full:?}"));
                    index.insert(hash, slot);
                };
                (0..keys).for_each(|hash| insert(&mut whole, hash));
                let mut half = whole.split(passes);
                for index in [&mut whole, &mut half] {
                    (keys..keys + 4).for_each(|hash| insert(index, hash));
                    assert!(index.taken < index.cells.len(), "a search ends at an empty cell");
                    assert!(index.search(u32::MAX, |_| true).1.is_none());
                }
            }
        }
    }

    #[test]
    fn an_index_shrinks_with_its_keys() {
        let mut slab = Slab::<(), Heap>::default();
        let mut index = PassingIndex::EMPTY;
        let slots: Vec<Slot> =
            (0..20_000).map(|_| slab.try_insert(()).unwrap_or_else(|full| panic!("{full:?}"))).collect();
        let hash = |slot: &Slot| (slot.index() as u32).wrapping_mul(0x9e37_79b9);
        slots.iter().for_each(|slot| index.insert(hash(slot), *slot));
        for (removed, slot) in slots.iter().enumerate() {
            index.remove(hash(slot), *slot);
            let (left, cells) = (slots.len() - removed - 1, index.cells.cells.len());
            let most = 6 * (left + TOGETHER);
            assert!(cells <= most.max(KEPT) && cells >= 2 * left, "{left} are left");
            assert!(slots.get(removed + 1).is_none_or(|next| index.find(hash(next), |found| found == *next).is_some()));
        }
        assert_eq!((index.cells.cells.len(), index.cells.taken), (KEPT, 0));
    }

    #[test]
    fn an_index_that_was_large_gives_its_memory_back() {
        let mut slab = Slab::<(), Heap>::default();
        let mut index = PassingIndex::EMPTY;
        for (keys, cells) in [(1_000, KEPT), (5_000, 0)] {
            (0..keys).for_each(|n| index.insert(n, slab.try_insert(()).unwrap_or_else(|full| panic!("{full:?}"))));
            index.clear();
            index.release();
            assert_eq!((index.cells.cells.len(), index.cells.taken), (cells, 0));
        }
    }
}
