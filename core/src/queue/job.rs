//! What a worker holds and gives back, and what becomes of its key.

use crate::storage::Slot;
use crate::time::Instant;
use core::time::Duration;

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

/// The result of the work on a key, an argument of [`finish`](crate::queue::WorkQueueIn::finish). controller-runtime
/// has a `Result` and an `error` instead.
///
/// With the feature `json`, `Outcome::from(&api_error)` is the outcome of a request that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Outcome {
    /// The work succeeded. Earlier failures of the key are forgotten: client-go's `Forget`.
    #[doc(alias("await_change", "Forget"))]
    Done,
    /// The work failed. The key is retried after the rate limiter's delay: client-go's `AddRateLimited`. The retries go
    /// on for ever, unless [`with_max_retries`](crate::queue::WorkQueueIn::with_max_retries) sets a limit.
    #[doc(alias = "AddRateLimited")]
    Retry,
    /// The work failed, and the server requests a delay. The key is retried after the longer of this time and the rate
    /// limiter's delay.
    RetryAfter(Duration),
    /// The work failed for a reason that does not lie in the key: the server is unreachable or overloaded, or the object
    /// changed meanwhile. The key is retried as after [`RetryAfter`](Self::RetryAfter), but the failure does not count
    /// towards [`with_max_retries`](crate::queue::WorkQueueIn::with_max_retries).
    #[doc(alias("Unavailable", "Conflict"))]
    Transient(Duration),
    /// The work failed, and no retry can help. The key is parked until it is added again: controller-runtime's
    /// `TerminalError`.
    #[doc(alias = "TerminalError")]
    Terminal,
    /// The work succeeded, and is repeated after this time: controller-runtime's `Result.RequeueAfter`. Earlier
    /// failures are forgotten.
    #[doc(alias("Requeue", "requeue_after", "resync"))]
    RequeueAfter(Duration),
    /// The work panicked. The panic is [counted](crate::queue::QueueStats::panics), and the key is retried as after
    /// [`Retry`](Self::Retry): controller-runtime's `RecoverPanic`.
    Panicked,
}

/// When a key is next handed out, after its worker has [finished](crate::queue::WorkQueueIn::finish).
///
/// The queue has acted already, so a caller that logs nothing can ignore the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Finished {
    /// Not until it is added again.
    Done,
    /// As soon as a worker takes it: it was added while the worker had it, or its delay is zero.
    Queued,
    /// When this time has come, or earlier if it is added before.
    RetryAt(Instant),
    /// Not until it changes. It has failed more often than
    /// [`with_max_retries`](crate::queue::WorkQueueIn::with_max_retries) allows, or its failure is
    /// [terminal](Outcome::Terminal).
    GaveUp,
    /// Never: the queue is shutting down and refused the retry.
    Closed,
    /// The job belongs to another queue, so that nothing changed. A queue cannot always detect this.
    Ignored,
}
