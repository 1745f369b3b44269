mod guard;
mod next;
mod timeouts;

pub use guard::ReconcileGuard;
pub use next::NextReconcile;
pub use timeouts::Timeouts;

use super::Reconciler;
use super::cause::{Cause, Write};
use super::lifecycle::{Lifecycle, SourceId};
use super::record::{Ended, HoldId, WorkItem};
use super::report::KeyReport;
use crate::queue::{Added, ExponentialBackoff, Outcome, Posted, Priority, QueueMetrics, QueueStats, RateLimiter};
use crate::sync::Lock;
use crate::sync::dispatch::{Dispatch, Dispense, Machine};
use crate::time::Instant;
use alloc::vec::Vec;
use core::convert::Infallible;
use core::fmt;
use core::hash::Hash;
use core::time::Duration;

/// A [`Reconciler`] for any number of sources and workers, behind a lock of the kind `Lk`.
///
/// Workers wait for the [`next`](Self::next) key, and a task follows the [`timeouts`](Self::timeouts). No executor is
/// named: the futures work on any. Each change has the time of the clock that the constructor takes.
///
/// For each ready key, an addition wakes a sleeping worker, unless one that was woken is yet to come for it, or it wakes
/// [all](Self::waking_all). What runs under the lock, and what happens if it panics, is as for a
/// [`SharedWorkQueue`](crate::sync::SharedWorkQueue). A `Drop` of a cause or of a write runs under the lock too.
///
/// ```
/// use listwatch_core::Instant;
/// use listwatch_core::controller::{Reconciler, SharedReconciler};
/// use listwatch_core::queue::{Outcome, Priority};
/// use listwatch_core::sync::StdLock;
///
/// # fn block_on<F: Future>(future: F) -> F::Output {
/// #     let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
/// #     match std::pin::pin!(future).poll(&mut cx) {
/// #         std::task::Poll::Ready(output) => output,
/// #         std::task::Poll::Pending => unreachable!(),
/// #     }
/// # }
/// let begun = std::time::Instant::now();
/// let now = move || Instant::ZERO + begun.elapsed();
/// let reconciler = SharedReconciler::<u32, StdLock, &str, &str>::new(Reconciler::default(), now);
/// reconciler.start(None);
/// reconciler.add(7, Priority::Normal, "it was created");
/// block_on(async {
///     let reconcile = reconciler.next().await.expect("the controller runs");
///     assert_eq!((*reconcile.key(), reconcile.causes()[0].0), (7, "it was created"));
///     reconcile.finish(Outcome::Done, []);
/// });
/// assert_eq!(reconciler.report().len(), 0);
/// ```
pub struct SharedReconciler<K, Lk: Lock, C = Cause, W = Write, L = ExponentialBackoff> {
    dispatch: Dispatch<Reconciler<K, C, W, L>, Lk>,
}

impl<K: Hash + Eq + Clone, Lk: Lock, C, W, L: RateLimiter> SharedReconciler<K, Lk, C, W, L> {
    /// Shares a reconciler. `now` returns the time; it runs under the lock, and must not come back to the reconciler.
    #[must_use]
    pub fn new(reconciler: Reconciler<K, C, W, L>, now: impl Fn() -> Instant + Send + Sync + 'static) -> Self {
        let dispatch = Dispatch::new(reconciler);
        dispatch.set_clock(now);
        Self { dispatch }
    }

    /// Wakes all sleeping workers when a key is ready, and not one of them after the other. It suits workers on several
    /// threads: a worker that is woken on a thread that computes holds up no key. So that few are woken in vain, let
    /// one worker of each thread wait at a time.
    #[must_use]
    pub fn waking_all(self) -> Self {
        self.dispatch.wake_all_workers();
        self
    }

    /// See [`Reconciler::add`].
    pub fn add(&self, key: K, priority: Priority, cause: C) -> Added {
        self.update(|reconciler, now| reconciler.add(now, key, priority, cause))
    }

    /// Waits for a key that is to be reconciled; `None` once the controller drains.
    pub fn next(&self) -> NextReconcile<'_, K, Lk, C, W, L> {
        NextReconcile::new(self, None)
    }

    /// Follows the timeouts. Without a task that polls this, no delayed key becomes ready, no hold and no drain ends.
    pub fn timeouts(&self) -> Timeouts<'_, K, Lk, C, W, L> {
        Timeouts::new(self)
    }

    /// See [`Reconciler::fulfil`].
    pub fn fulfil(&self, hold: HoldId, write: usize) -> bool {
        self.update(|reconciler, now| reconciler.fulfil(now, hold, write))
    }

    /// See [`Reconciler::is_held`].
    #[must_use]
    pub fn is_held(&self, hold: HoldId) -> bool {
        self.dispatch.read(|reconciler| reconciler.is_held(hold))
    }

    /// See [`Reconciler::jittered`].
    #[must_use]
    pub fn jittered(&self, period: Duration) -> Duration {
        self.update(|reconciler, _| reconciler.jittered(period))
    }

    /// See [`Reconciler::add_source`].
    #[must_use]
    pub fn add_source(&self) -> SourceId {
        self.update(|reconciler, _| reconciler.add_source())
    }

    /// See [`Reconciler::source_synced`].
    pub fn source_synced(&self, source: SourceId) {
        self.update(|reconciler, now| reconciler.source_synced(now, source));
    }

    /// See [`Reconciler::remove_source`].
    pub fn remove_source(&self, source: SourceId) {
        self.update(|reconciler, now| reconciler.remove_source(now, source));
    }

    /// See [`Reconciler::unsynced_sources`].
    #[must_use]
    pub fn unsynced_sources(&self) -> Vec<SourceId> {
        self.dispatch.read(|reconciler| reconciler.unsynced_sources().collect())
    }

    /// See [`Reconciler::start`].
    pub fn start(&self, within: Option<Duration>) {
        self.update(|reconciler, now| reconciler.start(now, within));
    }

    /// See [`Reconciler::poll_period`].
    #[must_use = "the period is not told again"]
    pub fn poll_period(&self) -> bool {
        self.update(|reconciler, _| reconciler.poll_period())
    }

    /// See [`Reconciler::drain`]. All waiting tasks are woken.
    pub fn drain(&self, grace: Duration) {
        self.dispatch.close(|reconciler| reconciler.drain(reconciler.now(), grace));
    }

    /// See [`Reconciler::lifecycle`].
    #[must_use]
    pub fn lifecycle(&self) -> Lifecycle {
        self.dispatch.read(|reconciler| reconciler.lifecycle())
    }

    /// See [`Reconciler::report`].
    #[must_use]
    pub fn report(&self) -> Vec<KeyReport<K>> {
        self.dispatch.read(|reconciler| reconciler.report().map(KeyReport::cloned).collect())
    }

    /// See [`Reconciler::stats`].
    #[must_use]
    pub fn stats(&self) -> QueueStats {
        self.dispatch.read(|reconciler| reconciler.stats())
    }

    /// See [`Reconciler::metrics`].
    #[must_use]
    pub fn metrics(&self, now: Instant) -> Option<QueueMetrics> {
        self.dispatch.read(|reconciler| reconciler.metrics(now))
    }

    /// See [`Reconciler::parked`].
    #[must_use]
    pub fn parked(&self) -> Vec<K> {
        self.dispatch.read(|reconciler| reconciler.parked().cloned().collect())
    }

    fn update<R>(&self, change: impl FnOnce(&mut Reconciler<K, C, W, L>, Instant) -> R) -> R {
        self.dispatch.update(|reconciler| {
            let now = reconciler.now();
            change(reconciler, now)
        })
    }
}

impl<K, Lk: Lock, C, W, L> fmt::Debug for SharedReconciler<K, Lk, C, W, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedReconciler").finish_non_exhaustive()
    }
}

impl<K: Hash + Eq + Clone, C, W, L: RateLimiter> Machine for Reconciler<K, C, W, L> {
    type Last = (WorkItem, Outcome, Vec<W>);
    type Finished = Ended;
    type Stage = Lifecycle;
    type Key = Infallible;

    fn allows_posts(&self) -> bool {
        false
    }

    fn add(&mut self, posted: Posted<Infallible>) {
        match posted.key {}
    }

    fn add_posted(&mut self, _: &mut Vec<Posted<Infallible>>, _: usize) {}

    fn note_merged(&mut self, _: u64) {}

    fn take_back(&mut self, (item, outcome, writes): Self::Last) -> Option<Ended> {
        Some(self.finish(self.now(), item, outcome, writes))
    }

    fn answers(&self) -> usize {
        if self.is_closed() { usize::MAX } else { self.items() }
    }

    fn is_closed(&self) -> bool {
        matches!(self.lifecycle(), Lifecycle::Draining | Lifecycle::Stopped | Lifecycle::NotSynced)
    }

    fn is_over(&self) -> bool {
        matches!(self.lifecycle(), Lifecycle::Stopped | Lifecycle::NotSynced)
    }

    fn stage(&self) -> Lifecycle {
        self.lifecycle()
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.handle_timeout(now);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.poll_timeout()
    }

    fn wants_time(&self) -> bool {
        true
    }

    fn note_time(&mut self, now: Instant) {
        self.note_time(now);
    }
}

impl<K: Hash + Eq + Clone, C, W, L: RateLimiter> Dispense for Reconciler<K, C, W, L> {
    /// With the key and the deadline.
    type Work = (WorkItem, K, Option<Instant>);

    fn take(&mut self) -> Option<Self::Work> {
        let item = self.poll_item(self.now())?;
        let deadline = self.deadline(&item);
        let (key, item) = self.named(item);
        Some((item, key, deadline))
    }

    fn put_back(&mut self, (item, ..): Self::Work) {
        self.put_back(item);
    }
}

#[cfg(test)]
#[cfg(feature = "std")]
mod tests;
