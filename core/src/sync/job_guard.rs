use super::Lock;
use super::guarded::SharedWorkQueue;
use crate::queue::{Discipline, ExponentialBackoff, Fifo, Finished, Job, Outcome, RateLimiter};
use crate::time::Instant;
use core::fmt;
use core::hash::Hash;

/// A key that a worker holds: client-go's `defer queue.Done(key)`.
///
/// Dropping the guard gives the key back, also if the worker panics or is cancelled.
#[must_use = "dropping it gives the key back"]
pub struct JobGuard<'a, K: Hash + Eq, Lk: Lock, L: RateLimiter = ExponentialBackoff, D: Discipline<K> = Fifo> {
    pub(super) queue: &'a SharedWorkQueue<K, Lk, L, D>,
    key: K,
    /// None once it was given back.
    pub(super) job: Option<Job>,
}

impl<'a, K: Hash + Eq, Lk: Lock, L: RateLimiter, D: Discipline<K>> JobGuard<'a, K, Lk, L, D> {
    pub(super) fn new(queue: &'a SharedWorkQueue<K, Lk, L, D>, key: K, job: Job) -> Self {
        Self { queue, key, job: Some(job) }
    }

    /// The key to work on.
    #[must_use]
    pub fn key(&self) -> &K {
        &self.key
    }

    /// Gives the key back with the outcome of the work on it: see
    /// [`WorkQueue::finish`](crate::queue::WorkQueueIn::finish).
    ///
    /// The queue is locked once. A worker that goes on to its next key can have both under one lock:
    /// [`finish_and_get`](Self::finish_and_get).
    pub fn finish(mut self, now: Instant, outcome: Outcome) -> Finished {
        self.job
            .take()
            .map_or(Finished::Ignored, |job| self.queue.dispatch.update_bare(|queue| queue.finish(now, job, outcome)))
    }

    /// Gives the key back without an outcome: client-go's `Done`. Its failures stay, and it is not retried.
    pub fn done(self) {}
}

impl<K: Hash + Eq, Lk: Lock, L: RateLimiter, D: Discipline<K>> Drop for JobGuard<'_, K, Lk, L, D> {
    fn drop(&mut self) {
        if let Some(job) = self.job.take() {
            self.queue.dispatch.update_bare(|queue| queue.done(job));
        }
    }
}

impl<K: Hash + Eq + fmt::Debug, Lk: Lock, L: RateLimiter, D: Discipline<K>> fmt::Debug for JobGuard<'_, K, Lk, L, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobGuard").field("key", &self.key).finish_non_exhaustive()
    }
}
