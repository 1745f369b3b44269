//! How keys come in.

use super::ReconcilerIn;
use crate::controller::record::Record;
use crate::queue::{Added, Priority, RateLimiter, WhileDelayed};
use crate::storage::{Mem, Slot};
use crate::time::Instant;
use core::hash::Hash;

impl<K: Hash + Eq + Clone, C, W, L: RateLimiter, M: Mem> ReconcilerIn<K, C, W, L, M> {
    /// Adds a key, because of `cause`. With [`with_debounce`](Self::with_debounce) the key may first wait for further
    /// changes, as [`Added::Delayed`].
    ///
    /// Of a key that is known, the higher priority counts. Initial lists and resyncs are
    /// [`Low`](crate::queue::Priority::Low), and live changes [`Normal`](crate::queue::Priority::Normal).
    ///
    /// # Errors
    /// A full reconciler gives back a key that it does not know; nothing changed.
    pub fn try_add(&mut self, now: Instant, key: K, priority: Priority, cause: C) -> Result<Added, M::Full<K>> {
        self.note_time(now);
        if self.stage.is_closed() {
            return self.queue.try_add(key);
        }
        let slot = self.try_record(key)?;
        let added = self.enter(slot, priority);
        let causes = &mut self.records[slot].causes;
        self.causes.push_newest(causes, (cause, self.now), Self::MAX_CAUSES);
        Ok(added)
    }

    /// Adds the keys whose changes were gathered.
    pub(super) fn settle_due(&mut self) {
        while let Some(slot) = self.settling.pop_due(&mut self.records, self.now) {
            let priority = self.records[slot].priority;
            self.enqueue(slot, priority);
        }
    }

    fn try_record(&mut self, key: K) -> Result<Slot, M::Full<K>> {
        let hash = self.records.hash(&key);
        let slot = self.records.try_entry_hashed(hash, key, |_| (), |key, ()| Record::new(key, hash));
        slot.map_err(|full| M::map_full(full, |record| record.key))
    }

    fn enter(&mut self, slot: Slot, priority: Priority) -> Added {
        let is_settling = self.records[slot].timer.is_some();
        if !self.has_to_settle(slot, priority) {
            self.enqueue(slot, priority)
        } else if is_settling {
            let record = &mut self.records[slot];
            record.priority = record.priority.max(priority);
            self.settle(slot);
            Added::Merged
        } else {
            let record = &mut self.records[slot];
            (record.since, record.priority) = (self.now, priority);
            self.settle(slot);
            Added::Delayed
        }
    }

    /// Whether changes of the key are gathered, and it is not waiting for anything else that gathers them as well.
    fn has_to_settle(&self, slot: Slot, priority: Priority) -> bool {
        if self.debounce.is_nothing() || priority == Priority::Urgent {
            return false;
        }
        let standing = self.queue.standing(&self.records[slot].key).unwrap_or_default();
        let keeps_waiting = standing.is_backing_off && self.queue.while_delayed() == WhileDelayed::KeepWaiting;
        !standing.is_dirty && !keeps_waiting
    }

    /// Lets the key wait for its next change.
    fn settle(&mut self, slot: Slot) {
        let Some(debounce) = self.debounce.as_ref() else { return };
        let until = debounce.end(self.records[slot].since, self.now);
        self.stop_settling(slot);
        self.settling.arm(&mut self.records, slot, until);
    }

    /// Adds the key to the queue.
    fn enqueue(&mut self, slot: Slot, priority: Priority) -> Added {
        let key = self.records[slot].key.clone();
        let Ok(added) = self.queue.try_add_with_priority(key, priority) else {
            unreachable!("each key of the queue has a record")
        };
        self.stop_settling(slot);
        added
    }

    pub(super) fn stop_settling(&mut self, slot: Slot) {
        if let Some(place) = self.records[slot].timer {
            self.settling.disarm(&mut self.records, place);
        }
    }
}
