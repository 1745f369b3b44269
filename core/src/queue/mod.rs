//! The work queue: client-go's `workqueue`, which hands each key to one worker at a time.
//!
//! [`WorkQueueIn`] is the machine, a [`Discipline`] its order, and a [`RateLimiter`] its retry policy. An [`Outcome`]
//! is the result of the work on a key. [`SharedWorkQueue`](crate::sync::SharedWorkQueue) shares it between tasks.

mod discipline;
mod job;
mod limiter;
mod metrics;
mod record;
mod work_queue;

pub use discipline::{Discipline, Fifo, Lanes, Priority};
pub use job::{Added, Drained, Finished, Job, Outcome, QueueStats, WhileDelayed};
pub use limiter::{
    DefaultControllerRateLimiter, ExponentialBackoff, FastSlow, MaxOf, MaxWait, RateLimiter, TokenBucket,
};
pub use metrics::{Durations, QueueMetrics};
pub use work_queue::WorkQueueIn;
#[cfg(feature = "alloc")]
pub(crate) use work_queue::{Machine, Posted};

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
///
/// It can be a `static` that takes no flash, with the default of each setting. The program sets others when it begins.
/// A limiter without fields has its delays in code:
///
#[cfg_attr(feature = "critical-section", doc = "```")]
#[cfg_attr(not(feature = "critical-section"), doc = "```ignore")]
/// use core::time::Duration;
/// use listwatch_core::Instant;
/// use listwatch_core::queue::{ExponentialBackoff, FixedWorkQueue, RateLimiter};
/// use listwatch_core::sync::{CriticalSectionLock, Shared};
///
/// struct Patient;
///
/// impl RateLimiter for Patient {
///     fn delay(&mut self, now: Instant, failures: u32) -> Duration {
///         ExponentialBackoff::new(Duration::from_secs(1), Duration::from_secs(300)).delay(now, failures)
///     }
/// }
///
/// static QUEUE: Shared<FixedWorkQueue<u16, 128, Patient>, CriticalSectionLock> =
///     Shared::<_, CriticalSectionLock>::const_new(FixedWorkQueue::new(Patient));
///
/// QUEUE.with(|queue| queue.set_max_retries(5));
/// QUEUE.with(|queue| queue.try_add(7)).unwrap();
/// assert_eq!(QUEUE.read(|queue| queue.len()), 1);
/// ```
#[cfg(feature = "fixed")]
pub type FixedWorkQueue<K, const N: usize, L = ExponentialBackoff, D = Fifo> =
    WorkQueueIn<K, L, crate::storage::Fixed<N>, D>;
