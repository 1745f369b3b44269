//! A map that knows which of its keys was used least recently.

use alloc::collections::BTreeMap;

#[derive(Debug)]
pub(super) struct Recent<K, V> {
    values: BTreeMap<K, (u64, V)>,
    used: BTreeMap<u64, K>,
    uses: u64,
}

impl<K, V> Default for Recent<K, V> {
    fn default() -> Self {
        Self { values: BTreeMap::new(), used: BTreeMap::new(), uses: 0 }
    }
}

impl<K: Ord + Clone, V> Recent<K, V> {
    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    /// Uses the value of a key.
    pub(super) fn touch(&mut self, key: &K) -> Option<&mut V> {
        let (used, value) = self.values.get_mut(key)?;
        self.uses += 1;
        let key = self.used.remove(used)?;
        *used = self.uses;
        self.used.insert(self.uses, key);
        Some(value)
    }

    /// The value of a key, which is not used by that.
    pub(super) fn peek_mut(&mut self, key: &K) -> Option<&mut V> {
        self.values.get_mut(key).map(|(_, value)| value)
    }

    /// Adds a value for a key that has none.
    pub(super) fn insert(&mut self, key: K, value: V) {
        self.remove(&key);
        self.uses += 1;
        self.used.insert(self.uses, key.clone());
        self.values.insert(key, (self.uses, value));
    }

    pub(super) fn remove(&mut self, key: &K) -> Option<V> {
        let (used, value) = self.values.remove(key)?;
        self.used.remove(&used);
        Some(value)
    }

    /// The key that was used least recently, and its value.
    pub(super) fn oldest(&self) -> Option<(&K, &V)> {
        let (_, key) = self.used.first_key_value()?;
        self.values.get(key).map(|(_, value)| (key, value))
    }

    /// The keys, from the one that was used least recently.
    pub(super) fn keys(&self) -> impl Iterator<Item = &K> {
        self.used.values()
    }
}
