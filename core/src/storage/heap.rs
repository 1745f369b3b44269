//! Memory that grows.

use super::cells::PassingIndex;
use super::sealed::{Array, Empty, Records, Sealed};
use super::segments::Segments;
use super::{InPlace, Mem, NeverFull, Slot};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::hash::{BuildHasher, Hash};
use foldhash::fast::FixedState;

/// Memory from the global allocator; containers grow as needed and are never full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heap {}

/// The number of records for which an empty container keeps its memory.
const KEPT: usize = 1024;

impl Sealed for Heap {}

impl Mem for Heap {
    type Array<T> = Vec<T>;
    type Records<T> = Segments<T>;
    type Indexes<T> = Vec<T>;
    type Postings<T> = Segments<T>;
    type Values<T> = Segments<T>;
    type Full<T> = NeverFull<T>;
    type IndexFn<V> = Box<dyn Fn(&V, &mut dyn FnMut(&str)) + Send + Sync>;
    type HeapOnly<T: Empty> = InPlace<T>;
    type Rare<T> = Box<T>;
    type Slot = Slot;
    type Text = Box<str>;

    #[inline]
    fn hash<Q: Hash + ?Sized>(seed: u64, key: &Q) -> u32 {
        let hash = FixedState::with_seed(seed).hash_one(key);
        (hash ^ (hash >> 32)) as u32
    }

    fn into_item<T>(full: NeverFull<T>) -> T {
        full.never()
    }

    fn map_full<T, U>(full: NeverFull<T>, _: impl FnOnce(T) -> U) -> NeverFull<U> {
        full.never()
    }

    fn try_room(_: usize, _: impl FnOnce() -> usize) -> Result<(), NeverFull<()>> {
        Ok(())
    }
}

impl<T> Empty for Vec<T> {
    const EMPTY: Self = Self::new();
}

impl<T> Array<T> for Vec<T> {
    fn pop(&mut self) -> Option<T> {
        self.pop()
    }
}

impl<T> Records<T> for Vec<T> {
    type Index = PassingIndex;
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

/// A buffer that is filled again and again.
pub(crate) trait Reused {
    /// Empties the buffer. Its memory is kept for the next time, unless it has grown large.
    fn start_over(&mut self);
}

/// The most bytes of memory that an empty buffer keeps.
const KEPT_BYTES: usize = 64 * 1024;

impl<T> Reused for Vec<T> {
    fn start_over(&mut self) {
        if self.capacity() * size_of::<T>() > KEPT_BYTES {
            *self = Self::new();
        }
        self.clear();
    }
}

impl Reused for String {
    fn start_over(&mut self) {
        if self.capacity() > KEPT_BYTES {
            *self = Self::new();
        }
        self.clear();
    }
}
