mod additions;
mod closing;
mod finish;
#[cfg(feature = "alloc")]
mod machine;
mod states;

use self::closing::Closing;
#[cfg(feature = "alloc")]
pub(crate) use self::machine::{Machine, Posted};
use super::discipline::Records;
use super::metrics::Stopwatch;
use super::record::{Phase, Then};
use super::{Discipline, Drained, Fifo, Job, QueueMetrics, QueueStats, RateLimiter, WhileDelayed};
use crate::storage::sealed::{Empty, HeapOnly};
#[cfg(feature = "alloc")]
use crate::storage::{Heap, InPlace};
use crate::storage::{Initially, Mem, Timers};
use crate::time::Instant;
use core::fmt;
use core::hash::Hash;

/// A queue of keys for workers: client-go's `workqueue` with its delaying and its rate-limiting layer, as one machine.
///
/// `WorkQueue<K>` lives on the heap, and `FixedWorkQueue<K, N>` has room for `N` keys. Only the heap has the methods
/// without `try_`.
///
/// ```text
///            add              poll_job               add
///     idle ──────▶ ready ──────────────▶ running ──────────▶ running, dirty
///      ▲             ▲                     │ done                │ done
///      └─────────────│─────────────────────┘                     │
///                    └───────────────────────────────────────────┘
/// ```
///
/// * If a key is added many times before a worker takes it, it is handed out once.
/// * A key is never with two workers. If it is added while a worker has it, it is ready again when that worker is done,
///   behind all other keys. So no change is missed.
/// * Ready keys are handed out first come, first served, unless by [`Lanes`](crate::queue::Lanes).
/// * A delayed key is added when its time has come and [`handle_timeout`](Self::handle_timeout) is called. Of two
///   delays the earlier end counts. If the key is added directly, its delay goes on, and it comes out again later.
/// * [`finish`](Self::finish) gives a key back with the outcome of the work on it.
/// * [`with_while_delayed`](Self::with_while_delayed) changes the rule for delayed keys, and
///   [`with_max_retries`](Self::with_max_retries) the one for keys that keep failing.
/// * A queue that is shut down refuses additions and drops its delays. It still hands out its ready keys.
///
/// A key takes memory while it is ready, running, delayed or parked, and while it has failures that were not
/// [forgotten](Self::forget).
///
/// ```
/// use core::time::Duration;
/// use listwatch_core::queue::{Finished, Outcome};
/// use listwatch_core::{Instant, WorkQueue};
///
/// let mut queue = WorkQueue::<&str>::default();
/// queue.add("team-0/web");
/// queue.add("team-0/web");
///
/// let job = queue.poll_job().unwrap();
/// assert_eq!(*queue.key(&job), "team-0/web");
/// assert!(queue.poll_job().is_none());
///
/// // If the work failed, it is retried in 5 ms.
/// let retry = Instant::ZERO + Duration::from_millis(5);
/// assert_eq!(queue.finish(Instant::ZERO, job, Outcome::Retry), Finished::RetryAt(retry));
/// assert_eq!(queue.poll_timeout(), Some(retry));
/// queue.handle_timeout(retry);
/// assert_eq!(queue.len(), 1);
/// ```
#[doc(alias("workqueue", "NewTypedRateLimitingQueue"))]
#[must_use]
pub struct WorkQueueIn<K, L, M: Mem, D: Discipline<K> = Fifo> {
    records: Records<K, D::Mark, M>,
    discipline: D,
    ready: D::Ready<M>,
    delays: Timers<M>,
    limiter: L,
    /// The latest time that the queue was given.
    now: Instant,
    /// The number of the job that was handed out last.
    job: u32,
    running: usize,
    /// The number of running and held keys that are dirty.
    deferred: usize,
    /// All but the depth.
    stats: QueueStats,
    while_delayed: WhileDelayed,
    max_retries: Initially<{ u32::MAX as u64 }>,
    closing: Closing,
    /// The keys that were dropped, and the additions that were refused, since the queue was shut down.
    left: Drained,
    stopwatch: M::HeapOnly<Option<Stopwatch<M>>>,
}

impl<K: Hash + Eq, L: RateLimiter, M: Mem> WorkQueueIn<K, L, M> {
    /// An empty queue.
    pub const fn new(limiter: L) -> Self {
        Self::with_seed(limiter, 0)
    }

    /// An empty queue whose hashes depend on `seed`. If the seed is secret, an adversary cannot choose keys that
    /// collide. No order depends on it.
    pub const fn with_seed(limiter: L, seed: u64) -> Self {
        Self::with_discipline(limiter, Fifo, seed)
    }
}

impl<K: Hash + Eq, L: RateLimiter, M: Mem, D: Discipline<K>> WorkQueueIn<K, L, M, D> {
    /// An empty queue that hands out its ready keys in the order of `discipline`. `seed` is that of
    /// [`with_seed`](WorkQueueIn::with_seed).
    pub const fn with_discipline(limiter: L, discipline: D, seed: u64) -> Self {
        Self {
            records: Records::<_, _, M>::with_seed(seed),
            discipline,
            ready: <D::Ready<M> as Empty>::EMPTY,
            delays: Timers::EMPTY,
            limiter,
            now: Instant::ZERO,
            job: 0,
            running: 0,
            deferred: 0,
            stats: QueueStats { depth: 0, adds: 0, merged: 0, retries: 0, held: 0, parked: 0, panics: 0 },
            while_delayed: WhileDelayed::RunTwice,
            max_retries: Initially::new(u32::MAX as u64),
            closing: Closing::Open,
            left: Drained { delayed: 0, ready: 0, running: 0, refused: 0 },
            stopwatch: M::HeapOnly::EMPTY,
        }
    }

    /// Chooses the rule for a delayed key that is added. The default is client-go's.
    pub const fn with_while_delayed(mut self, policy: WhileDelayed) -> Self {
        self.set_while_delayed(policy);
        self
    }

    /// As [`with_while_delayed`](Self::with_while_delayed), for a queue in a `static`.
    pub const fn set_while_delayed(&mut self, policy: WhileDelayed) {
        self.while_delayed = policy;
    }

    /// Retries a failing key so many times, and then parks it. The default is no limit, as in client-go's queue.
    ///
    /// A parked key is not retried. When it is added, its failures are forgotten, and it is ready again. With five
    /// retries a key is tried six times, as by client-go's controllers (`if queue.NumRequeues(key) < maxRetries`),
    /// which drop it then. [`Outcome::Transient`](crate::queue::Outcome::Transient) is no failure that counts here.
    ///
    /// ```
    /// use listwatch_core::queue::Added;
    /// use listwatch_core::{Instant, WorkQueue};
    ///
    /// let mut queue = WorkQueue::<&str>::default().with_max_retries(1);
    /// assert_eq!(queue.add_rate_limited(Instant::ZERO, "web"), Added::Delayed);
    /// assert_eq!(queue.add_rate_limited(Instant::ZERO, "web"), Added::Parked);
    /// assert!(queue.parked().eq([&"web"]));
    ///
    /// assert_eq!(queue.add("web"), Added::Queued);
    /// assert_eq!(queue.num_requeues(&"web"), 0);
    /// ```
    pub const fn with_max_retries(mut self, retries: u32) -> Self {
        self.set_max_retries(retries);
        self
    }

    /// As [`with_max_retries`](Self::with_max_retries), for a queue in a `static`.
    pub const fn set_max_retries(&mut self, retries: u32) {
        self.max_retries = Initially::new(retries as u64);
    }

    /// Sets the key's failures back to none: client-go's `Forget`. A delay of the key goes on; it is no longer parked.
    pub fn forget(&mut self, key: &K) {
        if let Some(slot) = self.records.find(key) {
            self.forget_slot(slot);
        }
    }

    /// The number of the key's failures since it was last forgotten: client-go's `NumRequeues`.
    #[doc(alias = "NumRequeues")]
    pub fn num_requeues(&self, key: &K) -> u32 {
        self.records.find(key).map_or(0, |slot| self.records[slot].failures)
    }

    /// Adds the keys whose delay is over, the earliest end first. Equal ends keep the order in which the delays began.
    ///
    /// At the deadline of a [drain](Self::shut_down_with_drain), the ready keys are dropped.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.now = self.now.max(now);
        while let Some(slot) = self.delays.pop_due(&mut self.records, self.now) {
            self.mark(slot);
        }
        if matches!(self.closing, Closing::DrainUntil(deadline) if deadline <= self.now) {
            self.drop_ready();
            self.closing = Closing::Over;
        }
    }

    /// The next time at which a delay ends or a drain has its deadline. Ready keys have no timeout.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        match self.closing {
            Closing::DrainUntil(deadline) if !self.is_drained() => Some(deadline),
            _ => self.delays.next(),
        }
    }

    /// Hands out the key that has been ready longest, if there is one: client-go's `Get`, which would wait.
    #[must_use = "the key stays with its worker until the job is done"]
    pub fn poll_job(&mut self) -> Option<Job> {
        let slot = self.discipline.pop(&mut self.ready, &mut self.records)?;
        self.job = self.job.wrapping_add(1);
        self.running += 1;
        self.records[slot].phase = Phase::Running { job: self.job, then: Then::Rest, is_held: false };
        if let Some(Some(stopwatch)) = self.stopwatch.get_mut() {
            stopwatch.started(slot, self.now);
        }
        Some(Job { slot, number: self.job })
    }

    /// The job's key.
    ///
    /// # Panics
    /// If the job is another queue's.
    pub fn key(&self, job: &Job) -> &K {
        let record = self.records.get(job.slot).filter(|record| record.is_run_by(job));
        &record.expect("a job stays with the queue that it came from").key
    }

    /// Counts a panic of a job that is given back without an outcome.
    /// [`Outcome::Panicked`](crate::queue::Outcome::Panicked) is counted by [`finish`](Self::finish).
    pub fn note_panic(&mut self) {
        self.stats.panics += 1;
    }

    /// The number of ready keys: client-go's `Len`. Delayed and running keys do not count.
    pub fn len(&self) -> usize {
        D::len(&self.ready)
    }

    /// Whether no key is ready.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The counters.
    pub fn stats(&self) -> QueueStats {
        QueueStats { depth: self.len() + self.deferred, ..self.stats }
    }

    /// The times that keys waited and were worked on until `now`; `None` without [`with_metrics`](Self::with_metrics),
    /// which only a queue on the heap has. The cost grows with the number of known keys.
    pub fn metrics(&self, now: Instant) -> Option<QueueMetrics> {
        let Stopwatch { latency, work, .. } = self.stopwatch.get()?.as_ref()?;
        let mut metrics = QueueMetrics { latency: *latency, work: *work, ..QueueMetrics::default() };
        for running in self.running_times(self.now.max(now)) {
            metrics.unfinished = metrics.unfinished.saturating_add(running);
            metrics.longest_running = metrics.longest_running.max(running);
        }
        Some(metrics)
    }

    /// The next change happens at `now`.
    pub(crate) fn note_time(&mut self, now: Instant) {
        self.now = self.now.max(now);
    }

    /// The parked keys, in no particular order; see
    /// [`with_max_retries`](Self::with_max_retries).
    pub fn parked(&self) -> impl Iterator<Item = &K> {
        self.records.iter().filter(|(_, record)| record.is_parked()).map(|(_, record)| &record.key)
    }
}

#[cfg(feature = "alloc")]
impl<K: Hash + Eq, L: RateLimiter, D: Discipline<K>> WorkQueueIn<K, L, Heap, D> {
    /// Measures the times of [`metrics`](Self::metrics). They take memory for each key, so a queue in fixed memory has
    /// [counters](Self::stats) alone.
    ///
    /// A queue reads no clock. It stamps an addition or a job with the latest `now` that it was given. For exact times,
    /// call [`handle_timeout`](Self::handle_timeout) before each.
    ///
    /// ```
    /// use core::time::Duration;
    /// use listwatch_core::{Instant, WorkQueue};
    ///
    /// let mut queue = WorkQueue::<&str>::default().with_metrics();
    /// queue.add("web");
    /// let later = Instant::ZERO + Duration::from_millis(20);
    /// queue.handle_timeout(later);
    /// let job = queue.poll_job().unwrap();
    /// assert_eq!(queue.metrics(later).unwrap().latency.total, Duration::from_millis(20));
    /// # queue.done(job);
    /// ```
    pub fn with_metrics(mut self) -> Self {
        self.stopwatch = InPlace(Some(Stopwatch::default()));
        self
    }
}

impl<K: Hash + Eq, L: RateLimiter + Default, M: Mem, D: Discipline<K> + Default> Default for WorkQueueIn<K, L, M, D> {
    /// A queue with the limiter's default. [`ExponentialBackoff`](crate::queue::ExponentialBackoff) waits from 5 ms to
    /// 1000 s for each key, and has no bucket for all together. client-go's is
    /// [`DefaultControllerRateLimiter`](crate::queue::DefaultControllerRateLimiter), by name.
    fn default() -> Self {
        Self::with_discipline(L::default(), D::default(), 0)
    }
}

summary!(
    impl[K: fmt::Debug, L: fmt::Debug, M: Mem, D: Discipline<K, Mark: fmt::Debug>]
    "WorkQueue" for WorkQueueIn<K, L, M, D>, |it| {
        records: it.records,
        delays: it.delays,
        limiter: it.limiter,
        closing: it.closing,
    }
);

#[cfg(test)]
#[cfg(all(feature = "alloc", feature = "fixed"))]
mod tests;
