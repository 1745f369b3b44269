//! A delta that waits alone, which is the usual one: it needs no node, no hash and no place in an index.

use super::DeltaFifoIn;
use crate::storage::{Keyed, Mem};

impl<V: Keyed<Key: Clone> + Clone, M: Mem> DeltaFifoIn<V, M> {
    /// Whether nothing waits and nothing is staged, and there is room for a delta.
    pub(super) fn is_idle(&self) -> bool {
        self.alone.is_none() && self.nodes.len() == 0 && self.nodes.has_room()
    }

    /// Puts a delta that waits alone into a node: another one comes.
    #[inline]
    pub(super) fn settle(&mut self) {
        if self.alone.is_some() {
            self.queue_alone();
        }
    }

    /// The caller's code may panic before the delta is taken, and is not called from then on: no other key is there.
    #[cold]
    fn queue_alone(&mut self) {
        let Some((hash, bytes)) = self.alone.as_ref().map(|delta| self.hash_and_bytes(delta)) else { return };
        let Some(delta) = self.alone.take() else { return };
        let inserted = self.try_insert_hashed(delta, self.arrived, hash, bytes);
        let Ok(slot) = inserted else { unreachable!("there was room when it came") };
        self.queued.push_back(&mut self.nodes, slot);
    }
}
