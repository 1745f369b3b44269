//! The work queue: client-go's `workqueue`, which hands each key to one worker at a time.
//!
//! [`WorkQueueIn`] is the machine, a [`Discipline`] its order, and a [`RateLimiter`] its retry policy. An [`Outcome`]
//! is the result of the work on a key. [`SharedWorkQueue`](crate::sync::SharedWorkQueue) shares it between tasks.

mod discipline;
mod job;
mod limiter;
mod metrics;
mod outcome;
mod record;
mod work_queue;

pub use discipline::{Discipline, Fifo, Lanes, Priority};
pub use job::{Added, Drained, Job, QueueStats, WhileDelayed};
pub use limiter::{
    DefaultControllerRateLimiter, ExponentialBackoff, FastSlow, MaxOf, MaxWait, RateLimiter, TokenBucket,
};
pub use metrics::{Durations, QueueMetrics};
pub use outcome::{Finished, Outcome};
pub use work_queue::WorkQueueIn;

/// A [`WorkQueueIn`] on the heap, which is never full.
#[cfg(feature = "alloc")]
pub type WorkQueue<K, L = ExponentialBackoff, D = Fifo> = WorkQueueIn<K, L, crate::storage::Heap, D>;

/// A [`WorkQueueIn`] with room for `N` keys in place; nothing is allocated.
///
/// ```
/// use listwatch_core::queue::{Added, FixedWorkQueue};
/// use listwatch_core::storage::Full;
///
/// let mut queue = FixedWorkQueue::<u16, 2>::default();
/// assert_eq!(queue.try_add(1), Ok(Added::Queued));
/// assert_eq!(queue.try_add(2), Ok(Added::Queued));
/// assert_eq!(queue.try_add(3), Err(Full(3)));
/// assert_eq!(queue.try_add(1), Ok(Added::Merged));
///
/// let job = queue.poll_job().unwrap();
/// queue.done(job);
/// assert_eq!(queue.try_add(3), Ok(Added::Queued));
/// ```
#[cfg(feature = "fixed")]
pub type FixedWorkQueue<K, const N: usize, L = ExponentialBackoff, D = Fifo> =
    WorkQueueIn<K, L, crate::storage::Fixed<N>, D>;
