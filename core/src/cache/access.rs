use super::change::Change;
use super::indexer::Indexer;
use crate::storage::Keyed;

/// Where an informer keeps its objects.
///
/// An [`Indexer`] serves one owner. A [`StoreWriterIn`](super::StoreWriterIn) is the writing half of a cache that
/// others read. Each call is one consistent look, or one change; no reader sees half of a change.
///
/// Writing takes `&mut self`, so only the owner writes: an informer owns its cache, and lends it for reading. To plug
/// in another cache, implement this trait for its writing half, and let no other half write:
///
/// ```
/// use listwatch_core::Indexer;
/// use listwatch_core::cache::{Cache, Change};
/// use listwatch_core::object::ObjectHandle;
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
///     fn read<R>(&self, f: impl FnOnce(&Indexer<Pod>) -> R) -> R {
///         f(&self.pods)
///     }
///
///     fn write<R>(&mut self, f: impl FnOnce(&mut Indexer<Pod>) -> R) -> R {
///         f(&mut self.pods)
///     }
///
///     fn apply(&mut self, change: Change<'_, Pod>) -> Option<Pod> {
///         let known = self.pods.apply(change);
///         self.deletions += usize::from(change.delta.is_deletion());
///         known
///     }
/// }
///
/// assert_eq!(Counting::default().read(Indexer::len), 0);
/// ```
pub trait Cache<V: Keyed> {
    /// Calls `f` with the objects as they are.
    fn read<R>(&self, f: impl FnOnce(&Indexer<V>) -> R) -> R;

    /// Calls `f` to change the objects, or the indexes.
    fn write<R>(&mut self, f: impl FnOnce(&mut Indexer<V>) -> R) -> R;

    /// Brings the cache up to date with a change, and returns the object that it had under the key.
    ///
    /// The informer makes all its changes of objects by this call, one for each delta. A cache that also records
    /// changes can do both under one lock here.
    ///
    /// # Panics
    /// Where an index function panics. The cache must be as before then: the informer applies the same change again.
    fn apply(&mut self, change: Change<'_, V>) -> Option<V>
    where
        V: Clone,
    {
        let (object, is_deletion) = (change.delta.object(), change.delta.is_deletion());
        self.write(|objects| if is_deletion { objects.remove(object.key()) } else { objects.insert(object.clone()) })
    }
}

impl<V: Keyed> Cache<V> for Indexer<V> {
    fn read<R>(&self, f: impl FnOnce(&Self) -> R) -> R {
        f(self)
    }

    fn write<R>(&mut self, f: impl FnOnce(&mut Self) -> R) -> R {
        f(self)
    }
}
