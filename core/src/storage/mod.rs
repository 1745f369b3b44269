//! The memory of the machines: one algorithm for the heap and for fixed capacities.
//!
//! Every container of this crate is a slab of records addressed by slots. Order (queues, timers, postings) is kept in
//! links *inside* the records. So lists, heaps and tables are index arithmetic that serves both memories. Two things
//! differ between the memories: the array under the slab, and the index from a hash to a slot. [`Mem`] names them by
//! their use: what stays, what comes and goes, what is filled and drained. It also names the owned parts of a record: a
//! short text, a function. Lists that readers share are of the heap alone. [`Heap`] and [`Fixed`] are its only
//! implementations.

#[cfg(feature = "fixed")]
mod chains;
#[cfg(feature = "alloc")]
mod chunks;
#[cfg(feature = "alloc")]
mod draining;
mod empty;
#[cfg(feature = "fixed")]
mod fixed;
#[cfg(feature = "fixed")]
mod half_sip;
#[cfg(feature = "alloc")]
mod heap;
mod known;
mod list;
#[cfg(feature = "alloc")]
mod never;
#[cfg(feature = "alloc")]
mod probing;
#[cfg(feature = "alloc")]
mod ranges;
#[cfg(feature = "alloc")]
mod reused;
#[cfg(feature = "alloc")]
mod runs;
mod same;
#[cfg(feature = "alloc")]
mod segments;
#[cfg(feature = "alloc")]
mod shards;
mod slab;
mod table;
mod timers;
mod versioned;

#[cfg(feature = "alloc")]
pub(crate) use chunks::{Chunk, SharedChunks};
pub(crate) use empty::{Initially, Maybe};
#[cfg(feature = "fixed")]
pub use fixed::{Fixed, Indexed};
#[cfg(feature = "alloc")]
pub use heap::Heap;
pub use known::KnownObjects;
pub(crate) use list::{Linked, Links, List};
#[cfg(feature = "alloc")]
pub(crate) use never::never_full;
#[cfg(feature = "alloc")]
pub(crate) use reused::Reused;
pub(crate) use same::is_same;
pub(crate) use slab::{IndexSlab, PostingSlab, Slab, Slot};
pub use table::Keyed;
pub(crate) use table::{DrainingTable, PassingTable, Table, ValueTable};
pub(crate) use timers::{Place, Timed, Timers};
pub use versioned::Versioned;

/// A memory that containers live in: [`Heap`] or [`Fixed`]. Sealed.
pub trait Mem: sealed::Sealed + Sized + 'static {
    /// The error of a full container. It holds the item; in memory that grows, no such value exists.
    type Full<T>;
    /// In one piece: as fast as can be, and moved when it grows.
    #[doc(hidden)]
    type Array<T>: sealed::Array<T, Full = Self::Full<T>>;
    /// Of a queue: gives memory back while it is drained.
    #[doc(hidden)]
    type Draining<T>: sealed::Records<T, Full = Self::Full<T>>;
    /// Never moved as a whole, however large.
    #[doc(hidden)]
    type Records<T>: sealed::Records<T, Full = Self::Full<T>>;
    /// Of an indexer: its index functions.
    #[doc(hidden)]
    type Indexes<T>: sealed::Records<T, Full = Self::Full<T>>;
    /// Of an indexer: the pairs of object and index value.
    #[doc(hidden)]
    type Postings<T>: sealed::Records<T, Full = Self::Full<T>>;
    /// Of an indexer: the distinct index values.
    #[doc(hidden)]
    type Values<T>: sealed::Records<T, Full = Self::Full<T>>;
    /// For keys that stay.
    #[doc(hidden)]
    type Index: sealed::Index;
    /// For keys that come and go.
    #[doc(hidden)]
    type PassingIndex: sealed::Index;
    /// For keys that come all at once and go: as [`Draining`](Self::Draining).
    #[doc(hidden)]
    type DrainingIndex: sealed::Index;
    /// Of an indexer: for its index values.
    #[doc(hidden)]
    type ValueIndex: sealed::Index;
    /// How keys are hashed.
    #[doc(hidden)]
    type Hashing: sealed::Hashing;
    #[doc(hidden)]
    type Text: sealed::Text;
    /// A slot as records keep it: of 16 bits, where no container has more records than that.
    #[doc(hidden)]
    type Slot: Copy + core::fmt::Debug + PartialEq + From<Slot> + Into<Slot>;
    /// Where the index values of an object are kept before anything changes.
    #[doc(hidden)]
    type Gathered: sealed::Gathered;
    /// What readers share of a slab's records.
    #[doc(hidden)]
    type Ranges<V>: sealed::Ranges;
    /// What readers share of linked lists.
    #[doc(hidden)]
    type Runs<V>: sealed::Runs;
    /// A value that may be there. In fixed memory, none is all zeros.
    #[doc(hidden)]
    type Maybe<T>: sealed::Optional<T>;
    /// What measures a queue: on the heap alone, because it takes memory for each key.
    #[doc(hidden)]
    type Measured<T>: sealed::Measured<T>;
    /// What few records have: on the heap in a box, so that the others are smaller.
    #[doc(hidden)]
    type Rare<T>: From<T> + core::ops::Deref<Target = T>;
    /// A function that emits the index values of an object: on the heap a boxed closure, in fixed memory a `fn`.
    type IndexFn<V>: Fn(&V, &mut dyn FnMut(&str));

    /// The item of a full container.
    #[doc(hidden)]
    fn into_item<T>(full: Self::Full<T>) -> T;

    #[doc(hidden)]
    fn map_full<T, U>(full: Self::Full<T>, f: impl FnOnce(T) -> U) -> Self::Full<U>;

    /// Whether a container of this capacity has room for that many records in all; memory that grows does not compute
    /// the number.
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

pub(crate) mod sealed {
    use super::slab::Slot;
    use core::hash::Hash;
    use core::ops::{Index as At, IndexMut, Range};

    #[allow(missing_debug_implementations, reason = "never constructed")]
    pub trait Sealed {}

    /// What has a value without anything in it. In fixed memory that is all zeros.
    pub trait Empty {
        const EMPTY: Self;
    }

    /// An array in one piece.
    pub trait Array<T>: Records<T> {
        fn as_slice(&self) -> &[T];
        fn as_mut_slice(&mut self) -> &mut [T];
        fn pop(&mut self) -> Option<T>;
    }

    /// The array under a slab.
    pub trait Records<T>: Empty {
        type Full;
        /// The most records; memory that grows has no limit.
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
        fn is_full(&self) -> bool;
        /// Notes that a place has a record.
        fn occupy(&mut self, _: usize) {}
        /// Notes that a place has no record any more. Returns the places around it that are to be [given
        /// back](Self::give_back), which have none either.
        fn vacate(&mut self, _: usize) -> Option<Range<usize>> {
            None
        }
        fn give_back(&mut self, _: Range<usize>) {}
        fn clear(&mut self);
        /// Clears an array that holds much memory and gives it back; says whether it did.
        fn release(&mut self) -> bool;
    }

    /// Hashes that depend on a seed: who does not know it cannot choose keys that have the same.
    pub trait Hashing {
        fn hash<Q: Hash + ?Sized>(seed: u64, key: &Q) -> u32;
    }

    /// From a hash to the slots that have it.
    pub trait Index: Empty {
        fn find(&self, hash: u32, eq: impl FnMut(Slot) -> bool) -> Option<Slot>;
        /// The slot that has the hash and is equal by `eq`; if there is none, `new` has it from now on. Either may
        /// panic, which changes nothing.
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

    /// Calls its argument with each index value of an object, and the number of the index.
    pub(crate) type Emit<'a> = &'a dyn Fn(&mut dyn FnMut(u32, &str));

    /// The index values of one object.
    pub trait Gathered: Empty {
        /// Calls the index functions, which may panic: nothing has changed yet.
        fn gather(&mut self, emit: Emit<'_>);
        /// Emits the gathered values; where no memory keeps them, it calls the functions again.
        fn emit(&self, emit: Emit<'_>, to: &mut dyn FnMut(u32, &str));
    }

    /// A value that may be there.
    pub trait Optional<T>: Empty {
        fn get(&self) -> Option<&T>;
        fn take(&mut self) -> Option<T>;
        fn set(&mut self, value: T);
    }

    /// A value that may be there, in memory that has such values.
    pub trait Measured<T>: Empty {
        fn get(&self) -> Option<&T>;
        fn get_mut(&mut self) -> Option<&mut T>;
    }

    /// The records of a slab, as far as readers share them.
    pub trait Ranges: Empty {
        /// The record in a slot is another one now, or none.
        fn changed(&mut self, slot: Slot);
    }

    /// Linked lists, as far as readers share them.
    pub trait Runs: Empty {
        /// The run of an item.
        type Run: Copy + Default;
        /// What is shared of one list.
        type List: Empty;

        /// The item is in the list now, behind the last one.
        fn push<S>(&mut self, list: &mut Self::List, items: &mut S, item: Slot)
        where
            S: IndexMut<Slot, Output: InRun<Self::Run>>;
        /// The item, which was in the run and before `next`, is in the list no more.
        fn unlinked<S>(&mut self, list: &mut Self::List, items: &mut S, run: Self::Run, item: Slot, next: Option<Slot>)
        where
            S: IndexMut<Slot, Output: InRun<Self::Run>>;
        /// Whether a reader may have something of a list. If not, nothing has to be told of [changes](Self::changed).
        fn is_shared(&mut self) -> bool;
        /// An item of the run stands for something else now.
        fn changed(&mut self, list: &mut Self::List, run: Self::Run);
        fn clear(&mut self);
        /// As [`Records::release`].
        fn release(&mut self);
        /// Panics if the items from `first` on are not those of the runs; for tests.
        fn check<S>(&self, list: &Self::List, items: &S, first: Option<Slot>)
        where
            S: At<Slot, Output: InRun<Self::Run>>;
    }

    /// An item of a list that is cut into runs.
    pub trait InRun<R> {
        fn run(&self) -> R;
        fn run_mut(&mut self) -> &mut R;
        fn next_item(&self) -> Option<Slot>;
    }

    /// A copy of a short text.
    pub trait Text: Sized + core::ops::Deref<Target = str> {
        fn fits(text: &str) -> bool;
        /// `None` where it does not fit.
        fn try_copy(text: &str) -> Option<Self>;
    }
}

#[cfg(test)]
#[cfg(all(feature = "alloc", feature = "fixed"))]
macro_rules! in_both_memories {
    ($($name:ident),+ $(,)?) => {
        mod on_the_heap { $(#[test] fn $name() { super::$name::<crate::storage::Heap>(); })+ }
        mod in_fixed_memory { $(#[test] fn $name() { super::$name::<crate::storage::Fixed<64>>(); })+ }
    };
}
#[cfg(test)]
#[cfg(all(feature = "alloc", feature = "fixed"))]
pub(crate) use in_both_memories;
