use super::{JobGuard, Lock, SharedWorkQueue};
use crate::queue::{ExponentialBackoff, Job, RateLimiter};
use crate::storage::Slot;
use core::fmt;
use core::hash::Hash;
use core::pin::Pin;
use core::task::{Context, Poll};

/// Waits for a key that is ready: what [`SharedWorkQueue::get`] returns.
///
/// It can be dropped at any time: a wake-up that it got goes to the next worker.
#[must_use = "a future does nothing unless it is polled"]
pub struct Get<'a, K: Hash + Eq, Lk: Lock, L: RateLimiter = ExponentialBackoff> {
    queue: &'a SharedWorkQueue<K, Lk, L>,
    /// What is given back first.
    done: Option<Job>,
    /// The place among the sleeping workers.
    place: Option<Slot>,
}

impl<'a, K: Hash + Eq, Lk: Lock, L: RateLimiter> Get<'a, K, Lk, L> {
    pub(super) fn new(queue: &'a SharedWorkQueue<K, Lk, L>, done: Option<Job>) -> Self {
        Self { queue, done, place: None }
    }
}

impl<'a, K: Hash + Eq + Clone, Lk: Lock, L: RateLimiter> Future for Get<'a, K, Lk, L> {
    type Output = Option<JobGuard<'a, K, Lk, L>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let done = self.done.take();
        self.queue.poll_get(cx.waker(), done, &mut self.place)
    }
}

impl<K: Hash + Eq, Lk: Lock, L: RateLimiter> Drop for Get<'_, K, Lk, L> {
    fn drop(&mut self) {
        if self.done.is_some() || self.place.is_some() {
            self.queue.leave(self.done.take(), &mut self.place);
        }
    }
}

impl<K: Hash + Eq, Lk: Lock, L: RateLimiter> fmt::Debug for Get<'_, K, Lk, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Get").field("place", &self.place).finish_non_exhaustive()
    }
}
