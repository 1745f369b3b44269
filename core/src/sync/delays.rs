use super::guarded::SharedWorkQueue;
use super::{Due, Lock};
use crate::queue::{Discipline, ExponentialBackoff, Fifo, RateLimiter};
use crate::storage::Slot;
use crate::time::Instant;
use core::fmt;
use core::hash::Hash;
use core::task::Context;

/// The place of a task that follows a queue's delays. [`SharedWorkQueue::delays`](crate::sync::SharedWorkQueue::delays)
/// returns it.
///
/// One task that follows them is enough. If several do, the first of them adds the keys that are due.
pub struct Delays<'a, K: Hash + Eq, Lk: Lock, L: RateLimiter = ExponentialBackoff, D: Discipline<K> = Fifo> {
    queue: &'a SharedWorkQueue<K, Lk, L, D>,
    /// The place among the sleepers.
    place: Option<Slot>,
}

impl<'a, K: Hash + Eq, Lk: Lock, L: RateLimiter, D: Discipline<K>> Delays<'a, K, Lk, L, D> {
    pub(super) fn new(queue: &'a SharedWorkQueue<K, Lk, L, D>) -> Self {
        Self { queue, place: None }
    }

    /// Adds the keys that are due at `now`, and registers the task's waker. The task is woken if a new delay ends
    /// before the returned time, and if no key is delayed any more. A shutdown and the end of a drain wake it too.
    ///
    /// All due keys are added under the queue's lock, in a time that grows with their number. Delays of different
    /// lengths keep a million keys from being due at once.
    #[must_use]
    pub fn poll_due(&mut self, cx: &mut Context<'_>, now: Instant) -> Due {
        self.queue.dispatch.poll_due(cx.waker(), now, &mut self.place)
    }
}

impl<K: Hash + Eq, Lk: Lock, L: RateLimiter, D: Discipline<K>> Drop for Delays<'_, K, Lk, L, D> {
    fn drop(&mut self) {
        self.queue.dispatch.leave_timeouts(&mut self.place);
    }
}

impl<K: Hash + Eq, Lk: Lock, L: RateLimiter, D: Discipline<K>> fmt::Debug for Delays<'_, K, Lk, L, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Delays").field("place", &self.place).finish_non_exhaustive()
    }
}
