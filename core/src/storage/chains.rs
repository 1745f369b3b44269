//! The index of fixed memory: a chain of slots for each hash bucket.

use super::sealed::{Empty, Index};
use super::{ShortSlot, Slot};

/// As many buckets as slots; a slot's successor in its bucket is found under the slot's own number.
#[derive(Debug)]
pub struct Chains<const N: usize> {
    heads: [Option<ShortSlot>; N],
    next: [Option<ShortSlot>; N],
}

impl<const N: usize> Chains<N> {
    fn bucket(hash: u32) -> usize {
        hash as usize % N.max(1)
    }
}

impl<const N: usize> Empty for Chains<N> {
    const EMPTY: Self = Self { heads: [None; N], next: [None; N] };
}

impl<const N: usize> Index for Chains<N> {
    fn find(&self, hash: u32, mut eq: impl FnMut(Slot) -> bool) -> Option<Slot> {
        let mut at = self.heads.get(Self::bucket(hash))?.map(Slot::from);
        while let Some(found) = at {
            if eq(found) {
                return at;
            }
            at = self.next[found.index()].map(Slot::from);
        }
        None
    }

    fn find_or_insert(&mut self, hash: u32, eq: impl FnMut(Slot) -> bool, new: impl FnOnce() -> Slot) -> Option<Slot> {
        let found = self.find(hash, eq);
        if found.is_none() {
            self.insert(hash, new());
        }
        found
    }

    fn insert(&mut self, hash: u32, slot: Slot) {
        let head = &mut self.heads[Self::bucket(hash)];
        self.next[slot.index()] = head.replace(slot.into());
    }

    fn remove(&mut self, hash: u32, slot: Slot) {
        let after = self.next[slot.index()].take();
        let mut at = &mut self.heads[Self::bucket(hash)];
        while let Some(found) = at.map(Slot::from) {
            if found == slot {
                *at = after;
                return;
            }
            at = &mut self.next[found.index()];
        }
    }

    /// In place: on a device, the stack may have no room for another one.
    fn clear(&mut self) {
        self.heads.fill(None);
        self.next.fill(None);
    }

    fn release(&mut self) {}
}
