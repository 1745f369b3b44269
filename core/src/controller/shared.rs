use super::Reconciler;
use super::cause::{Cause, Write};
use super::lifecycle::Lifecycle;
use super::record::{Ended, WorkItem};
use super::report::KeyReport;
use crate::queue::{Added, ExponentialBackoff, Finished, Machine, Outcome, Posted, Priority, RateLimiter};
use crate::sync::Lock;
use crate::sync::dispatch::Dispatch;
use crate::sync::worker::{Follower, Lent, Shares, Wait};
use crate::time::Instant;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::convert::Infallible;
use core::hash::Hash;
use core::time::Duration;

/// A [`Reconciler`] for any number of sources and workers, behind a lock of the kind `Lk`.
///
/// Workers wait for the [`next`](Self::next) key, and a task follows the [`timeouts`](Self::timeouts). No executor is
/// named: the futures work on any. Each change has the time of the clock that the constructor takes.
///
/// A key that is ready wakes all workers that sleep. Where many share a thread, let one of them wait at a time.
///
/// What runs under the lock is as for a [`SharedWorkQueue`](crate::sync::SharedWorkQueue). A `Drop` of a cause or of a
/// write runs under it too. If such code [panics](crate::sync), the controller has [failed](Lifecycle::Failed).
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
/// reconciler.update(|it, now| it.start(now, None));
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

/// A future that waits for the next key. [`SharedReconciler::next`] returns it.
pub type NextReconcile<'a, K, Lk, C = Cause, W = Write, L = ExponentialBackoff> =
    Wait<'a, SharedReconciler<K, Lk, C, W, L>>;

/// A key that a worker reconciles.
///
/// If the guard is dropped, the reconcile counts as [failed](Outcome::Retry): the key is retried by its rate limit, as
/// controller-runtime does after a panic. The [`JobGuard`](crate::sync::JobGuard) of a queue without a controller gives
/// its key back and retries nothing, as client-go does.
pub type ReconcileGuard<'a, K, Lk, C = Cause, W = Write, L = ExponentialBackoff> =
    Lent<'a, SharedReconciler<K, Lk, C, W, L>>;

/// The place of a task that follows a reconciler's timeouts. [`SharedReconciler::timeouts`] returns it.
pub type Timeouts<'a, K, Lk, C = Cause, W = Write, L = ExponentialBackoff> =
    Follower<'a, SharedReconciler<K, Lk, C, W, L>>;

impl<K: Hash + Eq + Clone, Lk: Lock, C, W, L: RateLimiter> SharedReconciler<K, Lk, C, W, L> {
    /// Shares a reconciler. `now` returns the time; it runs under the lock, and must not come back to the reconciler.
    pub fn new(reconciler: Reconciler<K, C, W, L>, now: impl Fn() -> Instant + Send + Sync + 'static) -> Self {
        let dispatch = Dispatch::new(reconciler);
        dispatch.set_clock(now);
        Self { dispatch }
    }

    /// See [`Reconciler::add`].
    pub fn add(&self, key: K, priority: Priority, cause: C) -> Added {
        self.update(|reconciler, now| reconciler.add(now, key, priority, cause))
    }

    /// Waits for a key that is to be reconciled; `None` once the controller drains.
    pub fn next(&self) -> NextReconcile<'_, K, Lk, C, W, L> {
        Wait::new(self, None)
    }

    /// Follows the timeouts. Without a task that polls this, no delayed key becomes ready, no hold and no drain ends.
    pub fn timeouts(&self) -> Timeouts<'_, K, Lk, C, W, L> {
        Follower::new(self)
    }

    /// See [`Reconciler::drain`]. All waiting tasks are woken.
    pub fn drain(&self, grace: Duration) {
        self.dispatch.close(|reconciler| reconciler.drain(reconciler.now(), grace));
    }

    /// See [`Reconciler::lifecycle`].
    pub fn lifecycle(&self) -> Lifecycle {
        self.dispatch.read(|reconciler| reconciler.lifecycle())
    }

    /// See [`Reconciler::report`].
    pub fn report(&self) -> Vec<KeyReport<K>> {
        self.dispatch.read(|reconciler| reconciler.report().map(KeyReport::cloned).collect())
    }

    /// Reads what else there is of the reconciler, such as its [`stats`](crate::controller::ReconcilerIn::stats), under the
    /// lock.
    pub fn read<R>(&self, read: impl FnOnce(&Reconciler<K, C, W, L>) -> R) -> R {
        self.dispatch.read(read)
    }

    /// Changes the reconciler under the lock, such as by [`fulfil`](crate::controller::ReconcilerIn::fulfil) or
    /// [`start`](crate::controller::ReconcilerIn::start), at the time that `change` gets. The workers that it concerns are
    /// woken after it.
    pub fn update<R>(&self, change: impl FnOnce(&mut Reconciler<K, C, W, L>, Instant) -> R) -> R {
        self.dispatch.update(|reconciler| {
            let now = reconciler.now();
            change(reconciler, now)
        })
    }
}

impl<K: Hash + Eq + Clone, Lk: Lock, C, W, L: RateLimiter> ReconcileGuard<'_, K, Lk, C, W, L> {
    /// The key to reconcile.
    pub fn key(&self) -> &K {
        &self.told.0
    }

    /// See [`deadline`](crate::controller::ReconcilerIn::deadline).
    pub fn deadline(&self) -> Option<Instant> {
        self.told.1
    }

    /// See [`causes`](crate::controller::ReconcilerIn::causes).
    pub fn causes(&self) -> Vec<(C, Instant)>
    where
        C: Clone,
    {
        self.read(|reconciler, item| reconciler.causes(item).map(|(cause, at)| (cause.clone(), at)).collect())
    }

    /// The number of the key's failures since it last succeeded.
    pub fn failures(&self) -> u32 {
        self.shared.dispatch.read(|reconciler| reconciler.failures(self.key()))
    }

    /// See [`dropped_causes`](crate::controller::ReconcilerIn::dropped_causes).
    pub fn dropped_causes(&self) -> u64 {
        self.read(Reconciler::dropped_causes)
    }

    /// See [`late_writes`](crate::controller::ReconcilerIn::late_writes).
    pub fn late_writes(&self) -> Vec<W>
    where
        W: Clone,
    {
        self.read(|reconciler, item| reconciler.late_writes(item).cloned().collect())
    }

    /// Gives the key back with the outcome of its reconcile and the writes to await: see
    /// [`finish`](crate::controller::ReconcilerIn::finish).
    pub fn finish(self, outcome: Outcome, writes: impl Into<Vec<W>>) -> Ended {
        let writes = writes.into();
        self.give_back(|item| (item, outcome, writes)).unwrap_or(Ended::Finished(Finished::Ignored))
    }

    fn read<R: Default>(&self, read: impl FnOnce(&Reconciler<K, C, W, L>, &WorkItem) -> R) -> R {
        let read = |item| self.shared.dispatch.read(|reconciler| read(reconciler, item));
        self.job.as_ref().map(read).unwrap_or_default()
    }
}

impl<K: Hash + Eq + Clone, Lk: Lock, C, W, L: RateLimiter> Shares for SharedReconciler<K, Lk, C, W, L> {
    type Machine = Reconciler<K, C, W, L>;
    type Lock = Lk;

    fn dispatch(&self) -> &Dispatch<Reconciler<K, C, W, L>, Lk> {
        &self.dispatch
    }
}

summary!(impl[K, Lk: Lock, C, W, L] "SharedReconciler" for SharedReconciler<K, Lk, C, W, L>);

impl<K: Hash + Eq + Clone, C, W, L: RateLimiter> Machine for Reconciler<K, C, W, L> {
    type Job = WorkItem;
    /// The key and the deadline.
    type Told = (K, Option<Instant>);
    type Last = (WorkItem, Outcome, Vec<W>);
    type Finished = Ended;
    type Stage = Lifecycle;
    type Key = Infallible;

    fn add(&mut self, posted: Posted<Infallible>) {
        match posted.key {}
    }

    fn add_posted(&mut self, _: &mut VecDeque<Posted<Infallible>>, _: usize) {}

    fn note_merged(&mut self, _: u64) {}

    fn take(&mut self) -> Option<(Self::Told, WorkItem)> {
        let item = self.poll_item(self.now())?;
        Some(((self.key(&item).clone(), self.deadline(&item)), item))
    }

    fn given_up(item: WorkItem) -> Self::Last {
        (item, Outcome::Retry, Vec::new())
    }

    fn take_back(&mut self, (item, outcome, writes): Self::Last) -> Option<Ended> {
        Some(self.finish(self.now(), item, outcome, writes))
    }

    fn has_answer(&self) -> bool {
        self.stage.is_closed() || self.has_item()
    }

    fn is_closed(&self) -> bool {
        self.stage.is_closed()
    }

    fn is_over(&self) -> bool {
        self.stage.is_over()
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

    fn fail(&mut self) {
        self.fail();
    }
}

#[cfg(test)]
#[cfg(feature = "std")]
mod tests;
