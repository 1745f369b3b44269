//! An index that grows one small part at a time.

use super::Slot;
use super::cells::Cells;
use super::sealed::{Empty, Index};
use alloc::vec::Vec;

/// The index of an array in segments. Three quarters of the cells may be taken.
///
/// It grows by linear hashing: the shards are split one by one, in the order of their numbers, one for each [`FULL`] slots
/// more. So no insertion moves more than one shard, whatever the hashes. A small index is one shard. Each shard shrinks
/// with its keys.
#[derive(Debug)]
pub struct Shards {
    /// All slots, while the index is small.
    only: Shard,
    /// The shards of a large index.
    shards: Vec<Shard>,
    /// The number of bits by which they are told apart, as a mask.
    mask: usize,
    /// The number of slots.
    len: usize,
}

type Shard = Cells<6>;

/// The mean number of slots of a shard, from which on the next one is split. A shard has up to twice as many by then.
/// These, and a tenth more, are three quarters of a power of two.
const FULL: usize = 696;

/// The most cells that a shard keeps when few of them are taken.
const KEPT: usize = 256;

/// The shard of a hash, out of so many. Where there is no such shard yet, it is the one that will be split for it. A
/// shard finds its cells by the low bits of a hash, so these are the high ones.
#[inline]
fn shard_of(hash: u32, shards: usize, mask: usize) -> usize {
    let bits = hash.rotate_left(16) as usize & mask;
    // A branch would be mispredicted half of the time.
    bits & (mask >> usize::from(bits >= shards))
}

impl Shards {
    #[inline]
    fn shard(&self, hash: u32) -> &Shard {
        let at = shard_of(hash, self.shards.len(), self.mask);
        self.shards.get(at).unwrap_or(&self.only)
    }

    #[inline]
    fn shard_mut(&mut self, hash: u32) -> &mut Shard {
        let at = shard_of(hash, self.shards.len(), self.mask);
        self.shards.get_mut(at).unwrap_or(&mut self.only)
    }

    /// After an insertion.
    #[inline]
    fn note_inserted(&mut self) {
        self.len += 1;
        if self.len >= FULL * self.shards.len().max(1) {
            self.split_next();
        }
    }

    #[cold]
    fn split_next(&mut self) {
        if self.shards.is_empty() {
            self.shards.push(core::mem::replace(&mut self.only, Shard::EMPTY));
        }
        let new = self.shards.len();
        self.mask = (new + 1).next_power_of_two() - 1;
        let (old, mask) = (new & (self.mask >> 1), self.mask);
        let shard = self.shards[old].split(|hash| shard_of(hash, new + 1, mask) == new);
        self.shards.push(shard);
    }
}

impl Empty for Shards {
    const EMPTY: Self = Self { only: Shard::EMPTY, shards: Vec::new(), mask: 0, len: 0 };
}

impl Index for Shards {
    #[inline]
    fn find(&self, hash: u32, eq: impl FnMut(Slot) -> bool) -> Option<Slot> {
        self.shard(hash).search(hash, eq).1
    }

    #[inline]
    fn find_or_insert(&mut self, hash: u32, eq: impl FnMut(Slot) -> bool, new: impl FnOnce() -> Slot) -> Option<Slot> {
        let shard = self.shard_mut(hash);
        let (at, found) = shard.search(hash, eq);
        if found.is_none() {
            shard.put(at, hash, new());
            self.note_inserted();
        }
        found
    }

    #[inline]
    fn insert(&mut self, hash: u32, slot: Slot) {
        self.shard_mut(hash).insert(hash, slot);
        self.note_inserted();
    }

    #[inline]
    fn remove(&mut self, hash: u32, slot: Slot) {
        let shard = self.shard_mut(hash);
        if shard.remove(hash, slot) {
            shard.shrink(KEPT);
            self.len -= 1;
        }
    }

    fn clear(&mut self) {
        self.only.clear();
        self.len = 0;
        self.release();
    }

    fn release(&mut self) {
        if !self.shards.is_empty() {
            *self = Self::EMPTY;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use crate::storage::{Heap, Slab};

    #[test]
    fn a_split_moves_the_hashes_of_one_shard_to_the_new_one_alone() {
        let (mut random, mask) = (Random::new(1), |shards: usize| shards.next_power_of_two() - 1);
        for shards in 1..500 {
            let hash = random.next() as u32;
            let [at, then] = [shards, shards + 1].map(|shards| shard_of(hash, shards, mask(shards)));
            assert!(at < shards && (then == at || then == shards), "{at} of {shards}, then {then}");
            assert!(then == at || at == shards & (mask(shards + 1) >> 1), "the shard that is split");
        }
    }

    #[test]
    fn a_slot_is_found_whichever_shard_is_split_and_no_shard_is_large() {
        let (mut slab, mut random) = (Slab::<u32, Heap>::default(), Random::new(3));
        let mut index = Shards::EMPTY;
        let mut known: Vec<Slot> = Vec::new();
        for step in 0..30_000 {
            let hash = random.next() as u32;
            let slot = slab.try_insert(hash).unwrap_or_else(|full| panic!("{full:?}"));
            if step % 2 == 0 {
                index.insert(hash, slot);
            } else {
                assert_eq!(index.find_or_insert(hash, |found| found == slot, || slot), None);
            }
            known.push(slot);
            if step % 3 == 0 {
                let gone = known.swap_remove(random.next() as usize % known.len());
                index.remove(slab[gone], gone);
                assert_eq!(index.find(slab[gone], |found| found == gone), None);
                slab.remove(gone);
            }
        }
        assert!(known.iter().all(|slot| index.find(slab[*slot], |found| found == *slot) == Some(*slot)));
        let lens = || index.shards.iter().map(Shard::len);
        assert_eq!((lens().sum::<usize>(), index.len), (known.len(), known.len()));
        assert!(index.shards.len() > 8 && lens().all(|len| (FULL / 3..FULL * 9 / 4).contains(&len)));
        index.clear();
        assert!(known.iter().all(|slot| index.find(slab[*slot], |_| true).is_none()));
    }

    #[test]
    fn the_cells_of_each_shard_shrink_with_its_keys() {
        let mut slab = Slab::<u32, Heap>::default();
        let mut index = Shards::EMPTY;
        let mut random = Random::new(9);
        let slots: Vec<Slot> = (0..20_000)
            .map(|_| slab.try_insert(random.next() as u32).unwrap_or_else(|full| panic!("{full:?}")))
            .collect();
        slots.iter().for_each(|slot| index.insert(slab[*slot], *slot));
        let cells = |index: &Shards| index.shards.iter().map(Shard::cells).sum::<usize>();
        let before = cells(&index);
        slots.iter().for_each(|slot| index.remove(slab[*slot], *slot));
        assert!(cells(&index) <= KEPT * index.shards.len() && before > 4 * cells(&index), "{before} cells");
    }
}
