use super::SharedReconciler;
use crate::controller::cause::{Cause, Write};
use crate::controller::record::{Ended, WorkItem};
use crate::queue::{ExponentialBackoff, Finished, Outcome, RateLimiter};
use crate::sync::Lock;
use crate::time::Instant;
use alloc::vec::Vec;
use core::fmt;
use core::hash::Hash;

/// A key that a worker reconciles.
///
/// If the guard is dropped, the reconcile counts as [failed](Outcome::Retry): the key is retried by its rate limit.
#[must_use = "dropping it gives the key back as failed"]
pub struct ReconcileGuard<'a, K: Hash + Eq + Clone, Lk: Lock, C = Cause, W = Write, L: RateLimiter = ExponentialBackoff>
{
    pub(super) reconciler: &'a SharedReconciler<K, Lk, C, W, L>,
    key: K,
    deadline: Option<Instant>,
    /// None once it was given back.
    pub(super) item: Option<WorkItem>,
}

impl<'a, K: Hash + Eq + Clone, Lk: Lock, C, W, L: RateLimiter> ReconcileGuard<'a, K, Lk, C, W, L> {
    pub(super) fn new(
        reconciler: &'a SharedReconciler<K, Lk, C, W, L>,
        (item, key, deadline): (WorkItem, K, Option<Instant>),
    ) -> Self {
        Self { reconciler, key, deadline, item: Some(item) }
    }

    /// The key to reconcile.
    #[must_use]
    pub fn key(&self) -> &K {
        &self.key
    }

    /// See [`deadline`](crate::controller::ReconcilerIn::deadline).
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// See [`causes`](crate::controller::ReconcilerIn::causes).
    #[must_use]
    pub fn causes(&self) -> Vec<(C, Instant)>
    where
        C: Clone,
    {
        let read = |item: &WorkItem| {
            self.reconciler
                .dispatch
                .read(|reconciler| reconciler.causes(item).map(|(cause, at)| (cause.clone(), at)).collect())
        };
        self.item.as_ref().map(read).unwrap_or_default()
    }

    /// The number of the key's failures since it last succeeded.
    #[must_use]
    pub fn failures(&self) -> u32 {
        self.reconciler.dispatch.read(|reconciler| reconciler.failures(&self.key))
    }

    /// See [`dropped_causes`](crate::controller::ReconcilerIn::dropped_causes).
    #[must_use]
    pub fn dropped_causes(&self) -> u64 {
        let read = |item: &WorkItem| self.reconciler.dispatch.read(|reconciler| reconciler.dropped_causes(item));
        self.item.as_ref().map_or(0, read)
    }

    /// See [`late_writes`](crate::controller::ReconcilerIn::late_writes).
    #[must_use]
    pub fn late_writes(&self) -> Vec<W>
    where
        W: Clone,
    {
        let read = |item: &WorkItem| {
            self.reconciler.dispatch.read(|reconciler| reconciler.late_writes(item).cloned().collect())
        };
        self.item.as_ref().map(read).unwrap_or_default()
    }

    /// Gives the key back with the outcome of its reconcile and the writes to await: see
    /// [`finish`](crate::controller::ReconcilerIn::finish).
    pub fn finish(mut self, outcome: Outcome, writes: impl Into<Vec<W>>) -> Ended {
        let writes = writes.into();
        self.give_back(outcome, writes)
    }

    fn give_back(&mut self, outcome: Outcome, writes: Vec<W>) -> Ended {
        let Some(item) = self.item.take() else { return Ended::Finished(Finished::Ignored) };
        self.reconciler.update(|reconciler, now| reconciler.finish(now, item, outcome, writes))
    }
}

impl<K: Hash + Eq + Clone, Lk: Lock, C, W, L: RateLimiter> Drop for ReconcileGuard<'_, K, Lk, C, W, L> {
    fn drop(&mut self) {
        if self.item.is_some() {
            self.give_back(Outcome::Retry, Vec::new());
        }
    }
}

impl<K: Hash + Eq + Clone + fmt::Debug, Lk: Lock, C, W, L: RateLimiter> fmt::Debug
    for ReconcileGuard<'_, K, Lk, C, W, L>
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReconcileGuard").field("key", &self.key).finish_non_exhaustive()
    }
}
