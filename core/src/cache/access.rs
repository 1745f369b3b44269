use super::change::{Change, Note};
use super::indexer::IndexerIn;
#[cfg(feature = "alloc")]
use crate::storage::{Heap, never_full};
use crate::storage::{Keyed, Mem, Versioned};
use core::task::{Context, Poll};

/// Where an informer keeps its objects.
///
/// An [`IndexerIn`] serves one owner. A `StoreWriterIn` is the writing half of a cache that
/// others read. Each call is one consistent look, or one change; no reader sees half of a change.
///
/// Writing takes `&mut self`, so only the owner writes: an informer owns its cache, and lends it for reading. To plug
/// in another cache, implement this trait for its writing half, and let no other half write. A cache removes no object
/// but by the informer's changes: a relist does not bring an unchanged object again.
///
/// ```
/// use listwatch_core::Indexer;
/// use listwatch_core::cache::{Cache, Change};
/// use listwatch_core::object::ObjectHandle;
/// use listwatch_core::storage::{Heap, Mem};
///
/// type Pod = ObjectHandle<()>;
///
/// /// A cache that counts the deletions.
/// #[derive(Default)]
/// struct Counting {
///     pods: Indexer<Pod>,
///     deletions: usize,
/// }
///
/// impl Cache<Pod> for Counting {
///     type Mem = Heap;
///
///     fn read<R>(&self, f: impl FnOnce(&Indexer<Pod>) -> R) -> R {
///         f(&self.pods)
///     }
///
///     fn write<R>(&mut self, f: impl FnOnce(&mut Indexer<Pod>) -> R) -> R {
///         f(&mut self.pods)
///     }
///
///     fn try_apply(&mut self, change: Change<'_, Pod>) -> Result<Option<Pod>, <Heap as Mem>::Full<()>> {
///         let known = self.pods.try_apply(change)?;
///         self.deletions += usize::from(change.delta.is_deletion());
///         Ok(known)
///     }
/// }
///
/// assert_eq!(Counting::default().read(Indexer::len), 0);
/// ```
pub trait Cache<V: Keyed> {
    /// The memory of the objects: `Heap`, unless the cache is one of a fixed capacity.
    type Mem: Mem;

    /// Calls `f` with the objects as they are.
    fn read<R>(&self, f: impl FnOnce(&IndexerIn<V, Self::Mem>) -> R) -> R;

    /// Calls `f` to change the objects, or the indexes.
    fn write<R>(&mut self, f: impl FnOnce(&mut IndexerIn<V, Self::Mem>) -> R) -> R;

    /// Brings the cache up to date with a change, and returns the object that it had under the key.
    ///
    /// The informer makes all its changes of objects by this call, one for each delta. A cache that also records
    /// changes can do both under one lock here.
    ///
    /// # Errors
    /// Where fixed memory has no room for the object, or for its index values. The cache must be as before.
    ///
    /// # Panics
    /// Where an index function panics. The cache must be as before then: the informer applies the same change again. So
    /// a cache wakes tasks in [`wake`](Self::wake), because a waker can panic too.
    fn try_apply(&mut self, change: Change<'_, V>) -> Result<Option<V>, <Self::Mem as Mem>::Full<()>>
    where
        V: Versioned + Clone,
    {
        self.write(|objects| objects.try_change(change))
    }

    /// As [`try_apply`](Self::try_apply), in memory that grows.
    #[cfg(feature = "alloc")]
    fn apply(&mut self, change: Change<'_, V>) -> Option<V>
    where
        Self: Sized + Cache<V, Mem = Heap>,
        V: Versioned + Clone,
    {
        never_full(self.try_apply(change))
    }

    /// Makes the hashes of an empty cache depend on `seed`, unless it was made with a seed.
    fn seed_unless_chosen(&mut self, seed: u64) {
        self.write(|objects| objects.seed_unless_chosen(seed));
    }

    /// Takes note of the informer's progress, at the moment when the informer advances or tells it.
    fn note(&mut self, _note: Note<'_, V>) {}

    /// Wakes the tasks that wait for what the last [`try_apply`](Self::try_apply) and [`note`](Self::note) did. The informer
    /// calls this once it has taken the change from its queue, so a waker that panics loses nothing.
    fn wake(&mut self) {}

    /// Whether the cache accepts a change now. If not, the informer returns no change, and back-pressure applies once
    /// its queue is full.
    fn has_room(&mut self) -> bool {
        true
    }

    /// Ready if the cache [has room](Self::has_room). Otherwise the cache wakes the task of `cx` when room returns.
    fn poll_room(&mut self, _cx: &mut Context<'_>) -> Poll<()> {
        Poll::Ready(())
    }

    /// Whether the informer's lists and watches cover this object of the cache. A list deletes no other object.
    fn covers(&self, _object: &V) -> bool {
        true
    }
}

impl<V: Keyed, M: Mem> Cache<V> for IndexerIn<V, M> {
    type Mem = M;

    fn read<R>(&self, f: impl FnOnce(&Self) -> R) -> R {
        f(self)
    }

    fn write<R>(&mut self, f: impl FnOnce(&mut Self) -> R) -> R {
        f(self)
    }
}

/// An indexer in a place of its own, such as a `static` of firmware.
impl<V: Keyed, M: Mem> Cache<V> for &mut IndexerIn<V, M> {
    type Mem = M;

    fn read<R>(&self, f: impl FnOnce(&IndexerIn<V, M>) -> R) -> R {
        f(self)
    }

    fn write<R>(&mut self, f: impl FnOnce(&mut IndexerIn<V, M>) -> R) -> R {
        f(self)
    }
}
