use super::{Get, Lock, SharedWorkQueue};
use crate::queue::{Discipline, ExponentialBackoff, Fifo, Job, RateLimiter};
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

    /// Gives the key back.
    pub fn done(self) {}

    /// Gives the key back and waits for the next one, under one lock instead of two.
    pub fn done_and_get(mut self) -> Get<'a, K, Lk, L, D> {
        Get::new(self.queue, self.job.take())
    }
}

impl<K: Hash + Eq, Lk: Lock, L: RateLimiter, D: Discipline<K>> Drop for JobGuard<'_, K, Lk, L, D> {
    fn drop(&mut self) {
        if self.job.is_some() {
            self.queue.leave(self.job.take(), &mut None);
        }
    }
}

impl<K: Hash + Eq + fmt::Debug, Lk: Lock, L: RateLimiter, D: Discipline<K>> fmt::Debug for JobGuard<'_, K, Lk, L, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobGuard").field("key", &self.key).finish_non_exhaustive()
    }
}
