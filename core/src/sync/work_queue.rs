use super::Lock;
use super::dispatch::Dispatch;
use super::worker::{Follower, Lent, Shares, Wait};
use crate::queue::{
    Added, Discipline, Drained, ExponentialBackoff, Fifo, Finished, Outcome, Posted, QueueMetrics, QueueStats,
    RateLimiter, WorkQueue,
};
use crate::time::Instant;
use core::hash::Hash;
use core::task::Poll;
use core::time::Duration;

/// A [`WorkQueue`] for any number of workers, behind a lock of the kind `Lk`.
///
/// Workers [`get`](Self::get) keys, and a task follows the [`delays`](Self::delays). The futures work on any executor.
/// The caller shares the queue in an `Arc` or by reference.
///
/// A key that is ready wakes all workers that sleep: the thread of one may compute, and another one comes then. Where
/// many share a thread, let one of them wait at a time. The others [look](Get::poll_now).
///
/// The key's `Hash`, `Eq`, `Clone` and `Drop`, the group function and the rate limiter run under the lock. They must not
/// call the queue, and not [panic](crate::sync): a queue in which one of them panicked [has failed](Self::has_failed).
/// Wakers are called after the lock is released.
///
/// ```
/// use listwatch_core::Instant;
/// use listwatch_core::queue::Outcome;
/// use listwatch_core::sync::{SharedWorkQueue, StdLock};
///
/// # fn block_on<F: Future>(future: F) -> F::Output {
/// #     let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
/// #     match std::pin::pin!(future).poll(&mut cx) {
/// #         std::task::Poll::Ready(output) => output,
/// #         std::task::Poll::Pending => unreachable!(),
/// #     }
/// # }
/// let queue = SharedWorkQueue::<u32, StdLock>::default();
/// queue.add(7);
/// queue.shut_down();
/// block_on(async {
///     while let Some(job) = queue.get().await {
///         assert_eq!(*job.key(), 7);
///         job.finish(Instant::ZERO, Outcome::Done);
///     }
/// });
/// assert!(queue.is_drained());
/// ```
///
/// The default limiter is [`ExponentialBackoff`]: from 5 ms to 1000 s for a key, and no bucket for all together. For
/// client-go's, with 10 retries a second, name
/// [`DefaultControllerRateLimiter`](crate::queue::DefaultControllerRateLimiter).
pub struct SharedWorkQueue<K, Lk: Lock, L = ExponentialBackoff, D: Discipline<K> = Fifo> {
    dispatch: Dispatch<WorkQueue<K, L, D>, Lk, K>,
    /// That of the queue's hashes: keys are hashed in front of the lock.
    seed: u64,
}

/// A future that waits for a ready key. [`SharedWorkQueue::get`] returns it.
pub type Get<'a, K, Lk, L = ExponentialBackoff, D = Fifo> = Wait<'a, SharedWorkQueue<K, Lk, L, D>>;

/// A key that a worker holds: client-go's `defer queue.Done(key)`.
///
/// Dropping the guard gives the key back as `done` does, also if the worker panics or is cancelled: the key is not
/// retried, as after client-go's `Done` without `AddRateLimited`. A queue has no clock, so a drop cannot delay a retry. If
/// the work is to be retried, finish the job with an [`Outcome`]. A controller retries instead: its
/// [`ReconcileGuard`](crate::controller::ReconcileGuard) fails when it is dropped.
pub type JobGuard<'a, K, Lk, L = ExponentialBackoff, D = Fifo> = Lent<'a, SharedWorkQueue<K, Lk, L, D>>;

/// The place of a task that follows a queue's delays. [`SharedWorkQueue::delays`] returns it.
pub type Delays<'a, K, Lk, L = ExponentialBackoff, D = Fifo> = Follower<'a, SharedWorkQueue<K, Lk, L, D>>;

impl<K: Hash + Eq + Clone, Lk: Lock, L: RateLimiter, D: Discipline<K>> SharedWorkQueue<K, Lk, L, D> {
    /// Shares a queue.
    pub fn new(queue: WorkQueue<K, L, D>) -> Self {
        let seed = queue.seed();
        Self { dispatch: Dispatch::new(queue), seed }
    }

    /// Stamps each addition and each job with the time that `now` returns, for the [metrics](WorkQueue::with_metrics):
    /// client-go's `WithClock`. A queue without metrics does not call it. `now` runs under the lock, and must not come
    /// back to the queue.
    ///
    /// ```
    /// use core::time::Duration;
    /// use listwatch_core::sync::{SharedWorkQueue, StdLock};
    /// use listwatch_core::{Instant, WorkQueue};
    ///
    /// let begun = std::time::Instant::now();
    /// let now = move || Instant::ZERO + begun.elapsed();
    /// let queue = SharedWorkQueue::<u32, StdLock>::new(WorkQueue::default().with_metrics());
    /// queue.set_clock(now);
    /// queue.add(7);
    /// # assert_eq!(queue.metrics(now()).unwrap().latency.count, 0);
    /// ```
    pub fn set_clock(&self, now: impl Fn() -> Instant + Send + Sync + 'static) {
        self.dispatch.set_clock(now);
    }

    /// Adds a key: client-go's `Add`. See [`WorkQueue::try_add`].
    ///
    /// While all workers are busy and the lock is in demand, the key waits in front of it, each key once and in the order of
    /// the calls. So a producer does not wait for a worker that has the lock. A worker takes such keys into the queue if it has no ready
    /// key, and each time that 64 keys were handed out. If a million keys wait, the call takes all of them in. While a
    /// worker sleeps, the key goes into the queue at once, and so does each key of a queue with
    /// [metrics](WorkQueue::with_metrics).
    ///
    /// Every other call takes the keys in first, but for those by which workers give back and get, and for
    /// [`delays`](Self::delays). A key that is ready, delayed, or with a worker while it waits in front of the lock may
    /// come out once more. If its reconcile ends meanwhile, the key counts as added after that end. So there is no
    /// answer; [`WorkQueue::add`] has one.
    ///
    /// ```
    /// use listwatch_core::sync::{SharedWorkQueue, StdLock};
    ///
    /// let queue = SharedWorkQueue::<u32, StdLock>::default();
    /// [1, 2, 1, 3].into_iter().for_each(|key| queue.add(key));
    /// assert_eq!((queue.len(), queue.stats().merged), (3, 1));
    /// ```
    pub fn add(&self, key: K) {
        self.dispatch.add(Posted::new(key, self.seed));
    }

    /// See [`WorkQueue::try_add_after`].
    pub fn add_after(&self, now: Instant, key: K, delay: Duration) -> Added {
        self.dispatch.update(|queue| queue.add_after(now, key, delay))
    }

    /// See [`WorkQueue::try_add_rate_limited`].
    pub fn add_rate_limited(&self, now: Instant, key: K) -> Added {
        self.dispatch.update(|queue| queue.add_rate_limited(now, key))
    }

    /// See [`WorkQueue::forget`].
    pub fn forget(&self, key: &K) {
        self.dispatch.update(|queue| queue.forget(key));
    }

    /// See [`WorkQueue::num_requeues`].
    pub fn num_requeues(&self, key: &K) -> u32 {
        self.dispatch.read(|queue| queue.num_requeues(key))
    }

    /// Waits for a key that is ready and hands it out; `None` when the queue is shut down and no key is ready:
    /// client-go's `Get`.
    pub fn get(&self) -> Get<'_, K, Lk, L, D> {
        Wait::new(self, None)
    }

    /// Follows the delays. Without a task that polls this, no delayed key becomes ready, and no drain ends.
    pub fn delays(&self) -> Delays<'_, K, Lk, L, D> {
        Follower::new(self)
    }

    /// See [`WorkQueue::note_panic`].
    pub fn note_panic(&self) {
        self.dispatch.update_bare(|queue| queue.note_panic());
    }

    /// See [`WorkQueue::len`].
    pub fn len(&self) -> usize {
        self.dispatch.read(|queue| queue.len())
    }

    /// See [`WorkQueue::is_empty`].
    pub fn is_empty(&self) -> bool {
        self.dispatch.read(|queue| queue.is_empty())
    }

    /// See [`WorkQueue::stats`].
    pub fn stats(&self) -> QueueStats {
        self.dispatch.read(|queue| queue.stats())
    }

    /// See [`WorkQueue::metrics`]. Each addition and each job is stamped with the latest `now` that the queue was
    /// given, unless it has a [clock](Self::set_clock).
    pub fn metrics(&self, now: Instant) -> Option<QueueMetrics> {
        self.dispatch.read(|queue| queue.metrics(now))
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
    pub fn drained(&self) -> Option<Drained> {
        self.dispatch.read(|queue| queue.drained())
    }

    /// See [`WorkQueue::is_drained`].
    pub fn is_drained(&self) -> bool {
        self.dispatch.read(|queue| queue.is_drained())
    }

    /// Reads what else there is of the queue, such as its [parked keys](WorkQueue::parked), under the lock.
    pub fn read<R>(&self, read: impl FnOnce(&WorkQueue<K, L, D>) -> R) -> R {
        self.dispatch.read(read)
    }

    /// Changes the queue under the lock, such as by [`add_with_priority`](WorkQueue::add_with_priority). The tasks that it
    /// concerns are woken after it.
    pub fn update<R>(&self, change: impl FnOnce(&mut WorkQueue<K, L, D>) -> R) -> R {
        self.dispatch.update(change)
    }

    /// Whether the program's code [panicked](crate::sync) in the queue. Its keys are lost, and it is shut down.
    pub fn has_failed(&self) -> bool {
        self.dispatch.read(|queue| queue.has_failed())
    }
}

impl<'a, K: Hash + Eq + Clone, Lk: Lock, L: RateLimiter, D: Discipline<K>> Get<'a, K, Lk, L, D> {
    /// As a poll, without waiting: if no key is ready, the future is woken for none until it is polled.
    ///
    /// ```
    /// use core::task::Poll;
    /// use listwatch_core::sync::{SharedWorkQueue, StdLock};
    ///
    /// let queue = SharedWorkQueue::<u32, StdLock>::default();
    /// let mut get = queue.get();
    /// assert!(get.poll_now().is_pending());
    /// queue.add(7);
    /// assert!(matches!(get.poll_now(), Poll::Ready(Some(job)) if *job.key() == 7));
    /// ```
    #[must_use = "dropping the job gives its key back"]
    pub fn poll_now(&mut self) -> Poll<Option<JobGuard<'a, K, Lk, L, D>>> {
        self.poll_with(None)
    }
}

impl<'a, K: Hash + Eq + Clone, Lk: Lock, L: RateLimiter, D: Discipline<K>> JobGuard<'a, K, Lk, L, D> {
    /// The key to work on.
    pub fn key(&self) -> &K {
        &self.told
    }

    /// Gives the key back with the outcome of the work on it: see
    /// [`WorkQueue::finish`](crate::queue::WorkQueueIn::finish).
    ///
    /// The queue is locked once. A worker that goes on to its next key can have both under one lock:
    /// [`finish_and_get`](Self::finish_and_get).
    pub fn finish(self, now: Instant, outcome: Outcome) -> Finished {
        self.give_back(|job| (job, Some((now, outcome)))).unwrap_or(Finished::Ignored)
    }

    /// Gives the key back without an outcome: client-go's `Done`. Its failures stay, and it is not retried.
    pub fn done(self) {}

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
        self.give_back_and_wait(|job| (job, Some((now, outcome))))
    }

    /// Gives the key back without an outcome and waits for the next key, under one lock.
    pub fn done_and_get(self) -> Get<'a, K, Lk, L, D> {
        self.give_back_and_wait(|job| (job, None))
    }
}

impl<K: Hash + Eq + Clone, Lk: Lock, L: RateLimiter, D: Discipline<K>> Shares for SharedWorkQueue<K, Lk, L, D> {
    type Machine = WorkQueue<K, L, D>;
    type Lock = Lk;

    fn dispatch(&self) -> &Dispatch<WorkQueue<K, L, D>, Lk, K> {
        &self.dispatch
    }
}

impl<K: Hash + Eq + Clone, Lk: Lock, L: RateLimiter + Default, D: Discipline<K> + Default> Default
    for SharedWorkQueue<K, Lk, L, D>
{
    fn default() -> Self {
        Self::new(WorkQueue::default())
    }
}

summary!(impl[K, Lk: Lock, L, D: Discipline<K>] "SharedWorkQueue" for SharedWorkQueue<K, Lk, L, D>);

#[cfg(test)]
#[cfg(feature = "std")]
mod tests;
