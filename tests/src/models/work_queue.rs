//! client-go's work queue, transcribed.

use listwatch_core::{Added, QueueStats};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The queue, the delaying queue and the rate limiter as client-go has them: a set for each state and a list for each
/// order. Times are in milliseconds.
#[derive(Debug)]
pub struct WorkQueueModel {
    queue: VecDeque<u8>,
    dirty: BTreeSet<u8>,
    processing: BTreeSet<u8>,
    /// Time, number and key, sorted.
    waiting: Vec<(u64, u64, u8)>,
    failures: BTreeMap<u8, u32>,
    base: u64,
    max: u64,
    shutting_down: bool,
    adds: u64,
    merged: u64,
    retries: u64,
}

impl WorkQueueModel {
    /// An empty queue with an exponential limiter.
    #[must_use]
    pub fn new(base: u64, max: u64) -> Self {
        Self {
            queue: VecDeque::new(),
            dirty: BTreeSet::new(),
            processing: BTreeSet::new(),
            waiting: Vec::new(),
            failures: BTreeMap::new(),
            base,
            max,
            shutting_down: false,
            adds: 0,
            merged: 0,
            retries: 0,
        }
    }

    /// `Typed.Add`.
    pub fn add(&mut self, key: u8) -> Added {
        if self.shutting_down {
            return Added::Closed;
        }
        if self.dirty.contains(&key) {
            self.merged += 1;
            return Added::Merged;
        }
        self.adds += 1;
        self.dirty.insert(key);
        if self.processing.contains(&key) {
            return Added::Deferred;
        }
        self.queue.push_back(key);
        Added::Queued
    }

    /// `delayingType.AddAfter`, and the `insert` of its loop.
    pub fn add_after(&mut self, now: u64, key: u8, delay: u64) -> Added {
        if self.shutting_down {
            return Added::Closed;
        }
        self.retries += 1;
        if delay == 0 {
            return self.add(key);
        }
        let ready_at = now + delay;
        if let Some(known) = self.waiting.iter().position(|entry| entry.2 == key) {
            if self.waiting[known].0 <= ready_at {
                self.merged += 1;
                return Added::Merged;
            }
            self.waiting.remove(known);
        }
        self.waiting.push((ready_at, self.retries, key));
        self.waiting.sort_unstable();
        Added::Delayed
    }

    /// `rateLimitingType.AddRateLimited`.
    pub fn add_rate_limited(&mut self, now: u64, key: u8) -> Added {
        let delay = self.when(key);
        self.add_after(now, key, delay)
    }

    /// `ItemExponentialFailureRateLimiter.When`.
    pub fn when(&mut self, key: u8) -> u64 {
        let failures = self.failures.entry(key).or_insert(0);
        let delay = (self.base as f64 * 2_f64.powi(*failures as i32)).min(self.max as f64) as u64;
        *failures += 1;
        delay
    }

    /// `ItemExponentialFailureRateLimiter.Forget`.
    pub fn forget(&mut self, key: u8) {
        self.failures.remove(&key);
    }

    /// `ItemExponentialFailureRateLimiter.NumRequeues`.
    #[must_use]
    pub fn num_requeues(&self, key: u8) -> u32 {
        self.failures.get(&key).copied().unwrap_or(0)
    }

    /// What `delayingType.waitingLoop` does when the clock has moved.
    pub fn advance(&mut self, now: u64) {
        while let Some((ready_at, _, key)) = self.waiting.first().copied()
            && ready_at <= now
        {
            self.waiting.remove(0);
            self.add(key);
        }
    }

    /// When the first waiting entry is ready.
    #[must_use]
    pub fn next_ready_at(&self) -> Option<u64> {
        self.waiting.first().map(|entry| entry.0)
    }

    /// `Typed.Get`, where it would not block.
    pub fn get(&mut self) -> Option<u8> {
        let key = self.queue.pop_front()?;
        self.processing.insert(key);
        self.dirty.remove(&key);
        Some(key)
    }

    /// `Typed.Done`, of a key that is being processed.
    pub fn done(&mut self, key: u8) {
        self.processing.remove(&key);
        if self.dirty.contains(&key) {
            self.queue.push_back(key);
        }
    }

    /// `delayingType.ShutDown`.
    pub fn shut_down(&mut self) {
        self.shutting_down = true;
        self.waiting.clear();
    }

    /// `Typed.ShuttingDown`.
    #[must_use]
    pub fn is_shutting_down(&self) -> bool {
        self.shutting_down
    }

    /// Whether nothing will come out again.
    #[must_use]
    pub fn is_drained(&self) -> bool {
        self.shutting_down && self.queue.is_empty() && self.processing.is_empty()
    }

    /// `Typed.Len`.
    #[must_use]
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// Whether `Len` is zero.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// The metrics.
    #[must_use]
    pub fn stats(&self) -> QueueStats {
        let mut stats = QueueStats::default();
        stats.depth = self.dirty.len();
        stats.adds = self.adds;
        stats.merged = self.merged;
        stats.retries = self.retries;
        stats
    }

    /// The keys that are in any of the sets: what a fixed memory must have room for.
    #[must_use]
    pub fn known(&self) -> BTreeSet<u8> {
        let waiting = self.waiting.iter().map(|entry| &entry.2);
        self.dirty.iter().chain(&self.processing).chain(waiting).chain(self.failures.keys()).copied().collect()
    }
}
