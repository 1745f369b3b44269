//! Operations on the indexer.

use crate::models::indexer::{IndexerModel, Pod, VALUES};
use arbitrary::{Arbitrary, Result, Unstructured};
use listwatch_core::cache::{Capacity, IndexId, IndexerIn};
use listwatch_core::storage::{Fixed, Heap, Indexed, Mem};

/// One operation. Keys are below [`Op::KEYS`]; the values are sets of bits, below 8.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "each is the method of its name")]
pub enum Op {
    Insert(u8, [u8; 2]),
    Remove(u8),
    /// The keys of a set of bits, all with the same values. Memory of a fixed size has no such operation.
    Replace(u8, [u8; 2]),
    Clear,
    /// Adds the index of this number, or removes it.
    ToggleIndex(bool),
}

impl Op {
    /// The number of keys: more than the small memory has room for.
    pub const KEYS: u8 = 5;
}

impl<'a> Arbitrary<'a> for Op {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let (kind, byte) = (u8::arbitrary(u)?, u8::arbitrary(u)?);
        let (key, values) = (kind / 16 % Self::KEYS, [byte & 7, byte >> 3 & 7]);
        Ok(match kind % 16 {
            0..=9 => Self::Insert(key, values),
            10..=11 => Self::Remove(key),
            12 => Self::Replace(kind >> 4, values),
            13 if byte < 32 => Self::Clear,
            _ => Self::ToggleIndex(byte < 128),
        })
    }
}

/// Runs the operations that `data` stands for.
///
/// # Panics
/// Where a store and its model differ.
pub fn run(data: &[u8]) {
    let mut data = Unstructured::new(data);
    let ops: Vec<Op> = super::rest(&mut data);
    check(&ops);
}

/// Runs `ops` on a store on the heap, on one that has no room for all keys, and on those in which one capacity is used up
/// long before the others.
///
/// # Panics
/// Where a store and its model differ.
pub fn check(ops: &[Op]) {
    Pair::<Heap>::new().check(ops);
    Pair::<Fixed<4>>::new().check(ops);
    Pair::<Fixed<2, Indexed<2, 30, 6>>>::new().check(ops);
    Pair::<Fixed<5, Indexed<1, 15, 3>>>::new().check(ops);
    Pair::<Fixed<5, Indexed<2, 5, 5>>>::new().check(ops);
    Pair::<Fixed<5, Indexed<2, 30, 2, 1>>>::new().check(ops);
}

type IndexFn = fn(&Pod, &mut dyn FnMut(&str));

/// What differs between the memories.
trait Memory: Mem {
    /// For objects, indexes, pairs of object and value, and values.
    const CAPACITIES: [usize; 4];
    fn index_fn(function: IndexFn) -> Self::IndexFn<Pod>;
    /// Whether there is such an operation.
    fn replace(pods: &mut IndexerIn<Pod, Self>, items: &[Pod]) -> bool;
}

impl Memory for Heap {
    const CAPACITIES: [usize; 4] = [usize::MAX; 4];

    fn index_fn(function: IndexFn) -> Self::IndexFn<Pod> {
        Box::new(function)
    }

    fn replace(pods: &mut IndexerIn<Pod, Self>, items: &[Pod]) -> bool {
        pods.replace(items.iter().copied());
        true
    }
}

impl<const N: usize, const INDEXES: usize, const POSTINGS: usize, const VALUES: usize, const TEXT: usize> Memory
    for Fixed<N, Indexed<INDEXES, POSTINGS, VALUES, TEXT>>
{
    const CAPACITIES: [usize; 4] = [N, INDEXES, POSTINGS, VALUES];

    fn index_fn(function: IndexFn) -> Self::IndexFn<Pod> {
        function
    }

    fn replace(_: &mut IndexerIn<Pod, Self>, _: &[Pod]) -> bool {
        false
    }
}

fn first(pod: &Pod, emit: &mut dyn FnMut(&str)) {
    pod.values(0).for_each(emit);
}

/// Emits each value twice.
fn second(pod: &Pod, emit: &mut dyn FnMut(&str)) {
    pod.values(1).chain(pod.values(1)).for_each(emit);
}

/// A store and its model, at first with the first index.
struct Pair<M: Mem> {
    store: IndexerIn<Pod, M>,
    model: IndexerModel,
    indexes: [Option<IndexId>; 2],
    version: u32,
}

impl<M: Memory> Pair<M> {
    fn new() -> Self {
        let mut pair = Self { store: IndexerIn::new(), model: IndexerModel::default(), indexes: [None; 2], version: 0 };
        pair.toggle_index(0);
        pair
    }

    fn check(mut self, ops: &[Op]) {
        for (step, op) in ops.iter().enumerate() {
            self.version += 1;
            self.step(*op);
            self.compare(&ops[..=step]);
        }
    }

    fn step(&mut self, op: Op) {
        match op {
            Op::Insert(key, values) => self.insert(Pod { key, version: self.version, values }),
            Op::Remove(key) => assert_eq!(self.store.remove(&key), self.model.remove(key)),
            Op::Replace(keys, values) => {
                let keys = (0..Op::KEYS).filter(|key| keys >> key & 1 == 1);
                let pods: Vec<Pod> = keys.map(|key| Pod { key, version: self.version, values }).collect();
                if M::replace(&mut self.store, &pods) {
                    self.model.replace(&pods);
                }
            }
            Op::Clear => {
                self.store.clear();
                self.model.clear();
            }
            Op::ToggleIndex(second) => self.toggle_index(second.into()),
        }
    }

    /// A refused object must not have had room: neither itself, nor its values as they were emitted.
    fn insert(&mut self, pod: Pod) {
        let lacking = self.store.lacking(&pod);
        match self.store.try_insert(pod) {
            Ok(old) => {
                assert_eq!(old, self.model.insert(pod));
                assert_eq!(lacking, None);
            }
            Err(_) => assert!(self.is_lacking(pod, lacking), "{pod:?} lacks {lacking:?}"),
        }
    }

    /// Whether the pod exceeds this capacity.
    fn is_lacking(&self, pod: Pod, capacity: Option<Capacity>) -> bool {
        let [objects, _, postings, values] = M::CAPACITIES;
        let indexes = || (0..2).filter(|index| self.indexes[*index].is_some());
        match capacity {
            Some(Capacity::Objects) => self.model.object(pod.key).is_none() && self.model.len() == objects,
            Some(Capacity::Postings) => {
                let emitted: usize = indexes().map(|index| emits(pod.values(index), index)).sum();
                self.model.pairs_without(pod.key) + emitted > postings
            }
            Some(Capacity::Values) => {
                let new = |index| pod.values(index).filter(move |value| self.model.keys(index, value).is_empty());
                let emitted: usize = indexes().map(|index| emits(new(index), index)).sum();
                self.model.values_with(pod) + emitted > values
            }
            _ => false,
        }
    }

    fn toggle_index(&mut self, index: usize) {
        if let Some(id) = self.indexes[index].take() {
            self.store.remove_index(id);
            self.model.remove_index(index);
            assert!(VALUES.iter().all(|value| self.store.by_index(id, value).next().is_none()));
        } else if let Ok(id) = self.store.try_add_index(M::index_fn([first, second][index])) {
            let order: Vec<u8> = self.store.iter().map(|pod| pod.key).collect();
            self.model.add_index(index, &order);
            self.indexes[index] = Some(id);
            assert!(self.indexes.iter().flatten().count() <= M::CAPACITIES[1]);
        }
    }

    fn compare(&self, ops: &[Op]) {
        self.store.check();
        assert_eq!(self.store.len(), self.model.len(), "after {ops:?}");
        for key in 0..Op::KEYS {
            assert_eq!(self.store.get(&key), self.model.object(key), "after {ops:?}");
        }
        for (index, id) in self.indexes.iter().enumerate().filter_map(|(index, id)| Some((index, (*id)?))) {
            for value in VALUES {
                let keys: Vec<u8> = self.store.index_keys(id, value).copied().collect();
                assert_eq!(keys, self.model.keys(index, value), "{value} of index {index} after {ops:?}");
                let listed = self.store.index_values(id).filter(|listed| *listed == value).count();
                assert_eq!(listed, usize::from(!keys.is_empty()), "{value} of index {index} after {ops:?}");
            }
        }
    }
}

/// How many times these values are emitted.
fn emits(values: impl Iterator<Item = &'static str>, index: usize) -> usize {
    values.count() * (index + 1)
}
