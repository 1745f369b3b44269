//! Memory that grows is never full, so on the heap nothing can fail.

use super::WorkQueueIn;
use super::closing::Closing;
use crate::queue::discipline::Records;
use crate::queue::metrics::Stopwatch;
use crate::queue::{Added, Discipline, Lanes, Priority, RateLimiter};
use crate::storage::sealed::Empty;
use crate::storage::{Heap, InPlace, Timers, never_full};
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

    /// Forgets all keys without the program's code, and refuses others from now on: a panic left a change unfinished.
    pub(crate) fn fail(&mut self) {
        let records = Records::<_, _, Heap>::with_seed(self.records.seed());
        core::mem::forget(core::mem::replace(&mut self.records, records));
        (self.ready, self.delays) = (<D::Ready<Heap> as Empty>::EMPTY, Timers::EMPTY);
        (self.running, self.held, self.deferred, self.parked) = (0, 0, 0, 0);
        self.closing = Closing::Failed;
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.closing == Closing::Failed
    }
}

impl<K: Hash + Eq, L: RateLimiter> WorkQueueIn<K, L, Heap, Lanes<K>> {
    /// See [`try_add_with_priority`](Self::try_add_with_priority).
    pub fn add_with_priority(&mut self, key: K, priority: Priority) -> Added {
        never_full(self.try_add_with_priority(key, priority))
    }
}
