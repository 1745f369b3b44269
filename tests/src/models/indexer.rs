//! client-go's store with indexes, as the obvious maps.

use listwatch_core::storage::Keyed;
use std::collections::BTreeMap;

/// An object with the values that two index functions emit for it, as sets of bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pod {
    /// The key.
    pub key: u8,
    /// What tells it from another one under its key.
    pub version: u32,
    /// The values in each index.
    pub values: [u8; 2],
}

/// The index values of the bits.
pub const VALUES: [&str; 3] = ["a", "b", "c"];

impl Keyed for Pod {
    type Key = u8;

    fn key(&self) -> &u8 {
        &self.key
    }
}

impl Pod {
    /// The values in index `index`.
    pub fn values(&self, index: usize) -> impl Iterator<Item = &'static str> {
        let bits = self.values[index];
        VALUES.into_iter().enumerate().filter(move |(bit, _)| bits >> bit & 1 == 1).map(|(_, value)| value)
    }
}

/// The objects, and for each index and value the keys in the order in which they came to have it.
#[derive(Debug, Default)]
pub struct IndexerModel {
    objects: BTreeMap<u8, Pod>,
    indexes: BTreeMap<usize, BTreeMap<&'static str, Vec<u8>>>,
}

impl IndexerModel {
    /// `Add` and `Update`.
    pub fn insert(&mut self, pod: Pod) -> Option<Pod> {
        let old = self.objects.insert(pod.key, pod);
        for (index, values) in &mut self.indexes {
            for value in VALUES {
                let keys = values.entry(value).or_default();
                if !pod.values(*index).any(|own| own == value) {
                    keys.retain(|key| *key != pod.key);
                } else if !keys.contains(&pod.key) {
                    keys.push(pod.key);
                }
            }
        }
        old
    }

    /// `Delete`.
    pub fn remove(&mut self, key: u8) -> Option<Pod> {
        self.indexes.values_mut().flat_map(BTreeMap::values_mut).for_each(|keys| keys.retain(|other| *other != key));
        self.objects.remove(&key)
    }

    /// `Replace`.
    pub fn replace(&mut self, pods: &[Pod]) {
        for pod in pods {
            self.insert(*pod);
        }
        let gone: Vec<u8> = self.objects.keys().copied().filter(|key| pods.iter().all(|pod| pod.key != *key)).collect();
        for key in gone {
            self.remove(key);
        }
    }

    /// Drops all objects.
    pub fn clear(&mut self) {
        self.replace(&[]);
    }

    /// `AddIndexers`; `order` are the keys as the store lists them.
    pub fn add_index(&mut self, index: usize, order: &[u8]) {
        let has = |key: &u8, value| self.objects[key].values(index).any(|own| own == value);
        let keys = |value| order.iter().copied().filter(|key| has(key, value)).collect();
        let values = VALUES.into_iter().map(|value| (value, keys(value))).collect();
        self.indexes.insert(index, values);
    }

    /// Drops an index.
    pub fn remove_index(&mut self, index: usize) {
        self.indexes.remove(&index);
    }

    /// The object under a key.
    #[must_use]
    pub fn object(&self, key: u8) -> Option<&Pod> {
        self.objects.get(&key)
    }

    /// The number of objects.
    #[must_use]
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// The keys that have a value in an index.
    #[must_use]
    pub fn keys(&self, index: usize, value: &str) -> &[u8] {
        &self.indexes[&index][value]
    }

    /// How many distinct values the indexes hold, but for those that only one object has, and of those the ones that it
    /// has with these values too.
    #[must_use]
    pub fn values_with(&self, pod: Pod) -> usize {
        let is_had = |index: &usize, value: &str, keys: &Vec<u8>| {
            let own = pod.values(*index).any(|own| own == value) && keys.contains(&pod.key);
            own || keys.iter().any(|key| *key != pod.key)
        };
        let had = |(index, values): (&usize, &BTreeMap<&'static str, Vec<u8>>)| {
            values.iter().filter(|(value, keys)| is_had(index, value, keys)).count()
        };
        self.indexes.iter().map(had).sum()
    }

    /// How many pairs of object and value the indexes hold, but for those of one object.
    #[must_use]
    pub fn pairs_without(&self, key: u8) -> usize {
        let keys = self.indexes.values().flat_map(BTreeMap::values).flatten();
        keys.filter(|other| **other != key).count()
    }
}
