//! A reconciler as plain sets, around the model of the work queue.

use super::lanes::LanesModel;
use super::work_queue::WorkQueueModel;
use listwatch_core::Instant;
use listwatch_core::controller::{KeyState, Lifecycle};
use listwatch_core::queue::{Added, Finished, Outcome, Priority, QueueStats, WhileDelayed};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

/// What a reconciler does otherwise than by default. Times are in milliseconds.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// What an addition does to a key that is delayed.
    pub while_delayed: WhileDelayed,
    /// How often a key that fails is tried again before it is parked.
    pub max_retries: u32,
    /// The quiet time and the longest time of debouncing.
    pub debounce: Option<(u64, u64)>,
    /// The period.
    pub period: Option<u64>,
    /// Whether there is a source that has to sync first; if not, the reconciler runs already.
    pub has_source: bool,
}

impl Default for Setup {
    fn default() -> Self {
        let while_delayed = WhileDelayed::Promote;
        Self { while_delayed, max_retries: u32::MAX, debounce: None, period: None, has_source: false }
    }
}

/// Causes, the oldest first, and how many more there were.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Causes {
    /// The number of each cause, and its time.
    pub kept: VecDeque<(u32, u64)>,
    /// The number of those that were dropped.
    pub dropped: u64,
}

/// What a worker gets.
#[derive(Debug, PartialEq, Eq)]
pub struct Taken {
    /// The key.
    pub key: u8,
    /// What the reconcile is told.
    pub causes: Causes,
    /// The numbers of the late writes.
    pub late: Vec<usize>,
}

#[derive(Debug)]
struct Held {
    since: u64,
    until: u64,
    order: u64,
    writes: Vec<usize>,
    /// Those that found no room.
    unlisted: usize,
}

#[derive(Debug)]
struct Settling {
    first: u64,
    until: u64,
    order: u64,
    priority: Priority,
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    Created,
    Starting(Option<u64>),
    Running,
    Draining(u64),
    Stopped,
    NotSynced,
}

/// The sets.
#[derive(Debug)]
pub struct ControllerModel {
    queue: WorkQueueModel,
    setup: Setup,
    longest_hold: u64,
    /// How many keys, causes and writes there is room for.
    capacity: usize,
    now: u64,
    armed: u64,
    settling: BTreeMap<u8, Settling>,
    pending: BTreeMap<u8, Causes>,
    running: BTreeMap<u8, (u64, Causes)>,
    held: BTreeMap<u8, Held>,
    late: BTreeMap<u8, (Vec<usize>, usize)>,
    left: BTreeMap<u8, KeyState>,
    is_synced: bool,
    stage: Stage,
    next_period: Option<u64>,
    is_period_due: bool,
}

impl ControllerModel {
    /// A reconciler with an exponential limiter.
    #[must_use]
    pub fn new(setup: Setup, base: u64, max: u64, longest_hold: u64, capacity: usize) -> Self {
        let queue = WorkQueueModel::new(base, max, setup.while_delayed, setup.max_retries);
        Self {
            queue: queue.with_lanes(LanesModel::new(16, 1)),
            setup,
            longest_hold,
            capacity,
            now: 0,
            armed: 0,
            settling: BTreeMap::new(),
            pending: BTreeMap::new(),
            running: BTreeMap::new(),
            held: BTreeMap::new(),
            late: BTreeMap::new(),
            left: BTreeMap::new(),
            is_synced: !setup.has_source,
            stage: Stage::Created,
            next_period: None,
            is_period_due: false,
        }
    }

    /// Adds a key; `None` where there is no room.
    pub fn add(&mut self, key: u8, priority: Priority, cause: u32) -> Option<Added> {
        if self.is_closed() {
            return Some(self.queue.add(key));
        }
        let known = self.known();
        if !known.contains(&key) && known.len() >= self.capacity {
            return None;
        }
        let added = if self.has_to_settle(key, priority) {
            self.settle(key, priority)
        } else {
            self.settling.remove(&key);
            self.queue.add_with_priority(key, priority)
        };
        let is_full = self.kept() >= self.capacity;
        let now = self.now;
        let causes = self.pending.entry(key).or_default();
        if (causes.kept.len() == 16 || is_full) && causes.kept.pop_front().is_some() {
            causes.dropped += 1;
        }
        if is_full && self.kept() >= self.capacity {
            self.pending.entry(key).or_default().dropped += 1;
        } else {
            self.pending.entry(key).or_default().kept.push_back((cause, now));
        }
        Some(added)
    }

    /// Hands out a key.
    pub fn take(&mut self) -> Option<Taken> {
        if !matches!(self.stage, Stage::Running) {
            return None;
        }
        let key = self.queue.get()?;
        if self.setup.while_delayed != WhileDelayed::RunTwice {
            self.queue.end_delay(key);
        }
        self.settling.remove(&key);
        let causes = self.pending.remove(&key).unwrap_or_default();
        self.running.insert(key, (self.now, causes.clone()));
        Some(Taken { key, causes, late: self.late.get(&key).map(|late| late.0.clone()).unwrap_or_default() })
    }

    /// Takes a key back; `None` if it is held until its writes are seen.
    pub fn finish(&mut self, key: u8, outcome: Outcome, writes: usize) -> Option<Finished> {
        self.late.remove(&key);
        let (_, causes) = self.running.remove(&key).unwrap_or_default();
        let failed = !matches!(outcome, Outcome::Done | Outcome::RequeueAfter(_));
        if failed {
            let next = self.pending.remove(&key).unwrap_or_default();
            let mut joined = causes;
            joined.kept.extend(next.kept);
            joined.dropped += next.dropped;
            while joined.kept.len() > 16 {
                joined.kept.pop_front();
                joined.dropped += 1;
            }
            self.pending.insert(key, joined);
        }
        if writes > 0 && !self.is_closed() {
            self.queue.hold(self.now, key, outcome);
            self.hold(key, writes);
            return None;
        }
        let finished = self.queue.finish(self.now, key, outcome);
        if self.is_closed() {
            match outcome {
                Outcome::Done => {}
                Outcome::RequeueAfter(delay) => {
                    let until = at(self.now + delay.as_millis() as u64);
                    self.left.insert(key, KeyState::Delayed { until });
                }
                Outcome::Terminal => _ = self.left.insert(key, KeyState::Parked),
                _ => _ = self.left.insert(key, KeyState::Unfinished),
            }
        }
        self.forget_blank();
        self.pass_stage();
        Some(finished)
    }

    /// A write was seen.
    pub fn fulfil(&mut self, key: u8, write: usize) -> bool {
        let Some(held) = self.held.get_mut(&key) else { return false };
        held.writes.retain(|awaited| *awaited != write);
        if held.writes.len() + held.unlisted > 0 {
            return true;
        }
        self.held.remove(&key);
        self.queue.done(key);
        self.forget_blank();
        false
    }

    /// The clock has moved on.
    pub fn advance(&mut self, now: u64) {
        self.now = now;
        self.queue.advance(now);
        while let Some((key, priority)) = self.first_settled() {
            self.settling.remove(&key);
            self.queue.add_with_priority(key, priority);
        }
        while let Some(key) = self.first_overdue() {
            let held = self.held.remove(&key).expect("the model has the hold");
            let is_failing = self.queue.delay(key).is_some_and(|(_, is_backing_off)| is_backing_off);
            if !is_failing && !self.queue.parked().contains(&key) {
                self.queue.add(key);
            }
            self.late.insert(key, (held.writes, held.unlisted));
            self.queue.done(key);
        }
        if self.next_period.is_some_and(|due| due <= now) {
            self.is_period_due = true;
            self.next_period = self.setup.period.map(|period| now + period);
        }
        self.pass_stage();
        self.forget_blank();
    }

    /// The only source has synced.
    pub fn source_synced(&mut self) {
        self.is_synced = true;
        self.run_if_synced();
    }

    /// Lets it run once its source has synced.
    pub fn start(&mut self, within: Option<u64>) {
        if matches!(self.stage, Stage::Created) {
            self.stage = Stage::Starting(within.map(|within| self.now + within));
            self.run_if_synced();
        }
    }

    /// Ends it.
    pub fn drain(&mut self, grace: u64) {
        let deadline = self.now + grace;
        match self.stage {
            Stage::Created | Stage::Starting(_) | Stage::Running => self.close(Stage::Draining(deadline)),
            Stage::Draining(first) => self.stage = Stage::Draining(first.min(deadline)),
            Stage::Stopped | Stage::NotSynced => {}
        }
        self.pass_stage();
    }

    /// Whether the period has come.
    pub fn poll_period(&mut self) -> bool {
        std::mem::take(&mut self.is_period_due)
    }

    /// The stage.
    #[must_use]
    pub fn lifecycle(&self) -> Lifecycle {
        match self.stage {
            Stage::Created | Stage::Starting(_) => Lifecycle::Starting,
            Stage::Running => Lifecycle::Running,
            Stage::Draining(_) => Lifecycle::Draining,
            Stage::Stopped => Lifecycle::Stopped,
            Stage::NotSynced => Lifecycle::NotSynced,
        }
    }

    /// Whether a worker gets a key.
    #[must_use]
    pub fn has_item(&self) -> bool {
        matches!(self.stage, Stage::Running) && !self.queue.is_empty()
    }

    /// When something happens by itself.
    #[must_use]
    pub fn next_timeout(&self) -> Option<u64> {
        let stage = match self.stage {
            Stage::Starting(deadline) => deadline,
            Stage::Draining(deadline) => Some(deadline),
            _ => None,
        };
        let settling = self.settling.values().map(|settling| settling.until);
        let held = self.held.values().map(|held| held.until);
        settling.chain(held).chain(stage).chain(self.next_period).chain(self.queue.next_timeout()).min()
    }

    /// The keys that are not done, each with its state and its failures.
    #[must_use]
    pub fn report(&self) -> BTreeMap<u8, (KeyState, u32)> {
        let states = self.known().into_iter().filter_map(|key| Some((key, self.state(key)?)));
        states.map(|(key, state)| (key, (state, self.queue.num_requeues(key)))).collect()
    }

    /// The queue's counters.
    #[must_use]
    pub fn stats(&self) -> QueueStats {
        self.queue.stats()
    }

    fn state(&self, key: u8) -> Option<KeyState> {
        if let Some((since, _)) = self.running.get(&key) {
            return Some(KeyState::Running { since: at(*since), deadline: None });
        }
        if let Some(held) = self.held.get(&key) {
            let writes = held.writes.len();
            return Some(KeyState::Held { since: at(held.since), until: at(held.until), writes });
        }
        if self.left.contains_key(&key) {
            return self.left.get(&key).copied();
        }
        if self.queue.is_dirty(key) {
            return Some(KeyState::Ready);
        }
        if let Some(settling) = self.settling.get(&key) {
            return Some(KeyState::Debounced { until: at(settling.until) });
        }
        match self.queue.delay(key) {
            Some((until, true)) => Some(KeyState::BackingOff { until: at(until) }),
            Some((until, false)) => Some(KeyState::Delayed { until: at(until) }),
            None => self.queue.parked().contains(&key).then_some(KeyState::Parked),
        }
    }

    fn has_to_settle(&self, key: u8, priority: Priority) -> bool {
        let is_backing_off = self.queue.delay(key).is_some_and(|(_, is_backing_off)| is_backing_off);
        let keeps_waiting = is_backing_off && self.setup.while_delayed == WhileDelayed::KeepWaiting;
        let is_gathered = self.queue.is_dirty(key) || keeps_waiting;
        self.setup.debounce.is_some() && priority != Priority::Urgent && !is_gathered
    }

    fn settle(&mut self, key: u8, priority: Priority) -> Added {
        let Some((quiet, longest)) = self.setup.debounce else { unreachable!("it has to settle") };
        let last = self.settling.remove(&key);
        let (first, priority, added) = match last {
            Some(last) => (last.first, last.priority.max(priority), Added::Merged),
            None => (self.now, priority, Added::Delayed),
        };
        self.armed += 1;
        let until = (self.now + quiet).min(first + longest);
        self.settling.insert(key, Settling { first, until, order: self.armed, priority });
        added
    }

    fn hold(&mut self, key: u8, writes: usize) {
        let awaited: usize = self.held.values().map(|held| held.writes.len()).sum();
        let late: usize = self.late.values().map(|late| late.0.len()).sum();
        let room = writes.min(self.capacity.saturating_sub(awaited + late));
        self.armed += 1;
        let (since, until, order) = (self.now, self.now + self.longest_hold, self.armed);
        self.held.insert(key, Held { since, until, order, writes: (0..room).collect(), unlisted: writes - room });
    }

    fn first_settled(&self) -> Option<(u8, Priority)> {
        let due = self.settling.iter().filter(|(_, settling)| settling.until <= self.now);
        due.min_by_key(|(_, settling)| (settling.until, settling.order))
            .map(|(key, settling)| (*key, settling.priority))
    }

    fn first_overdue(&self) -> Option<u8> {
        let due = self.held.iter().filter(|(_, held)| held.until <= self.now);
        due.min_by_key(|(_, held)| (held.until, held.order)).map(|(key, _)| *key)
    }

    fn run_if_synced(&mut self) {
        if matches!(self.stage, Stage::Starting(_)) && self.is_synced {
            self.stage = Stage::Running;
            self.next_period = self.setup.period.map(|period| self.now + period);
        }
    }

    fn pass_stage(&mut self) {
        match self.stage {
            Stage::Starting(Some(deadline)) if deadline <= self.now => self.close(Stage::NotSynced),
            Stage::Draining(deadline) if deadline <= self.now || self.running.is_empty() => {
                self.stage = Stage::Stopped;
            }
            _ => {}
        }
    }

    fn close(&mut self, stage: Stage) {
        for key in self.known() {
            let is_changed = self.queue.is_dirty(key) || self.settling.contains_key(&key);
            let state = match self.state(key) {
                Some(KeyState::Running { .. }) => is_changed.then_some(KeyState::Ready),
                state => state,
            };
            state.into_iter().for_each(|state| _ = self.left.insert(key, state));
        }
        self.stage = stage;
        (self.next_period, self.is_period_due) = (None, false);
        self.settling.clear();
        for key in std::mem::take(&mut self.held).into_keys() {
            self.queue.done(key);
        }
        self.queue.drain(self.now, 0);
        self.queue.advance(self.now);
    }

    fn is_closed(&self) -> bool {
        matches!(self.stage, Stage::Draining(_) | Stage::Stopped | Stage::NotSynced)
    }

    /// The number of causes that are kept.
    fn kept(&self) -> usize {
        let running = self.running.values().map(|(_, causes)| causes);
        self.pending.values().chain(running).map(|causes| causes.kept.len()).sum()
    }

    /// The keys of which anything is known.
    fn known(&self) -> BTreeSet<u8> {
        let mut known = self.queue.known();
        known.extend(self.settling.keys().chain(self.running.keys()).chain(self.held.keys()));
        known.extend(self.late.keys().chain(self.left.keys()).chain(self.pending.keys()));
        known
    }

    /// Nothing is kept of a key that has no causes.
    fn forget_blank(&mut self) {
        self.pending.retain(|_, causes| *causes != Causes::default());
        self.queue.forget_priorities();
    }
}

fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}
