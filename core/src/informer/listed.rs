//! Which objects of the cache the list that is read has, unchanged.

use crate::cache::IndexerIn;
use crate::storage::sealed::{Empty, Records};
use crate::storage::{Keyed, Mem};

/// A set of places of a cache in memory `M`, a bit for each.
pub(super) struct Listed<M: Mem>(M::Array<u8>);

impl<M: Mem> Listed<M> {
    /// Says whether the place was not in the set.
    pub(super) fn insert(&mut self, place: u32) -> bool {
        let (word, bit) = at(place);
        // A cache has fewer places than its memory has bytes here, so this ends at the word, in fixed memory too.
        while self.0.len() <= word && self.0.try_push(0).is_ok() {}
        let Some(word) = self.0.get_mut(word) else { return false };
        let was = core::mem::replace(word, *word | bit);
        was & bit == 0
    }

    /// Puts in the place of the object under `key`, if there is one.
    pub(super) fn insert_found<V: Keyed>(&mut self, objects: &IndexerIn<V, M>, key: &V::Key) {
        if let Some((place, _)) = objects.find(key) {
            self.insert(place);
        }
    }

    /// Says whether the place was in the set.
    pub(super) fn remove(&mut self, place: u32) -> bool {
        let was = self.contains(place);
        let (word, bit) = at(place);
        if let Some(word) = self.0.get_mut(word) {
            *word &= !bit;
        }
        was
    }

    pub(super) fn contains(&self, place: u32) -> bool {
        let (word, bit) = at(place);
        self.0.get(word).is_some_and(|word| word & bit != 0)
    }

    /// Whether nothing was put in since the set was cleared.
    pub(super) fn is_unused(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn clear(&mut self) {
        if !self.0.release() {
            self.0.clear();
        }
    }
}

impl<M: Mem> Default for Listed<M> {
    fn default() -> Self {
        Self(<M::Array<u8> as Empty>::EMPTY)
    }
}

fn at(place: u32) -> (usize, u8) {
    (place as usize / 8, 1 << (place % 8))
}

#[cfg(test)]
#[cfg(feature = "alloc")]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_in_the_set_until_it_is_taken_out() {
        let mut listed = Listed::<crate::storage::Heap>::default();
        for place in [0, 63, 64, 1000] {
            assert!(!listed.remove(place) && listed.insert(place) && !listed.insert(place));
        }
        assert!(listed.contains(63) && !listed.contains(62) && !listed.contains(5000));
        assert!(listed.remove(63) && !listed.contains(63) && listed.contains(64));
        assert!(!listed.is_unused());
        listed.clear();
        assert!(!listed.contains(64) && listed.is_unused());
    }
}
