//! client-go's work queue, transcribed, with the additions of ours.

use super::lanes::{LanesModel, Ready};
use listwatch_core::Instant;
use listwatch_core::queue::{Added, Drained, Finished, Outcome, Priority, QueueStats, WhileDelayed};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

/// The queue, the delaying queue and the rate limiter as client-go has them: a set for each state and a list for each
/// order. Times are in milliseconds.
#[derive(Debug)]
pub struct WorkQueueModel {
    queue: VecDeque<Ready>,
    /// Which of the queue is next, if not the first.
    lanes: Option<LanesModel>,
    /// Of the keys of which something is known.
    priorities: BTreeMap<u8, Priority>,
    dirty: BTreeSet<u8>,
    processing: BTreeSet<u8>,
    /// Of which the work is over, and the job not given back.
    held: BTreeSet<u8>,
    /// Time, number and key, sorted.
    waiting: Vec<(u64, u64, u8)>,
    /// Of the waiting keys, those that wait because of the limiter.
    backing_off: BTreeSet<u8>,
    parked: BTreeSet<u8>,
    failures: BTreeMap<u8, u32>,
    /// How many of the failures do not count towards parking.
    transient: BTreeMap<u8, u32>,
    base: u64,
    max: u64,
    while_delayed: WhileDelayed,
    max_retries: u32,
    shutting_down: bool,
    drain_until: Option<u64>,
    drain_is_over: bool,
    left: Drained,
    adds: u64,
    merged: u64,
    retries: u64,
    panics: u64,
}

impl WorkQueueModel {
    /// An empty queue with an exponential limiter.
    #[must_use]
    pub fn new(base: u64, max: u64, while_delayed: WhileDelayed, max_retries: u32) -> Self {
        Self {
            queue: VecDeque::new(),
            lanes: None,
            priorities: BTreeMap::new(),
            dirty: BTreeSet::new(),
            processing: BTreeSet::new(),
            held: BTreeSet::new(),
            waiting: Vec::new(),
            backing_off: BTreeSet::new(),
            parked: BTreeSet::new(),
            failures: BTreeMap::new(),
            transient: BTreeMap::new(),
            base,
            max,
            while_delayed,
            max_retries,
            shutting_down: false,
            drain_until: None,
            drain_is_over: false,
            left: Drained::default(),
            adds: 0,
            merged: 0,
            retries: 0,
            panics: 0,
        }
    }

    /// Hands out by priority and group.
    #[must_use]
    pub fn with_lanes(mut self, lanes: LanesModel) -> Self {
        self.lanes = Some(lanes);
        self
    }

    /// controller-runtime's `AddWithOpts`, with a priority; without lanes an addition like any other.
    pub fn add_with_priority(&mut self, key: u8, priority: Priority) -> Added {
        if self.shutting_down || self.lanes.is_none() {
            return self.add(key);
        }
        let is_pending = self.dirty.contains(&key) || self.waiting.iter().any(|entry| entry.2 == key);
        let priority = if is_pending { self.priority(key).max(priority) } else { priority };
        let place = self.queue.iter().position(|(ready, before)| *ready == key && *before != priority);
        self.priorities.insert(key, priority);
        if let Some(place) = place {
            self.queue.remove(place);
            self.changed();
            self.push(key);
        }
        self.add_as_the_policy_says(key)
    }

    /// `Typed.Add`.
    pub fn add(&mut self, key: u8) -> Added {
        if self.shutting_down { self.refuse() } else { self.add_as_the_policy_says(key) }
    }

    /// `delayingType.AddAfter`.
    pub fn add_after(&mut self, now: u64, key: u8, delay: u64) -> Added {
        if self.shutting_down { self.refuse() } else { self.wait(now, key, delay, false) }
    }

    /// `rateLimitingType.AddRateLimited`.
    pub fn add_rate_limited(&mut self, now: u64, key: u8) -> Added {
        self.add_rate_limited_after(now, key, 0)
    }

    /// The same with the least time that a server asks for.
    pub fn add_rate_limited_after(&mut self, now: u64, key: u8, least: u64) -> Added {
        let delay = self.when(key).max(least);
        self.back_off(now, key, delay)
    }

    fn back_off(&mut self, now: u64, key: u8, delay: u64) -> Added {
        let counted = self.num_requeues(key) - self.transient.get(&key).copied().unwrap_or(0);
        if self.shutting_down {
            self.refuse()
        } else if counted > self.max_retries {
            self.park(key)
        } else {
            self.wait(now, key, delay, true)
        }
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
        self.forget_failures(key);
        self.parked.remove(&key);
    }

    /// `ItemExponentialFailureRateLimiter.NumRequeues`.
    #[must_use]
    pub fn num_requeues(&self, key: u8) -> u32 {
        self.failures.get(&key).copied().unwrap_or(0)
    }

    /// What `delayingType.waitingLoop` does when the clock has moved, and then the end of a drain.
    pub fn advance(&mut self, now: u64) {
        while let Some((ready_at, _, key)) = self.waiting.first().copied()
            && ready_at <= now
        {
            self.waiting.remove(0);
            self.mark(key);
        }
        if self.drain_until.is_some_and(|deadline| deadline <= now) {
            self.drain_until = None;
            self.drain_is_over = true;
            self.left.ready = self.dirty.len();
            self.queue.clear();
            self.changed();
            self.dirty.clear();
        }
    }

    /// When something happens next by itself.
    #[must_use]
    pub fn next_timeout(&self) -> Option<u64> {
        let deadline = self.drain_until.filter(|_| !self.is_drained());
        deadline.or_else(|| self.waiting.first().map(|entry| entry.0))
    }

    /// `Typed.Get`, where it would not block.
    pub fn get(&mut self) -> Option<u8> {
        let key = match &mut self.lanes {
            Some(lanes) => lanes.next(&self.queue)?,
            None => self.queue.front()?.0,
        };
        self.queue.retain(|(ready, _)| *ready != key);
        self.changed();
        self.processing.insert(key);
        self.dirty.remove(&key);
        Some(key)
    }

    /// `Typed.Done`, of a key that is being processed.
    pub fn done(&mut self, key: u8) {
        self.processing.remove(&key);
        self.held.remove(&key);
        if self.dirty.contains(&key) {
            self.push(key);
        }
    }

    /// What a controller's `handleErr` does, and then `Typed.Done`.
    pub fn finish(&mut self, now: u64, key: u8, outcome: Outcome) -> Finished {
        let added = if self.held.contains(&key) { None } else { self.settle(now, key, outcome) };
        self.done(key);
        let waiting = self.waiting.iter().find(|entry| entry.2 == key);
        match waiting {
            _ if self.dirty.contains(&key) => Finished::Queued,
            Some((ready_at, ..)) => Finished::RetryAt(Instant::ZERO + Duration::from_millis(*ready_at)),
            None if self.parked.contains(&key) => Finished::GaveUp,
            None if added == Some(Added::Closed) => Finished::Closed,
            None => Finished::Done,
        }
    }

    /// The outcome without the `Done`, once.
    pub fn hold(&mut self, now: u64, key: u8, outcome: Outcome) {
        if self.processing.remove(&key) {
            self.held.insert(key);
            self.settle(now, key, outcome);
        }
    }

    fn settle(&mut self, now: u64, key: u8, outcome: Outcome) -> Option<Added> {
        let millis = |time: Duration| time.as_millis() as u64;
        match outcome {
            Outcome::Done => {
                self.forget(key);
                None
            }
            Outcome::RequeueAfter(delay) => {
                self.forget(key);
                Some(self.add_after(now, key, millis(delay)))
            }
            Outcome::Retry => Some(self.add_rate_limited(now, key)),
            Outcome::RetryAfter(least) => Some(self.add_rate_limited_after(now, key, millis(least))),
            Outcome::Panicked => {
                self.panics += 1;
                Some(self.add_rate_limited(now, key))
            }
            Outcome::Transient(least) => {
                let delay = self.when(key).max(millis(least));
                *self.transient.entry(key).or_insert(0) += 1;
                Some(self.back_off(now, key, delay))
            }
            Outcome::Terminal if self.dirty.contains(&key) => {
                self.forget_failures(key);
                None
            }
            Outcome::Terminal => {
                self.parked.insert(key);
                self.waiting.retain(|entry| entry.2 != key);
                None
            }
            other => unreachable!("{other:?}"),
        }
    }

    /// `delayingType.ShutDown`.
    pub fn shut_down(&mut self) {
        self.shutting_down = true;
        self.left.delayed += self.waiting.len();
        self.waiting.clear();
    }

    /// Shuts down, with a deadline that nothing moves out.
    pub fn drain(&mut self, now: u64, grace: u64) {
        self.shut_down();
        let deadline = self.drain_until.map_or(now + grace, |first| first.min(now + grace));
        self.drain_until = (!self.drain_is_over).then_some(deadline);
    }

    /// What is left undone, if nothing more is waited for.
    #[must_use]
    pub fn drained(&self) -> Option<Drained> {
        let mut left = self.left;
        left.running = self.processing.len();
        (self.drain_is_over || self.is_drained()).then_some(left)
    }

    /// Whether the key is in the dirty set.
    #[must_use]
    pub fn is_dirty(&self, key: u8) -> bool {
        self.dirty.contains(&key)
    }

    /// When the key's delay ends, and whether the delay is the limiter's.
    #[must_use]
    pub fn delay(&self, key: u8) -> Option<(u64, bool)> {
        let waiting = self.waiting.iter().find(|entry| entry.2 == key);
        waiting.map(|(ready_at, ..)| (*ready_at, self.backing_off.contains(&key)))
    }

    /// The key's delay ends early, and the key is not added.
    pub fn end_delay(&mut self, key: u8) {
        self.waiting.retain(|entry| entry.2 != key);
    }

    /// The keys that have failed too often.
    #[must_use]
    pub fn parked(&self) -> &BTreeSet<u8> {
        &self.parked
    }

    /// `Typed.ShuttingDown`.
    #[must_use]
    pub fn is_shutting_down(&self) -> bool {
        self.shutting_down
    }

    /// Whether nothing will come out again.
    #[must_use]
    pub fn is_drained(&self) -> bool {
        self.shutting_down && self.queue.is_empty() && self.processing.is_empty() && self.held.is_empty()
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
        stats.held = self.held.len();
        stats.parked = self.parked.len();
        stats.panics = self.panics;
        stats
    }

    /// The keys that are in any of the sets: what a fixed memory must have room for.
    #[must_use]
    pub fn known(&self) -> BTreeSet<u8> {
        let waiting = self.waiting.iter().map(|entry| &entry.2);
        self.dirty
            .iter()
            .chain(&self.processing)
            .chain(&self.held)
            .chain(&self.parked)
            .chain(waiting)
            .chain(self.failures.keys())
            .copied()
            .collect()
    }

    /// What becomes of a priority when nothing else is known of its key, after each operation.
    pub fn forget_priorities(&mut self) {
        let known = self.known();
        self.priorities.retain(|key, _| known.contains(key));
    }

    fn forget_failures(&mut self, key: u8) {
        self.failures.remove(&key);
        self.transient.remove(&key);
    }

    fn priority(&self, key: u8) -> Priority {
        self.priorities.get(&key).copied().unwrap_or_default()
    }

    fn push(&mut self, key: u8) {
        self.queue.push_back((key, self.priority(key)));
        self.changed();
    }

    fn changed(&mut self) {
        if let Some(lanes) = &mut self.lanes {
            lanes.follow(&self.queue);
        }
    }

    /// The insertion of `Typed.Add`.
    fn mark(&mut self, key: u8) -> Added {
        if self.dirty.contains(&key) {
            self.merged += 1;
            return Added::Merged;
        }
        if self.parked.contains(&key) {
            self.forget(key);
        }
        self.adds += 1;
        self.dirty.insert(key);
        if self.processing.contains(&key) || self.held.contains(&key) {
            return Added::Deferred;
        }
        self.push(key);
        Added::Queued
    }

    fn add_as_the_policy_says(&mut self, key: u8) -> Added {
        let is_waiting = self.waiting.iter().any(|entry| entry.2 == key);
        match self.while_delayed {
            WhileDelayed::Promote => self.waiting.retain(|entry| entry.2 != key),
            WhileDelayed::KeepWaiting if is_waiting && self.backing_off.contains(&key) => {
                self.merged += 1;
                return Added::Merged;
            }
            WhileDelayed::RunTwice | WhileDelayed::KeepWaiting => {}
        }
        self.mark(key)
    }

    /// `AddAfter`, and the `insert` of the waiting loop.
    fn wait(&mut self, now: u64, key: u8, delay: u64, is_backing_off: bool) -> Added {
        self.retries += 1;
        if delay == 0 {
            return self.add_as_the_policy_says(key);
        }
        let ready_at = now + delay;
        if let Some(known) = self.waiting.iter().position(|entry| entry.2 == key) {
            if self.waiting[known].0 <= ready_at {
                self.merged += 1;
                return Added::Merged;
            }
            self.waiting.remove(known);
        }
        self.backing_off.remove(&key);
        if is_backing_off {
            self.backing_off.insert(key);
        }
        self.waiting.push((ready_at, self.retries, key));
        self.waiting.sort_unstable();
        Added::Delayed
    }

    fn park(&mut self, key: u8) -> Added {
        if self.dirty.contains(&key) {
            self.forget_failures(key);
            self.merged += 1;
            return Added::Merged;
        }
        self.parked.insert(key);
        self.waiting.retain(|entry| entry.2 != key);
        Added::Parked
    }

    fn refuse(&mut self) -> Added {
        self.left.refused += 1;
        Added::Closed
    }
}
