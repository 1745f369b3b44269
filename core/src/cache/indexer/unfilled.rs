use super::{IndexId, IndexerIn};
use crate::storage::{Keyed, Mem};

/// An index that is being filled. If its function panics, this is dropped, and the index with it.
pub(super) struct Unfilled<'a, V: Keyed, M: Mem> {
    pub(super) indexer: &'a mut IndexerIn<V, M>,
    pub(super) id: IndexId,
}

impl<V: Keyed, M: Mem> Drop for Unfilled<'_, V, M> {
    fn drop(&mut self) {
        self.indexer.remove_index(self.id);
    }
}
