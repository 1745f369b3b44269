use alloc::boxed::Box;
use alloc::sync::Arc;
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
#[must_use]
pub struct Snapshot<V>(Arc<List<V>>);

/// Objects that snapshots of several moments share.
pub(super) type Chunk<V> = Arc<[V]>;

struct List<V> {
    chunks: Box<[Chunk<V>]>,
    /// The number of objects up to the end of each chunk.
    ends: Box<[usize]>,
}

/// The objects of a [`Snapshot`], by reference.
#[derive(Debug)]
pub struct SnapshotIter<'a, V> {
    chunk: slice::Iter<'a, V>,
    chunks: slice::Iter<'a, Chunk<V>>,
    left: usize,
}

/// The objects of a [`Snapshot`], by value. A snapshot shares its objects with others, so each is cloned.
#[derive(Debug)]
pub struct SnapshotIntoIter<V> {
    snapshot: Snapshot<V>,
    chunk: usize,
    index: usize,
    left: usize,
}

impl<V> Snapshot<V> {
    /// The objects of these chunks.
    pub(super) fn of(chunks: impl Iterator<Item = Chunk<V>>) -> Self {
        let chunks: Box<[Chunk<V>]> = chunks.collect();
        let mut end = 0;
        let ends = chunks.iter().map(|chunk| {
            end += chunk.len();
            end
        });
        let ends = ends.collect();
        Self(Arc::new(List { ends, chunks }))
    }

    /// Another handle of the same list.
    #[cfg(feature = "json")]
    pub(super) fn share(&self) -> Self {
        Self(Arc::clone(&self.0))
    }

    /// The number of objects.
    pub fn len(&self) -> usize {
        self.0.ends.last().copied().unwrap_or_default()
    }

    /// Whether there are no objects.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The first object.
    pub fn first(&self) -> Option<&V> {
        self.get(0)
    }

    /// The object at `index`, in the order of the cache.
    pub fn get(&self, index: usize) -> Option<&V> {
        let List { chunks, ends } = &*self.0;
        let at = ends.partition_point(|end| *end <= index);
        let chunk = chunks.get(at)?;
        chunk.get(index + chunk.len() - ends[at])
    }

    /// The objects, in the order of the cache.
    pub fn iter(&self) -> SnapshotIter<'_, V> {
        SnapshotIter { chunk: [].iter(), chunks: self.0.chunks.iter(), left: self.len() }
    }
}

impl<V> Default for Snapshot<V> {
    fn default() -> Self {
        Self::of(core::iter::empty())
    }
}

impl<V> FromIterator<V> for Snapshot<V> {
    fn from_iter<I: IntoIterator<Item = V>>(objects: I) -> Self {
        Self::of(core::iter::once(objects.into_iter().collect::<Vec<V>>().into()))
    }
}

impl<V: Clone> IntoIterator for Snapshot<V> {
    type Item = V;
    type IntoIter = SnapshotIntoIter<V>;

    fn into_iter(self) -> SnapshotIntoIter<V> {
        SnapshotIntoIter { left: self.len(), snapshot: self, chunk: 0, index: 0 }
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
        loop {
            let chunk = self.snapshot.0.chunks.get(self.chunk)?;
            if let Some(object) = chunk.get(self.index) {
                (self.index, self.left) = (self.index + 1, self.left - 1);
                return Some(object.clone());
            }
            (self.chunk, self.index) = (self.chunk + 1, 0);
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_found_by_its_place_in_chunks_of_any_length() {
        let snapshot = Snapshot::of([&[][..], &[1, 2, 3], &[], &[4], &[5, 6]].map(Chunk::from).into_iter());
        assert_eq!(snapshot.len(), 6);
        for index in 0..6 {
            assert_eq!(snapshot.get(index), Some(&(index as u8 + 1)));
        }
        assert_eq!((snapshot.get(6), Snapshot::<u8>::default().get(0)), (None, None));
        assert!(snapshot.iter().eq(&[1, 2, 3, 4, 5, 6]) && snapshot.into_iter().eq(1..7));
    }
}
