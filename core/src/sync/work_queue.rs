use super::guarded::SharedWorkQueue;
use super::{Delays, Get, Lock};
use crate::queue::{
    Added, Discipline, Drained, Lanes, Posted, Priority, QueueMetrics, QueueStats, RateLimiter, WorkQueue,
};
use crate::time::Instant;
use alloc::vec::Vec;
use core::fmt;
use core::hash::Hash;
use core::time::Duration;

impl<K: Hash + Eq, Lk: Lock, L: RateLimiter, D: Discipline<K>> SharedWorkQueue<K, Lk, L, D> {
    /// See [`WorkQueue::try_add`].
    pub fn add(&self, key: K) -> Added {
        self.dispatch.update(|queue| queue.add(key))
    }

    /// Adds a key without an answer: client-go's `Add`. It costs a producer less than [`add`](Self::add), which waits
    /// until no worker has the queue's lock.
    ///
    /// While all workers are busy, the key waits in front of the lock, each key once and in the order of the calls. A
    /// worker takes such keys into the queue if it has no ready key, and each time that 64 keys were handed out. While
    /// a worker sleeps, this is [`add`](Self::add). A queue with [metrics](WorkQueue::with_metrics) notes when each key
    /// came, and one with [`Lanes`] calls the program: there, this is always `add`.
    ///
    /// Every other call takes the key in first, but for those by which workers give back and get, and for
    /// [`delays`](Self::delays). A key that is ready, delayed, or with a worker while it waits here may come out once
    /// more than by `add`. If its reconcile ends meanwhile, the key counts as added after that end.
    ///
    /// If the key's `Eq` panics, the panic reaches the call that takes the key in. That call does nothing else, and the
    /// key is not added.
    ///
    /// ```
    /// use listwatch_core::sync::{SharedWorkQueue, StdLock};
    ///
    /// let queue = SharedWorkQueue::<u32, StdLock>::default();
    /// [1, 2, 1, 3].into_iter().for_each(|key| queue.post(key));
    /// assert_eq!((queue.len(), queue.stats().merged), (3, 1));
    /// ```
    pub fn post(&self, key: K) {
        self.dispatch.post(Posted::new(key, self.seed));
    }

    /// Whether a key that was [posted](Self::post) has panicked where a call took it in, since the last call of this.
    /// The worker whose call that was can ask for a job again.
    #[doc(hidden)]
    pub fn take_lost_post(&self) -> bool {
        self.dispatch.take_lost_post()
    }

    /// See [`WorkQueue::try_add_after`].
    pub fn add_after(&self, now: Instant, key: K, delay: Duration) -> Added {
        self.dispatch.update(|queue| queue.add_after(now, key, delay))
    }

    /// See [`WorkQueue::try_add_rate_limited`].
    pub fn add_rate_limited(&self, now: Instant, key: K) -> Added {
        self.dispatch.update(|queue| queue.add_rate_limited(now, key))
    }

    /// See [`WorkQueue::try_add_rate_limited_after`].
    pub fn add_rate_limited_after(&self, now: Instant, key: K, least: Duration) -> Added {
        self.dispatch.update(|queue| queue.add_rate_limited_after(now, key, least))
    }

    /// See [`WorkQueue::try_when`].
    pub fn when(&self, now: Instant, key: K) -> Duration {
        self.dispatch.update(|queue| queue.when(now, key))
    }

    /// See [`WorkQueue::forget`].
    pub fn forget(&self, key: &K) {
        self.dispatch.update(|queue| queue.forget(key));
    }

    /// See [`WorkQueue::num_requeues`].
    #[must_use]
    pub fn num_requeues(&self, key: &K) -> u32 {
        self.dispatch.read(|queue| queue.num_requeues(key))
    }

    /// Waits for a key that is ready and hands it out; `None` when the queue is shut down and no key is ready:
    /// client-go's `Get`.
    pub fn get(&self) -> Get<'_, K, Lk, L, D> {
        Get::new(self, None)
    }

    /// Follows the delays. Without a task that polls this, no delayed key becomes ready, and no drain ends.
    pub fn delays(&self) -> Delays<'_, K, Lk, L, D> {
        Delays::new(self)
    }

    /// See [`WorkQueue::note_panic`].
    pub fn note_panic(&self) {
        self.dispatch.update_bare(|queue| queue.note_panic());
    }

    /// See [`WorkQueue::len`].
    #[must_use]
    pub fn len(&self) -> usize {
        self.dispatch.read(|queue| queue.len())
    }

    /// See [`WorkQueue::is_empty`].
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.dispatch.read(|queue| queue.is_empty())
    }

    /// See [`WorkQueue::stats`].
    #[must_use]
    pub fn stats(&self) -> QueueStats {
        self.dispatch.read(|queue| queue.stats())
    }

    /// See [`WorkQueue::metrics`]. Each addition and each job is stamped with the latest `now` that the queue was
    /// given, unless it has a [clock](Self::set_clock).
    #[must_use]
    pub fn metrics(&self, now: Instant) -> Option<QueueMetrics> {
        self.dispatch.read(|queue| queue.metrics(now))
    }

    /// The parked keys; see [`WorkQueue::with_max_retries`].
    #[must_use]
    pub fn parked(&self) -> Vec<K>
    where
        K: Clone,
    {
        self.dispatch.read(|queue| queue.parked().cloned().collect())
    }

    /// See [`WorkQueue::shut_down`]. All waiting tasks are woken.
    pub fn shut_down(&self) {
        self.dispatch.close(WorkQueue::shut_down);
    }

    /// See [`WorkQueue::shut_down_with_drain`]. All waiting tasks are woken. The tasks that follow the delays go on
    /// until the queue is drained or the deadline has passed.
    pub fn shut_down_with_drain(&self, now: Instant, grace: Duration) {
        self.dispatch.close(|queue| queue.shut_down_with_drain(now, grace));
    }

    /// See [`WorkQueue::drained`].
    #[must_use]
    pub fn drained(&self) -> Option<Drained> {
        self.dispatch.read(|queue| queue.drained())
    }

    /// See [`WorkQueue::is_shutting_down`].
    #[must_use]
    pub fn is_shutting_down(&self) -> bool {
        self.dispatch.read(|queue| queue.is_shutting_down())
    }

    /// See [`WorkQueue::is_drained`].
    #[must_use]
    pub fn is_drained(&self) -> bool {
        self.dispatch.read(|queue| queue.is_drained())
    }
}

impl<K: Hash + Eq, Lk: Lock, L: RateLimiter> SharedWorkQueue<K, Lk, L, Lanes<K>> {
    /// See [`WorkQueue::try_add_with_priority`].
    pub fn add_with_priority(&self, key: K, priority: Priority) -> Added {
        self.dispatch.update(|queue| queue.add_with_priority(key, priority))
    }
}

impl<K: Hash + Eq, Lk: Lock, L: RateLimiter + Default, D: Discipline<K> + Default> Default
    for SharedWorkQueue<K, Lk, L, D>
{
    fn default() -> Self {
        Self::new(WorkQueue::default())
    }
}

impl<K, Lk: Lock, L, D: Discipline<K>> fmt::Debug for SharedWorkQueue<K, Lk, L, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedWorkQueue").finish_non_exhaustive()
    }
}

#[cfg(test)]
#[cfg(feature = "std")]
mod tests;
