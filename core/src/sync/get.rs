use super::dispatch::Waiting;
use super::guarded::{LastJob, SharedWorkQueue};
use super::{JobGuard, Lock};
use crate::queue::{Discipline, ExponentialBackoff, Fifo, Finished, Outcome, RateLimiter};
use crate::time::Instant;
use core::fmt;
use core::hash::Hash;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};

/// A future that waits for a ready key. [`SharedWorkQueue::get`](crate::sync::SharedWorkQueue::get) returns it.
///
/// It can be dropped at any time. If it was woken, the next worker is woken in its place.
#[must_use = "a future does nothing unless it is polled"]
pub struct Get<'a, K: Hash + Eq, Lk: Lock, L: RateLimiter = ExponentialBackoff, D: Discipline<K> = Fifo> {
    queue: &'a SharedWorkQueue<K, Lk, L, D>,
    waiting: Waiting<LastJob, Finished>,
}

impl<'a, K: Hash + Eq, Lk: Lock, L: RateLimiter, D: Discipline<K>> Get<'a, K, Lk, L, D> {
    pub(super) fn new(queue: &'a SharedWorkQueue<K, Lk, L, D>, last: Option<LastJob>) -> Self {
        Self { queue, waiting: Waiting::new(last) }
    }

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
    pub fn poll_now(&mut self) -> Poll<Option<JobGuard<'a, K, Lk, L, D>>>
    where
        K: Clone,
    {
        self.poll_with(None)
    }

    #[inline]
    fn poll_with(&mut self, waker: Option<&Waker>) -> Poll<Option<JobGuard<'a, K, Lk, L, D>>>
    where
        K: Clone,
    {
        let next = self.queue.dispatch.poll_work(waker, &mut self.waiting);
        next.map(|next| next.map(|(key, job)| JobGuard::new(self.queue, key, job)))
    }

    /// The result of [`finish`](crate::queue::WorkQueueIn::finish), once the first poll has taken back a job with its
    /// [outcome](JobGuard::finish_and_get).
    ///
    /// If a poll panicked, `None` shows that the panic came before that, for example from the rate limiter.
    #[must_use]
    pub fn finished(&self) -> Option<Finished> {
        self.waiting.finished
    }
}

/// On to the next key.
impl<'a, K: Hash + Eq, Lk: Lock, L: RateLimiter, D: Discipline<K>> JobGuard<'a, K, Lk, L, D> {
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

    /// Gives the key back without an outcome and waits for the next key, under one lock.
    pub fn done_and_get(self) -> Get<'a, K, Lk, L, D> {
        self.give_back_and_get(None)
    }

    fn give_back_and_get(mut self, outcome: Option<(Instant, Outcome)>) -> Get<'a, K, Lk, L, D> {
        Get::new(self.queue, self.job.take().map(|job| LastJob { job, outcome }))
    }
}

impl<'a, K: Hash + Eq + Clone, Lk: Lock, L: RateLimiter, D: Discipline<K>> Future for Get<'a, K, Lk, L, D> {
    type Output = Option<JobGuard<'a, K, Lk, L, D>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.poll_with(Some(cx.waker()))
    }
}

impl<K: Hash + Eq, Lk: Lock, L: RateLimiter, D: Discipline<K>> Drop for Get<'_, K, Lk, L, D> {
    fn drop(&mut self) {
        self.queue.dispatch.leave(&mut self.waiting);
    }
}

impl<K: Hash + Eq, Lk: Lock, L: RateLimiter, D: Discipline<K>> fmt::Debug for Get<'_, K, Lk, L, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Get").field("place", &self.waiting.place).finish_non_exhaustive()
    }
}
