use super::get::LastJob;
use super::{Get, Lock, SharedWorkQueue};
use crate::queue::{Discipline, ExponentialBackoff, Fifo, Finished, Job, Outcome, RateLimiter};
use crate::time::Instant;
use core::fmt;
use core::hash::Hash;

/// A key that is with a worker, until this is dropped: client-go's `defer queue.Done(key)`.
///
/// It is given back in whatever way the worker ends, by a panic or by being cancelled too.
#[must_use = "dropping it gives the key back"]
pub struct JobGuard<'a, K: Hash + Eq, Lk: Lock, L: RateLimiter = ExponentialBackoff, D: Discipline<K> = Fifo> {
    queue: &'a SharedWorkQueue<K, Lk, L, D>,
    key: K,
    /// None once it was given back.
    job: Option<Job>,
}

impl<'a, K: Hash + Eq, Lk: Lock, L: RateLimiter, D: Discipline<K>> JobGuard<'a, K, Lk, L, D> {
    pub(super) fn new(queue: &'a SharedWorkQueue<K, Lk, L, D>, key: K, job: Job) -> Self {
        Self { queue, key, job: Some(job) }
    }

    /// Nobody hears of the job: another worker gets its key.
    pub(super) fn put_back(&mut self) {
        if let Some(job) = self.job.take() {
            self.queue.put_back(job);
        }
    }

    /// The key to work on.
    #[must_use]
    pub fn key(&self) -> &K {
        &self.key
    }

    /// Gives the key back with the outcome of the work on it: see [`WorkQueue::finish`](crate::queue::WorkQueueIn::finish).
    ///
    /// The queue is locked once. A worker that goes on to its next key can have both under one lock:
    /// [`finish_and_get`](Self::finish_and_get).
    pub fn finish(mut self, now: Instant, outcome: Outcome) -> Finished {
        self.job.take().map_or(Finished::Ignored, |job| self.queue.finish(now, job, outcome))
    }

    /// Gives the key back with the outcome of the work on it, and waits for the next key, under one lock.
    ///
    /// The first poll of the future gives the key back, or its drop if it is never polled.
    ///
    /// ```
    /// use listwatch_core::queue::Outcome;
    /// use listwatch_core::sync::{SharedWorkQueue, StdLock};
    /// use listwatch_core::Instant;
    ///
    /// async fn work(queue: &SharedWorkQueue<u32, StdLock>, now: impl Fn() -> Instant) {
    ///     let mut next = queue.get();
    ///     while let Some(job) = next.await {
    ///         println!("reconciling {}", job.key());
    ///         next = job.finish_and_get(now(), Outcome::Done);
    ///     }
    /// }
    /// ```
    pub fn finish_and_get(self, now: Instant, outcome: Outcome) -> Get<'a, K, Lk, L, D> {
        self.give_back_and_get(Some((now, outcome)))
    }

    /// Gives the key back without an outcome: client-go's `Done`. Its failures stay, and it is not retried.
    pub fn done(self) {}

    /// Gives the key back without an outcome and waits for the next key, under one lock.
    pub fn done_and_get(self) -> Get<'a, K, Lk, L, D> {
        self.give_back_and_get(None)
    }

    fn give_back_and_get(mut self, outcome: Option<(Instant, Outcome)>) -> Get<'a, K, Lk, L, D> {
        Get::new(self.queue, self.job.take().map(|job| LastJob { job, outcome }))
    }
}

impl<K: Hash + Eq, Lk: Lock, L: RateLimiter, D: Discipline<K>> Drop for JobGuard<'_, K, Lk, L, D> {
    fn drop(&mut self) {
        if self.job.is_some() {
            self.queue.leave(self.job.take().map(|job| LastJob { job, outcome: None }), &mut None);
        }
    }
}

impl<K: Hash + Eq + fmt::Debug, Lk: Lock, L: RateLimiter, D: Discipline<K>> fmt::Debug for JobGuard<'_, K, Lk, L, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobGuard").field("key", &self.key).finish_non_exhaustive()
    }
}
