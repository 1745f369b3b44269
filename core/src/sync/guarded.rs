use super::on_panic::on_panic;
use super::wakers::{Wakers, wake_each};
use super::{Due, Lock, Shared};
use crate::queue::{Discipline, ExponentialBackoff, Fifo, Finished, Job, Outcome, RateLimiter, WorkQueue};
use crate::storage::Slot;
use crate::time::Instant;
use alloc::boxed::Box;
use core::cell::Cell;
use core::hash::Hash;
use core::task::{Poll, Waker};

/// A [`WorkQueue`] for any number of workers, behind a lock of the kind `Lk`.
///
/// Workers [`get`](Self::get) keys, and a task follows the [`delays`](Self::delays). No executor is named: the futures
/// work on any, and the caller shares the queue in an `Arc` or by reference.
///
/// An addition wakes one sleeping worker, which wakes the next one if more keys are ready. So a burst of additions
/// costs one wake-up, and no ready key is left while a worker sleeps. A [`Get`](super::Get) that was woken must be
/// polled or dropped; until then no other worker is woken.
///
/// The key's `Hash`, `Eq`, `Clone` and `Drop`, the group function and the rate limiter run under the lock. They must
/// not call the queue. If one of them panics, the call panics with it, and the queue is as before; a job that the call
/// gave back stays so. If a `Drop` panics, that key is removed, and a shutdown that it interrupts takes effect.
///
/// Wakers are called after the lock is released. If a worker's waker panics, another worker is woken. If that waker
/// panics too, a second panic begins while the first one unwinds, which ends the process.
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
    state: Shared<State<K, L, D>, Lk>,
}

/// A job that its worker gives back.
#[derive(Debug)]
pub(super) struct LastJob {
    pub(super) job: Job,
    /// The outcome, and when the work ended; `None` if the work was given up.
    pub(super) outcome: Option<(Instant, Outcome)>,
}

struct State<K, L, D: Discipline<K>> {
    queue: WorkQueue<K, L, D>,
    workers: Wakers,
    /// Those that follow the delays.
    followers: Wakers,
    clock: Option<Now>,
}

/// Returns the time.
type Now = Box<dyn Fn() -> Instant + Send + Sync>;

impl<K: Hash + Eq, Lk: Lock, L: RateLimiter, D: Discipline<K>> SharedWorkQueue<K, Lk, L, D> {
    /// Shares a queue.
    #[must_use]
    pub fn new(queue: WorkQueue<K, L, D>) -> Self {
        let (workers, followers) = (Wakers::default(), Wakers::default());
        Self { state: Shared::new(State { queue, workers, followers, clock: None }) }
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
        let _last = self.state.with(|state| match state.queue.has_metrics() {
            true => state.clock.replace(Box::new(now)),
            false => None,
        });
    }

    /// See [`WorkQueue::finish`].
    pub(super) fn finish(&self, now: Instant, job: Job, outcome: Outcome) -> Finished {
        self.update(|queue| queue.finish(now, job, outcome))
    }

    /// Takes `last` back and hands out a key, or lets the worker that keeps `place` sleep. If the waker of the next
    /// worker panics, the key is ready again.
    pub(super) fn poll_get(
        &self,
        waker: &Waker,
        last: Option<LastJob>,
        finished: &mut Option<Finished>,
        place: &mut Option<Slot>,
    ) -> Poll<Option<(K, Job)>>
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
        let mut answer = Undelivered { queue: self, answer };
        self.wake(worker, concerns_followers);
        core::mem::replace(&mut answer.answer, Poll::Pending)
    }

    /// See [`WorkQueue::put_back`].
    fn put_back(&self, job: Job) {
        self.update(|queue| queue.put_back(job));
    }

    /// Takes `last` back, and no longer counts on the worker that keeps `place`.
    pub(super) fn leave(&self, last: Option<LastJob>, place: &mut Option<Slot>) {
        let _waker = self.update_state(|state| {
            last.into_iter().for_each(|last| _ = state.take_back(last));
            state.workers.remove(place)
        });
    }

    /// Adds the due keys, and lets the follower that keeps `place` sleep.
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

    pub(super) fn close(&self, close: impl FnOnce(&mut WorkQueue<K, L, D>)) {
        self.with_repair(|state| close(&mut state.queue), || self.wake_everyone());
        self.wake_everyone();
    }

    pub(super) fn read<R>(&self, read: impl FnOnce(&WorkQueue<K, L, D>) -> R) -> R {
        self.state.read(|state| read(&state.queue))
    }

    /// Changes the queue under the lock, and wakes the tasks that the change concerns after it.
    pub(super) fn update<R>(&self, change: impl FnOnce(&mut WorkQueue<K, L, D>) -> R) -> R {
        self.update_state(|state| change(&mut state.queue))
    }

    fn update_state<R>(&self, change: impl FnOnce(&mut State<K, L, D>) -> R) -> R {
        let (answer, worker, concerns_followers) = self.change(change);
        self.wake(worker, concerns_followers);
        answer
    }

    /// Changes the queue under the lock, and returns the wakers to [wake](Self::wake) after it. A change that panics
    /// may have ended a job before, so then a worker is woken and the followers look again.
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

    /// Wakes a worker; if its waker panics, the next worker.
    fn wake_worker(&self, slot: Slot, waker: Waker) {
        on_panic(|| waker.wake(), || self.update_state(|state| state.workers.give_up(slot)));
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

    /// The worker to wake for a ready key: none while another wake-up is under way.
    fn next_worker(&mut self) -> Option<(Slot, Waker)> {
        if self.queue.is_empty() || self.workers.is_waking() { None } else { self.workers.take_one() }
    }

    /// Whether tasks that follow the delays, and sleep until `deadline`, would sleep too long or for nothing.
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

/// A result that its worker has not received yet: if it is dropped, another worker gets the key.
struct Undelivered<'a, K: Hash + Eq, Lk: Lock, L: RateLimiter, D: Discipline<K>> {
    queue: &'a SharedWorkQueue<K, Lk, L, D>,
    answer: Poll<Option<(K, Job)>>,
}

impl<K: Hash + Eq, Lk: Lock, L: RateLimiter, D: Discipline<K>> Drop for Undelivered<'_, K, Lk, L, D> {
    fn drop(&mut self) {
        if let Poll::Ready(Some((_key, job))) = core::mem::replace(&mut self.answer, Poll::Pending) {
            self.queue.put_back(job);
        }
    }
}
