//! The list that is being read. The queue stages its objects.

use crate::cache::IndexerIn;
use crate::storage::sealed::{Empty, Records};
use crate::storage::{Keyed, Mem};

/// How many bytes a staged object counts besides those received: its metadata and its records in queue and cache.
const BESIDE: usize = 512;

/// What is known of the list that is being read, besides its objects.
pub(super) struct List<M: Mem> {
    /// The objects of the cache that the list has.
    pub(super) places: Places<M>,
    /// The number of staged items.
    pub(super) items: usize,
    /// The bytes that count against `max_list_bytes`.
    pub(super) bytes: usize,
    /// An item could not be decoded.
    pub(super) has_gap: bool,
}

impl<M: Mem> Default for List<M> {
    fn default() -> Self {
        Self { places: Places(<M::Array<u8> as Empty>::EMPTY), items: 0, bytes: 0, has_gap: false }
    }
}

impl<M: Mem> List<M> {
    pub(super) fn count_bytes(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// Counts a staged object.
    pub(super) fn count_item(&mut self) {
        self.items += 1;
        self.count_bytes(BESIDE);
    }

    /// The list was committed, or broke off.
    pub(super) fn clear(&mut self) {
        self.places.clear();
        (self.items, self.bytes, self.has_gap) = (0, 0, false);
    }
}

/// A set of places of a cache in memory `M`, a bit for each.
pub(super) struct Places<M: Mem>(M::Array<u8>);

impl<M: Mem> Places<M> {
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

    fn clear(&mut self) {
        if !self.0.release() {
            self.0.clear();
        }
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
        let mut places = List::<crate::storage::Heap>::default().places;
        for place in [0, 63, 64, 1000] {
            assert!(!places.remove(place) && places.insert(place) && !places.insert(place));
        }
        assert!(places.contains(63) && !places.contains(62) && !places.contains(5000));
        assert!(places.remove(63) && !places.contains(63) && places.contains(64));
        assert!(!places.is_unused());
        places.clear();
        assert!(!places.contains(64) && places.is_unused());
    }
}
