//! Memory of a fixed capacity: heapless arrays, and a chain of slots for each hash bucket.

use super::sealed::{Array, Emit, Gathered, InRun, Index, Ranges, Records, Runs, Sealed, Text};
use super::{Full, Mem, Slot};
use core::ops;

/// Memory for `N` records in each container, inside the container itself: nothing is allocated, and a full container
/// gives the item back.
#[derive(Clone, Copy, Debug)]
pub enum Fixed<const N: usize> {}

/// Enough for the longest namespace or label value, 63 bytes.
const LONGEST_TEXT: usize = 64;

impl<const N: usize> Sealed for Fixed<N> {}

impl<const N: usize> Mem for Fixed<N> {
    type Array<T> = heapless::Vec<T, N>;
    type Draining<T> = heapless::Vec<T, N>;
    type Records<T> = heapless::Vec<T, N>;
    type Full<T> = Full<T>;
    type Index = Chains<N>;
    type IndexFn<V> = fn(&V, &mut dyn FnMut(&str));
    type PassingIndex = Chains<N>;
    type Rare<T> = InPlace<T>;
    type Text = heapless::String<LONGEST_TEXT>;
    type Gathered = Again;
    type Ranges<V> = Unshared;
    type Runs<V> = Unshared;

    fn into_item<T>(full: Full<T>) -> T {
        full.0
    }

    fn map_full<T, U>(full: Full<T>, f: impl FnOnce(T) -> U) -> Full<U> {
        Full(f(full.0))
    }

    fn try_room(records: impl FnOnce() -> usize) -> Result<(), Full<()>> {
        if records() <= N { Ok(()) } else { Err(Full(())) }
    }
}

/// A value in the record itself.
#[derive(Debug)]
pub struct InPlace<T>(T);

impl<T> From<T> for InPlace<T> {
    fn from(value: T) -> Self {
        Self(value)
    }
}

impl<T> ops::Deref for InPlace<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T, const N: usize> Array<T> for heapless::Vec<T, N> {
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

impl<T, const N: usize> Records<T> for heapless::Vec<T, N> {
    type Full = Full<T>;

    fn len(&self) -> usize {
        self.as_slice().len()
    }

    fn get(&self, index: usize) -> Option<&T> {
        self.as_slice().get(index)
    }

    fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        self.as_mut_slice().get_mut(index)
    }

    fn try_push(&mut self, record: T) -> Result<(), Full<T>> {
        self.push(record).map_err(Full)
    }

    fn is_full(&self) -> bool {
        self.is_full()
    }

    fn clear(&mut self) {
        self.clear();
    }

    fn release(&mut self) -> bool {
        false
    }
}

impl<const N: usize> Text for heapless::String<N> {
    fn fits(text: &str) -> bool {
        text.len() <= N
    }

    fn try_copy(text: &str) -> Option<Self> {
        Self::try_from(text).ok()
    }
}

/// No memory for index values: the functions are called again. They are `fn`s, so one that panics does so at the first
/// call, unless it depends on more than the object.
#[derive(Debug, Default)]
pub struct Again;

impl Gathered for Again {
    fn gather(&mut self, emit: Emit<'_>) {
        emit(&mut |_, _| {});
    }

    fn emit(&self, emit: Emit<'_>, to: &mut dyn FnMut(u32, &str)) {
        emit(to);
    }
}

/// Nothing: readers have the objects where they are.
#[derive(Debug, Default)]
pub struct Unshared;

impl Ranges for Unshared {
    fn changed(&mut self, _: Slot) {}
}

impl Runs for Unshared {
    type Run = ();
    type List = ();

    fn push<S>(&mut self, (): &mut (), _: &mut S, _: Slot)
    where
        S: ops::IndexMut<Slot, Output: InRun<()>>,
    {
    }

    fn unlinked<S>(&mut self, (): &mut (), _: &mut S, (): (), _: Slot, _: Option<Slot>)
    where
        S: ops::IndexMut<Slot, Output: InRun<()>>,
    {
    }

    fn is_shared(&mut self) -> bool {
        false
    }

    fn changed(&mut self, (): &mut (), (): ()) {}

    fn clear(&mut self) {}

    fn release(&mut self) {}

    fn check<S>(&self, (): &(), _: &S, _: Option<Slot>)
    where
        S: ops::Index<Slot, Output: InRun<()>>,
    {
    }
}

/// As many buckets as slots; a slot's successor in its bucket is found under the slot's own number.
#[derive(Debug)]
pub struct Chains<const N: usize> {
    heads: [Option<Slot>; N],
    next: [Option<Slot>; N],
}

impl<const N: usize> Default for Chains<N> {
    fn default() -> Self {
        Self { heads: [None; N], next: [None; N] }
    }
}

impl<const N: usize> Index for Chains<N> {
    fn find(&self, hash: u32, mut eq: impl FnMut(Slot) -> bool) -> Option<Slot> {
        let mut at = *self.heads.get(hash as usize % N.max(1))?;
        while let Some(slot) = at {
            if eq(slot) {
                return at;
            }
            at = self.next[slot.index()];
        }
        None
    }

    fn find_or_insert(&mut self, hash: u32, eq: impl FnMut(Slot) -> bool, new: impl FnOnce() -> Slot) -> Option<Slot> {
        let found = self.find(hash, eq);
        if found.is_none() {
            self.insert(hash, new());
        }
        found
    }

    fn insert(&mut self, hash: u32, slot: Slot) {
        let head = &mut self.heads[hash as usize % N.max(1)];
        self.next[slot.index()] = head.replace(slot);
    }

    fn remove(&mut self, hash: u32, slot: Slot) {
        let after = self.next[slot.index()].take();
        let mut at = &mut self.heads[hash as usize % N.max(1)];
        while let Some(found) = *at {
            if found == slot {
                *at = after;
                return;
            }
            at = &mut self.next[found.index()];
        }
    }

    fn clear(&mut self) {
        *self = Self::default();
    }

    fn release(&mut self) {}
}
