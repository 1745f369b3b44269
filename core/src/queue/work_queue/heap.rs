//! Memory that grows is never full, so on the heap nothing can fail.

use super::WorkQueueIn;
use super::closing::Closing;
use crate::queue::metrics::Stopwatch;
use crate::queue::{Added, Discipline, Job, Lanes, Priority, RateLimiter};
use crate::storage::{Heap, InPlace, never_full};
use crate::time::Instant;
use core::hash::Hash;
use core::time::Duration;

impl<K: Hash + Eq, L: RateLimiter, D: Discipline<K>> WorkQueueIn<K, L, Heap, D> {
    /// Measures the times of [`metrics`](Self::metrics). They take memory for each key, so a queue in fixed memory has
    /// [counters](Self::stats) alone.
    ///
    /// A queue reads no clock. It stamps an addition or a job with the latest `now` that it was given. For exact times,
    /// call [`handle_timeout`](Self::handle_timeout) before each.
    ///
    /// ```
    /// use core::time::Duration;
    /// use listwatch_core::{Instant, WorkQueue};
    ///
    /// let mut queue = WorkQueue::<&str>::default().with_metrics();
    /// queue.add("web");
    /// let later = Instant::ZERO + Duration::from_millis(20);
    /// queue.handle_timeout(later);
    /// let job = queue.poll_job().unwrap();
    /// assert_eq!(queue.metrics(later).unwrap().latency.total, Duration::from_millis(20));
    /// # queue.done(job);
    /// ```
    #[must_use]
    pub fn with_metrics(mut self) -> Self {
        self.stopwatch = InPlace(Some(Stopwatch::default()));
        self
    }

    /// See [`try_add`](Self::try_add).
    pub fn add(&mut self, key: K) -> Added {
        never_full(self.try_add(key))
    }

    /// See [`try_add_after`](Self::try_add_after).
    pub fn add_after(&mut self, now: Instant, key: K, delay: Duration) -> Added {
        never_full(self.try_add_after(now, key, delay))
    }

    /// See [`try_add_rate_limited`](Self::try_add_rate_limited).
    pub fn add_rate_limited(&mut self, now: Instant, key: K) -> Added {
        never_full(self.try_add_rate_limited(now, key))
    }

    /// See [`try_add_rate_limited_after`](Self::try_add_rate_limited_after).
    pub fn add_rate_limited_after(&mut self, now: Instant, key: K, least: Duration) -> Added {
        never_full(self.try_add_rate_limited_after(now, key, least))
    }

    /// See [`try_when`](Self::try_when).
    pub fn when(&mut self, now: Instant, key: K) -> Duration {
        never_full(self.try_when(now, key))
    }

    /// Takes back a job that no worker has received: its key is ready again, behind all others, unless the time to
    /// drain is over.
    pub(crate) fn put_back(&mut self, job: Job) {
        if self.closing != Closing::Over {
            // Nobody adds it: it never left the queue.
            let counts = (self.adds, self.merged);
            self.mark(job.slot);
            (self.adds, self.merged) = counts;
        }
        self.done(job);
    }

    /// The job, with its key. If the key's clone panics, the key is ready again, behind all others.
    pub(crate) fn named(&mut self, job: Job) -> (K, Job)
    where
        K: Clone,
    {
        let mut unnamed = Unnamed { queue: self, job: Some(job) };
        let key = unnamed.job.as_ref().map(|job| unnamed.queue.key(job).clone());
        key.zip(unnamed.job.take()).expect("the job is there until it is named")
    }
}

impl<K: Hash + Eq, L: RateLimiter> WorkQueueIn<K, L, Heap, Lanes<K>> {
    /// See [`try_add_with_priority`](Self::try_add_with_priority).
    pub fn add_with_priority(&mut self, key: K, priority: Priority) -> Added {
        never_full(self.try_add_with_priority(key, priority))
    }
}

/// A job that was handed out, and whose key is not known yet.
struct Unnamed<'a, K: Hash + Eq, L: RateLimiter, D: Discipline<K>> {
    queue: &'a mut WorkQueueIn<K, L, Heap, D>,
    job: Option<Job>,
}

impl<K: Hash + Eq, L: RateLimiter, D: Discipline<K>> Drop for Unnamed<'_, K, L, D> {
    fn drop(&mut self) {
        if let Some(job) = self.job.take() {
            self.queue.put_back(job);
        }
    }
}
