//! The ways in which a key comes into a queue: at once, delayed, by the rate limiter, or with a priority.

use super::WorkQueueIn;
use crate::queue::{Added, Discipline, Lanes, Priority, RateLimiter};
#[cfg(feature = "alloc")]
use crate::storage::{Heap, never_full};
use crate::storage::{Mem, Slot};
use crate::time::Instant;
use core::hash::Hash;
use core::time::Duration;

impl<K: Hash + Eq, L: RateLimiter, M: Mem, D: Discipline<K>> WorkQueueIn<K, L, M, D> {
    /// Adds a key: client-go's `Typed.Add`.
    ///
    /// # Errors
    /// A full queue gives back a key that it does not know; nothing changed.
    pub fn try_add(&mut self, key: K) -> Result<Added, M::Full<K>> {
        if self.is_shutting_down() {
            return Ok(self.refuse());
        }
        let slot = self.try_record(key)?;
        Ok(self.mark_now(slot))
    }

    /// Adds a key when `delay` is over, at once if that is zero: client-go's `AddAfter`.
    ///
    /// # Errors
    /// A full queue gives back a key that it does not know; nothing changed.
    pub fn try_add_after(&mut self, now: Instant, key: K, delay: Duration) -> Result<Added, M::Full<K>> {
        if self.is_shutting_down() {
            return Ok(self.refuse());
        }
        let slot = self.try_record(key)?;
        Ok(self.delay(now, slot, delay, false))
    }

    /// Counts a failure of the key and adds it when the rate limiter says so: client-go's `AddRateLimited`.
    ///
    /// Even a queue that is shutting down counts the failure.
    ///
    /// # Errors
    /// A full queue gives back a key that it does not know; nothing changed.
    #[doc(alias = "AddRateLimited")]
    pub fn try_add_rate_limited(&mut self, now: Instant, key: K) -> Result<Added, M::Full<K>> {
        self.try_add_rate_limited_after(now, key, Duration::ZERO)
    }

    /// As [`try_add_rate_limited`](Self::try_add_rate_limited), but not before `least` is over. This suits a server
    /// that requests a delay (`Retry-After`).
    ///
    /// # Errors
    /// A full queue gives back a key that it does not know; nothing changed.
    pub fn try_add_rate_limited_after(&mut self, now: Instant, key: K, least: Duration) -> Result<Added, M::Full<K>> {
        let (slot, delay) = self.try_count_failure(now, key)?;
        Ok(self.back_off(slot, delay.max(least)))
    }

    /// Counts a failure of the key and returns its delay, without adding the key: the `When` of client-go's rate
    /// limiters.
    ///
    /// # Errors
    /// A full queue gives back a key that it does not know; nothing changed.
    pub fn try_when(&mut self, now: Instant, key: K) -> Result<Duration, M::Full<K>> {
        Ok(self.try_count_failure(now, key)?.1)
    }

    /// Counts a failure, and returns the key's delay.
    fn try_count_failure(&mut self, now: Instant, key: K) -> Result<(Slot, Duration), M::Full<K>> {
        self.now = self.now.max(now);
        let slot = self.try_record(key)?;
        Ok((slot, self.count_failure(slot, false)))
    }
}

impl<K: Hash + Eq, L: RateLimiter, M: Mem> WorkQueueIn<K, L, M, Lanes<K>> {
    /// As [`try_add`](Self::try_add), with a priority: controller-runtime's `AddWithOpts`.
    ///
    /// Of a key that is ready, deferred or delayed the higher priority counts; any other key has the new one from now
    /// on. Additions without a priority keep the one that the key has, retries too, and a new key is
    /// [`Priority::Normal`].
    ///
    /// # Errors
    /// A full queue gives back a key that it does not know; nothing changed.
    pub fn try_add_with_priority(&mut self, key: K, priority: Priority) -> Result<Added, M::Full<K>> {
        if self.is_shutting_down() {
            return Ok(self.refuse());
        }
        let slot = self.try_record(key)?;
        let record = &self.records[slot];
        let priority = if record.is_pending() { record.mark.priority.max(priority) } else { priority };
        self.discipline.prioritize(&mut self.ready, &mut self.records, slot, priority);
        Ok(self.mark_now(slot))
    }
}

/// Memory that grows is never full, so on the heap nothing can fail.
#[cfg(feature = "alloc")]
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

#[cfg(feature = "alloc")]
impl<K: Hash + Eq, L: RateLimiter> WorkQueueIn<K, L, Heap, Lanes<K>> {
    /// See [`try_add_with_priority`](Self::try_add_with_priority).
    pub fn add_with_priority(&mut self, key: K, priority: Priority) -> Added {
        never_full(self.try_add_with_priority(key, priority))
    }
}
