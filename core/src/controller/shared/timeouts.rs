use super::SharedReconciler;
use crate::controller::cause::{Cause, Write};
use crate::queue::{ExponentialBackoff, RateLimiter};
use crate::storage::Slot;
use crate::sync::{Due, Lock};
use crate::time::Instant;
use core::fmt;
use core::hash::Hash;
use core::task::Context;

/// The place of a task that follows a reconciler's timeouts. [`SharedReconciler::timeouts`] returns it.
pub struct Timeouts<'a, K: Hash + Eq + Clone, Lk: Lock, C = Cause, W = Write, L: RateLimiter = ExponentialBackoff> {
    reconciler: &'a SharedReconciler<K, Lk, C, W, L>,
    /// The place among the sleepers.
    place: Option<Slot>,
}

impl<'a, K: Hash + Eq + Clone, Lk: Lock, C, W, L: RateLimiter> Timeouts<'a, K, Lk, C, W, L> {
    pub(super) fn new(reconciler: &'a SharedReconciler<K, Lk, C, W, L>) -> Self {
        Self { reconciler, place: None }
    }

    /// Gives the reconciler the time, and registers the task's waker. The task is woken if there is a timeout before the
    /// returned time, and if the [stage](SharedReconciler::lifecycle) changes.
    #[must_use]
    pub fn poll_due(&mut self, cx: &mut Context<'_>, now: Instant) -> Due {
        self.reconciler.dispatch.poll_due(cx.waker(), now, &mut self.place)
    }
}

impl<K: Hash + Eq + Clone, Lk: Lock, C, W, L: RateLimiter> Drop for Timeouts<'_, K, Lk, C, W, L> {
    fn drop(&mut self) {
        self.reconciler.dispatch.leave_timeouts(&mut self.place);
    }
}

impl<K: Hash + Eq + Clone, Lk: Lock, C, W, L: RateLimiter> fmt::Debug for Timeouts<'_, K, Lk, C, W, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Timeouts").field("place", &self.place).finish_non_exhaustive()
    }
}
