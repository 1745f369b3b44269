use super::record::{Phase, Ready, Record};
use super::{Added, Job, QueueStats, RateLimiter};
use crate::storage::{List, Mem, Slot, Table, Timers};
use crate::time::Instant;
use core::fmt;
use core::hash::Hash;
use core::time::Duration;

/// Keys to be worked on: client-go's `workqueue` with its delaying and its rate-limiting layer, as one machine.
///
/// `WorkQueue<K>` is the one on the heap, `FixedWorkQueue<K, N>` the one with room for `N` keys. Only the heap has
/// the methods without `try_`.
///
/// ```text
///            add              poll_job               add
///     idle ──────▶ ready ──────────────▶ running ──────────▶ running, dirty
///      ▲             ▲                     │ done                │ done
///      └─────────────│─────────────────────┘                     │
///                    └───────────────────────────────────────────┘
/// ```
///
/// * A key that is added many times before a worker takes it is handed out once.
/// * A key is never with two workers. One that is added while a worker has it is ready again, behind all others,
///   when that worker is done: no change is missed.
/// * What is ready is handed out first come, first served.
/// * A delayed key is added when its time has come and [`handle_timeout`](Self::handle_timeout) is called. Of two
///   delays the earlier end counts. Adding the key directly does not end its delay, so it comes out again later.
/// * A shut-down queue takes no additions and forgets its delays; what is ready is still handed out.
///
/// A key takes memory while it is ready, running or delayed, and while it has failures that were not
/// [forgotten](Self::forget).
///
/// ```
/// use core::time::Duration;
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
/// // The work failed: it is tried again in 5 ms.
/// queue.add_rate_limited(Instant::ZERO, "team-0/web");
/// queue.done(job);
/// let retry = Instant::ZERO + Duration::from_millis(5);
/// assert_eq!(queue.poll_timeout(), Some(retry));
/// queue.handle_timeout(retry);
/// assert_eq!(queue.len(), 1);
/// ```
pub struct WorkQueueIn<K, L, M: Mem> {
    records: Table<Record<K>, M>,
    ready: List<Ready>,
    delays: Timers<M>,
    limiter: L,
    /// The latest time that was heard of.
    now: Instant,
    /// The number of the job that was handed out last.
    job: u32,
    running: usize,
    /// Those of the running keys that are dirty.
    deferred: usize,
    shutting_down: bool,
    adds: u64,
    merged: u64,
    retries: u64,
}

impl<K: Hash + Eq, L: RateLimiter, M: Mem> WorkQueueIn<K, L, M> {
    /// An empty queue.
    #[must_use]
    pub fn new(limiter: L) -> Self {
        Self::with_seed(limiter, 0)
    }

    /// An empty queue whose hashes depend on `seed`: keys chosen by someone else cannot be made to collide if the seed
    /// is secret. No order depends on it.
    #[must_use]
    pub fn with_seed(limiter: L, seed: u64) -> Self {
        Self {
            records: Table::with_seed(seed),
            ready: List::default(),
            delays: Timers::default(),
            limiter,
            now: Instant::ZERO,
            job: 0,
            running: 0,
            deferred: 0,
            shutting_down: false,
            adds: 0,
            merged: 0,
            retries: 0,
        }
    }

    /// Adds a key: client-go's `Typed.Add`.
    ///
    /// # Errors
    /// A full queue gives back a key that it does not know; nothing changed.
    pub fn try_add(&mut self, key: K) -> Result<Added, M::Full<K>> {
        if self.shutting_down {
            return Ok(Added::Closed);
        }
        let slot = self.try_record(key)?;
        Ok(self.mark(slot))
    }

    /// Adds a key when `delay` is over, at once if that is zero: client-go's `AddAfter`.
    ///
    /// # Errors
    /// A full queue gives back a key that it does not know; nothing changed.
    pub fn try_add_after(&mut self, now: Instant, key: K, delay: Duration) -> Result<Added, M::Full<K>> {
        if self.shutting_down {
            return Ok(Added::Closed);
        }
        let slot = self.try_record(key)?;
        Ok(self.delay(now, slot, delay))
    }

    /// Counts a failure of the key and adds it when the rate limiter says so: client-go's `AddRateLimited`.
    ///
    /// Even a queue that is shutting down counts the failure.
    ///
    /// # Errors
    /// A full queue gives back a key that it does not know; nothing changed.
    pub fn try_add_rate_limited(&mut self, now: Instant, key: K) -> Result<Added, M::Full<K>> {
        let slot = self.try_record(key)?;
        let delay = self.count_failure(now, slot);
        let added = if self.shutting_down { Added::Closed } else { self.delay(now, slot, delay) };
        if matches!(added, Added::Merged | Added::Closed) {
            self.limiter.give_back();
        }
        Ok(added)
    }

    /// Counts a failure of the key and tells how long it should wait, without adding it: the `When` of client-go's
    /// rate limiters.
    ///
    /// # Errors
    /// A full queue gives back a key that it does not know; nothing changed.
    pub fn try_when(&mut self, now: Instant, key: K) -> Result<Duration, M::Full<K>> {
        let slot = self.try_record(key)?;
        Ok(self.count_failure(now, slot))
    }

    /// Sets the key's failures back to none: client-go's `Forget`. A delay of the key goes on.
    pub fn forget(&mut self, key: &K) {
        if let Some(slot) = self.records.find(key) {
            self.records[slot].failures = 0;
            self.remove_if_blank(slot);
        }
    }

    /// How often the key has failed since it was last forgotten: client-go's `NumRequeues`.
    #[must_use]
    pub fn num_requeues(&self, key: &K) -> u32 {
        self.records.find(key).map_or(0, |slot| self.records[slot].failures)
    }

    /// Adds what is due, in the order of the delays' ends; of equal ones, in the order in which they began.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.now = self.now.max(now);
        while let Some(slot) = self.delays.pop_due(&mut self.records, self.now) {
            self.mark(slot);
        }
    }

    /// When the next delay is over. What is ready is not waited for.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.delays.next()
    }

    /// Hands out the key that has been ready longest, if there is one: client-go's `Get`, which would wait.
    #[must_use = "the key stays with its worker until the job is done"]
    pub fn poll_job(&mut self) -> Option<Job> {
        let slot = self.ready.pop_front(&mut self.records)?;
        self.job = self.job.wrapping_add(1);
        self.running += 1;
        self.records[slot].phase = Phase::Running { job: self.job, dirty: false };
        Some(Job { slot, number: self.job })
    }

    /// The job's key.
    ///
    /// # Panics
    /// If the job is another queue's.
    #[must_use]
    pub fn key(&self, job: &Job) -> &K {
        let record = self.records.get(job.slot).filter(|record| record.is_run_by(job));
        &record.expect("a job stays with the queue that it came from").key
    }

    /// Takes a job back: client-go's `Done`. A key that was added since is ready again, behind all others.
    pub fn done(&mut self, job: Job) {
        let slot = job.slot;
        let Some(record) = self.records.get(slot).filter(|record| record.is_run_by(&job)) else { return };
        let deferred = record.is_deferred();
        self.running -= 1;
        self.records[slot].phase = Phase::Idle;
        if deferred {
            self.deferred -= 1;
            self.push(slot);
        } else {
            self.remove_if_blank(slot);
        }
    }

    /// How many keys are ready: client-go's `Len`. Neither delayed nor running ones count.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ready.len()
    }

    /// Whether no key is ready.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ready.is_empty()
    }

    /// The counters.
    #[must_use]
    pub fn stats(&self) -> QueueStats {
        let depth = self.ready.len() + self.deferred;
        QueueStats { depth, adds: self.adds, merged: self.merged, retries: self.retries }
    }

    /// Refuses all further additions and drops what is delayed: client-go's `ShutDown`.
    ///
    /// What is ready, and what was added while a worker had it, is still handed out.
    pub fn shut_down(&mut self) {
        self.shutting_down = true;
        let end_of_time = Instant::from_nanos(u64::MAX);
        while let Some(slot) = self.delays.pop_due(&mut self.records, end_of_time) {
            self.remove_if_blank(slot);
        }
    }

    /// Whether [`shut_down`](Self::shut_down) was called.
    #[must_use]
    pub fn is_shutting_down(&self) -> bool {
        self.shutting_down
    }

    /// Whether the queue is shut down, nothing is ready and no worker has a key, so that nothing will come out again.
    ///
    /// Stricter than client-go's `ShutDownWithDrain`, which does not wait for keys that nobody has taken yet.
    #[must_use]
    pub fn is_drained(&self) -> bool {
        self.shutting_down && self.ready.is_empty() && self.running == 0
    }
}

/// Memory that grows is never full, so here nothing can fail.
#[cfg(feature = "alloc")]
impl<K: Hash + Eq, L: RateLimiter> WorkQueueIn<K, L, crate::storage::Heap> {
    /// See [`try_add`](Self::try_add).
    pub fn add(&mut self, key: K) -> Added {
        crate::storage::never_full(self.try_add(key))
    }

    /// See [`try_add_after`](Self::try_add_after).
    pub fn add_after(&mut self, now: Instant, key: K, delay: Duration) -> Added {
        crate::storage::never_full(self.try_add_after(now, key, delay))
    }

    /// See [`try_add_rate_limited`](Self::try_add_rate_limited).
    pub fn add_rate_limited(&mut self, now: Instant, key: K) -> Added {
        crate::storage::never_full(self.try_add_rate_limited(now, key))
    }

    /// See [`try_when`](Self::try_when).
    pub fn when(&mut self, now: Instant, key: K) -> Duration {
        crate::storage::never_full(self.try_when(now, key))
    }
}

impl<K: Hash + Eq, L: RateLimiter, M: Mem> WorkQueueIn<K, L, M> {
    /// The key's record, a blank one if it had none: the caller leaves a mark in it.
    fn try_record(&mut self, key: K) -> Result<Slot, M::Full<K>> {
        match self.records.find(&key) {
            Some(slot) => Ok(slot),
            None => self.records.try_insert(Record::new(key)).map_err(|full| M::map_full(full, |record| record.key)),
        }
    }

    /// Adds to the dirty set.
    fn mark(&mut self, slot: Slot) -> Added {
        match &mut self.records[slot].phase {
            Phase::Ready | Phase::Running { dirty: true, .. } => {
                self.merged += 1;
                Added::Merged
            }
            Phase::Running { dirty, .. } => {
                *dirty = true;
                self.deferred += 1;
                self.adds += 1;
                Added::Deferred
            }
            Phase::Idle => {
                self.push(slot);
                self.adds += 1;
                Added::Queued
            }
        }
    }

    fn push(&mut self, slot: Slot) {
        self.records[slot].phase = Phase::Ready;
        self.ready.push_back(&mut self.records, slot);
    }

    fn delay(&mut self, now: Instant, slot: Slot, delay: Duration) -> Added {
        self.now = self.now.max(now);
        self.retries += 1;
        if delay.is_zero() {
            return self.mark(slot);
        }
        let due = self.now + delay;
        if let Some(place) = self.records[slot].timer {
            if self.delays.due(place) <= due {
                self.merged += 1;
                return Added::Merged;
            }
            self.delays.disarm(&mut self.records, place);
        }
        self.delays.arm(&mut self.records, slot, due);
        Added::Delayed
    }

    fn count_failure(&mut self, now: Instant, slot: Slot) -> Duration {
        self.now = self.now.max(now);
        let failures = &mut self.records[slot].failures;
        let delay = self.limiter.delay(self.now, *failures);
        *failures = failures.saturating_add(1);
        delay
    }

    fn remove_if_blank(&mut self, slot: Slot) {
        if self.records[slot].is_blank() {
            self.records.remove(slot);
        }
    }
}

impl<K: Hash + Eq, L: RateLimiter + Default, M: Mem> Default for WorkQueueIn<K, L, M> {
    fn default() -> Self {
        Self::new(L::default())
    }
}

impl<K: fmt::Debug, L: fmt::Debug, M: Mem> fmt::Debug for WorkQueueIn<K, L, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkQueue")
            .field("records", &self.records)
            .field("delays", &self.delays)
            .field("limiter", &self.limiter)
            .field("shutting_down", &self.shutting_down)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
#[cfg(all(feature = "alloc", feature = "fixed"))]
mod tests;
