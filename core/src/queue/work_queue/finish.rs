//! The effect of a worker's outcome on its key.

use super::WorkQueueIn;
use crate::queue::record::{Phase, Then};
use crate::queue::{Added, Discipline, Finished, Job, Outcome, RateLimiter};
use crate::storage::sealed::HeapOnly;
use crate::storage::{Mem, Slot};
use crate::time::Instant;
use core::hash::Hash;
use core::time::Duration;

impl<K: Hash + Eq, L: RateLimiter, M: Mem, D: Discipline<K>> WorkQueueIn<K, L, M, D> {
    /// Takes a job back with its outcome, and returns when its key is handed out next.
    ///
    /// A client-go controller does this in `handleErr` and then by `Done`. It forgets the key's failures, or adds the
    /// key again by way of the rate limiter; then it gives the key back. A key that was added since is ready again,
    /// behind all others. The key has its place in the queue, so this does not fail in fixed memory either. It neither
    /// hashes nor clones the key.
    ///
    /// ```
    /// use core::time::Duration;
    /// use listwatch_core::queue::{Finished, Outcome};
    /// use listwatch_core::{Instant, WorkQueue};
    ///
    /// let mut queue = WorkQueue::<&str>::default().with_max_retries(1);
    /// let retry = Instant::ZERO + Duration::from_millis(5);
    /// queue.add("web");
    ///
    /// let job = queue.poll_job().unwrap();
    /// assert_eq!(queue.finish(Instant::ZERO, job, Outcome::Retry), Finished::RetryAt(retry));
    ///
    /// queue.handle_timeout(retry);
    /// let job = queue.poll_job().unwrap();
    /// assert_eq!(queue.finish(retry, job, Outcome::Retry), Finished::GaveUp);
    /// ```
    pub fn finish(&mut self, now: Instant, job: Job, outcome: Outcome) -> Finished {
        if !self.is_out(&job) {
            return Finished::Ignored;
        }
        self.now = self.now.max(now);
        let slot = job.slot;
        // The outcome of a held job is applied already.
        let added = if self.is_held(slot) { None } else { self.settle(slot, outcome) };
        self.on_done(slot);
        self.next_of(slot, added)
    }

    /// Applies the outcome of the work on a key, and keeps the key from all workers until its job is
    /// [given back](Self::done).
    ///
    /// This suits a worker whose writes the cache has not seen yet. The key occupies no worker and does not count as
    /// running in the [metrics](Self::metrics). If it is added, or its delay ends, it is ready when the job is given
    /// back. An outcome is applied once: a job that is held already, or is another queue's, is ignored.
    ///
    /// ```
    /// use listwatch_core::queue::{Added, Outcome};
    /// use listwatch_core::{Instant, WorkQueue};
    ///
    /// let mut queue = WorkQueue::<&str>::default();
    /// queue.add("web");
    /// let job = queue.poll_job().unwrap();
    /// queue.hold(Instant::ZERO, &job, Outcome::Done);
    /// assert_eq!((queue.add("web"), queue.len()), (Added::Deferred, 0));
    ///
    /// queue.done(job);
    /// assert_eq!(queue.len(), 1);
    /// ```
    pub fn hold(&mut self, now: Instant, job: &Job, outcome: Outcome) {
        if !self.is_out(job) || self.is_held(job.slot) {
            return;
        }
        self.now = self.now.max(now);
        self.on_worked(job.slot);
        self.settle(job.slot, outcome);
    }

    /// Takes a job back without an outcome: client-go's `Done`. A key that was added since is ready again, behind all
    /// others.
    ///
    /// The key's failures stay, and it is not retried. A job of another queue is ignored.
    pub fn done(&mut self, job: Job) {
        if self.is_out(&job) {
            self.on_done(job.slot);
        }
    }

    fn is_out(&self, job: &Job) -> bool {
        self.records.get(job.slot).is_some_and(|record| record.is_run_by(job))
    }

    fn is_held(&self, slot: Slot) -> bool {
        matches!(self.records[slot].phase, Phase::Running { is_held: true, .. })
    }

    /// Applies the outcome to the key. Returns the result of the addition, if the key is added again.
    fn settle(&mut self, slot: Slot, outcome: Outcome) -> Option<Added> {
        match outcome {
            Outcome::Done => {
                self.forget_slot(slot);
                None
            }
            Outcome::Retry => Some(self.retry(slot, Duration::ZERO, false)),
            Outcome::RetryAfter(least) => Some(self.retry(slot, least, false)),
            Outcome::Transient(least) => Some(self.retry(slot, least, true)),
            Outcome::Terminal => {
                self.give_up(slot);
                None
            }
            Outcome::RequeueAfter(delay) => {
                self.forget_slot(slot);
                Some(self.requeue(slot, delay))
            }
            Outcome::Panicked => {
                self.stats.panics += 1;
                Some(self.retry(slot, Duration::ZERO, false))
            }
        }
    }

    fn retry(&mut self, slot: Slot, least: Duration, is_transient: bool) -> Added {
        let delay = self.count_failure(slot, is_transient);
        self.back_off(slot, delay.max(least))
    }

    /// Parks the key, unless it has changed since.
    fn give_up(&mut self, slot: Slot) {
        if matches!(self.records[slot].phase, Phase::Running { then: Then::Again, .. }) {
            self.records[slot].forget_failures();
        } else {
            self.park(slot);
        }
    }

    fn requeue(&mut self, slot: Slot, delay: Duration) -> Added {
        if self.is_shutting_down() { self.refuse() } else { self.delay(self.now, slot, delay, false) }
    }

    /// The work on the key is over, and its job is not given back yet.
    fn on_worked(&mut self, slot: Slot) {
        let Phase::Running { is_held: is_held @ false, .. } = &mut self.records[slot].phase else { return };
        *is_held = true;
        self.running -= 1;
        self.stats.held += 1;
        if let Some(Some(stopwatch)) = self.stopwatch.get_mut() {
            stopwatch.done(slot, self.now);
        }
    }

    fn on_done(&mut self, slot: Slot) {
        self.on_worked(slot);
        let Phase::Running { then, .. } = self.records[slot].phase else { return };
        self.stats.held -= 1;
        match then {
            Then::Rest => {
                self.records[slot].phase = Phase::Idle;
                self.remove_if_blank(slot);
            }
            Then::Again => {
                self.deferred -= 1;
                self.push(slot);
            }
            Then::Park => self.records[slot].phase = Phase::Parked,
        }
    }

    /// When the key that was in `slot` is handed out next.
    fn next_of(&self, slot: Slot, added: Option<Added>) -> Finished {
        let record = self.records.get(slot);
        match record.map(|record| (record.phase, record.timer)) {
            Some((Phase::Ready, _)) => Finished::Queued,
            Some((_, Some(place))) => Finished::RetryAt(self.delays.due(place)),
            Some((Phase::Parked, None)) => Finished::GaveUp,
            _ if added == Some(Added::Closed) => Finished::Closed,
            _ => Finished::Done,
        }
    }
}

#[cfg(test)]
#[cfg(all(feature = "alloc", feature = "fixed"))]
mod tests;
