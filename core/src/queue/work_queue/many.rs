//! Many additions at once.

use super::WorkQueueIn;
use crate::queue::{Discipline, RateLimiter};
use crate::storage::{Heap, never_full};
use alloc::collections::VecDeque;
use core::hash::Hash;

/// The number of keys that are looked for together, so that the processor waits for the memory of all of them at once.
const TOGETHER: usize = 16;

impl<K: Hash + Eq, L: RateLimiter, D: Discipline<K>> WorkQueueIn<K, L, Heap, D> {
    /// [Adds](Self::add) these keys, the first one first. If one panics, those behind it stay in `keys`.
    pub(crate) fn add_many(&mut self, keys: &mut VecDeque<K>) {
        while !keys.is_empty() {
            let mut ahead = keys.iter();
            let hashes = [(); TOGETHER].map(|()| ahead.next().map(|key| self.records.hash(key)));
            self.records.look_ahead(&hashes);
            for hash in hashes.into_iter().flatten() {
                let key = keys.pop_front().expect("each hash is that of a key");
                never_full(self.try_add_hashed(key, hash));
            }
        }
    }
}
