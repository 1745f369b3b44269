//! Limits the writes about one object (client-go `tools/record`, `EventSourceObjectSpamFilter`).

use super::occurrence::{EventType, Key, ObjectReference};
use crate::time::Instant;
use alloc::collections::BTreeMap;
use core::time::Duration;

/// A bucket of tokens for each object and type. A full one is forgotten, as one that was never used is full. If there are
/// too many, the one that was used least recently gives way, and is full again later.
#[derive(Debug)]
pub(super) struct SpamFilter {
    /// When a bucket is full again.
    full: Recent<(ObjectReference, EventType), Instant>,
    /// How long a full bucket takes to refill without its last token.
    slack: Duration,
    refill: Duration,
    most: usize,
}

impl SpamFilter {
    pub(super) fn new(burst: u32, refill: Duration, most: usize) -> Self {
        Self { full: Recent::default(), slack: refill.saturating_mul(burst - 1), refill, most }
    }

    /// Takes a token of the object.
    ///
    /// # Errors
    /// If there is none: the time of the next one.
    pub(super) fn try_take(&mut self, now: Instant, key: &Key) -> Result<(), Instant> {
        let bucket = (key.regarding.whole(), key.r#type);
        let known = self.full.touch(&bucket).copied();
        let full = known.map_or(now, |full| now.max(full));
        let missing = full.saturating_since(now);
        if missing > self.slack {
            return Err(now + (missing - self.slack));
        }
        while let Some((oldest, full)) = self.full.oldest()
            && (*full <= now || known.is_none() && self.full.len() >= self.most)
        {
            let oldest = oldest.clone();
            self.full.remove(&oldest);
        }
        self.full.insert(bucket, full + self.refill);
        Ok(())
    }
}

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
