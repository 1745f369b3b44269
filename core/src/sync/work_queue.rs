use super::get::LastJob;
use super::on_panic::on_panic;
use super::wakers::{Wakers, wake_each};
use super::{Delays, Due, Get, JobGuard, Lock, Shared};
use crate::queue::{
    Added, Discipline, Drained, ExponentialBackoff, Fifo, Finished, Job, Lanes, Outcome, Priority, QueueMetrics,
    QueueStats, RateLimiter, WorkQueue,
};
use crate::storage::Slot;
use crate::time::Instant;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::cell::Cell;
use core::fmt;
use core::hash::Hash;
use core::task::{Poll, Waker};
use core::time::Duration;

/// A [`WorkQueue`] for any number of workers, behind a lock of the kind `Lk`.
///
/// Workers [`get`](Self::get) keys, and a task follows the [`delays`](Self::delays). No executor is named: the futures
/// work on any, and the caller shares the queue in an `Arc` or by reference.
///
/// As long as a key is ready and a worker sleeps, one worker has been woken: an addition wakes one, which wakes the next
/// if there is more. So a burst of additions costs one wake-up, and no key waits for an addition that never comes. A
/// [`Get`] that was woken must be polled or dropped; until then it holds the others up.
///
/// The key's `Hash`, `Eq`, `Clone` and `Drop`, the group function and the rate limiter run under the lock, and must not
/// come back to the queue. If one of them panics, the call panics with it, and the queue is as before; a job that the call
/// gave back stays so. If a `Drop` panics, that key is gone, and a shut-down that it interrupts counts. Wakers are called when the lock is open; for a worker whose waker panics, another one is woken. If that waker
/// panics too, a second panic begins while the first one unwinds, which ends the process.
///
/// ```
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
///         queue.forget(job.key());
///     }
/// });
/// assert!(queue.is_drained());
/// ```
///
/// The default limiter is [`ExponentialBackoff`]: from 5 ms to 1000 s for a key, and no bucket for all together. For
/// client-go's, with 10 retries a second, name [`DefaultControllerRateLimiter`](crate::queue::DefaultControllerRateLimiter).
pub struct SharedWorkQueue<K, Lk: Lock, L = ExponentialBackoff, D: Discipline<K> = Fifo> {
    state: Shared<State<K, L, D>, Lk>,
}

struct State<K, L, D: Discipline<K>> {
    queue: WorkQueue<K, L, D>,
    workers: Wakers,
    /// Those that follow the delays.
    followers: Wakers,
    clock: Option<Now>,
}

/// Tells the time.
type Now = Box<dyn Fn() -> Instant + Send + Sync>;

impl<K: Hash + Eq, Lk: Lock, L: RateLimiter, D: Discipline<K>> SharedWorkQueue<K, Lk, L, D> {
    /// Shares a queue.
    #[must_use]
    pub fn new(queue: WorkQueue<K, L, D>) -> Self {
        let (workers, followers) = (Wakers::default(), Wakers::default());
        Self { state: Shared::new(State { queue, workers, followers, clock: None }) }
    }

    /// Stamps each addition and each job with the time that `now` tells, for the [metrics](WorkQueue::with_metrics):
    /// client-go's `WithClock`. A queue without metrics does not ask for it. `now` runs under the lock, and must not come
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
        let now: Now = Box::new(now);
        let _last = self.state.with(|state| match state.queue.has_metrics() {
            true => state.clock.replace(now),
            false => None,
        });
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

    /// Follows the delays: without a task that does, nothing that is delayed becomes ready, and no drain ends.
    pub fn delays(&self) -> Delays<'_, K, Lk, L, D> {
        Delays::new(self)
    }

    /// Counts a job that ended by a panic, for the [counters](QueueStats::panics). What becomes of the key is up to the
    /// caller.
    pub fn note_panic(&self) {
        self.update(|state| state.queue.note_panic());
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

    /// See [`WorkQueue::metrics`]. Each addition and each job is stamped with the latest `now` that the queue was given,
    /// unless it has a [clock](Self::set_clock).
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

    /// See [`WorkQueue::shut_down_with_drain`]. Everyone who waits is woken; those who follow the delays go on until the
    /// queue is drained or the deadline is over.
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

    /// See [`JobGuard::finish`].
    pub(super) fn finish(&self, now: Instant, job: Job, outcome: Outcome) -> Finished {
        self.update(|state| state.queue.finish(now, job, outcome))
    }

    /// Takes `last` back and hands out a key, or lets the worker that keeps `place` sleep. If the waker of the next worker
    /// panics, the key is ready again.
    pub(super) fn poll_get(
        &self,
        waker: &Waker,
        last: Option<LastJob>,
        finished: &mut Option<Finished>,
        place: &mut Option<Slot>,
    ) -> Poll<Option<JobGuard<'_, K, Lk, L, D>>>
    where
        K: Clone,
    {
        let ((answer, _waker), worker, concerns_followers) = self.change(|state| {
            if let Some(last) = last {
                *finished = state.take_back(last);
            }
            match state.queue.poll_job() {
                Some(job) => (Poll::Ready(Some(state.queue.named(job))), state.workers.remove(place)),
                None if state.queue.is_shutting_down() => (Poll::Ready(None), state.workers.remove(place)),
                None => (Poll::Pending, state.workers.register(place, waker)),
            }
        });
        let mut answer = answer.map(|answer| answer.map(|(key, job)| JobGuard::new(self, key, job)));
        on_panic(
            || self.wake(worker, concerns_followers),
            || {
                if let Poll::Ready(Some(job)) = &mut answer {
                    job.put_back();
                }
            },
        );
        answer
    }

    /// See [`WorkQueue::put_back`].
    pub(super) fn put_back(&self, job: Job) {
        self.update(|state| state.queue.put_back(job));
    }

    /// Takes `last` back, and no longer counts on the worker that keeps `place`.
    pub(super) fn leave(&self, last: Option<LastJob>, place: &mut Option<Slot>) {
        let _waker = self.update(|state| {
            last.into_iter().for_each(|last| _ = state.take_back(last));
            state.workers.remove(place)
        });
    }

    /// Adds what is due, and lets the follower that keeps `place` sleep.
    pub(super) fn poll_due(&self, waker: &Waker, now: Instant, place: &mut Option<Slot>) -> Due {
        let ((due, _waker), worker) = self.state.with(|state| {
            state.queue.handle_timeout(now);
            let answer = if state.queue.drained().is_some() {
                (Due::Closed, state.followers.remove(place))
            } else {
                let due = state.queue.poll_timeout().map_or(Due::Idle, Due::At);
                (due, state.followers.register(place, waker))
            };
            (answer, state.next_worker())
        });
        // Other followers sleep until the same moment, or look again then.
        self.wake(worker, due == Due::Closed);
        due
    }

    pub(super) fn leave_delays(&self, place: &mut Option<Slot>) {
        let _waker = self.state.with(|state| state.followers.remove(place));
    }

    fn close(&self, close: impl FnOnce(&mut WorkQueue<K, L, D>)) {
        self.with_repair(|state| close(&mut state.queue), || self.wake_everyone());
        self.wake_everyone();
    }

    /// Changes the queue under the lock, and wakes after it whom the change concerns.
    fn update<R>(&self, change: impl FnOnce(&mut State<K, L, D>) -> R) -> R {
        let (answer, worker, concerns_followers) = self.change(change);
        self.wake(worker, concerns_followers);
        answer
    }

    /// Changes the queue under the lock, and tells whom to [wake](Self::wake) after it. A change that panics may have ended
    /// a job before, so then a worker is woken and the followers look again.
    fn change<R>(&self, change: impl FnOnce(&mut State<K, L, D>) -> R) -> (R, Option<(Slot, Waker)>, bool) {
        let change = |state: &mut State<K, L, D>| {
            if let Some(now) = &state.clock {
                state.queue.note_time(now());
            }
            let deadline = state.queue.poll_timeout();
            let answer = change(state);
            (answer, state.next_worker(), state.concerns_followers(deadline))
        };
        self.with_repair(change, || {
            let worker = self.state.with(State::next_worker);
            self.wake(worker, true);
        })
    }

    /// Changes the queue under the lock, and calls `repair` after it if the change panics.
    fn with_repair<R>(&self, change: impl FnOnce(&mut State<K, L, D>) -> R, repair: impl FnOnce()) -> R {
        // A change that comes back to the lock that it is under never begins.
        let has_begun = Cell::new(false);
        let change = |state: &mut State<K, L, D>| {
            has_begun.set(true);
            change(state)
        };
        let repair = || {
            if has_begun.get() {
                repair();
            }
        };
        on_panic(|| self.state.with(change), repair)
    }

    fn wake(&self, worker: Option<(Slot, Waker)>, concerns_followers: bool) {
        let wake_followers = || {
            if concerns_followers {
                self.wake_all(|state| &mut state.followers);
            }
        };
        if let Some((slot, waker)) = worker {
            on_panic(|| self.wake_worker(slot, waker), wake_followers);
        }
        wake_followers();
    }

    /// Wakes a worker; if its waker panics, whoever is next.
    fn wake_worker(&self, slot: Slot, waker: Waker) {
        on_panic(|| waker.wake(), || self.update(|state| state.workers.give_up(slot)));
    }

    fn wake_everyone(&self) {
        on_panic(|| self.wake_all(|state| &mut state.followers), || self.wake_all(|state| &mut state.workers));
        self.wake_all(|state| &mut state.workers);
    }

    /// Wakes all that sleep now; if a waker panics, the others all the same.
    fn wake_all(&self, sleepers: fn(&mut State<K, L, D>) -> &mut Wakers) {
        wake_each(&mut self.state.with(|state| sleepers(state).take_all()).into_iter());
    }
}

impl<K: Hash + Eq, Lk: Lock, L: RateLimiter> SharedWorkQueue<K, Lk, L, Lanes<K>> {
    /// See [`WorkQueue::try_add_with_priority`].
    pub fn add_with_priority(&self, key: K, priority: Priority) -> Added {
        self.update(|state| state.queue.add_with_priority(key, priority))
    }
}

impl<K: Hash + Eq, L: RateLimiter, D: Discipline<K>> State<K, L, D> {
    /// Takes back the job that a worker gives back; the answer if it has an outcome.
    fn take_back(&mut self, last: LastJob) -> Option<Finished> {
        let LastJob { job, outcome } = last;
        match outcome {
            Some((now, outcome)) => Some(self.queue.finish(now, job, outcome)),
            None => {
                self.queue.done(job);
                None
            }
        }
    }

    /// Whom to wake for what is ready: nobody while another wake-up is under way.
    fn next_worker(&mut self) -> Option<(Slot, Waker)> {
        if self.queue.is_empty() || self.workers.is_waking() { None } else { self.workers.take_one() }
    }

    /// Whether tasks that follow the delays, and were told `deadline`, would sleep too long or for nothing.
    fn concerns_followers(&self, deadline: Option<Instant>) -> bool {
        if self.followers.is_empty() {
            return false;
        }
        match self.queue.poll_timeout() {
            Some(next) => deadline.is_none_or(|deadline| next < deadline),
            None => deadline.is_some() || self.queue.drained().is_some(),
        }
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
