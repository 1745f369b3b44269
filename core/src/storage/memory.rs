//! What the two memories have in common.

use super::Slot;
use core::hash::Hash;

/// The memory of a machine: [`Heap`](super::Heap) or [`Fixed`](super::Fixed). Sealed.
pub trait Mem: sealed::Sealed + Copy + core::fmt::Debug + PartialEq + 'static {
    /// The error of a full container. It holds the item; on the heap, no such value exists.
    type Full<T>;
    /// An array in one piece.
    #[doc(hidden)]
    type Array<T>: sealed::Array<T, Full = Self::Full<T>>;
    /// An array that is never moved as a whole, however large.
    #[doc(hidden)]
    type Records<T>: sealed::Records<T, Full = Self::Full<T>>;
    /// The index functions of an indexer.
    #[doc(hidden)]
    type Indexes<T>: sealed::Records<T, Full = Self::Full<T>>;
    /// The pairs of object and index value of an indexer.
    #[doc(hidden)]
    type Postings<T>: sealed::Records<T, Full = Self::Full<T>>;
    /// The distinct index values of an indexer.
    #[doc(hidden)]
    type Values<T>: sealed::Records<T, Full = Self::Full<T>>;
    /// A copy of a short text. The conversion fails where it does not fit.
    #[doc(hidden)]
    type Text: core::fmt::Debug + Hash + Eq + core::ops::Deref<Target = str> + for<'a> TryFrom<&'a str>;
    /// A slot as records keep it: of 16 bits in fixed memory.
    #[doc(hidden)]
    type Slot: Copy + core::fmt::Debug + PartialEq + From<Slot> + Into<Slot>;
    /// A part of a machine that fixed memory leaves out, because it takes memory for each record.
    #[doc(hidden)]
    type HeapOnly<T: sealed::Empty>: sealed::HeapOnly<T>;
    /// What few records have: on the heap in a box, so that the others are smaller.
    #[doc(hidden)]
    type Rare<T>: From<T> + core::ops::Deref<Target = T>;
    /// A function that emits the index values of an object: on the heap a boxed closure, in fixed memory a `fn`.
    type IndexFn<V>: Fn(&V, &mut dyn FnMut(&str));

    /// A hash that depends on a seed: who does not know the seed cannot choose keys of equal hashes.
    #[doc(hidden)]
    fn hash<Q: Hash + ?Sized>(seed: u64, key: &Q) -> u32;

    /// The item of a full container.
    #[doc(hidden)]
    fn into_item<T>(full: Self::Full<T>) -> T;

    #[doc(hidden)]
    fn map_full<T, U>(full: Self::Full<T>, f: impl FnOnce(T) -> U) -> Self::Full<U>;

    /// Whether a container of this capacity has room for that many records in all. The heap does not compute the number.
    #[doc(hidden)]
    fn try_room(capacity: usize, records: impl FnOnce() -> usize) -> Result<(), Self::Full<()>>;
}

/// The error of a container whose fixed capacity is used up. It gives the item back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Full<T>(pub T);

impl<T> core::fmt::Display for Full<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("the fixed capacity is used up")
    }
}

impl<T: core::fmt::Debug> core::error::Error for Full<T> {}

/// The error of a container that is never full. No such value exists.
#[cfg(feature = "alloc")]
#[derive(Debug)]
pub struct NeverFull<T>(core::convert::Infallible, core::marker::PhantomData<T>);

#[cfg(feature = "alloc")]
impl<T> NeverFull<T> {
    pub(super) fn never<U>(self) -> U {
        match self.0 {}
    }
}

/// The value of a `Result` that cannot be an error.
#[cfg(feature = "alloc")]
pub(crate) fn never_full<V, T>(result: Result<V, NeverFull<T>>) -> V {
    match result {
        Ok(value) => value,
        Err(full) => full.never(),
    }
}

/// The [`HeapOnly`](sealed::HeapOnly) part of a machine on the heap, and the [`Rare`](Mem::Rare) one in fixed memory.
#[cfg(any(feature = "alloc", feature = "fixed"))]
#[derive(Debug)]
pub struct InPlace<T>(pub(crate) T);

#[cfg(any(feature = "alloc", feature = "fixed"))]
impl<T> From<T> for InPlace<T> {
    fn from(value: T) -> Self {
        Self(value)
    }
}

#[cfg(any(feature = "alloc", feature = "fixed"))]
impl<T> core::ops::Deref for InPlace<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

#[cfg(any(feature = "alloc", feature = "fixed"))]
impl<T: sealed::Empty> sealed::Empty for InPlace<T> {
    const EMPTY: Self = Self(T::EMPTY);
}

#[cfg(any(feature = "alloc", feature = "fixed"))]
impl<T: sealed::Empty> sealed::HeapOnly<T> for InPlace<T> {
    #[inline]
    fn get(&self) -> Option<&T> {
        Some(&self.0)
    }

    #[inline]
    fn get_mut(&mut self) -> Option<&mut T> {
        Some(&mut self.0)
    }
}

pub(crate) mod sealed {
    use super::Slot;
    use core::ops::{DerefMut, Range};

    #[allow(missing_debug_implementations, reason = "never constructed")]
    pub trait Sealed {}

    /// What has a constant value without anything in it.
    pub trait Empty {
        const EMPTY: Self;
    }

    impl<T> Empty for Option<T> {
        const EMPTY: Self = None;
    }

    /// An array in one piece.
    pub trait Array<T>: Records<T> + DerefMut<Target = [T]> {
        fn pop(&mut self) -> Option<T>;
    }

    /// The array under a slab.
    pub trait Records<T>: Empty {
        /// What finds the slots of such an array by the hashes of their keys.
        type Index: Index;
        type Full;
        /// The most records; the heap has no limit.
        const CAPACITY: usize;

        /// All places are below this index.
        fn len(&self) -> usize;
        /// The index of the place that is pushed next.
        fn next(&self) -> usize {
            self.len()
        }
        fn get(&self, index: usize) -> Option<&T>;
        fn get_mut(&mut self, index: usize) -> Option<&mut T>;
        fn try_push(&mut self, record: T) -> Result<(), Self::Full>;
        /// Notes that a place has a record.
        fn occupy(&mut self, _: usize) {}
        /// Notes that a place has no record any more. Returns a range of places that could be [given
        /// back](Self::give_back): they have no records either.
        fn vacate(&mut self, _: usize) -> Option<Range<usize>> {
            None
        }
        fn give_back(&mut self, _: Range<usize>) {}
        fn clear(&mut self);
        /// Clears an array that holds much memory and gives it back; says whether it did.
        fn release(&mut self) -> bool;
    }

    /// From a hash to the slots that have it.
    pub trait Index: Empty {
        fn find(&self, hash: u32, eq: impl FnMut(Slot) -> bool) -> Option<Slot>;
        /// The slot that has the hash and is equal by `eq`; if there is none, `new` has it from now on.
        fn find_or_insert(
            &mut self,
            hash: u32,
            eq: impl FnMut(Slot) -> bool,
            new: impl FnOnce() -> Slot,
        ) -> Option<Slot>;
        /// Never fails: an index has room for every slot of its array.
        fn insert(&mut self, hash: u32, slot: Slot);
        /// Removes a slot that is there.
        fn remove(&mut self, hash: u32, slot: Slot);
        fn clear(&mut self);
        /// As [`Records::release`].
        fn release(&mut self);
    }

    /// A part that a machine has on the heap.
    pub trait HeapOnly<T>: Empty {
        fn get(&self) -> Option<&T>;
        fn get_mut(&mut self) -> Option<&mut T>;
    }
}
