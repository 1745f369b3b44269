//! An index of single cells: open addressing with linear probing.

use super::Slot;
use super::sealed::{Empty, Index};
use super::shards::Shard;
use alloc::vec;
use alloc::vec::Vec;

/// Cells, of which at most so many `EIGHTHS` are taken. When one is emptied, those behind it move up, so that removed
/// keys make no search longer. A cell has its slot's hash, so that neither a search nor growing looks at other records.
///
/// An array of more cells than `LARGE` empties those of removed keys together, and shrinks with its keys.
///
/// It serves the queues, where a key is added, and removed at once when nothing else waits. hashbrown reads 16 places in
/// one load. That load waits until the byte that was written last has gone through to memory. It also serves caches: to
/// find a key that is far from the processor waits once, where hashbrown waits for its tags and then for the slot.
#[derive(Debug)]
pub struct Probing<const EIGHTHS: usize, const LARGE: usize> {
    /// A power of two, or none.
    cells: Vec<Option<(u32, Slot)>>,
    /// The number of taken cells, the removed among them.
    len: usize,
    /// What was removed from a large array, and still has its cell.
    removed: Vec<(u32, Slot)>,
}

/// Of keys that come and go: half of the cells are left empty.
pub(super) type Passing = Probing<4, KEPT>;

/// Of keys that stay, which take less memory so.
pub(super) type Staying = Probing<6, KEPT>;

/// Of queues that may be filled at once and are drained then: the peak of an informer's memory is in between.
pub(super) type Waning = Probing<7, 256>;

/// The fewest cells, and the most that an empty index keeps.
const FEWEST: usize = 8;
const KEPT: usize = 2048;

/// How many keys a large array removes together. Each cell that is far from the caches costs a wait, and loads that do
/// not depend on each other wait together.
const TOGETHER: usize = 16;

impl<const EIGHTHS: usize, const LARGE: usize> Probing<EIGHTHS, LARGE> {
    /// The mask that maps a number to a cell, if there are cells.
    #[inline]
    fn mask(&self) -> usize {
        self.cells.len().wrapping_sub(1)
    }

    /// The cell that has the hash and passes, or the empty one where the search ended.
    #[inline]
    fn search(&self, hash: u32, mut eq: impl FnMut(Slot) -> bool) -> (usize, Option<Slot>) {
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

    /// The cell that has the hash, was not removed and passes, or the empty one where the search ended, and whether
    /// the search met a removed one.
    #[inline]
    fn search_left(&self, hash: u32, mut eq: impl FnMut(Slot) -> bool) -> (usize, Option<Slot>, bool) {
        let mut met_removed = false;
        let (at, found) = self.search(hash, |slot| {
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

    /// Empties the cell of a key.
    #[inline]
    fn vacate(&mut self, hash: u32, slot: Slot) {
        if let (hole, Some(_)) = self.search(hash, |found| found == slot) {
            self.close(hole);
            self.len -= 1;
        }
    }

    /// Empties the cells of all removed keys.
    #[cold]
    fn vacate_removed(&mut self) {
        let mask = self.mask();
        let loaded = self.removed.iter().filter(|(hash, _)| self.cells[*hash as usize & mask].is_some()).count();
        core::hint::black_box(loaded);
        while let Some((hash, slot)) = self.removed.pop() {
            self.vacate(hash, slot);
        }
        if self.cells.len() > LARGE && self.len * 6 < self.cells.len() {
            self.resize(self.cells.len() / 2);
        }
    }

    #[inline]
    fn is_full(&self) -> bool {
        self.len * 8 >= self.cells.len() * EIGHTHS
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

    /// Makes room for one more, if only that of removed keys.
    #[cold]
    fn make_room(&mut self) {
        self.vacate_removed();
        if self.is_full() {
            self.resize((self.cells.len() * 2).max(FEWEST));
        }
    }

    #[cold]
    fn resize(&mut self, cells: usize) {
        for (hash, slot) in core::mem::replace(&mut self.cells, vec![None; cells]).into_iter().flatten() {
            let (at, _) = self.search(hash, |_| false);
            self.cells[at] = Some((hash, slot));
        }
    }
}

impl<const EIGHTHS: usize, const LARGE: usize> Empty for Probing<EIGHTHS, LARGE> {
    const EMPTY: Self = Self { cells: Vec::new(), len: 0, removed: Vec::new() };
}

impl<const EIGHTHS: usize, const LARGE: usize> Index for Probing<EIGHTHS, LARGE> {
    #[inline]
    fn find(&self, hash: u32, eq: impl FnMut(Slot) -> bool) -> Option<Slot> {
        self.search_left(hash, eq).1
    }

    #[inline]
    fn find_or_insert(&mut self, hash: u32, eq: impl FnMut(Slot) -> bool, new: impl FnOnce() -> Slot) -> Option<Slot> {
        let (mut at, found, met_removed) = self.search_left(hash, eq);
        if found.is_none() {
            let new = new();
            if met_removed && self.restore(hash, new) {
                return None;
            }
            if self.is_full() {
                self.make_room();
                at = self.search(hash, |_| false).0;
            }
            self.cells[at] = Some((hash, new));
            self.len += 1;
        }
        found
    }

    fn insert(&mut self, hash: u32, slot: Slot) {
        self.find_or_insert(hash, |_| false, || slot);
    }

    #[inline]
    fn remove(&mut self, hash: u32, slot: Slot) {
        if self.cells.len() <= LARGE {
            return self.vacate(hash, slot);
        }
        debug_assert!(self.search(hash, |found| found == slot).1.is_some(), "it is there, and counted");
        self.removed.push((hash, slot));
        if self.removed.len() == TOGETHER {
            self.vacate_removed();
        }
    }

    fn clear(&mut self) {
        self.removed.clear();
        self.cells.fill(None);
        self.len = 0;
    }

    fn release(&mut self) {
        if self.cells.len() > KEPT {
            *self = Self::EMPTY;
        }
    }
}

impl<const EIGHTHS: usize, const LARGE: usize> Shard for Probing<EIGHTHS, LARGE> {
    /// Twice as many, and a tenth more, are taken of a power of two.
    const FULL: usize = 116 * EIGHTHS;

    fn len(&self) -> usize {
        self.len - self.removed.len()
    }

    fn split(&mut self, to: &mut Self, passes: impl Fn(u32) -> bool) {
        self.vacate_removed();
        // With fewer cells, the last one would be taken before the half is full, and a search would not end.
        let for_half = (self.len * 4 / EIGHTHS).next_power_of_two().max(FEWEST);
        let empty = || Self { cells: vec![None; for_half], ..Self::EMPTY };
        *to = empty();
        for (hash, slot) in core::mem::replace(self, empty()).cells.into_iter().flatten() {
            let half = if passes(hash) { &mut *to } else { &mut *self };
            half.insert(hash, slot);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use crate::storage::{Heap, Slab};

    /// Few hashes, so that runs of taken cells are long and go over the end of the array. Slots are used again at once.
    fn churn<const EIGHTHS: usize, const LARGE: usize>(
        index: &mut Probing<EIGHTHS, LARGE>,
        slab: &mut Slab<u32, Heap>,
    ) -> Vec<Slot> {
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
            assert_eq!(index.len, staying + known.len() + index.removed.len());
        }
        assert_eq!(index.cells.iter().flatten().count(), index.len);
        known
    }

    #[test]
    fn what_is_left_is_found_whatever_goes() {
        let (mut slab, mut index) = (Slab::default(), Passing::EMPTY);
        let known = churn(&mut index, &mut slab);
        assert_eq!(index.cells.len(), 128, "it is as large as the most keys ask for");
        index.remove(7, known[0]);
        assert_eq!(index.len, known.len(), "what is not there cannot be removed");
        let (mut staying, mut waning) = (Staying::EMPTY, Waning::EMPTY);
        churn(&mut staying, &mut Slab::default());
        churn(&mut waning, &mut Slab::default());
    }

    #[test]
    fn what_is_left_of_a_large_array_is_found_whatever_goes() {
        let (mut slab, mut index) = (Slab::default(), Passing::EMPTY);
        for n in 0..KEPT as u32 {
            index.insert(n, slab.try_insert(n).unwrap_or_else(|full| panic!("{full:?}")));
        }
        churn(&mut index, &mut slab);
        assert!(index.cells.len() == 4 * KEPT && index.removed.len() < TOGETHER);
        for (slot, n) in slab.iter().filter(|(_, hash)| **hash < KEPT as u32) {
            assert_eq!(index.find(*n, |found| found == slot), Some(slot));
        }
    }

    #[test]
    fn the_cells_of_removed_keys_make_room() {
        let (mut slab, mut index) = (Slab::<(), Heap>::default(), Passing::EMPTY);
        let slot = slab.try_insert(()).unwrap_or_else(|full| panic!("{full:?}"));
        let nearly_full = 2 * KEPT as u32 - 1;
        (0..nearly_full).for_each(|hash| index.insert(hash, slot));
        for hash in 0..nearly_full {
            index.remove(hash, slot);
            index.insert(nearly_full + hash, slot);
        }
        assert_eq!(index.cells.len(), 4 * KEPT);
    }

    #[test]
    fn a_shard_of_few_keys_was_split_into_halves_without_an_empty_cell() {
        split_shards_of_few_keys(|| Staying::EMPTY);
        split_shards_of_few_keys(|| Waning::EMPTY);
    }

    fn split_shards_of_few_keys<const EIGHTHS: usize, const LARGE: usize>(empty: fn() -> Probing<EIGHTHS, LARGE>) {
        for keys in 0..40 {
            for passes in [|_| false, |hash| hash % 2 == 0, |_| true] {
                let (mut slab, mut half, mut whole) = (Slab::<u32, Heap>::default(), empty(), empty());
                let mut insert = |index: &mut Probing<EIGHTHS, LARGE>, hash| {
                    let slot = slab.try_insert(hash).unwrap_or_else(|full| panic!("{full:?}"));
                    index.insert(hash, slot);
                };
                (0..keys).for_each(|hash| insert(&mut whole, hash));
                whole.split(&mut half, passes);
                for index in [&mut whole, &mut half] {
                    (keys..keys + 4).for_each(|hash| insert(index, hash));
                    assert!(index.len < index.cells.len(), "a search ends at an empty cell");
                    assert!(index.find(u32::MAX, |_| true).is_none());
                }
            }
        }
    }

    #[test]
    fn an_index_shrinks_with_its_keys() {
        let mut slab = Slab::<(), Heap>::default();
        let mut index = Passing::EMPTY;
        let slots: Vec<Slot> =
            (0..20_000).map(|_| slab.try_insert(()).unwrap_or_else(|full| panic!("{full:?}"))).collect();
        let hash = |slot: &Slot| (slot.index() as u32).wrapping_mul(0x9e37_79b9);
        slots.iter().for_each(|slot| index.insert(hash(slot), *slot));
        for (removed, slot) in slots.iter().enumerate() {
            index.remove(hash(slot), *slot);
            let left = slots.len() - removed - 1;
            let most = 6 * (left + TOGETHER);
            assert!(index.cells.len() <= most.max(KEPT) && index.cells.len() >= 2 * left, "{left} are left");
            assert!(slots.get(removed + 1).is_none_or(|next| index.find(hash(next), |found| found == *next).is_some()));
        }
        assert_eq!((index.cells.len(), index.len), (KEPT, 0));
    }

    #[test]
    fn an_index_that_was_large_gives_its_memory_back() {
        let mut slab = Slab::<(), Heap>::default();
        let mut index = Passing::EMPTY;
        for (keys, cells) in [(1_000, KEPT), (5_000, 0)] {
            (0..keys).for_each(|n| index.insert(n, slab.try_insert(()).unwrap_or_else(|full| panic!("{full:?}"))));
            index.clear();
            index.release();
            assert_eq!((index.cells.len(), index.len), (cells, 0));
        }
    }
}
