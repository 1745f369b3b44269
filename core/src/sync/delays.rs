use super::{Lock, SharedWorkQueue};
use crate::queue::{Discipline, ExponentialBackoff, Fifo, RateLimiter};
use crate::storage::Slot;
use crate::time::Instant;
use core::fmt;
use core::hash::Hash;
use core::task::Context;

/// A task's place among those that follow a queue's delays: what [`SharedWorkQueue::delays`] returns.
///
/// One task that follows them is enough, and any number can: whoever comes first adds what is due.
pub struct Delays<'a, K: Hash + Eq, Lk: Lock, L: RateLimiter = ExponentialBackoff, D: Discipline<K> = Fifo> {
    queue: &'a SharedWorkQueue<K, Lk, L, D>,
    /// The place among the sleepers.
    place: Option<Slot>,
}

/// Until when a task that follows the delays can sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// Until then, or until it is woken.
    At(Instant),
    /// Until it is woken: nothing is delayed.
    Idle,
    /// For ever: the queue is shut down, and [nothing is left to wait for](crate::queue::WorkQueueIn::drained).
    Closed,
}

impl<'a, K: Hash + Eq, Lk: Lock, L: RateLimiter, D: Discipline<K>> Delays<'a, K, Lk, L, D> {
    pub(super) fn new(queue: &'a SharedWorkQueue<K, Lk, L, D>) -> Self {
        Self { queue, place: None }
    }

    /// Adds what is due at `now`, and lets the task sleep. It is woken when the next delay is to end earlier than it was
    /// told, when nothing is delayed any more, when the queue is shut down, and when that queue is drained.
    ///
    /// It adds all that is due under the queue's lock, in a time that grows with the number of those keys: delays of
    /// different lengths keep a million keys from being due at once.
    #[must_use]
    pub fn poll_due(&mut self, cx: &mut Context<'_>, now: Instant) -> Due {
        self.queue.poll_due(cx.waker(), now, &mut self.place)
    }
}

impl<K: Hash + Eq, Lk: Lock, L: RateLimiter, D: Discipline<K>> Drop for Delays<'_, K, Lk, L, D> {
    fn drop(&mut self) {
        if self.place.is_some() {
            self.queue.leave_delays(&mut self.place);
        }
    }
}

impl<K: Hash + Eq, Lk: Lock, L: RateLimiter, D: Discipline<K>> fmt::Debug for Delays<'_, K, Lk, L, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Delays").field("place", &self.place).finish_non_exhaustive()
    }
}
