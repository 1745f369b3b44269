//! Which objects of the cache the list that is read has, unchanged.

use alloc::vec::Vec;

/// A set of places of the cache, a bit for each.
#[derive(Debug, Default)]
pub(super) struct Listed(Vec<u64>);

impl Listed {
    /// Says whether the place was not in the set.
    pub(super) fn insert(&mut self, place: u32) -> bool {
        let (word, bit) = at(place);
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        let was = self.0[word];
        self.0[word] |= bit;
        was & bit == 0
    }

    /// Says whether the place was in the set.
    pub(super) fn remove(&mut self, place: u32) -> bool {
        let was = self.contains(place);
        let (word, bit) = at(place);
        if was {
            self.0[word] &= !bit;
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
        self.0 = Vec::new();
    }
}

fn at(place: u32) -> (usize, u64) {
    (place as usize / 64, 1 << (place % 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_in_the_set_until_it_is_taken_out() {
        let mut listed = Listed::default();
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
