//! Additions with a priority, which only a queue with lanes has.

use super::WorkQueueIn;
use crate::queue::{Added, Lanes, Priority, RateLimiter};
use crate::storage::Mem;
use core::hash::Hash;

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
