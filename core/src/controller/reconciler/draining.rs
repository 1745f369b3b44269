//! The end of a controller.

use super::ReconcilerIn;
use crate::controller::lifecycle::Stage;
use crate::controller::report::KeyState;
use crate::controller::work::Phase;
use crate::queue::RateLimiter;
use crate::storage::{Mem, Slot};
use crate::time::Instant;
use core::hash::Hash;
use core::time::Duration;

impl<K: Hash + Eq + Clone, C, W, L: RateLimiter, M: Mem> ReconcilerIn<K, C, W, L, M> {
    /// Ends the controller. From now on no key is handed out or taken in, and no writes are awaited. The reconciles that
    /// are under way have until `grace` is over. Then the controller is
    /// [stopped](crate::controller::Lifecycle::Stopped); the caller drops those that are left.
    ///
    /// [`report`](Self::report) says how each key that is not done was left. Of two drains the earlier deadline counts.
    pub fn drain(&mut self, now: Instant, grace: Duration) {
        self.note_time(now);
        let deadline = self.now + grace;
        match self.stage {
            Stage::Created | Stage::Starting(_) | Stage::Running => self.close(Stage::Draining(deadline)),
            Stage::Draining(first) => self.stage = Stage::Draining(first.min(deadline)),
            Stage::Stopped | Stage::NotSynced => return,
        }
        self.pass_stage();
    }

    /// Moves on to the next stage, if its time has come or nothing is left to wait for.
    pub(super) fn pass_stage(&mut self) {
        match self.stage {
            Stage::Starting(Some(deadline)) if deadline <= self.now => self.close(Stage::NotSynced),
            Stage::Draining(deadline) if deadline <= self.now || self.running == 0 => self.stage = Stage::Stopped,
            _ => {}
        }
    }

    /// Notes how each key is left, and drops what is not with a worker.
    fn close(&mut self, stage: Stage) {
        self.stage = stage;
        (self.next_period, self.is_period_due) = (None, false);
        let mut at = None;
        while let Some(slot) = self.records.next_used(at) {
            at = Some(slot);
            self.records[slot].left = self.left(slot);
            self.stop_settling(slot);
            self.drop_hold(slot);
        }
        self.queue.shut_down_with_drain(self.now, Duration::ZERO);
        self.queue.handle_timeout(self.now);
    }

    /// How the key is left. One that is with a worker is left only if it has changed since.
    fn left(&self, slot: Slot) -> Option<KeyState> {
        match self.state(slot) {
            Some(KeyState::Running { .. }) => {
                let record = &self.records[slot];
                let is_dirty = self.queue.standing(&record.key).is_some_and(|standing| standing.is_dirty);
                (is_dirty || record.timer.is_some()).then_some(KeyState::Ready)
            }
            state => state,
        }
    }

    /// The key does not wait for its writes any longer.
    fn drop_hold(&mut self, slot: Slot) {
        if let Some(work) = self.records[slot].work
            && matches!(self.works[work].phase, Phase::Held(_))
        {
            self.release(work);
        }
    }
}
