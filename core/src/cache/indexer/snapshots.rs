//! Lists for readers that walk them later, without a copy of each handle.

use super::{IndexId, Indexer};
use crate::cache::snapshot::{Chunk, Snapshot};
use crate::storage::Keyed;

impl<V: Keyed + Clone> Indexer<V> {
    /// All objects, in the order of [`iter`](Self::iter). Costs as much as has changed since the last call.
    pub(in crate::cache) fn snapshot(&self) -> Snapshot<V> {
        let objects = |slots| self.objects.range(slots).map(|record| record.object.clone()).collect::<Chunk<V>>();
        self.shared.0.snapshot(objects)
    }

    /// The objects that have a value in an index, in the order of [`by_index`](Self::by_index). Costs as much as has
    /// changed among them since the last call.
    pub(in crate::cache) fn snapshot_by_index(&self, id: IndexId, value: &str) -> Snapshot<V> {
        let Some(value) = self.postings.find(id.0, value) else { return Snapshot::default() };
        let objects = |first, len| {
            let objects = self.postings.objects_from(Some(first)).take(len);
            objects.map(|slot| self.objects[slot].object.clone()).collect::<Chunk<V>>()
        };
        self.postings.runs.0.snapshot(&self.postings.values[value].runs.0, objects)
    }
}

#[cfg(test)]
#[cfg(feature = "std")]
mod tests;
