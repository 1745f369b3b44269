use super::SharedReconciler;
use super::guard::ReconcileGuard;
use crate::controller::cause::{Cause, Write};
use crate::controller::record::{Ended, WorkItem};
use crate::queue::{ExponentialBackoff, Outcome, RateLimiter};
use crate::sync::Lock;
use crate::sync::dispatch::Waiting;
use alloc::vec::Vec;
use core::fmt;
use core::hash::Hash;
use core::pin::Pin;
use core::task::{Context, Poll};

/// A future that waits for the next key. [`SharedReconciler::next`] returns it.
///
/// It can be dropped at any time. If it was woken, the next worker is woken in its place.
#[must_use = "a future does nothing unless it is polled"]
pub struct NextReconcile<'a, K: Hash + Eq + Clone, Lk: Lock, C = Cause, W = Write, L: RateLimiter = ExponentialBackoff>
{
    reconciler: &'a SharedReconciler<K, Lk, C, W, L>,
    waiting: Waiting<(WorkItem, Outcome, Vec<W>), Ended>,
}

impl<'a, K: Hash + Eq + Clone, Lk: Lock, C, W, L: RateLimiter> NextReconcile<'a, K, Lk, C, W, L> {
    pub(super) fn new(
        reconciler: &'a SharedReconciler<K, Lk, C, W, L>,
        last: Option<(WorkItem, Outcome, Vec<W>)>,
    ) -> Self {
        Self { reconciler, waiting: Waiting::new(last) }
    }

    /// The result of [`finish`](crate::controller::ReconcilerIn::finish), once the first poll has taken back an item.
    #[must_use]
    pub fn ended(&self) -> Option<Ended> {
        self.waiting.finished
    }
}

/// On to the next key.
impl<'a, K: Hash + Eq + Clone, Lk: Lock, C, W, L: RateLimiter> ReconcileGuard<'a, K, Lk, C, W, L> {
    /// Gives the key back as [`finish`](Self::finish) does, and waits for the next key, under one lock.
    ///
    /// The first poll of the future gives the key back, or its drop if it is never polled.
    pub fn finish_and_next(mut self, outcome: Outcome, writes: impl Into<Vec<W>>) -> NextReconcile<'a, K, Lk, C, W, L> {
        let writes = writes.into();
        NextReconcile::new(self.reconciler, self.item.take().map(|item| (item, outcome, writes)))
    }
}

/// Nothing in it is pinned, not even a write.
impl<K: Hash + Eq + Clone, Lk: Lock, C, W, L: RateLimiter> Unpin for NextReconcile<'_, K, Lk, C, W, L> {}

impl<'a, K: Hash + Eq + Clone, Lk: Lock, C, W, L: RateLimiter> Future for NextReconcile<'a, K, Lk, C, W, L> {
    type Output = Option<ReconcileGuard<'a, K, Lk, C, W, L>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let reconciler = self.reconciler;
        reconciler
            .dispatch
            .poll_work(Some(cx.waker()), &mut self.waiting)
            .map(|work| work.map(|work| ReconcileGuard::new(reconciler, work)))
    }
}

impl<K: Hash + Eq + Clone, Lk: Lock, C, W, L: RateLimiter> Drop for NextReconcile<'_, K, Lk, C, W, L> {
    fn drop(&mut self) {
        self.reconciler.dispatch.leave(&mut self.waiting);
    }
}

impl<K: Hash + Eq + Clone, Lk: Lock, C, W, L: RateLimiter> fmt::Debug for NextReconcile<'_, K, Lk, C, W, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NextReconcile").field("place", &self.waiting.place).finish_non_exhaustive()
    }
}

#[cfg(test)]
#[cfg(feature = "std")]
mod tests {
    use super::*;
    use crate::controller::Reconciler;
    use crate::queue::Priority;
    use crate::sync::StdLock;
    use crate::sync::wakers::tests::counting;
    use crate::time::Instant;

    /// The first sleeper's thread computes: it was woken, and does not come.
    #[test]
    fn a_ready_key_waited_for_a_worker_that_was_woken_and_did_not_come() {
        let reconciler = Reconciler::<&str, (), ()>::default();
        let shared = SharedReconciler::<_, StdLock, _, _>::new(reconciler, || Instant::ZERO).waking_all();
        shared.start(None);
        let ((first, busy), (second, idle)) = (counting(), counting());
        let (mut one, mut other) = (shared.next(), shared.next());
        assert!(Pin::new(&mut one).poll(&mut Context::from_waker(&busy)).is_pending());
        assert!(Pin::new(&mut other).poll(&mut Context::from_waker(&idle)).is_pending());
        shared.add("a", Priority::Normal, ());
        assert_eq!((first.count(), second.count()), (1, 1));
        let next = Pin::new(&mut other).poll(&mut Context::from_waker(&idle));
        assert!(matches!(next, Poll::Ready(Some(_))));
    }
}
