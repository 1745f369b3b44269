use super::{JobGuard, Lock, SharedWorkQueue};
use crate::queue::{Discipline, ExponentialBackoff, Fifo, Job, RateLimiter};
use crate::storage::Slot;
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
    /// What is given back first.
    done: Option<Job>,
    /// The place among the sleeping workers.
    place: Option<Slot>,
}

impl<'a, K: Hash + Eq, Lk: Lock, L: RateLimiter, D: Discipline<K>> Get<'a, K, Lk, L, D> {
    pub(super) fn new(queue: &'a SharedWorkQueue<K, Lk, L, D>, done: Option<Job>) -> Self {
        Self { queue, done, place: None }
    }
}

impl<'a, K: Hash + Eq + Clone, Lk: Lock, L: RateLimiter, D: Discipline<K>> Future for Get<'a, K, Lk, L, D> {
    type Output = Option<JobGuard<'a, K, Lk, L, D>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let done = self.done.take();
        self.queue.poll_get(cx.waker(), done, &mut self.place)
    }
}

impl<K: Hash + Eq, Lk: Lock, L: RateLimiter, D: Discipline<K>> Drop for Get<'_, K, Lk, L, D> {
    fn drop(&mut self) {
        if self.done.is_some() || self.place.is_some() {
            self.queue.leave(self.done.take(), &mut self.place);
        }
    }
}

impl<K: Hash + Eq, Lk: Lock, L: RateLimiter, D: Discipline<K>> fmt::Debug for Get<'_, K, Lk, L, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Get").field("place", &self.place).finish_non_exhaustive()
    }
}
