use super::{JobGuard, Lock, SharedWorkQueue};
use crate::queue::{Discipline, ExponentialBackoff, Fifo, Finished, Job, Outcome, RateLimiter};
use crate::storage::Slot;
use crate::time::Instant;
use core::fmt;
use core::hash::Hash;
use core::pin::Pin;
use core::task::{Context, Poll};

/// Waits for a key that is ready: what [`SharedWorkQueue::get`] returns.
///
/// It can be dropped at any time: a wake-up that it got goes to the next worker.
#[must_use = "a future does nothing unless it is polled"]
pub struct Get<'a, K: Hash + Eq, Lk: Lock, L: RateLimiter = ExponentialBackoff, D: Discipline<K> = Fifo> {
    queue: &'a SharedWorkQueue<K, Lk, L, D>,
    /// The job that is given back first.
    last: Option<LastJob>,
    finished: Option<Finished>,
    /// The place among the sleeping workers.
    place: Option<Slot>,
}

/// A job that its worker gives back.
#[derive(Debug)]
pub(super) struct LastJob {
    pub(super) job: Job,
    /// The outcome, and when the work ended; `None` if the work was given up.
    pub(super) outcome: Option<(Instant, Outcome)>,
}

impl<'a, K: Hash + Eq, Lk: Lock, L: RateLimiter, D: Discipline<K>> Get<'a, K, Lk, L, D> {
    pub(super) fn new(queue: &'a SharedWorkQueue<K, Lk, L, D>, last: Option<LastJob>) -> Self {
        Self { queue, last, finished: None, place: None }
    }

    /// The answer of [`finish`](crate::queue::WorkQueueIn::finish), once the first poll has taken back a job with its
    /// [outcome](JobGuard::finish_and_get).
    ///
    /// After a poll that panicked, this tells whether the panic came before that, from the rate limiter for example.
    #[must_use]
    pub fn finished(&self) -> Option<Finished> {
        self.finished
    }
}

impl<'a, K: Hash + Eq + Clone, Lk: Lock, L: RateLimiter, D: Discipline<K>> Future for Get<'a, K, Lk, L, D> {
    type Output = Option<JobGuard<'a, K, Lk, L, D>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        this.queue.poll_get(cx.waker(), this.last.take(), &mut this.finished, &mut this.place)
    }
}

impl<K: Hash + Eq, Lk: Lock, L: RateLimiter, D: Discipline<K>> Drop for Get<'_, K, Lk, L, D> {
    fn drop(&mut self) {
        if self.last.is_some() || self.place.is_some() {
            self.queue.leave(self.last.take(), &mut self.place);
        }
    }
}

impl<K: Hash + Eq, Lk: Lock, L: RateLimiter, D: Discipline<K>> fmt::Debug for Get<'_, K, Lk, L, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Get").field("place", &self.place).finish_non_exhaustive()
    }
}
