//! The stages of a controller: its start, its periods, and its end.

use super::ReconcilerIn;
use crate::controller::lifecycle::{SourceId, Stage};
use crate::controller::record::Phase;
use crate::controller::report::KeyState;
use crate::queue::RateLimiter;
use crate::storage::{Mem, Slot};
use crate::time::Instant;
use core::hash::Hash;
use core::time::Duration;

impl<K: Hash + Eq + Clone, C, W, L: RateLimiter, M: Mem> ReconcilerIn<K, C, W, L, M> {
    /// Counts on a source of keys: the controller does not run before the source [has synced](Self::source_synced).
    /// A source that is added to a running controller stops nothing.
    ///
    /// # Errors
    /// A full reconciler has room for no more sources; nothing changed.
    pub fn try_add_source(&mut self) -> Result<SourceId, M::Full<()>> {
        self.sources.try_add()
    }

    /// All keys of the source's first state were added. Others may be added later.
    pub fn source_synced(&mut self, now: Instant, source: SourceId) {
        self.note_time(now);
        self.sources.on_synced(source);
        self.run_if_synced();
    }

    /// Counts no longer on a source.
    pub fn remove_source(&mut self, now: Instant, source: SourceId) {
        self.note_time(now);
        self.sources.remove(source);
        self.run_if_synced();
    }

    /// The sources that have not synced.
    pub fn unsynced_sources(&self) -> impl Iterator<Item = SourceId> {
        self.sources.unsynced()
    }

    /// Lets the controller run as soon as all sources have synced. If they have not `within` this time, it never runs:
    /// [`Lifecycle::NotSynced`](crate::controller::Lifecycle::NotSynced). Without a time it waits for ever.
    ///
    /// A second start is ignored.
    pub fn start(&mut self, now: Instant, within: Option<Duration>) {
        self.note_time(now);
        if self.stage == Stage::Created {
            self.stage = Stage::Starting(within.map(|within| self.now + within));
            self.run_if_synced();
        }
    }

    /// Whether the [period](Self::with_period) has come: the caller adds all keys. It is true once for each period.
    #[must_use = "the period is not told again"]
    pub fn poll_period(&mut self) -> bool {
        core::mem::take(&mut self.is_period_due)
    }

    pub(super) fn pass_period(&mut self) {
        if self.next_period.is_some_and(|due| due <= self.now) {
            self.is_period_due = true;
            self.next_period = self.period.as_ref().map(|period| self.now + *period);
        }
    }

    fn run_if_synced(&mut self) {
        if matches!(self.stage, Stage::Starting(_)) && self.sources.have_synced() {
            self.stage = Stage::Running;
            self.next_period = self.period.as_ref().map(|period| self.now + *period);
        }
    }

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
            Stage::Stopped | Stage::NotSynced | Stage::Failed => return,
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
