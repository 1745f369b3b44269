use alloc::vec;
use alloc::vec::Vec;
use core::slice;

/// A list of objects, or of their keys, as it was at one moment.
///
/// All objects are of the same moment: no change came between two of them. A snapshot holds handles and no lock, so
/// keep it as long as needed; the cache goes on changing meanwhile. How it stores the handles is not part of the
/// interface.
///
/// ```
/// use listwatch_core::cache::Snapshot;
///
/// let snapshot: Snapshot<&str> = ["web-1", "web-2"].into_iter().collect();
/// assert_eq!(snapshot.len(), 2);
/// assert_eq!((snapshot.first(), snapshot.get(2)), (Some(&"web-1"), None));
/// assert!(snapshot.iter().any(|pod| *pod == "web-2"));
/// for pod in snapshot {
///     println!("{pod}");
/// }
/// ```
#[derive(Debug, PartialEq, Eq)]
pub struct Snapshot<V> {
    objects: Vec<V>,
}

/// The objects of a [`Snapshot`], by reference.
#[derive(Clone, Debug)]
pub struct SnapshotIter<'a, V>(slice::Iter<'a, V>);

/// The objects of a [`Snapshot`], by value. The bound `V: Clone` allows snapshots that share their storage.
#[derive(Debug)]
pub struct SnapshotIntoIter<V>(vec::IntoIter<V>);

impl<V> Snapshot<V> {
    /// The number of objects.
    #[must_use]
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// Whether there are no objects.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// The first object.
    #[must_use]
    pub fn first(&self) -> Option<&V> {
        self.get(0)
    }

    /// The object at `index`, in the order of the cache.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<&V> {
        self.objects.get(index)
    }

    /// The objects, in the order of the cache.
    #[must_use]
    pub fn iter(&self) -> SnapshotIter<'_, V> {
        SnapshotIter(self.objects.iter())
    }
}

impl<V> FromIterator<V> for Snapshot<V> {
    fn from_iter<I: IntoIterator<Item = V>>(objects: I) -> Self {
        Self { objects: objects.into_iter().collect() }
    }
}

impl<V: Clone> IntoIterator for Snapshot<V> {
    type Item = V;
    type IntoIter = SnapshotIntoIter<V>;

    fn into_iter(self) -> SnapshotIntoIter<V> {
        SnapshotIntoIter(self.objects.into_iter())
    }
}

impl<'a, V> IntoIterator for &'a Snapshot<V> {
    type Item = &'a V;
    type IntoIter = SnapshotIter<'a, V>;

    fn into_iter(self) -> SnapshotIter<'a, V> {
        self.iter()
    }
}

impl<'a, V> Iterator for SnapshotIter<'a, V> {
    type Item = &'a V;

    fn next(&mut self) -> Option<&'a V> {
        self.0.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<V> ExactSizeIterator for SnapshotIter<'_, V> {}

impl<V: Clone> Iterator for SnapshotIntoIter<V> {
    type Item = V;

    fn next(&mut self) -> Option<V> {
        self.0.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<V: Clone> ExactSizeIterator for SnapshotIntoIter<V> {}
