use super::Lock;
use super::dispatch::{Dispatch, Dispense, Machine};
use crate::queue::{Discipline, ExponentialBackoff, Fifo, Finished, Job, Outcome, Posted, RateLimiter, WorkQueue};
use crate::time::Instant;
use alloc::vec::Vec;
use core::hash::Hash;

/// A [`WorkQueue`] for any number of workers, behind a lock of the kind `Lk`.
///
/// Workers [`get`](Self::get) keys, and a task follows the [`delays`](Self::delays). No executor is named: the futures
/// work on any, and the caller shares the queue in an `Arc` or by reference.
///
/// For each ready key, an addition wakes a sleeping worker, unless one that was woken is yet to come for it. A
/// [`Get`](super::Get) that was woken must be polled or dropped: if it was woken for the last ready key, that key waits for
/// it. Where a thread may compute, [`wake_all_workers`](Self::wake_all_workers) ends that wait.
///
/// The key's `Hash`, `Eq`, `Clone` and `Drop`, the group function and the rate limiter run under the lock. They must
/// not call the queue. If one of them panics, the call panics with it, and the queue is as before; a job that the call
/// gave back stays so. A [posted](Self::post) key whose `Eq` panics is removed. If a `Drop` panics, that key is removed,
/// and a shutdown that it interrupts takes effect.
///
/// Wakers are called after the lock is released. If a worker's waker panics, another worker is woken. If that waker
/// panics too, a second panic begins while the first one unwinds, which ends the process.
///
/// ```
/// use listwatch_core::Instant;
/// use listwatch_core::queue::Outcome;
/// use listwatch_core::sync::{SharedWorkQueue, StdLock};
///
/// # fn block_on<F: Future>(future: F) -> F::Output {
/// #     let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
/// #     match std::pin::pin!(future).poll(&mut cx) {
/// #         std::task::Poll::Ready(output) => output,
/// #         std::task::Poll::Pending => unreachable!(),
/// #     }
/// # }
/// let queue = SharedWorkQueue::<u32, StdLock>::default();
/// queue.add(7);
/// queue.shut_down();
/// block_on(async {
///     while let Some(job) = queue.get().await {
///         assert_eq!(*job.key(), 7);
///         job.finish(Instant::ZERO, Outcome::Done);
///     }
/// });
/// assert!(queue.is_drained());
/// ```
///
/// The default limiter is [`ExponentialBackoff`]: from 5 ms to 1000 s for a key, and no bucket for all together. For
/// client-go's, with 10 retries a second, name
/// [`DefaultControllerRateLimiter`](crate::queue::DefaultControllerRateLimiter).
pub struct SharedWorkQueue<K, Lk: Lock, L = ExponentialBackoff, D: Discipline<K> = Fifo> {
    pub(super) dispatch: Dispatch<WorkQueue<K, L, D>, Lk, K>,
    /// That of the queue's hashes: posted keys are hashed in front of the lock.
    pub(super) seed: u64,
}

/// A job that its worker gives back.
#[derive(Debug)]
pub(crate) struct LastJob {
    pub(super) job: Job,
    /// The outcome, and when the work ended; `None` if the work was given up.
    pub(super) outcome: Option<(Instant, Outcome)>,
}

impl<K: Hash + Eq, Lk: Lock, L: RateLimiter, D: Discipline<K>> SharedWorkQueue<K, Lk, L, D> {
    /// Shares a queue.
    #[must_use]
    pub fn new(queue: WorkQueue<K, L, D>) -> Self {
        let seed = queue.seed();
        Self { dispatch: Dispatch::new(queue), seed }
    }

    /// Stamps each addition and each job with the time that `now` returns, for the [metrics](WorkQueue::with_metrics):
    /// client-go's `WithClock`. A queue without metrics does not call it. `now` runs under the lock, and must not come
    /// back to the queue.
    ///
    /// ```
    /// use core::time::Duration;
    /// use listwatch_core::sync::{SharedWorkQueue, StdLock};
    /// use listwatch_core::{Instant, WorkQueue};
    ///
    /// let begun = std::time::Instant::now();
    /// let now = move || Instant::ZERO + begun.elapsed();
    /// let queue = SharedWorkQueue::<u32, StdLock>::new(WorkQueue::default().with_metrics());
    /// queue.set_clock(now);
    /// queue.add(7);
    /// # assert_eq!(queue.metrics(now()).unwrap().latency.count, 0);
    /// ```
    pub fn set_clock(&self, now: impl Fn() -> Instant + Send + Sync + 'static) {
        self.dispatch.set_clock(now);
    }

    /// Wakes all sleeping workers when a key is ready, from now on. It suits workers on several threads: a worker that
    /// is woken on a thread that computes holds up no key. So that few are woken in vain, let one worker of each thread
    /// wait at a time: the others [look](super::Get::poll_now).
    pub fn wake_all_workers(&self) {
        self.dispatch.wake_all_workers();
    }
}

impl<K: Hash + Eq, L: RateLimiter, D: Discipline<K>> Machine for WorkQueue<K, L, D> {
    type Last = LastJob;
    type Finished = Finished;
    /// The timeouts tell all that concerns a follower.
    type Stage = ();
    type Key = K;

    fn allows_posts(&self) -> bool {
        !D::RUNS_CODE && !self.has_metrics()
    }

    fn add(&mut self, key: Posted<K>) {
        self.add_hashed(key);
    }

    fn add_posted(&mut self, posted: &mut Vec<Posted<K>>, most: usize) {
        self.add_posted(posted, most);
    }

    fn note_merged(&mut self, merged: u64) {
        self.note_merged(merged);
    }

    fn take_back(&mut self, last: LastJob) -> Option<Finished> {
        let LastJob { job, outcome } = last;
        match outcome {
            Some((now, outcome)) => Some(self.finish(now, job, outcome)),
            None => {
                self.done(job);
                None
            }
        }
    }

    fn answers(&self) -> usize {
        self.len()
    }

    fn is_closed(&self) -> bool {
        self.is_shutting_down()
    }

    fn is_over(&self) -> bool {
        self.drained().is_some()
    }

    fn stage(&self) {}

    fn handle_timeout(&mut self, now: Instant) {
        self.handle_timeout(now);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.poll_timeout()
    }

    fn wants_time(&self) -> bool {
        self.has_metrics()
    }

    fn note_time(&mut self, now: Instant) {
        self.note_time(now);
    }
}

impl<K: Hash + Eq + Clone, L: RateLimiter, D: Discipline<K>> Dispense for WorkQueue<K, L, D> {
    type Work = (K, Job);

    fn take(&mut self) -> Option<(K, Job)> {
        let job = self.poll_job()?;
        Some(self.named(job))
    }

    fn put_back(&mut self, (_key, job): (K, Job)) {
        self.put_back(job);
    }
}
