//! Keys that were hashed before they came to the queue.

use super::WorkQueueIn;
use crate::queue::discipline::Records;
use crate::queue::{Discipline, RateLimiter};
use crate::storage::{Heap, never_full};
use alloc::collections::VecDeque;
use core::hash::Hash;

/// A key that is to be added, with its hash in the table of records.
#[derive(Debug)]
pub struct Posted<K> {
    pub(crate) key: K,
    pub(crate) hash: u32,
}

/// The number of keys that are looked for together, so that the processor waits for the memory of all of them at once.
const TOGETHER: usize = 16;

impl<K: Hash + Eq> Posted<K> {
    /// A key for a queue with that [`seed`](WorkQueueIn::seed).
    pub(crate) fn new(key: K, seed: u64) -> Self {
        let hash = Records::<K, (), Heap>::hash_with(seed, &key);
        Self { key, hash }
    }
}

impl<K: Hash + Eq, L: RateLimiter, D: Discipline<K>> WorkQueueIn<K, L, Heap, D> {
    pub(crate) fn seed(&self) -> u64 {
        self.records.seed()
    }

    /// As [`add`](Self::add).
    pub(crate) fn add_hashed(&mut self, Posted { key, hash }: Posted<K>) {
        if self.is_shutting_down() {
            self.refuse();
        } else {
            self.mark_hashed(key, hash);
        }
    }

    /// Adds the first of these keys, `most` at most. They came before a shut-down, if there was one.
    pub(crate) fn add_posted(&mut self, posted: &mut VecDeque<Posted<K>>, most: usize) {
        let mut left = most.min(posted.len());
        while left > 0 {
            let together = left.min(TOGETHER);
            let mut ahead = posted.iter().take(together);
            self.records.look_ahead(&[(); TOGETHER].map(|()| ahead.next().map(|posted| posted.hash)));
            posted.drain(..together).for_each(|Posted { key, hash }| self.mark_hashed(key, hash));
            left -= together;
        }
    }

    /// Counts additions that changed nothing, because their keys were posted before.
    pub(crate) fn note_merged(&mut self, merged: u64) {
        self.merged += merged;
    }

    fn mark_hashed(&mut self, key: K, hash: u32) {
        let slot = never_full(self.try_record_hashed(key, hash));
        self.mark_now(slot);
    }
}
