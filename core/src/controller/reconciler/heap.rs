//! Memory that grows is never full, so on the heap nothing can fail.

use super::ReconcilerIn;
use crate::controller::lifecycle::SourceId;
use crate::controller::record::{Phase, WorkItem};
use crate::controller::report::KeyState;
use crate::queue::{Added, Priority, RateLimiter};
use crate::storage::{Heap, never_full};
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

    /// Takes back an item that no worker has received: its key is ready again, behind all others, unless the controller
    /// is closed.
    pub(in crate::controller) fn put_back(&mut self, item: WorkItem) {
        let WorkItem { job, id } = item;
        let Some(work) = self.find(id) else { return };
        let record = work.record;
        self.running -= 1;
        let work = &mut self.works[id.work];
        work.phase = Phase::Over;
        let causes = core::mem::take(&mut work.causes);
        self.causes.put_before(&mut self.records[record].causes, causes, Self::MAX_CAUSES);
        if self.stage.is_closed() {
            self.records[record].left = Some(KeyState::Ready);
        }
        self.queue.put_back(job);
        self.pass_stage();
    }

    /// The item, with its key. If the key's clone panics, the key is ready again, behind all others.
    pub(in crate::controller) fn named(&mut self, item: WorkItem) -> (K, WorkItem) {
        let mut unnamed = Unnamed { reconciler: self, item: Some(item) };
        let key = unnamed.item.as_ref().map(|item| unnamed.reconciler.key(item).clone());
        key.zip(unnamed.item.take()).expect("the item is there until it is named")
    }
}

/// An item that was handed out, and whose key is not known yet.
struct Unnamed<'a, K: Hash + Eq + Clone, C, W, L: RateLimiter> {
    reconciler: &'a mut ReconcilerIn<K, C, W, L, Heap>,
    item: Option<WorkItem>,
}

impl<K: Hash + Eq + Clone, C, W, L: RateLimiter> Drop for Unnamed<'_, K, C, W, L> {
    fn drop(&mut self) {
        if let Some(item) = self.item.take() {
            self.reconciler.put_back(item);
        }
    }
}
