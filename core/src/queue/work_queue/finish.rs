//! The effect of a worker's outcome on its key.

use super::WorkQueueIn;
use crate::queue::record::{Phase, Then};
use crate::queue::{Added, Discipline, Finished, Job, Outcome, RateLimiter};
use crate::storage::{Mem, Slot};
use crate::time::Instant;
use core::hash::Hash;
use core::time::Duration;

/// The delay before a retry for which the rate limiter panicked.
const DELAY_WITHOUT_LIMITER: Duration = Duration::from_secs(1);

impl<K: Hash + Eq, L: RateLimiter, M: Mem, D: Discipline<K>> WorkQueueIn<K, L, M, D> {
    /// Takes a job back with its outcome, and returns when its key is handed out next.
    ///
    /// A client-go controller does this in `handleErr` and then by `Done`. It forgets the key's failures, or adds the
    /// key again by way of the rate limiter; then it gives the key back. A key that was added since is ready again,
    /// behind all others. The key has its place in the queue, so this does not fail in fixed memory either. It neither
    /// hashes nor clones the key.
    ///
    /// If the rate limiter panics, the call panics with it. The job is taken back all the same: the panic is
    /// [counted](crate::queue::QueueStats::panics), no failure is, and the key is retried after a second.
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
        let mut unsettled = Unsettled { queue: self, slot, is_settled: false };
        let added = unsettled.queue.settle(slot, outcome);
        unsettled.is_settled = true;
        drop(unsettled);
        self.on_done(slot);
        self.next_of(slot, added)
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

    /// Applies the outcome to the key. Returns the result of the addition, if the key is added again.
    fn settle(&mut self, slot: Slot, outcome: Outcome) -> Option<Added> {
        match outcome {
            Outcome::Done => {
                self.forget_slot(slot);
                None
            }
            Outcome::Retry => Some(self.retry(slot, Duration::ZERO)),
            Outcome::RetryAfter(least) => Some(self.retry(slot, least)),
            Outcome::RequeueAfter(delay) => {
                self.forget_slot(slot);
                Some(self.requeue(slot, delay))
            }
            Outcome::Panicked => {
                self.panics += 1;
                Some(self.retry(slot, Duration::ZERO))
            }
        }
    }

    fn retry(&mut self, slot: Slot, least: Duration) -> Added {
        let failures = self.records[slot].failures;
        let delay = self.limiter.delay(self.now, failures);
        self.records[slot].failures = failures.saturating_add(1);
        self.back_off(slot, delay.max(least))
    }

    fn requeue(&mut self, slot: Slot, delay: Duration) -> Added {
        if self.is_shutting_down() { self.refuse() } else { self.delay(self.now, slot, delay, false) }
    }

    fn on_done(&mut self, slot: Slot) {
        let Phase::Running { then, .. } = self.records[slot].phase else { return };
        self.running -= 1;
        if let Some(stopwatch) = &mut self.stopwatch {
            stopwatch.done(slot, self.now);
        }
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

/// A job whose outcome is being settled. If the rate limiter panics, the key is retried without it.
struct Unsettled<'a, K: Hash + Eq, L: RateLimiter, M: Mem, D: Discipline<K>> {
    queue: &'a mut WorkQueueIn<K, L, M, D>,
    slot: Slot,
    is_settled: bool,
}

impl<K: Hash + Eq, L: RateLimiter, M: Mem, D: Discipline<K>> Drop for Unsettled<'_, K, L, M, D> {
    fn drop(&mut self) {
        if !self.is_settled {
            self.queue.panics += 1;
            self.queue.requeue(self.slot, DELAY_WITHOUT_LIMITER);
            self.queue.on_done(self.slot);
        }
    }
}

#[cfg(test)]
#[cfg(all(feature = "alloc", feature = "fixed"))]
mod tests;
