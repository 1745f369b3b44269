//! How reconciles end.

use super::ReconcilerIn;
use crate::controller::record::{Ended, HoldId, Phase, WorkItem};
use crate::controller::report::KeyState;
use crate::queue::{Finished, Job, Outcome, RateLimiter};
use crate::storage::{Mem, Slot};
use crate::time::Instant;
use core::hash::Hash;
use core::time::Duration;

impl<K: Hash + Eq + Clone, C, W, L: RateLimiter, M: Mem> ReconcilerIn<K, C, W, L, M> {
    /// Takes an item back with the outcome of its reconcile and the writes that it made and that are to be awaited.
    ///
    /// The queue acts on the outcome at once: see [`WorkQueueIn::finish`](crate::queue::WorkQueueIn::finish). If there
    /// are writes, the key is handed to no worker until all of them were [seen](Self::fulfil), or the [longest
    /// hold](Self::with_longest_hold) is over. Then it is ready if it changed meanwhile, if its delay is over, or if
    /// the writes are late and it neither backs off nor is parked.
    ///
    /// In a drain no writes are awaited, and nothing is retried. In fixed memory, if there is no room for a write, its
    /// key waits for the end of the hold.
    pub fn finish(
        &mut self,
        now: Instant,
        item: WorkItem,
        outcome: Outcome,
        writes: impl IntoIterator<Item = W>,
    ) -> Ended {
        self.note_time(now);
        let WorkItem { job, id } = item;
        if !self.is_running(id) {
            return Ended::Finished(Finished::Ignored);
        }
        self.on_ended(id.work, outcome);
        if !self.stage.is_closed() {
            self.await_writes(id.work, writes);
        }
        let work = &mut self.works[id.work];
        if work.writes.is_empty() {
            return self.finish_now(id.work, job, outcome);
        }
        self.queue.hold(self.now, &job, outcome);
        let until = self.now + Duration::from_nanos(self.longest_hold.get());
        (work.phase, work.since) = (Phase::Held(job), self.now);
        self.holds.arm(&mut self.works, id.work, until);
        Ended::Held { hold: id, until }
    }

    /// A store has shown the write of this number, in the order in which they were passed to [`finish`](Self::finish).
    /// Returns whether the key still waits for others.
    ///
    /// A hold that is over, and a write that was seen already, are ignored.
    pub fn fulfil(&mut self, now: Instant, hold: HoldId, write: usize) -> bool {
        self.note_time(now);
        if !self.is_held(hold) {
            return false;
        }
        self.writes.take(&mut self.works[hold.work].writes, |(number, _)| *number == write);
        if !self.works[hold.work].writes.is_empty() {
            return true;
        }
        self.release(hold.work);
        false
    }

    /// Whether the key of this hold still waits for writes.
    pub fn is_held(&self, hold: HoldId) -> bool {
        self.find(hold).is_some_and(|work| matches!(work.phase, Phase::Held(_)))
    }

    /// The writes that a held key still waits for, each with its number.
    pub fn awaited(&self, hold: HoldId) -> impl Iterator<Item = (usize, &W)> {
        let work = self.find(hold).into_iter();
        work.flat_map(|work| self.writes.iter(&work.writes)).map(|(number, write)| (*number, write))
    }

    /// Ends the waits whose time has come: their keys are reconciled.
    pub(super) fn release_due(&mut self) {
        while let Some(slot) = self.holds.pop_due(&mut self.works, self.now) {
            self.wake(self.works[slot].record);
            let work = &mut self.works[slot];
            work.late = core::mem::take(&mut work.writes);
            self.release(slot);
        }
    }

    /// Ends the wait of a held key.
    pub(super) fn release(&mut self, slot: Slot) {
        let work = &mut self.works[slot];
        let Phase::Held(job) = core::mem::replace(&mut work.phase, Phase::Over) else { return };
        let record = work.record;
        self.stop_holding(slot);
        if self.works[slot].late.is_empty() {
            self.remove_work(slot);
        }
        self.queue.done(job);
        self.remove_if_blank(record);
    }

    fn is_running(&self, id: HoldId) -> bool {
        self.find(id).is_some_and(|work| matches!(work.phase, Phase::Running))
    }

    /// Takes the job back of a reconcile without writes.
    fn finish_now(&mut self, slot: Slot, job: Job, outcome: Outcome) -> Ended {
        let record = self.works[slot].record;
        self.remove_work(slot);
        let finished = self.queue.finish(self.now, job, outcome);
        self.on_finished(record, outcome);
        Ended::Finished(finished)
    }

    /// The reconcile is over. If it failed, its causes are those of its retry too.
    fn on_ended(&mut self, slot: Slot, outcome: Outcome) {
        self.running -= 1;
        let work = &mut self.works[slot];
        work.phase = Phase::Over;
        let (late, causes) = (core::mem::take(&mut work.late), core::mem::take(&mut work.causes));
        self.writes.clear(late);
        if is_failure(outcome) {
            let next = &mut self.records[work.record].causes;
            self.causes.put_before(next, causes, Self::MAX_CAUSES);
        } else {
            self.causes.clear(causes);
        }
    }

    fn stop_holding(&mut self, slot: Slot) {
        if let Some(place) = self.works[slot].timer {
            self.holds.disarm(&mut self.works, place);
        }
    }

    fn await_writes(&mut self, slot: Slot, writes: impl IntoIterator<Item = W>) {
        for write in writes.into_iter().enumerate() {
            self.writes.push(&mut self.works[slot].writes, write);
        }
    }

    /// The queue has the key back.
    fn on_finished(&mut self, slot: Slot, outcome: Outcome) {
        if self.stage.is_closed() {
            self.leave(slot, outcome);
        }
        self.remove_if_blank(slot);
        self.pass_stage();
    }

    /// Notes how a reconcile that ended in a drain has left its key.
    fn leave(&mut self, slot: Slot, outcome: Outcome) {
        let left = match outcome {
            Outcome::Done => return,
            Outcome::RequeueAfter(delay) => KeyState::Delayed { until: self.now + delay },
            Outcome::Terminal => KeyState::Parked,
            _ => KeyState::Unfinished,
        };
        self.records[slot].left = Some(left);
    }

    /// Adds the key again, unless it failed: then it runs when its back-off is over, or when it changes.
    fn wake(&mut self, record: Slot) {
        let key = &self.records[record].key;
        let standing = self.queue.standing(key).unwrap_or_default();
        if standing.is_backing_off || standing.is_parked {
            return;
        }
        let added = self.queue.try_add(key.clone());
        debug_assert!(added.is_ok(), "the queue knows the key");
    }

    /// Forgets a work that is over, and all that it was told.
    pub(super) fn remove_work(&mut self, slot: Slot) {
        let work = self.works.remove(slot);
        self.records[work.record].work = None;
        self.causes.clear(work.causes);
        self.writes.clear(work.late);
        self.writes.clear(work.writes);
    }
}

fn is_failure(outcome: Outcome) -> bool {
    !matches!(outcome, Outcome::Done | Outcome::RequeueAfter(_))
}
