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
/// It belongs to the queue that it came from. Another queue ignores it where it can tell.
#[derive(Debug)]
#[must_use = "the key stays with its worker until the job is done"]
pub struct Job {
    pub(super) slot: Slot,
    pub(super) number: u32,
}

/// What became of an addition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Added {
    /// The key is ready for a worker.
    Queued,
    /// A worker has the key; it is ready again when that job is done.
    Deferred,
    /// The key waits until its delay is over.
    Delayed,
    /// Nothing changed: the key was ready or deferred already, or waits for a moment that counts.
    Merged,
    /// The key has failed too often and waits for a change: see
    /// [`with_max_retries`](crate::queue::WorkQueueIn::with_max_retries).
    Parked,
    /// Nothing changed: the queue is shutting down.
    Closed,
}

/// What an addition does to a key that is delayed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum WhileDelayed {
    /// The key is ready at once, and once more when its delay is over, as in client-go.
    #[default]
    RunTwice,
    /// The key is ready at once, and its delay is cancelled: a change may mend what failed. As in controller-runtime's
    /// priority queue.
    Promote,
    /// A key that backs off, because it was added through the rate limiter, goes on doing so: changes do not make a
    /// failing key busier. Any other delay is handled as by [`RunTwice`](Self::RunTwice).
    KeepWaiting,
}

/// What a drained queue leaves behind, when it is asked.
///
/// The counts are of that moment: [`running`](Self::running) falls, and [`refused`](Self::refused) rises, afterwards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Drained {
    /// Keys that were delayed when the queue was shut down. They were dropped.
    pub delayed: usize,
    /// Keys that were ready, or deferred, at the deadline. They were dropped.
    pub ready: usize,
    /// Keys that are with workers now: more than zero only after the deadline, until each worker is done.
    ///
    /// A worker that drops its reconcile at the deadline is done too, so this is 0 once such workers have ended. Which
    /// reconciles were dropped, the runtime tells: `Workers::join` in `listwatch-runtime-smol`.
    pub running: usize,
    /// Additions that came since the queue was shut down, and were refused.
    pub refused: u64,
}

/// What a queue has counted since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueueStats {
    /// Keys that are ready or deferred now: client-go's `workqueue_depth`, which is more than its `Len`.
    pub depth: usize,
    /// Times that a key became ready or deferred, by its delay's end too: `workqueue_adds_total`.
    pub adds: u64,
    /// Additions, ends of delays among them, that changed nothing: [`Added::Merged`].
    pub merged: u64,
    /// Additions with a delay, the rate limiter's or another: `workqueue_retries_total`.
    pub retries: u64,
    /// Keys that are parked now.
    pub parked: usize,
    /// Jobs that ended by a panic: controller-runtime's `controller_runtime_reconcile_panics_total`.
    pub panics: u64,
}
