//! Operations on the delta FIFO.

use crate::models::delta_fifo::{DeltaFifoModel, Known, Pod};
use arbitrary::{Arbitrary, Result, Unstructured};
use listwatch_core::fifo::{Delta, DeltaFifoIn, Order, Popped};
use listwatch_core::storage::{Fixed, Heap, Mem};
use std::collections::BTreeSet;

/// One operation. Keys are below [`Op::KEYS`]; versions are numbered as the operations come.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "each is the method of its name")]
pub enum Op {
    Add(u8),
    Update(u8),
    Delete(u8),
    Stage(u8),
    Restage(u8),
    StagePresent(u8),
    StageUnreadable,
    Unstage(u8),
    CommitStage,
    DiscardStage,
    Resync,
    /// One delta; the consumer applies it.
    Pop,
}

impl Op {
    /// The number of keys.
    pub const KEYS: u8 = 4;
}

impl<'a> Arbitrary<'a> for Op {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let byte = u8::arbitrary(u)?;
        let key = byte % Self::KEYS;
        Ok(match byte / Self::KEYS {
            0..=4 => Self::Add(key),
            5..=9 => Self::Update(key),
            10..=14 => Self::Delete(key),
            15..=20 => Self::Stage(key),
            21..=24 => Self::Restage(key),
            25..=26 => Self::StagePresent(key),
            27 => Self::StageUnreadable,
            28..=29 => Self::Unstage(key),
            30..=34 => Self::CommitStage,
            35 => Self::DiscardStage,
            36..=38 => Self::Resync,
            _ => Self::Pop,
        })
    }
}

/// Runs the operations that `data` stands for.
///
/// # Panics
/// Where a queue and its model differ.
pub fn run(data: &[u8]) {
    let mut data = Unstructured::new(data);
    let ops: Vec<Op> = super::rest(&mut data);
    check(&ops);
}

/// Runs `ops` in both orders, coalescing and not, on a queue on the heap and on a small one.
///
/// # Panics
/// Where a queue and its model differ.
pub fn check(ops: &[Op]) {
    for order in [Order::Arrival, Order::ByKey] {
        for coalescing in [false, true] {
            Pair::<Heap>::new(order, coalescing, usize::MAX).check(ops);
            Pair::<Fixed<6>>::new(order, coalescing, 6).check(ops);
        }
    }
}

/// Runs `ops` in both orders on a queue that coalesces and on one that does not: the consumer of either ends with the
/// same objects, and has seen deletions of the same keys.
///
/// # Panics
/// Where they differ.
pub fn check_folding(ops: &[Op]) {
    for order in [Order::Arrival, Order::ByKey] {
        let [plain, coalesced] =
            [false, true].map(|coalescing| Pair::<Heap>::new(order, coalescing, usize::MAX).fold(ops));
        assert_eq!(plain, coalesced, "{order:?} after {ops:?}");
    }
}

/// A queue, its model, and what their consumer knows: at first, one object.
struct Pair<M: Mem> {
    fifo: DeltaFifoIn<Pod, M>,
    model: DeltaFifoModel,
    known: Known,
    capacity: usize,
    version: u32,
}

impl<M: Mem> Pair<M> {
    fn new(order: Order, coalescing: bool, capacity: usize) -> Self {
        let known = Known([(0, Pod(0, 0))].into());
        let fifo = if coalescing { DeltaFifoIn::new(order).coalescing() } else { DeltaFifoIn::new(order) };
        Self { fifo, model: DeltaFifoModel::new(order, coalescing), known, capacity, version: 0 }
    }

    /// What the consumer has in the end, and the keys of which it has seen a deletion.
    fn fold(mut self, ops: &[Op]) -> (Vec<Pod>, BTreeSet<u8>) {
        let mut deleted = BTreeSet::new();
        let mut see = |popped: Option<Popped<Pod>>| {
            let delta = popped.map(|popped| popped.delta);
            deleted.extend(delta.filter(Delta::is_deletion).map(|delta| delta.object().0));
            delta.is_some()
        };
        for op in ops {
            self.version += 1;
            match op {
                Op::Pop => _ = see(self.pop()),
                _ => self.step(*op),
            }
        }
        while see(self.pop()) {}
        (self.known.0.into_values().collect(), deleted)
    }

    fn check(mut self, ops: &[Op]) {
        for (step, op) in ops.iter().enumerate() {
            self.version += 1;
            self.step(*op);
            self.fifo.check();
            assert_eq!(self.fifo.has_synced(), self.model.has_synced(), "after {:?}", &ops[..=step]);
            assert_eq!(self.fifo.len(), self.model.len(), "after {:?}", &ops[..=step]);
            let arrivals = (self.fifo.arrived(), self.fifo.oldest());
            assert_eq!(arrivals, (self.model.arrived(), self.model.oldest()), "after {:?}", &ops[..=step]);
            for key in 0..Op::KEYS {
                let newest = self.fifo.newest(&key).copied();
                assert_eq!(newest, self.model.newest(key), "key {key} after {:?}", &ops[..=step]);
            }
        }
        while !self.model.is_empty() {
            self.pop();
        }
        assert!(self.fifo.pop().is_none(), "after {ops:?}");
    }

    fn step(&mut self, op: Op) {
        let Self { fifo, model, known, version, .. } = self;
        let version = *version;
        let pod = |key| Pod(key, version);
        match op {
            Op::Add(key) => {
                let (done, needed) = (fifo.try_add(pod(key)).is_ok(), model.needed(Delta::Added(pod(key))));
                self.expect(done, needed, |model, _| model.push(Delta::Added(pod(key))));
            }
            Op::Update(key) => {
                let (done, needed) = (fifo.try_update(pod(key)).is_ok(), model.needed(Delta::Updated(pod(key))));
                self.expect(done, needed, |model, _| model.push(Delta::Updated(pod(key))));
            }
            Op::Delete(key) => {
                let needed = model.needed(Delta::Deleted(pod(key)));
                let done = fifo.try_delete(pod(key), known).is_ok();
                self.expect(done, needed, |model, known| model.delete(pod(key), known));
            }
            Op::Stage(key) => {
                let done = fifo.try_stage(pod(key)).is_ok();
                self.expect(done, 1, |model, _| model.stage(pod(key)));
            }
            Op::Restage(key) => {
                let done = fifo.try_restage(pod(key)).is_ok();
                self.expect(done, 1, |model, _| model.restage(pod(key)));
            }
            Op::StagePresent(key) => {
                let done = fifo.try_stage_present(&key).is_ok();
                self.expect(done, 1, |model, _| model.stage_present(key));
            }
            Op::CommitStage => {
                let (done, needed) = (fifo.try_commit_stage(known).is_ok(), model.missing(known));
                self.expect(done, needed, |model, known| model.commit_stage(known));
            }
            Op::Resync => {
                let (done, needed) = (fifo.try_resync(known).is_ok(), model.unqueued(known));
                self.expect(done, needed, |model, known| model.resync(known));
            }
            Op::StageUnreadable => {
                fifo.stage_unreadable();
                model.stage_unreadable();
            }
            Op::Unstage(key) => {
                fifo.unstage(&key);
                model.unstage(key);
            }
            Op::DiscardStage => {
                fifo.discard_stage();
                model.discard_stage();
            }
            Op::Pop => _ = self.pop(),
        }
    }

    /// What is done is done to the model; what is refused must not have had the places it needs.
    fn expect(&mut self, done: bool, needed: usize, model: impl FnOnce(&mut DeltaFifoModel, &Known)) {
        if done {
            model(&mut self.model, &self.known);
            assert!(self.model.taken() <= self.capacity);
        } else {
            assert!(self.model.taken() + needed > self.capacity);
        }
    }

    fn pop(&mut self) -> Option<Popped<Pod>> {
        let popped = self.fifo.pop();
        assert_eq!(popped, self.model.pop());
        if let Some(popped) = &popped {
            self.known.apply(&popped.delta);
        }
        popped
    }
}
