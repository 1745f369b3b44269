use std::collections::BTreeMap;

/// A set of request ids. Recorders count, so that the ids of a capture are a few ranges.
#[derive(Debug, Default)]
pub(super) struct IdSet {
    /// The first and the last id of each range.
    ranges: BTreeMap<u64, u64>,
}

/// The most ranges. Of more, the lowest ids are forgotten.
const MOST: usize = 1 << 16;

impl IdSet {
    pub(super) fn contains(&self, id: u64) -> bool {
        self.ranges.range(..=id).next_back().is_some_and(|(_, last)| id <= *last)
    }

    pub(super) fn insert(&mut self, id: u64) {
        if self.contains(id) {
            return;
        }
        let before = id.checked_sub(1).and_then(|before| self.ranges.range_mut(..=before).next_back());
        let first = match before {
            Some((first, last)) if *last + 1 == id => {
                *last = id;
                *first
            }
            _ => {
                self.ranges.insert(id, id);
                id
            }
        };
        if let Some(last) = id.checked_add(1).and_then(|next| self.ranges.remove(&next)) {
            self.ranges.insert(first, last);
        }
        if self.ranges.len() > MOST {
            self.ranges.pop_first();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_in_any_order_become_ranges() {
        let mut ids = IdSet::default();
        for id in [5, 3, 4, 9, u64::MAX, 0, u64::MAX - 1, 1] {
            assert!(!ids.contains(id));
            ids.insert(id);
            assert!(ids.contains(id));
        }
        assert_eq!(Vec::from_iter(ids.ranges), [(0, 1), (3, 5), (9, 9), (u64::MAX - 1, u64::MAX)]);
    }

    #[test]
    fn ids_far_apart_take_bounded_memory() {
        let mut ids = IdSet::default();
        (0..MOST as u64 + 10).for_each(|id| ids.insert(2 * id));
        assert_eq!(ids.ranges.len(), MOST);
        assert!(!ids.contains(18) && ids.contains(20));
    }
}
