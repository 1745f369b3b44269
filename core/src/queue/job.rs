use crate::storage::Slot;

/// The right to work on one key, until it is given back.
///
/// It cannot be copied, so no key is given back twice:
///
/// ```compile_fail,E0382
/// # use listwatch_core::WorkQueue;
/// # let mut queue = WorkQueue::<u32>::default();
/// # queue.add(7);
/// let job = queue.poll_job().unwrap();
/// queue.done(job);
/// queue.done(job);
/// ```
///
/// It belongs to the queue that it came from. Another queue ignores it, if it can detect that.
#[derive(Debug)]
#[must_use = "the key stays with its worker until the job is done"]
pub struct Job {
    pub(super) slot: Slot,
    pub(super) number: u32,
}

/// The result of an addition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Added {
    /// The key is ready for a worker.
    Queued,
    /// A worker has the key; it is ready again when that job is done.
    Deferred,
    /// The key waits until its delay is over.
    Delayed,
    /// Nothing changed: the key was ready or deferred already, or waits for a moment that counts.
    Merged,
    /// The key has failed too often, and is not retried until it is added: see
    /// [`with_max_retries`](crate::queue::WorkQueueIn::with_max_retries).
    Parked,
    /// Nothing changed: the queue is shutting down.
    Closed,
}

/// The rule for a delayed key that is added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum WhileDelayed {
    /// The key is ready at once, and once more when its delay is over, as in client-go.
    #[default]
    RunTwice,
    /// The key is ready at once, and its delay is cancelled, because the change may repair the failure. As in
    /// controller-runtime's priority queue.
    Promote,
    /// If the rate limiter delays the key, the key waits on, so that changes do not make a failing key busier. Any
    /// other delay is handled as by [`RunTwice`](Self::RunTwice).
    KeepWaiting,
}

/// The keys and additions that a shut-down queue did not hand out.
///
/// The counts are of the moment of the call: [`running`](Self::running) falls, and [`refused`](Self::refused) rises,
/// afterwards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Drained {
    /// Keys that were delayed when the queue was shut down, and were dropped.
    pub delayed: usize,
    /// Keys that were ready, or deferred, at the deadline, and were dropped.
    pub ready: usize,
    /// Keys that are with workers now. It is more than zero only after the deadline, until each worker is done.
    ///
    /// If a worker drops its reconcile at the deadline, it is done too. `Workers::join` of `listwatch`
    /// names the keys of the dropped reconciles.
    pub running: usize,
    /// Additions that were refused since the queue was shut down.
    pub refused: u64,
}

/// The counters of a queue, since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueueStats {
    /// Keys that are ready or deferred now: client-go's `workqueue_depth`, which is more than its `Len`.
    pub depth: usize,
    /// The number of times that a key became ready or deferred, also by the end of its delay: `workqueue_adds_total`.
    pub adds: u64,
    /// Additions, ends of delays among them, that changed nothing: [`Added::Merged`].
    pub merged: u64,
    /// Additions with a delay, the rate limiter's or another: `workqueue_retries_total`.
    pub retries: u64,
    /// Keys whose work is over and that wait for their writes to be seen: see
    /// [`hold`](crate::queue::WorkQueueIn::hold).
    pub held: usize,
    /// Keys that are parked now.
    pub parked: usize,
    /// Panics of jobs: controller-runtime's `controller_runtime_reconcile_panics_total`.
    pub panics: u64,
}
