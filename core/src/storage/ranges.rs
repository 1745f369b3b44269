use super::chunks::{CHUNK, Chunk, Memo, SharedChunks};
use super::{Slot, sealed};
use alloc::vec::Vec;

/// The records of a slab as chunks that readers share: one for each range of slots.
#[derive(Debug)]
pub struct Ranges<V> {
    chunks: Vec<Memo<Chunk<V>>>,
    whole: Memo<SharedChunks<V>>,
}

#[cfg(feature = "json")]
impl<V> Ranges<V> {
    /// The records of all ranges. `read` reads those of one, by the indexes of their slots.
    pub(crate) fn chunks(&self, read: impl Fn(core::ops::Range<usize>) -> Chunk<V>) -> SharedChunks<V> {
        let chunk =
            |(at, chunk): (usize, &Memo<Chunk<V>>)| Chunk::clone(chunk.get_or(|| read(at * CHUNK..(at + 1) * CHUNK)));
        let whole = self.whole.get_or(|| SharedChunks::new(self.chunks.iter().enumerate().map(chunk).collect()));
        SharedChunks::clone(whole)
    }
}

impl<V> sealed::Ranges for Ranges<V> {
    #[inline]
    fn changed(&mut self, slot: Slot) {
        let at = slot.index() / CHUNK;
        while self.chunks.len() <= at {
            self.chunks.push(Memo::EMPTY);
        }
        self.chunks[at].forget();
        self.whole.forget();
    }
}

impl<V> sealed::Empty for Ranges<V> {
    const EMPTY: Self = Self { chunks: Vec::new(), whole: Memo::EMPTY };
}
