//! The invariants between any two operations; for tests.

use super::{DeltaFifoIn, Queued};
use crate::storage::{Keyed, Linked, List, Mem};

impl<V: Keyed<Key: Clone> + Clone, M: Mem> DeltaFifoIn<V, M> {
    /// Panics if the links between deltas and keys are inconsistent.
    #[doc(hidden)]
    pub fn check(&self) {
        assert_eq!(self.nodes.len(), self.queued.len() + self.staged.len(), "every node is in one list");
        let (newest, last_staged) = (self.check_list(&self.queued), self.check_list(&self.staged));
        let entries = || self.keys.iter().map(|(_, entry)| entry);
        assert_eq!(newest, entries().filter(|entry| entry.newest.is_some()).count(), "one newest delta a queued key");
        assert_eq!(last_staged, entries().filter(|entry| entry.staged.is_some()).count(), "one chain a staged key");
        assert!(
            entries().all(|entry| entry.newest.or(entry.staged).is_some()),
            "a key has an entry while it has a node"
        );
        let most = if self.coalescing { 2 * newest } else { usize::MAX };
        assert!(self.queued.len() <= most, "coalesced, a key has two deltas at most");
        let queued = core::iter::successors(self.queued.front(), |slot| self.nodes[*slot].next());
        assert_eq!(queued.map(|slot| self.nodes[slot].bytes()).sum::<usize>(), self.bytes, "bytes are counted");
        assert!(self.rest.is_none_or(|rest| self.nodes[rest].delta.is_some()), "the rest of a key is queued");
    }

    /// Checks the chain of each node of a list, and counts the nodes that their key's entry names.
    fn check_list(&self, list: &List<Queued>) -> usize {
        let (mut at, mut walked, mut named, mut arrival) = (list.front(), 0, 0, 0);
        while let Some(slot) = at {
            let node = &self.nodes[slot];
            let entry = &self.keys[node.entry];
            assert!(node.chain.is_none_or(|other| self.nodes[other].entry == node.entry), "a chain has one key");
            assert!(node.delta.as_ref().is_none_or(|delta| *delta.object().key() == entry.key), "under its own key");
            assert!((arrival..=self.arrived).contains(&node.arrival), "in the order of arrival");
            arrival = node.arrival;
            named += usize::from(entry.newest == Some(slot) || entry.staged == Some(slot));
            walked += 1;
            at = node.next();
        }
        assert_eq!(walked, list.len());
        named
    }
}
