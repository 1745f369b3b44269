//! Memory that grows: arrays of segments, hashbrown's table for index values, and a table of cells for keys.

use super::never::{NeverFull, never_full};
use super::probing::{Passing, Staying, Waning};
use super::sealed::{Array, Emit, Empty, Gathered, Hashing, Index, Measured, Optional, Records, Sealed, Text};
use super::segments::Segments;
use super::shards::{Shard, Shards};
use super::{Mem, Slot};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::hash::{BuildHasher, Hash};
use foldhash::fast::FixedState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

/// Memory from the global allocator; containers grow as needed and are never full.
#[derive(Clone, Copy, Debug)]
pub enum Heap {}

/// The number of records for which an empty container keeps its memory.
const KEPT: usize = 1024;

impl Sealed for Heap {}

impl Mem for Heap {
    type Array<T> = Vec<T>;
    type Draining<T> = super::draining::Draining<T>;
    type Records<T> = Segments<T>;
    type Indexes<T> = Vec<T>;
    type Postings<T> = Segments<T>;
    type Values<T> = Segments<T>;
    type Full<T> = NeverFull<T>;
    type Index = Shards<Staying>;
    type IndexFn<V> = Box<dyn Fn(&V, &mut dyn FnMut(&str)) + Send + Sync>;
    type PassingIndex = Passing;
    type DrainingIndex = Shards<Waning>;
    type ValueIndex = Shards<HashIndex>;
    type Hashing = FoldHash;
    type Maybe<T> = Option<T>;
    type Measured<T> = Option<T>;
    type Rare<T> = Box<T>;
    type Slot = Slot;
    type Text = Box<str>;
    type Gathered = Values;
    type Ranges<V> = super::ranges::Ranges<V>;
    type Runs<V> = super::runs::Runs<V, Self>;

    fn into_item<T>(full: NeverFull<T>) -> T {
        never_full(Err(full))
    }

    fn map_full<T, U>(full: NeverFull<T>, _: impl FnOnce(T) -> U) -> NeverFull<U> {
        full.map()
    }

    fn try_room(_: usize, _: impl FnOnce() -> usize) -> Result<(), NeverFull<()>> {
        Ok(())
    }
}

/// The hashes of the heap.
#[derive(Debug)]
pub enum FoldHash {}

impl Hashing for FoldHash {
    #[inline]
    fn hash<Q: Hash + ?Sized>(seed: u64, key: &Q) -> u32 {
        let hash = FixedState::with_seed(seed).hash_one(key);
        (hash ^ (hash >> 32)) as u32
    }
}

impl<T> Empty for Vec<T> {
    const EMPTY: Self = Self::new();
}

impl<T> Array<T> for Vec<T> {
    fn as_slice(&self) -> &[T] {
        self
    }

    fn as_mut_slice(&mut self) -> &mut [T] {
        self
    }

    fn pop(&mut self) -> Option<T> {
        self.pop()
    }
}

impl<T> Records<T> for Vec<T> {
    type Full = NeverFull<T>;
    const CAPACITY: usize = usize::MAX;

    #[inline]
    fn len(&self) -> usize {
        self.as_slice().len()
    }

    #[inline]
    fn get(&self, index: usize) -> Option<&T> {
        self.as_slice().get(index)
    }

    #[inline]
    fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        self.as_mut_slice().get_mut(index)
    }

    fn try_push(&mut self, item: T) -> Result<(), NeverFull<T>> {
        self.push(item);
        Ok(())
    }

    fn is_full(&self) -> bool {
        false
    }

    fn clear(&mut self) {
        self.clear();
    }

    fn release(&mut self) -> bool {
        let release = self.capacity() > KEPT;
        if release {
            *self = Self::new();
        }
        release
    }
}

impl Text for Box<str> {
    fn fits(_: &str) -> bool {
        true
    }

    fn try_copy(text: &str) -> Option<Self> {
        Some(text.into())
    }
}

impl<T> Empty for Option<T> {
    const EMPTY: Self = None;
}

impl<T> Optional<T> for Option<T> {
    #[inline]
    fn get(&self) -> Option<&T> {
        self.as_ref()
    }

    #[inline]
    fn take(&mut self) -> Self {
        self.take()
    }

    #[inline]
    fn set(&mut self, value: T) {
        *self = Some(value);
    }
}

impl<T> Measured<T> for Option<T> {
    fn get(&self) -> Option<&T> {
        self.as_ref()
    }

    fn get_mut(&mut self) -> Option<&mut T> {
        self.as_mut()
    }
}

/// Index values, one behind the other: a closure is called once, so that it cannot panic when it is called again.
#[derive(Debug)]
pub struct Values {
    text: String,
    /// The number of the index of each value, and where the value ends.
    ends: Vec<(u32, usize)>,
}

impl Empty for Values {
    const EMPTY: Self = Self { text: String::new(), ends: Vec::new() };
}

impl Gathered for Values {
    fn gather(&mut self, emit: Emit<'_>) {
        if self.text.capacity() > KEPT * 64 {
            *self = Self::EMPTY;
        }
        self.text.clear();
        self.ends.clear();
        emit(&mut |index, value| {
            self.text.push_str(value);
            self.ends.push((index, self.text.len()));
        });
    }

    fn emit(&self, _: Emit<'_>, to: &mut dyn FnMut(u32, &str)) {
        let mut start = 0;
        for (index, end) in &self.ends {
            to(*index, &self.text[start..*end]);
            start = *end;
        }
    }
}

/// Keeps each slot's hash, so that growing never hashes a key again.
#[derive(Debug)]
pub struct HashIndex(HashTable<(u32, Slot)>);

/// hashbrown takes its bucket from the low bits and its tag from the high ones.
fn spread(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl Empty for HashIndex {
    const EMPTY: Self = Self(HashTable::new());
}

impl Index for HashIndex {
    fn find(&self, hash: u32, mut eq: impl FnMut(Slot) -> bool) -> Option<Slot> {
        self.0.find(spread(hash), |entry| entry.0 == hash && eq(entry.1)).map(|entry| entry.1)
    }

    #[inline]
    fn find_or_insert(
        &mut self,
        hash: u32,
        mut eq: impl FnMut(Slot) -> bool,
        new: impl FnOnce() -> Slot,
    ) -> Option<Slot> {
        match self.0.entry(spread(hash), |entry| entry.0 == hash && eq(entry.1), |entry| spread(entry.0)) {
            Entry::Occupied(entry) => Some(entry.get().1),
            Entry::Vacant(place) => {
                place.insert((hash, new()));
                None
            }
        }
    }

    fn insert(&mut self, hash: u32, slot: Slot) {
        self.0.insert_unique(spread(hash), (hash, slot), |entry| spread(entry.0));
    }

    #[inline]
    fn remove(&mut self, hash: u32, slot: Slot) {
        if let Ok(entry) = self.0.find_entry(spread(hash), |entry| entry.1 == slot) {
            entry.remove();
        }
    }

    fn clear(&mut self) {
        self.0.clear();
    }

    fn release(&mut self) {
        if self.0.capacity() > KEPT {
            self.0 = HashTable::new();
        }
    }
}

impl Shard for HashIndex {
    /// Twice as many, and some more, are seven eighths of a power of two.
    const FULL: usize = 800;

    fn len(&self) -> usize {
        self.0.len()
    }

    fn split(&mut self, to: &mut Self, passes: impl Fn(u32) -> bool) {
        let half = self.0.len() / 2;
        to.0 = HashTable::with_capacity(half);
        for (hash, slot) in core::mem::replace(&mut self.0, HashTable::with_capacity(half)) {
            let shard = if passes(hash) { &mut *to } else { &mut *self };
            shard.insert(hash, slot);
        }
    }
}
