//! The values of the indexes, counted as an indexer keeps them.

use std::collections::BTreeMap;

/// Distinct values, and pairs of an object and its value, of all indexes.
#[derive(Default)]
pub(super) struct Indexes {
    /// How many objects have a value, by the number of the index and the value.
    values: BTreeMap<(usize, String), usize>,
    postings: usize,
    pub(super) most_postings: usize,
    pub(super) most_values: usize,
    /// The bytes of the longest value.
    pub(super) longest: usize,
}

impl Indexes {
    /// Counts the value of one more object.
    pub(super) fn insert(&mut self, index: usize, value: &str) {
        *self.values.entry((index, value.to_owned())).or_default() += 1;
        self.postings += 1;
        self.longest = self.longest.max(value.len());
    }

    /// Forgets the value of an object.
    pub(super) fn remove(&mut self, index: usize, value: String) {
        self.postings -= 1;
        let key = (index, value);
        match self.values.get_mut(&key) {
            Some(count) if *count > 1 => *count -= 1,
            _ => _ = self.values.remove(&key),
        }
    }

    /// Notes the most, once a change is whole: what an object replaces frees its places first.
    pub(super) fn settle(&mut self) {
        self.most_postings = self.most_postings.max(self.postings);
        self.most_values = self.most_values.max(self.values.len());
    }
}
