//! Memory of a fixed capacity: heapless arrays, and a chain of slots for each hash bucket.

use super::half_sip::HalfSip;
use super::sealed::{Array, Empty, HeapOnly, Index, Records, Sealed};
use super::{Full, InPlace, Mem, ShortSlot, Slot};
use core::hash::Hash;
use core::marker::PhantomData;

/// Memory for `N` records in each container, inside the container itself: nothing is allocated, and a full container
/// gives the item back. `N` is 65,535 at most; more does not compile:
///
/// ```compile_fail,E0080
/// use listwatch_core::queue::{ExponentialBackoff, FixedWorkQueue};
///
/// static QUEUE: FixedWorkQueue<u8, 65_536> = FixedWorkQueue::new(ExponentialBackoff::DEFAULT);
/// ```
///
/// `I` has the capacities of an indexer besides its objects. `Fixed<N>` alone takes `N` for each of them.
///
/// # When it is full
///
/// No machine panics or loses anything silently. "Comes back" means that the call returns the item in its error, and has
/// changed nothing.
///
/// | place | full with | then |
/// |---|---|---|
/// | work queue: additions | `N` known keys | a new key comes back; for a known key there is always room |
/// | work queue: `finish`, `hold`, `done` | never | a key keeps its place until its job is given back |
/// | rate limiters | never | they keep nothing for a key |
/// | delta FIFO: `try_add`, `try_update`, `try_delete` | `N` deltas, staged ones included | the object comes back; if the queue coalesces, the newer state of a waiting key needs no room |
/// | delta FIFO: `try_stage` and its like | the same | the item comes back; the caller [discards](crate::fifo::DeltaFifoIn::discard_stage) the list, which shows no deletion then |
/// | delta FIFO: `try_commit_stage` | no room for the tombstones | nothing is committed and the stage stays: pop, and commit again |
/// | delta FIFO: `try_resync` | no room for all objects | none is queued |
/// | indexer: `try_insert` | a [capacity](crate::cache::Capacity) for the object | the object comes back, the state before it stays; `lacking` names the capacity |
/// | indexer: `try_add_index` | `INDEXES`, or the values of an object | the function comes back, and no value of it stays |
/// | event log: `try_push` | the limit, or `N` entries | a subscriber that is behind is told one change for each key |
/// | event log: `try_push` | `N` waiting keys or marks, or a subscriber that [waits](crate::fanout::WhenBehind::Wait) | the change comes back until a subscriber has read; `has_room` tells it before |
/// | event log: `try_subscribe` | `N` subscribers, or no room for the objects | the configuration comes back |
/// | event log: `try_resync` | no room for all objects | none is announced by itself |
/// | reconciler: `try_add` | `N` known keys | a new key comes back |
/// | reconciler: causes | `N` causes of all keys | the oldest cause of the key is dropped, and [counted](crate::controller::ReconcilerIn::dropped_causes) |
/// | reconciler: awaited writes | `N` writes of all keys | the key waits for the end of its hold, and is reconciled then |
/// | reconciler: `try_add_source` | `N` sources | an error |
/// | informer: queue | `N` deltas | it takes no more input, until its events are taken |
/// | informer: a list | `N` staged items | the list is applied in parts; its deletions come at its end alone |
/// | informer: cache | a capacity for an object | the object is counted, and reported as [`Failure::DoesNotFit`](crate::reflector::Failure::DoesNotFit) once the list has been read; the watch goes on, and a [later list](crate::reflector::BackoffKind::Room) brings it again |
/// | informer: versions | `N` bookmarks or changes that are not applied | the applied version lags until the next one |
/// | projection | the bytes of a field | as the field's type says: the object counts as undecodable, or the text is cut and says so ([`projection`](mod@crate::projection)) |
///
/// # In a `static`
///
/// The constructors are `const`, and a machine with default settings and the seed 0 is all zeros. So a `static` takes
/// no flash, and no slot passes over the stack. Any other constant setting puts the whole machine into `.data`, with a
/// copy in flash. Set it when the program begins instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fixed<const N: usize, I = Indexed<N, N>>(PhantomData<fn() -> I>);

/// The capacities of an indexer besides its objects, for [`Fixed`].
///
/// | constant | counts |
/// |---|---|
/// | `INDEXES` | index functions |
/// | `POSTINGS` | pairs of an object and an index value that it has, of all indexes |
/// | `VALUES` | distinct index values, of all indexes |
/// | `TEXT` | the bytes of an index value; 64 are enough for a namespace or a label value |
///
/// `listwatch replay FILE --suggest-capacities` prints all of them for a recording.
///
/// A posting takes 12 bytes, and a value about 46 and its text. Most programs have few distinct values for many objects,
/// such as the nodes of pods.
///
/// ```
/// use listwatch_core::cache::{FixedIndexer, IndexerIn};
/// use listwatch_core::storage::{Fixed, Indexed};
/// # #[derive(Debug)]
/// # struct Pod(u32);
/// # impl listwatch_core::storage::Keyed for Pod {
/// #     type Key = u32;
/// #     fn key(&self) -> &u32 {
/// #         &self.0
/// #     }
/// # }
///
/// /// 128 pods in 2 indexes: 256 postings of 24 distinct values, of 32 bytes each.
/// type Pods = FixedIndexer<Pod, 128, Indexed<2, 256, 24, 32>>;
///
/// assert!(size_of::<Pods>() < size_of::<IndexerIn<Pod, Fixed<256>>>() / 4);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Indexed<const INDEXES: usize, const POSTINGS: usize, const VALUES: usize = POSTINGS, const TEXT: usize = 64> {}

impl<const N: usize, I> Sealed for Fixed<N, I> {}

impl<const N: usize, const INDEXES: usize, const POSTINGS: usize, const VALUES: usize, const TEXT: usize> Mem
    for Fixed<N, Indexed<INDEXES, POSTINGS, VALUES, TEXT>>
{
    type Array<T> = heapless::Vec<T, N>;
    type Records<T> = heapless::Vec<T, N>;
    type Indexes<T> = heapless::Vec<T, INDEXES>;
    type Postings<T> = heapless::Vec<T, POSTINGS>;
    type Values<T> = heapless::Vec<T, VALUES>;
    type Full<T> = Full<T>;
    type IndexFn<V> = fn(&V, &mut dyn FnMut(&str));
    type HeapOnly<T: Empty> = LeftOut;
    type Rare<T> = InPlace<T>;
    type Slot = ShortSlot;
    type Text = heapless::String<TEXT, u16>;

    fn hash<Q: Hash + ?Sized>(seed: u64, key: &Q) -> u32 {
        HalfSip::hash(seed, key)
    }

    fn into_item<T>(full: Full<T>) -> T {
        full.0
    }

    fn map_full<T, U>(full: Full<T>, f: impl FnOnce(T) -> U) -> Full<U> {
        Full(f(full.0))
    }

    fn try_room(capacity: usize, records: impl FnOnce() -> usize) -> Result<(), Full<()>> {
        if records() <= capacity { Ok(()) } else { Err(Full(())) }
    }
}

impl<T, const N: usize> Empty for heapless::Vec<T, N> {
    const EMPTY: Self = {
        assert!(N <= u16::MAX as usize, "fixed memory has room for 65,535 records at most");
        Self::new()
    };
}

impl<T, const N: usize> Array<T> for heapless::Vec<T, N> {
    fn pop(&mut self) -> Option<T> {
        self.pop()
    }
}

impl<T, const N: usize> Records<T> for heapless::Vec<T, N> {
    type Index = Chains<N>;
    type Full = Full<T>;
    const CAPACITY: usize = N;

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

    fn clear(&mut self) {
        self.clear();
    }

    fn release(&mut self) -> bool {
        false
    }
}

/// In place of a part that the heap alone has.
#[derive(Debug)]
pub struct LeftOut;

impl Empty for LeftOut {
    const EMPTY: Self = Self;
}

impl<T> HeapOnly<T> for LeftOut {
    fn get(&self) -> Option<&T> {
        None
    }

    fn get_mut(&mut self) -> Option<&mut T> {
        None
    }
}

/// From a hash to slots: as many buckets as slots. A slot's successor in its bucket is found under the slot's own number.
#[derive(Debug)]
pub struct Chains<const N: usize> {
    heads: [Option<ShortSlot>; N],
    next: [Option<ShortSlot>; N],
}

impl<const N: usize> Chains<N> {
    fn bucket(hash: u32) -> usize {
        hash as usize % N.max(1)
    }
}

impl<const N: usize> Empty for Chains<N> {
    const EMPTY: Self = Self { heads: [None; N], next: [None; N] };
}

impl<const N: usize> Index for Chains<N> {
    fn find(&self, hash: u32, mut eq: impl FnMut(Slot) -> bool) -> Option<Slot> {
        let mut at = self.heads.get(Self::bucket(hash))?.map(Slot::from);
        while let Some(found) = at {
            if eq(found) {
                return at;
            }
            at = self.next[found.index()].map(Slot::from);
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
        let head = &mut self.heads[Self::bucket(hash)];
        self.next[slot.index()] = head.replace(slot.into());
    }

    fn remove(&mut self, hash: u32, slot: Slot) {
        let after = self.next[slot.index()].take();
        let mut at = &mut self.heads[Self::bucket(hash)];
        while let Some(found) = at.map(Slot::from) {
            if found == slot {
                *at = after;
                return;
            }
            at = &mut self.next[found.index()];
        }
    }

    /// In place: on a device, the stack may have no room for another one.
    fn clear(&mut self) {
        self.heads.fill(None);
        self.next.fill(None);
    }

    fn release(&mut self) {}
}
