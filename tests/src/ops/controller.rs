//! Operations on the reconciler.

pub use crate::models::controller::Setup;

use crate::models::controller::{Causes, ControllerModel, Taken};
use arbitrary::{Arbitrary, Result, Unstructured};
use listwatch_core::Instant;
use listwatch_core::controller::{Debounce, Ended, HoldId, ReconcilerIn, SourceId, WorkItem};
use listwatch_core::queue::{ExponentialBackoff, Lanes, Outcome, Priority, WhileDelayed, WorkQueueIn};
use listwatch_core::storage::{Fixed, Heap, Mem};
use std::collections::BTreeMap;
use std::time::Duration;

/// One operation. Keys are below [`Op::KEYS`], times are in milliseconds.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "each is the method of its name")]
pub enum Op {
    Add(u8, Priority),
    Take,
    /// The item of this number, of those that are out, with so many writes.
    Finish(usize, Outcome, usize),
    /// The hold of this number, of all that there were; and the number of the write.
    Fulfil(usize, usize),
    Advance(u64),
    SourceSynced,
    Start(Option<u64>),
    Drain(u64),
    PollPeriod,
}

impl Op {
    /// More than the small memory has room for.
    pub const KEYS: u8 = 5;
}

impl<'a> Arbitrary<'a> for Op {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let (kind, byte) = (u8::arbitrary(u)? % 64, u8::arbitrary(u)?);
        let (key, millis) = (byte % Self::KEYS, u64::from(byte >> 4));
        Ok(match kind {
            0..=19 => Self::Add(key, PRIORITIES[usize::from(byte >> 6)]),
            20..=33 => Self::Take,
            34..=45 => Self::Finish(key.into(), outcome(kind - 34, Duration::from_millis(millis)), byte as usize % 3),
            46..=51 => Self::Fulfil(byte as usize / 3, byte as usize % 3),
            52..=58 => Self::Advance(millis),
            59 => Self::SourceSynced,
            60 => Self::Start((byte & 1 == 1).then_some(millis)),
            61 => Self::Drain(millis),
            _ => Self::PollPeriod,
        })
    }
}

impl<'a> Arbitrary<'a> for Setup {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let policies = [WhileDelayed::Promote, WhileDelayed::KeepWaiting, WhileDelayed::RunTwice];
        let (while_delayed, byte) = (*u.choose(&policies)?, u8::arbitrary(u)?);
        Ok(Self {
            while_delayed,
            max_retries: [u32::MAX, 0, 1, 3][usize::from(byte % 4)],
            debounce: [None, Some((3, 7)), Some((0, 0)), Some((5, 2))][usize::from(byte / 4 % 4)],
            period: (byte & 16 != 0).then_some(6),
            has_source: byte & 32 != 0,
        })
    }
}

/// Runs the operations that `data` stands for.
///
/// # Panics
/// Where a reconciler and its model differ.
pub fn run(data: &[u8]) {
    let mut data = Unstructured::new(data);
    let Ok(setup) = data.arbitrary() else { return };
    let ops: Vec<Op> = super::rest(&mut data);
    check(setup, &ops);
}

/// Runs `ops` on a reconciler on the heap, and on one that has no room for all keys.
///
/// # Panics
/// Where a reconciler and its model differ.
pub fn check(setup: Setup, ops: &[Op]) {
    Pair::<Heap>::new(setup, usize::MAX).check(ops);
    Pair::<Fixed<3>>::new(setup, 3).check(ops);
}

const PRIORITIES: [Priority; 4] = [Priority::Normal, Priority::Low, Priority::High, Priority::Urgent];
const BASE: u64 = 2;
const MAX: u64 = 20;
const LONGEST_HOLD: u64 = 8;

/// A cause and a write are numbers.
type Machine<M> = ReconcilerIn<u8, u32, usize, ExponentialBackoff, M>;

/// A reconciler, its model, and what is out.
struct Pair<M: Mem> {
    machine: Machine<M>,
    model: ControllerModel,
    source: Option<SourceId>,
    items: Vec<WorkItem>,
    holds: Vec<(u8, HoldId)>,
    causes: u32,
    now: u64,
}

impl<M: Mem> Pair<M> {
    fn new(setup: Setup, capacity: usize) -> Self {
        let limiter = ExponentialBackoff::new(Duration::from_millis(BASE), Duration::from_millis(MAX));
        let queue = WorkQueueIn::with_discipline(limiter, Lanes::default(), 0);
        let queue = queue.with_while_delayed(setup.while_delayed).with_max_retries(setup.max_retries);
        let millis = Duration::from_millis;
        let mut machine = Machine::new(queue, 0).with_longest_hold(millis(LONGEST_HOLD));
        if let Some((quiet, longest)) = setup.debounce {
            machine = machine.with_debounce(Debounce { quiet: millis(quiet), longest: millis(longest) });
        }
        if let Some(period) = setup.period {
            machine = machine.with_period(millis(period));
        }
        let source = setup.has_source.then(|| machine.try_add_source().ok().expect("room for a source"));
        let mut model = ControllerModel::new(setup, BASE, MAX, LONGEST_HOLD, capacity);
        if !setup.has_source {
            machine.start(at(0), None);
            model.start(None);
        }
        Self { machine, model, source, items: Vec::new(), holds: Vec::new(), causes: 0, now: 0 }
    }

    fn check(mut self, ops: &[Op]) {
        for (step, op) in ops.iter().enumerate() {
            self.step(*op);
            let (machine, model, done) = (&self.machine, &self.model, &ops[..=step]);
            assert_eq!(machine.lifecycle(), model.lifecycle(), "after {done:?}");
            assert_eq!(machine.poll_timeout(), model.next_timeout().map(at), "after {done:?}");
            assert_eq!(machine.has_item(), model.has_item(), "after {done:?}");
            assert_eq!(machine.stats(), model.stats(), "after {done:?}");
            let report: BTreeMap<_, _> = machine.report().map(|key| (*key.key, (key.state, key.failures))).collect();
            assert_eq!(report, model.report(), "after {done:?}");
        }
    }

    fn step(&mut self, op: Op) {
        let now = at(self.now);
        match op {
            Op::Add(key, priority) => {
                self.causes += 1;
                let added = self.machine.try_add(now, key, priority, self.causes).ok();
                assert_eq!(added, self.model.add(key, priority, self.causes), "key {key}");
            }
            Op::Take => self.take(),
            Op::Finish(..) if self.items.is_empty() => {}
            Op::Finish(number, outcome, writes) => {
                let item = self.items.remove(number % self.items.len());
                self.finish(item, outcome, writes);
            }
            Op::Fulfil(..) if self.holds.is_empty() => {}
            Op::Fulfil(number, write) => self.fulfil(number % self.holds.len(), write),
            Op::Advance(millis) => {
                self.now += millis;
                self.machine.handle_timeout(at(self.now));
                self.model.advance(self.now);
            }
            Op::SourceSynced => {
                if let Some(source) = self.source {
                    self.machine.source_synced(now, source);
                    self.model.source_synced();
                }
            }
            Op::Start(within) => {
                self.machine.start(now, within.map(Duration::from_millis));
                self.model.start(within);
            }
            Op::Drain(grace) => {
                self.machine.drain(now, Duration::from_millis(grace));
                self.model.drain(grace);
            }
            Op::PollPeriod => assert_eq!(self.machine.poll_period(), self.model.poll_period()),
        }
    }

    fn take(&mut self) {
        let item = self.machine.poll_item(at(self.now));
        let taken = item.as_ref().map(|item| Taken {
            key: *self.machine.key(item),
            causes: Causes {
                kept: self.machine.causes(item).map(|(cause, at)| (*cause, at.as_nanos() / 1_000_000)).collect(),
                dropped: self.machine.dropped_causes(item),
            },
            late: self.machine.late_writes(item).copied().collect(),
        });
        assert_eq!(taken, self.model.take());
        self.items.extend(item);
    }

    fn finish(&mut self, item: WorkItem, outcome: Outcome, writes: usize) {
        let key = *self.machine.key(&item);
        let expected = self.model.finish(key, outcome, writes);
        match self.machine.finish(at(self.now), item, outcome, 0..writes) {
            Ended::Finished(finished) => assert_eq!(Some(finished), expected, "key {key}"),
            Ended::Held { hold, until } => {
                assert_eq!((None, at(self.now + LONGEST_HOLD)), (expected, until), "key {key}");
                self.holds.retain(|(held, _)| *held != key);
                self.holds.push((key, hold));
            }
        }
    }

    /// A hold of a key that was held again since is not in the list, so only one that is over is left.
    fn fulfil(&mut self, number: usize, write: usize) {
        let (key, hold) = self.holds[number];
        let is_held = self.machine.fulfil(at(self.now), hold, write);
        assert_eq!(is_held, self.model.fulfil(key, write), "key {key}, write {write}");
        assert_eq!(self.machine.is_held(hold), is_held, "key {key}");
    }
}

/// The outcome of that number, of seven.
fn outcome(number: u8, time: Duration) -> Outcome {
    let outcomes = [
        Outcome::Retry,
        Outcome::RetryAfter(time),
        Outcome::RequeueAfter(time),
        Outcome::Panicked,
        Outcome::Transient(time),
        Outcome::Terminal,
    ];
    outcomes.get(usize::from(number)).copied().unwrap_or(Outcome::Done)
}

fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}
