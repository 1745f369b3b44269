//! Lists that readers share: each is cut into chunks, and a chunk is kept until an item of it changes.
//!
//! A reader has shared access and makes the chunks that are missing. The owner has exclusive access and forgets those
//! that no longer hold. So a list that a reader holds never changes, and the next list is made of the chunks that stay.
//!
//! Other forms were rejected. Chunks that the writer keeps up to date cost each update a write to each of its lists,
//! whether or not a reader asks for them. A persistent map lets a list of one object hold the old states of all others.
//! A lock that lets the writer through leaves readers as slow as they are with copies.

use alloc::boxed::Box;
use alloc::sync::Arc;
use once_cell::race::OnceBox;

/// The most items of a chunk. A change costs the next reader the copies of so many handles, and of one handle for each
/// chunk of the list.
pub(crate) const CHUNK: usize = 128;

/// Items that lists of several moments share.
pub(crate) type Chunk<V> = Arc<[V]>;

/// A list at one moment.
#[derive(Debug)]
pub(crate) struct Chunks<V> {
    chunks: Box<[Chunk<V>]>,
    /// The number of items up to the end of each chunk.
    ends: Box<[usize]>,
}

/// A list that readers share.
pub(crate) type SharedChunks<V> = Arc<Chunks<V>>;

/// What a reader has made, kept until the owner forgets it. Of two readers that make it at once, one is believed.
#[derive(Debug)]
pub(super) struct Memo<T>(OnceBox<T>);

impl<V> Chunks<V> {
    pub(crate) fn len(&self) -> usize {
        self.ends.last().copied().unwrap_or_default()
    }

    pub(crate) fn get(&self, index: usize) -> Option<&V> {
        let at = self.ends.partition_point(|end| *end <= index);
        let chunk = self.chunks.get(at)?;
        chunk.get(index + chunk.len() - self.ends[at])
    }

    pub(crate) fn as_slice(&self) -> &[Chunk<V>] {
        &self.chunks
    }
}

impl<V> FromIterator<Chunk<V>> for Chunks<V> {
    fn from_iter<I: IntoIterator<Item = Chunk<V>>>(chunks: I) -> Self {
        let chunks: Box<[Chunk<V>]> = chunks.into_iter().collect();
        let mut end = 0;
        let ends = chunks.iter().map(|chunk| {
            end += chunk.len();
            end
        });
        Self { ends: ends.collect(), chunks }
    }
}

impl<T> Memo<T> {
    #[expect(clippy::declare_interior_mutable_const, reason = "each use makes another one")]
    pub(super) const EMPTY: Self = Self(OnceBox::new());

    #[cfg(feature = "json")]
    pub(super) fn get_or(&self, make: impl FnOnce() -> T) -> &T {
        self.0.get_or_init(|| Box::new(make()))
    }

    #[inline]
    pub(super) fn forget(&mut self) {
        if self.0.get().is_some() {
            self.0 = OnceBox::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_is_found_by_its_place_in_chunks_of_any_length() {
        let chunks: Chunks<u8> = [&[][..], &[1, 2, 3], &[], &[4], &[5, 6]].map(Chunk::from).into_iter().collect();
        assert_eq!(chunks.len(), 6);
        for index in 0..6 {
            assert_eq!(chunks.get(index), Some(&(index as u8 + 1)));
        }
        assert_eq!((chunks.get(6), Chunks::<u8>::from_iter([]).get(0)), (None, None));
    }

    #[test]
    fn what_was_made_is_kept_until_it_is_forgotten() {
        let mut memo = Memo::EMPTY;
        assert_eq!((*memo.get_or(|| 1), *memo.get_or(|| 2)), (1, 1));
        memo.forget();
        assert_eq!(*memo.get_or(|| 3), 3);
    }
}
