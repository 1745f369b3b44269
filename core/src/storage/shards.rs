//! An index that grows one small part at a time.

use super::Slot;
use super::sealed::{Empty, Index};
use alloc::vec::Vec;

/// A part of an index.
pub trait Shard: Index {
    /// The mean number of slots of a shard, from which on the next one is split. It has up to twice as many by then.
    const FULL: usize;

    fn len(&self) -> usize;

    /// Moves the slots to `to` whose hash passes.
    fn split(&mut self, to: &mut Self, passes: impl Fn(u32) -> bool);
}

/// Linear hashing: the shards are split one by one, in the order of their numbers. Each time that there are
/// [`FULL`](Shard::FULL) slots more, one is. So no insertion moves more than one shard, whatever the hashes. A small index
/// is one shard, and costs what that costs.
#[derive(Debug)]
pub struct Shards<S> {
    /// All slots, while the index is small.
    only: S,
    /// The shards of a large index.
    shards: Vec<S>,
    /// The number of bits by which they are told apart, as a mask.
    mask: usize,
    /// The number of slots in shards.
    len: usize,
}

/// The shard of a hash, out of so many. Where there is no such shard yet, it is the one that will be split for it. A
/// shard finds its cells by the low bits of a hash, so these are the high ones.
#[inline]
fn shard_of(hash: u32, shards: usize, mask: usize) -> usize {
    let bits = hash.rotate_left(16) as usize & mask;
    // A branch would be mispredicted half of the time.
    bits & (mask >> usize::from(bits >= shards))
}

impl<S: Shard> Shards<S> {
    #[inline]
    fn shard(&self, hash: u32) -> &S {
        let at = shard_of(hash, self.shards.len(), self.mask);
        self.shards.get(at).unwrap_or(&self.only)
    }

    #[inline]
    fn shard_mut(&mut self, hash: u32) -> &mut S {
        let at = shard_of(hash, self.shards.len(), self.mask);
        self.shards.get_mut(at).unwrap_or(&mut self.only)
    }

    /// After an insertion.
    #[inline]
    fn grow_if_full(&mut self) {
        if !self.shards.is_empty() {
            self.len += 1;
            if self.len >= S::FULL * self.shards.len() {
                self.split_next();
            }
        } else if self.only.len() >= S::FULL {
            self.len = self.only.len();
            self.shards.push(core::mem::replace(&mut self.only, S::EMPTY));
            self.split_next();
        }
    }

    #[cold]
    fn split_next(&mut self) {
        let new = self.shards.len();
        self.mask = (new + 1).next_power_of_two() - 1;
        let (old, mask) = (new & (self.mask >> 1), self.mask);
        let mut shard = S::EMPTY;
        self.shards[old].split(&mut shard, |hash| shard_of(hash, new + 1, mask) == new);
        self.shards.push(shard);
    }
}

impl<S: Empty> Empty for Shards<S> {
    const EMPTY: Self = Self { only: S::EMPTY, shards: Vec::new(), mask: 0, len: 0 };
}

impl<S: Shard> Index for Shards<S> {
    #[inline]
    fn find(&self, hash: u32, eq: impl FnMut(Slot) -> bool) -> Option<Slot> {
        self.shard(hash).find(hash, eq)
    }

    #[inline]
    fn find_or_insert(&mut self, hash: u32, eq: impl FnMut(Slot) -> bool, new: impl FnOnce() -> Slot) -> Option<Slot> {
        let found = self.shard_mut(hash).find_or_insert(hash, eq, new);
        if found.is_none() {
            self.grow_if_full();
        }
        found
    }

    #[inline]
    fn insert(&mut self, hash: u32, slot: Slot) {
        self.shard_mut(hash).insert(hash, slot);
        self.grow_if_full();
    }

    #[inline]
    fn remove(&mut self, hash: u32, slot: Slot) {
        let shard = self.shard_mut(hash);
        let before = shard.len();
        shard.remove(hash, slot);
        let removed = before - shard.len();
        self.len = self.len.saturating_sub(removed);
    }

    fn clear(&mut self) {
        if self.shards.is_empty() {
            self.only.clear();
        } else {
            *self = Self::EMPTY;
        }
    }

    fn release(&mut self) {
        if self.shards.is_empty() {
            self.only.release();
        } else {
            *self = Self::EMPTY;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use crate::storage::heap::HashIndex;
    use crate::storage::probing::{Staying, Waning};
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
        churn::<HashIndex>();
        churn::<Staying>();
        churn::<Waning>();
    }

    fn churn<S: Shard>() {
        let (mut slab, mut random) = (Slab::<u32, Heap>::default(), Random::new(3));
        let mut index = Shards::<S>::EMPTY;
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
        assert!(index.shards.len() > 8 && lens().all(|len| (S::FULL / 3..S::FULL * 9 / 4).contains(&len)));
        index.clear();
        assert!(known.iter().all(|slot| index.find(slab[*slot], |_| true).is_none()));
    }
}
