//! The invariants between any two operations; for tests.

use super::DeltaFifoIn;
use crate::storage::{Keyed, List, Mem, Slot};
use core::iter::successors;

impl<V: Keyed<Key: Clone> + Clone, M: Mem> DeltaFifoIn<V, M> {
    /// Panics if the links between deltas and keys are inconsistent.
    #[doc(hidden)]
    pub fn check(&self) {
        assert_eq!(self.nodes.len(), self.queued.len() + self.staged.len(), "every node is in one list");
        assert!(self.alone.as_ref().is_none() || self.nodes.len() == 0, "what waits alone has no others");
        self.check_list(&self.queued);
        self.check_list(&self.staged);
        let is_found = |slot: &Slot| self.nodes[*slot].folded().is_none();
        self.queued.iter(&self.nodes).filter(is_found).for_each(|slot| self.check_queued(slot));
        self.staged.iter(&self.nodes).filter(is_found).for_each(|slot| self.check_staged(slot));
        let folded = self.queued.iter(&self.nodes).filter_map(|slot| self.nodes[slot].folded());
        assert_eq!(folded.map(|folded| folded.len() - 1).sum::<usize>(), self.folded, "folded deltas are counted");
        let newest = self.queued.iter(&self.nodes).filter(|slot| self.found(*slot) == Some(*slot)).count();
        let most = if self.coalescing { 2 * newest } else { usize::MAX };
        assert!(self.queued.len() <= most, "coalesced, a key has two deltas at most");
        let bytes = self.queued.iter(&self.nodes).map(|slot| self.nodes[slot].bytes()).sum::<usize>();
        assert_eq!(bytes, self.bytes, "bytes are counted");
        assert!(self.rest.is_none_or(|rest| self.nodes[rest].delta().is_some()), "the rest of a key is queued");
    }

    /// Checks the key and the chain of each node of a list.
    fn check_list(&self, list: &List) {
        let (mut walked, mut arrival) = (0, 0);
        for slot in list.iter(&self.nodes) {
            let node = &self.nodes[slot];
            if node.folded().is_none() {
                assert_eq!(node.hash, self.nodes.hash(node.key()), "the hash of its key");
                assert!(node.chain.is_none_or(|other| self.nodes[other].key() == node.key()), "a chain has one key");
            }
            let number = self.arrival(slot).unwrap_or(0);
            assert!((arrival..=self.arrived).contains(&number), "in the order of arrival");
            arrival = number;
            walked += 1;
        }
        assert_eq!(walked, list.len());
    }

    /// The key of a queued node finds the newest of them.
    fn check_queued(&self, slot: Slot) {
        let found = self.found(slot).expect("a key is found while it has a node");
        assert!(self.nodes[slot].is_queued() && self.nodes[found].is_queued(), "a queued delta is found first");
        if found != slot {
            assert!(self.nodes[slot].chain.is_some(), "an older delta names a newer one");
            assert_eq!(self.nodes[slot].staged, None, "the newest delta alone names what is staged");
        }
    }

    /// The key of a staged node finds it.
    fn check_staged(&self, slot: Slot) {
        let last = self.staged(self.found(slot));
        assert!(!self.nodes[slot].is_queued());
        assert!(successors(last, |at| self.nodes[*at].chain).any(|at| at == slot), "in the chain of its key");
    }
}
