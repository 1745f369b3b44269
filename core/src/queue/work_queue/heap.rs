//! Memory that grows is never full, so on the heap nothing can fail.

use super::WorkQueueIn;
use crate::queue::{Added, Discipline, Lanes, Priority, RateLimiter};
use crate::storage::{Heap, never_full};
use crate::time::Instant;
use core::hash::Hash;
use core::time::Duration;

impl<K: Hash + Eq, L: RateLimiter, D: Discipline<K>> WorkQueueIn<K, L, Heap, D> {
    /// See [`try_add`](Self::try_add).
    pub fn add(&mut self, key: K) -> Added {
        never_full(self.try_add(key))
    }

    /// See [`try_add_after`](Self::try_add_after).
    pub fn add_after(&mut self, now: Instant, key: K, delay: Duration) -> Added {
        never_full(self.try_add_after(now, key, delay))
    }

    /// See [`try_add_rate_limited`](Self::try_add_rate_limited).
    pub fn add_rate_limited(&mut self, now: Instant, key: K) -> Added {
        never_full(self.try_add_rate_limited(now, key))
    }

    /// See [`try_add_rate_limited_after`](Self::try_add_rate_limited_after).
    pub fn add_rate_limited_after(&mut self, now: Instant, key: K, least: Duration) -> Added {
        never_full(self.try_add_rate_limited_after(now, key, least))
    }

    /// See [`try_when`](Self::try_when).
    pub fn when(&mut self, now: Instant, key: K) -> Duration {
        never_full(self.try_when(now, key))
    }
}

impl<K: Hash + Eq, L: RateLimiter> WorkQueueIn<K, L, Heap, Lanes<K>> {
    /// See [`try_add_with_priority`](Self::try_add_with_priority).
    pub fn add_with_priority(&mut self, key: K, priority: Priority) -> Added {
        never_full(self.try_add_with_priority(key, priority))
    }
}
