use super::wakers::Wakers;
use super::{Get, JobGuard, Lock, Shared};
use crate::queue::{
    Added, Discipline, Drained, ExponentialBackoff, Fifo, Job, Lanes, Priority, QueueMetrics, QueueStats, RateLimiter,
    WorkQueue,
};
use crate::storage::Slot;
use crate::time::Instant;
use alloc::vec::Vec;
use core::fmt;
use core::hash::Hash;
use core::task::{Context, Poll, Waker};
use core::time::Duration;

/// A [`WorkQueue`] for any number of workers, behind a lock of the kind `Lk`.
///
/// Workers [`get`](Self::get) keys, and one task follows the delays with [`poll_due`](Self::poll_due). No executor is
/// named: the futures work on any, and the caller shares the queue in an `Arc` or by reference.
///
/// As long as a key is ready and a worker sleeps, one worker has been woken: an addition wakes one, who wakes the next
/// if there is more. So a burst of additions costs one wake-up, and no key waits for an addition that never comes. A
/// [`Get`] that was woken must be polled or dropped; until then it holds the others up.
///
/// ```
/// use listwatch_core::{SharedWorkQueue, StdLock};
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
///         queue.forget(job.key());
///     }
/// });
/// assert!(queue.is_drained());
/// ```
pub struct SharedWorkQueue<K, Lk: Lock, L = ExponentialBackoff, D: Discipline<K> = Fifo> {
    state: Shared<State<K, L, D>, Lk>,
}

struct State<K, L, D: Discipline<K>> {
    queue: WorkQueue<K, L, D>,
    workers: Wakers,
    timer: Option<Waker>,
}

/// Until when the task that follows the delays can sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// Until then, or until it is woken.
    At(Instant),
    /// Until it is woken: nothing is delayed.
    Idle,
    /// The queue is shut down: nothing will be due again.
    Closed,
}

impl<K: Hash + Eq, Lk: Lock, L: RateLimiter, D: Discipline<K>> SharedWorkQueue<K, Lk, L, D> {
    /// Shares a queue.
    #[must_use]
    pub fn new(queue: WorkQueue<K, L, D>) -> Self {
        Self { state: Shared::new(State { queue, workers: Wakers::default(), timer: None }) }
    }

    /// See [`WorkQueue::try_add`].
    pub fn add(&self, key: K) -> Added {
        self.update(|state| state.queue.add(key))
    }

    /// See [`WorkQueue::try_add_after`].
    pub fn add_after(&self, now: Instant, key: K, delay: Duration) -> Added {
        self.update(|state| state.queue.add_after(now, key, delay))
    }

    /// See [`WorkQueue::try_add_rate_limited`].
    pub fn add_rate_limited(&self, now: Instant, key: K) -> Added {
        self.update(|state| state.queue.add_rate_limited(now, key))
    }

    /// See [`WorkQueue::try_add_rate_limited_after`].
    pub fn add_rate_limited_after(&self, now: Instant, key: K, least: Duration) -> Added {
        self.update(|state| state.queue.add_rate_limited_after(now, key, least))
    }

    /// See [`WorkQueue::try_when`].
    pub fn when(&self, now: Instant, key: K) -> Duration {
        self.update(|state| state.queue.when(now, key))
    }

    /// See [`WorkQueue::forget`].
    pub fn forget(&self, key: &K) {
        self.update(|state| state.queue.forget(key));
    }

    /// See [`WorkQueue::num_requeues`].
    #[must_use]
    pub fn num_requeues(&self, key: &K) -> u32 {
        self.state.read(|state| state.queue.num_requeues(key))
    }

    /// Waits for a key that is ready and hands it out; `None` when the queue is shut down and no key is ready:
    /// client-go's `Get`.
    pub fn get(&self) -> Get<'_, K, Lk, L, D> {
        Get::new(self, None)
    }

    /// Adds what is due at `now`, and lets the one task that follows the delays sleep.
    ///
    /// It is woken when the next delay is to end earlier than it was told, and when the queue is shut down. The last
    /// task that asked is the one.
    #[must_use]
    pub fn poll_due(&self, cx: &mut Context<'_>, now: Instant) -> Due {
        let waker = cx.waker().clone();
        let (due, _last) = self.update(|state| {
            state.queue.handle_timeout(now);
            match state.queue.poll_timeout() {
                Some(at) => (Due::At(at), state.timer.replace(waker)),
                None if state.queue.is_shutting_down() => (Due::Closed, state.timer.take()),
                None => (Due::Idle, state.timer.replace(waker)),
            }
        });
        due
    }

    /// See [`WorkQueue::len`].
    #[must_use]
    pub fn len(&self) -> usize {
        self.state.read(|state| state.queue.len())
    }

    /// See [`WorkQueue::is_empty`].
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.state.read(|state| state.queue.is_empty())
    }

    /// See [`WorkQueue::stats`].
    #[must_use]
    pub fn stats(&self) -> QueueStats {
        self.state.read(|state| state.queue.stats())
    }

    /// See [`WorkQueue::metrics`]. An addition or a job happens when the delays were last followed, at the latest.
    #[must_use]
    pub fn metrics(&self, now: Instant) -> Option<QueueMetrics> {
        self.state.read(|state| state.queue.metrics(now))
    }

    /// The keys that have failed too often; see [`WorkQueue::with_max_retries`].
    #[must_use]
    pub fn parked(&self) -> Vec<K>
    where
        K: Clone,
    {
        self.state.read(|state| state.queue.parked().cloned().collect())
    }

    /// See [`WorkQueue::shut_down`]. Everyone who waits is woken.
    pub fn shut_down(&self) {
        self.close(WorkQueue::shut_down);
    }

    /// See [`WorkQueue::shut_down_with_drain`]. Everyone who waits is woken; the task that follows the delays goes on
    /// until the queue is drained or the deadline is over.
    pub fn shut_down_with_drain(&self, now: Instant, grace: Duration) {
        self.close(|queue| queue.shut_down_with_drain(now, grace));
    }

    /// See [`WorkQueue::drained`].
    #[must_use]
    pub fn drained(&self) -> Option<Drained> {
        self.state.read(|state| state.queue.drained())
    }

    /// See [`WorkQueue::is_shutting_down`].
    #[must_use]
    pub fn is_shutting_down(&self) -> bool {
        self.state.read(|state| state.queue.is_shutting_down())
    }

    /// See [`WorkQueue::is_drained`].
    #[must_use]
    pub fn is_drained(&self) -> bool {
        self.state.read(|state| state.queue.is_drained())
    }

    /// Takes `done` back and hands out a key, or lets the worker that keeps `place` sleep.
    pub(super) fn poll_get(
        &self,
        waker: &Waker,
        done: Option<Job>,
        place: &mut Option<Slot>,
    ) -> Poll<Option<JobGuard<'_, K, Lk, L, D>>>
    where
        K: Clone,
    {
        let (answer, _waker) = self.update(|state| {
            done.into_iter().for_each(|job| state.queue.done(job));
            match state.queue.poll_job() {
                Some(job) => {
                    let key = state.queue.key(&job).clone();
                    (Poll::Ready(Some((key, job))), state.workers.remove(place))
                }
                None if state.queue.is_shutting_down() => (Poll::Ready(None), state.workers.remove(place)),
                None => (Poll::Pending, state.workers.register(place, waker)),
            }
        });
        answer.map(|answer| answer.map(|(key, job)| JobGuard::new(self, key, job)))
    }

    /// Takes `done` back, and no longer counts on the worker that keeps `place`.
    pub(super) fn leave(&self, done: Option<Job>, place: &mut Option<Slot>) {
        let _waker = self.update(|state| {
            done.into_iter().for_each(|job| state.queue.done(job));
            state.workers.remove(place)
        });
    }

    fn close(&self, close: impl FnOnce(&mut WorkQueue<K, L, D>)) {
        let timer = self.state.with(|state| {
            close(&mut state.queue);
            state.timer.take()
        });
        timer.into_iter().for_each(Waker::wake);
        while let Some(worker) = self.state.with(|state| state.workers.take_one()) {
            worker.wake();
        }
    }

    /// Changes the queue under the lock, and wakes after it whom the change concerns.
    fn update<R>(&self, change: impl FnOnce(&mut State<K, L, D>) -> R) -> R {
        let (answer, worker, timer) = self.state.with(|state| {
            let deadline = state.queue.poll_timeout();
            let answer = change(state);
            (answer, state.next_worker(), state.timer_if_before(deadline))
        });
        worker.into_iter().chain(timer).for_each(Waker::wake);
        answer
    }
}

impl<K: Hash + Eq, Lk: Lock, L: RateLimiter> SharedWorkQueue<K, Lk, L, Lanes<K>> {
    /// See [`WorkQueue::try_add_with_priority`].
    pub fn add_with_priority(&self, key: K, priority: Priority) -> Added {
        self.update(|state| state.queue.add_with_priority(key, priority))
    }
}

impl<K: Hash + Eq, L: RateLimiter, D: Discipline<K>> State<K, L, D> {
    /// Whom to wake for what is ready: nobody while another wake-up is under way.
    fn next_worker(&mut self) -> Option<Waker> {
        if self.queue.is_empty() || self.workers.is_waking() { None } else { self.workers.take_one() }
    }

    /// The waker of the task that follows the delays, if it would sleep too long by having been told `deadline`.
    fn timer_if_before(&mut self, deadline: Option<Instant>) -> Option<Waker> {
        let Some(next) = self.queue.poll_timeout() else {
            return if self.queue.is_shutting_down() { self.timer.take() } else { None };
        };
        if deadline.is_none_or(|deadline| next < deadline) { self.timer.take() } else { None }
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
