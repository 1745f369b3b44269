//! Memory that grows is never full, so on the heap nothing can fail.

use super::ReconcilerIn;
use crate::controller::lifecycle::{SourceId, Stage};
use crate::controller::notes::Notes;
use crate::queue::{Added, Machine, Priority, RateLimiter};
use crate::storage::{Heap, PassingTable, Slab, Timers, never_full};
use crate::time::Instant;
use core::hash::Hash;

impl<K: Hash + Eq + Clone, C, W, L: RateLimiter> ReconcilerIn<K, C, W, L, Heap> {
    /// See [`try_add`](Self::try_add).
    pub fn add(&mut self, now: Instant, key: K, priority: Priority, cause: C) -> Added {
        never_full(self.try_add(now, key, priority, cause))
    }

    /// See [`try_add_source`](Self::try_add_source).
    pub fn add_source(&mut self) -> SourceId {
        never_full(self.try_add_source())
    }

    /// Forgets all keys without the program's code, and refuses others from now on: a panic left a change unfinished.
    pub(in crate::controller) fn fail(&mut self) {
        self.queue.fail();
        let records = PassingTable::<_, Heap>::with_seed(self.records.seed());
        core::mem::forget(core::mem::replace(&mut self.records, records));
        core::mem::forget(core::mem::replace(&mut self.causes, Notes::EMPTY));
        core::mem::forget(core::mem::replace(&mut self.writes, Notes::EMPTY));
        (self.works, self.settling, self.holds) = (Slab::EMPTY, Timers::EMPTY, Timers::EMPTY);
        (self.running, self.next_period, self.is_period_due) = (0, None, false);
        self.stage = Stage::Failed;
    }
}
