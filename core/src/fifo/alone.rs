//! A delta that waits alone, which is the usual one: it needs no node, no hash and no place in an index.

use super::{Delta, DeltaFifoIn};
use crate::storage::{Keyed, Mem};

impl<V: Keyed<Key: Clone> + Clone, M: Mem> DeltaFifoIn<V, M> {
    /// Whether nothing waits and nothing is staged, and there is room for a delta.
    pub(super) fn is_idle(&self) -> bool {
        self.alone.is_none() && self.nodes.len() == 0 && self.nodes.has_room()
    }

    /// Puts a delta that waits alone into a node: another one comes.
    #[inline]
    pub(super) fn settle(&mut self) {
        if let Some(delta) = self.alone.take() {
            self.queue_alone(delta);
        }
    }

    #[cold]
    fn queue_alone(&mut self, delta: Delta<V>) {
        let Ok(slot) = self.try_insert(delta, self.arrived) else { unreachable!("there was room when it came") };
        self.queued.push_back(&mut self.nodes, slot);
    }
}
