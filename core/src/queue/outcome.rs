use crate::time::Instant;
use core::time::Duration;

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
