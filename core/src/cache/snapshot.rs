use crate::storage::{Chunk, SharedChunks};
use alloc::vec;
use alloc::vec::Vec;
use core::{fmt, slice};

/// A list of objects, or of their keys, as it was at one moment.
///
/// All objects are of the same moment: no change came between two of them. A snapshot holds handles and no lock, so
/// keep it as long as needed; the cache goes on changing meanwhile. Snapshots of one list share the parts that did not
/// change between them. How a snapshot stores the handles is not part of the interface.
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
pub struct Snapshot<V>(Objects<V>);

enum Objects<V> {
    Own(Vec<V>),
    /// Other snapshots have the objects too.
    Shared(SharedChunks<V>),
}

/// The objects of a [`Snapshot`], by reference.
#[derive(Debug)]
pub struct SnapshotIter<'a, V> {
    chunk: slice::Iter<'a, V>,
    chunks: slice::Iter<'a, Chunk<V>>,
    left: usize,
}

/// The objects of a [`Snapshot`], by value. A snapshot can share its storage with others; then each object is cloned.
#[derive(Debug)]
pub struct SnapshotIntoIter<V>(IntoIter<V>);

#[derive(Debug)]
enum IntoIter<V> {
    Own(vec::IntoIter<V>),
    Shared { list: SharedChunks<V>, chunk: usize, index: usize, left: usize },
}

impl<V> Snapshot<V> {
    /// The number of objects.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.0 {
            Objects::Own(objects) => objects.len(),
            Objects::Shared(list) => list.len(),
        }
    }

    /// Whether there are no objects.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The first object.
    #[must_use]
    pub fn first(&self) -> Option<&V> {
        self.get(0)
    }

    /// The object at `index`, in the order of the cache.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<&V> {
        match &self.0 {
            Objects::Own(objects) => objects.get(index),
            Objects::Shared(list) => list.get(index),
        }
    }

    /// The objects, in the order of the cache.
    #[must_use]
    pub fn iter(&self) -> SnapshotIter<'_, V> {
        let (objects, chunks): (&[V], &[Chunk<V>]) = match &self.0 {
            Objects::Own(objects) => (objects, &[]),
            Objects::Shared(list) => (&[], list.as_slice()),
        };
        SnapshotIter { chunk: objects.iter(), chunks: chunks.iter(), left: self.len() }
    }
}

impl<V> Default for Snapshot<V> {
    fn default() -> Self {
        Self(Objects::Own(Vec::new()))
    }
}

impl<V> From<SharedChunks<V>> for Snapshot<V> {
    fn from(list: SharedChunks<V>) -> Self {
        Self(Objects::Shared(list))
    }
}

impl<V> FromIterator<V> for Snapshot<V> {
    fn from_iter<I: IntoIterator<Item = V>>(objects: I) -> Self {
        Self(Objects::Own(objects.into_iter().collect()))
    }
}

impl<V: Clone> IntoIterator for Snapshot<V> {
    type Item = V;
    type IntoIter = SnapshotIntoIter<V>;

    fn into_iter(self) -> SnapshotIntoIter<V> {
        SnapshotIntoIter(match self.0 {
            Objects::Own(objects) => IntoIter::Own(objects.into_iter()),
            Objects::Shared(list) => IntoIter::Shared { left: list.len(), list, chunk: 0, index: 0 },
        })
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

    #[inline]
    fn next(&mut self) -> Option<&'a V> {
        loop {
            if let Some(object) = self.chunk.next() {
                self.left -= 1;
                return Some(object);
            }
            self.chunk = self.chunks.next()?.iter();
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<V> ExactSizeIterator for SnapshotIter<'_, V> {}

impl<V> Clone for SnapshotIter<'_, V> {
    fn clone(&self) -> Self {
        Self { chunk: self.chunk.clone(), chunks: self.chunks.clone(), left: self.left }
    }
}

impl<V: Clone> Iterator for SnapshotIntoIter<V> {
    type Item = V;

    fn next(&mut self) -> Option<V> {
        match &mut self.0 {
            IntoIter::Own(objects) => objects.next(),
            IntoIter::Shared { list, chunk, index, left } => loop {
                let objects = list.as_slice().get(*chunk)?;
                if let Some(object) = objects.get(*index) {
                    (*index, *left) = (*index + 1, *left - 1);
                    return Some(object.clone());
                }
                (*chunk, *index) = (*chunk + 1, 0);
            },
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = match &self.0 {
            IntoIter::Own(objects) => objects.len(),
            IntoIter::Shared { left, .. } => *left,
        };
        (left, Some(left))
    }
}

impl<V: Clone> ExactSizeIterator for SnapshotIntoIter<V> {}

/// Compares the objects, one by one.
impl<V: PartialEq> PartialEq for Snapshot<V> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other)
    }
}

impl<V: Eq> Eq for Snapshot<V> {}

impl<V: fmt::Debug> fmt::Debug for Snapshot<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Snapshot ")?;
        f.debug_list().entries(self).finish()
    }
}
