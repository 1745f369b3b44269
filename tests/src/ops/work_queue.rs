//! Operations on the work queue.

use crate::models::lanes::LanesModel;
use crate::models::work_queue::WorkQueueModel;
use arbitrary::{Arbitrary, Result, Unstructured};
use listwatch_core::Instant;
use listwatch_core::queue::{
    Added, Discipline, ExponentialBackoff, Fifo, Job, Lanes, Outcome, Priority, WhileDelayed, WorkQueueIn,
};
use listwatch_core::storage::{Fixed, Heap, Mem};
use std::time::Duration;

/// One operation. Keys are below [`Op::KEYS`], times are in milliseconds.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "each is the method of its name")]
pub enum Op {
    Add(u8),
    /// Without lanes an `Add`.
    AddWithPriority(u8, Priority),
    AddAfter(u8, u64),
    AddRateLimited(u8),
    When(u8),
    Forget(u8),
    Get,
    /// The job of this number, of those that are out.
    Done(usize),
    /// The job of this number, too.
    Finish(usize, Outcome),
    /// The same.
    Hold(usize, Outcome),
    Advance(u64),
    /// The clock that the queue sees goes back that far, until it is advanced; the queue must not.
    GoBack(u64),
    ShutDown,
    /// With so much time for it.
    Drain(u64),
}

/// What a queue does otherwise than client-go.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// What an addition does to a key that is delayed.
    pub while_delayed: WhileDelayed,
    /// How often a key that fails is tried again before it is parked.
    pub max_retries: u32,
    /// By how many keys a priority ages, if there are priorities, and groups of keys that take turns.
    pub aging: Option<u32>,
}

/// As client-go.
impl Default for Setup {
    fn default() -> Self {
        Self { while_delayed: WhileDelayed::RunTwice, max_retries: u32::MAX, aging: None }
    }
}

impl<'a> Arbitrary<'a> for Setup {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let policies = [WhileDelayed::RunTwice, WhileDelayed::Promote, WhileDelayed::KeepWaiting];
        let (while_delayed, byte) = (*u.choose(&policies)?, u8::arbitrary(u)?);
        let max_retries = [u32::MAX, 0, 1, 3][usize::from(byte % 4)];
        let aging = [None, None, Some(1), Some(3)][usize::from(byte / 4 % 4)];
        Ok(Self { while_delayed, max_retries, aging })
    }
}

impl Op {
    /// More than the small memory has room for.
    pub const KEYS: u8 = 5;
}

impl<'a> Arbitrary<'a> for Op {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let kind = u8::arbitrary(u)? % 64;
        let key = u8::arbitrary(u)?;
        let millis = u64::from(key >> 4);
        let key = key % Self::KEYS;
        Ok(match kind {
            0..=8 => Self::Add(key),
            9..=11 => Self::AddWithPriority(key, PRIORITIES[millis as usize % 4]),
            12..=19 => Self::AddAfter(key, millis),
            20..=27 => Self::AddRateLimited(key),
            28..=30 => Self::When(key),
            31..=36 => Self::Forget(key),
            37..=46 => Self::Get,
            47..=50 => Self::Done(key.into()),
            51..=55 => Self::Finish(key.into(), outcome(kind - 51, Duration::from_millis(millis))),
            56..=58 => Self::Advance(millis),
            59 => Self::Hold(key.into(), outcome(millis as u8 % 8, Duration::from_millis(millis))),
            60 => Self::Finish(key.into(), outcome(4 + millis as u8 % 3, Duration::from_millis(millis))),
            61 => Self::GoBack(millis),
            62 => Self::Drain(millis),
            _ => Self::ShutDown,
        })
    }
}

/// Runs the operations that `data` stands for.
///
/// # Panics
/// Where a queue and its model differ.
pub fn run(data: &[u8]) {
    let mut data = Unstructured::new(data);
    let Ok(setup) = data.arbitrary() else { return };
    let ops: Vec<Op> = super::rest(&mut data);
    check(setup, &ops);
}

/// Runs `ops` on a queue on the heap, and on one that has no room for all keys.
///
/// # Panics
/// Where a queue and its model differ.
pub fn check(setup: Setup, ops: &[Op]) {
    match setup.aging {
        None => check_with(setup, ops, Fifo),
        Some(aging) => {
            check_with(
                setup,
                ops,
                Lanes::default().with_aging(aging).with_groups(|key, group| group.write_u8(key % GROUPS)),
            );
        }
    }
}

fn check_with(setup: Setup, ops: &[Op], discipline: impl Prioritized) {
    Pair::<Heap, _>::new(setup, usize::MAX, discipline).check(ops);
    Pair::<Fixed<3>, _>::new(setup, 3, discipline).check(ops);
}

const PRIORITIES: [Priority; 4] = [Priority::Low, Priority::Normal, Priority::High, Priority::Urgent];
const GROUPS: u8 = 2;

type Queue<M, D> = WorkQueueIn<u8, ExponentialBackoff, M, D>;

/// A discipline, and what it makes of an addition with a priority.
trait Prioritized: Discipline<u8> + Copy {
    fn try_add<M: Mem>(queue: &mut Queue<M, Self>, key: u8, priority: Priority) -> Option<Added>;
}

impl Prioritized for Fifo {
    fn try_add<M: Mem>(queue: &mut Queue<M, Self>, key: u8, _: Priority) -> Option<Added> {
        queue.try_add(key).ok()
    }
}

impl Prioritized for Lanes<u8> {
    fn try_add<M: Mem>(queue: &mut Queue<M, Self>, key: u8, priority: Priority) -> Option<Added> {
        queue.try_add_with_priority(key, priority).ok()
    }
}

const BASE: u64 = 2;
const MAX: u64 = 20;

/// A queue, its model, and the jobs that are out.
struct Pair<M: Mem, D: Prioritized> {
    queue: Queue<M, D>,
    model: WorkQueueModel,
    capacity: usize,
    jobs: Vec<Job>,
    now: u64,
    /// What the queue is told.
    clock: Instant,
}

impl<M: Mem, D: Prioritized> Pair<M, D> {
    fn new(setup: Setup, capacity: usize, discipline: D) -> Self {
        let Setup { while_delayed, max_retries, aging } = setup;
        let limiter = ExponentialBackoff::new(Duration::from_millis(BASE), Duration::from_millis(MAX));
        let queue = WorkQueueIn::with_discipline(limiter, discipline, 0);
        let queue = queue.with_while_delayed(while_delayed).with_max_retries(max_retries);
        let model = WorkQueueModel::new(BASE, MAX, while_delayed, max_retries);
        let model = match aging {
            Some(aging) => model.with_lanes(LanesModel::new(aging, GROUPS)),
            None => model,
        };
        Self { queue, model, capacity, jobs: Vec::new(), now: 0, clock: at(0) }
    }

    fn check(mut self, ops: &[Op]) {
        for (step, op) in ops.iter().enumerate() {
            self.step(*op);
            self.model.forget_priorities();
            assert_eq!(self.queue.len(), self.model.len(), "after {:?}", &ops[..=step]);
            assert_eq!(self.queue.stats(), self.model.stats(), "after {:?}", &ops[..=step]);
            assert_eq!(self.queue.poll_timeout(), self.model.next_timeout().map(at), "after {:?}", &ops[..=step]);
            assert_eq!(self.queue.is_drained(), self.model.is_drained(), "after {:?}", &ops[..=step]);
            assert_eq!(self.queue.is_shutting_down(), self.model.is_shutting_down(), "after {:?}", &ops[..=step]);
            assert_eq!(self.queue.drained(), self.model.drained(), "after {:?}", &ops[..=step]);
            assert!(self.queue.parked().all(|key| self.model.parked().contains(key)), "after {:?}", &ops[..=step]);
            for key in 0..Op::KEYS {
                let failures = (self.queue.num_requeues(&key), self.model.num_requeues(key));
                assert_eq!(failures.0, failures.1, "key {key} after {:?}", &ops[..=step]);
            }
        }
    }

    fn step(&mut self, op: Op) {
        let (now, clock) = (self.now, self.clock);
        match op {
            Op::Add(key) => {
                let added = self.queue.try_add(key).ok();
                self.expect(key, added, |model| model.add(key));
            }
            Op::AddWithPriority(key, priority) => {
                let added = D::try_add(&mut self.queue, key, priority);
                self.expect(key, added, |model| model.add_with_priority(key, priority));
            }
            Op::AddAfter(key, delay) => {
                let added = self.queue.try_add_after(clock, key, Duration::from_millis(delay)).ok();
                self.expect(key, added, |model| model.add_after(now, key, delay));
            }
            Op::AddRateLimited(key) => {
                let added = self.queue.try_add_rate_limited(clock, key).ok();
                self.expect(key, added, |model| model.add_rate_limited(now, key));
            }
            Op::When(key) => {
                let delay = self.queue.try_when(clock, key).ok();
                self.expect(key, delay, |model| Duration::from_millis(model.when(key)));
            }
            Op::Forget(key) => {
                self.queue.forget(&key);
                self.model.forget(key);
            }
            Op::Get => self.get(),
            Op::Done(_) if self.jobs.is_empty() => {}
            Op::Done(number) => {
                let job = self.jobs.remove(number % self.jobs.len());
                self.model.done(*self.queue.key(&job));
                self.queue.done(job);
            }
            Op::Finish(..) if self.jobs.is_empty() => {}
            Op::Finish(number, outcome) => {
                let job = self.jobs.remove(number % self.jobs.len());
                let finished = self.model.finish(now, *self.queue.key(&job), outcome);
                assert_eq!(self.queue.finish(clock, job, outcome), finished);
            }
            Op::Hold(..) if self.jobs.is_empty() => {}
            Op::Hold(number, outcome) => {
                let job = &self.jobs[number % self.jobs.len()];
                self.model.hold(now, *self.queue.key(job), outcome);
                self.queue.hold(clock, job, outcome);
            }
            Op::Advance(millis) => {
                self.now += millis;
                self.clock = at(self.now);
                self.queue.handle_timeout(self.clock);
                self.model.advance(self.now);
            }
            Op::GoBack(millis) => {
                self.clock = at(now.saturating_sub(millis));
                self.queue.handle_timeout(self.clock);
                self.model.advance(now);
            }
            Op::ShutDown => {
                self.queue.shut_down();
                self.model.shut_down();
            }
            Op::Drain(grace) => {
                self.queue.shut_down_with_drain(clock, Duration::from_millis(grace));
                self.model.drain(now, grace);
            }
        }
    }

    /// The queue's answer must be the model's. A full queue has none, and then the model must not know the key either
    /// and hold as many keys as the queue has room for.
    fn expect<T: PartialEq + std::fmt::Debug>(
        &mut self,
        key: u8,
        answer: Option<T>,
        model: impl FnOnce(&mut WorkQueueModel) -> T,
    ) {
        match answer {
            Some(answer) => assert_eq!(answer, model(&mut self.model), "key {key}"),
            None => {
                let known = self.model.known();
                assert!(known.len() == self.capacity && !known.contains(&key), "key {key}, {known:?}");
            }
        }
    }

    fn get(&mut self) {
        let job = self.queue.poll_job();
        assert_eq!(job.as_ref().map(|job| *self.queue.key(job)), self.model.get());
        self.jobs.extend(job);
    }
}

/// The outcome of that number, of seven.
fn outcome(number: u8, time: Duration) -> Outcome {
    let outcomes = [
        Outcome::Retry,
        Outcome::RetryAfter(time),
        Outcome::RequeueAfter(time),
        Outcome::Panicked,
        Outcome::Done,
        Outcome::Transient(time),
        Outcome::Terminal,
    ];
    outcomes.get(usize::from(number)).copied().unwrap_or(Outcome::Done)
}

fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}
