//! Replacing the known state by a list, in two steps: stage its items, then commit or discard them.

use super::node::{Arrival, Content, Node};
use super::{Delta, DeltaFifoIn, Order};
use crate::storage::{Chained, Keyed, KnownObjects, Linked, List, Mem, Slot};
#[cfg(feature = "alloc")]
use crate::storage::{Heap, never_full};

impl<V: Keyed<Key: Clone> + Clone, M: Mem> DeltaFifoIn<V, M> {
    /// Stages an item of a list that is being read. A key that the list has twice is staged twice, as client-go does.
    ///
    /// # Errors
    /// The object, where fixed memory is full.
    pub fn try_stage(&mut self, object: V) -> Result<(), M::Full<V>> {
        self.settle();
        let hash = self.nodes.hash(object.key());
        let found = self.nodes.find_hashed(hash, object.key());
        let item = Content::Delta(Delta::Replaced(object));
        match self.staged(found).filter(|slot| self.nodes[*slot].delta().is_none()) {
            Some(presence) => {
                self.nodes[presence].content = item;
                Ok(())
            }
            None => {
                self.try_push_staged(found, Node::new(item, hash)).map_err(|full| M::map_full(full, Node::into_object))
            }
        }
    }

    /// Stages an object in place of the one that is staged under its key, if any. A list that comes as a stream needs
    /// this: an object can change before the list has ended.
    ///
    /// # Errors
    /// The object, where fixed memory is full.
    pub fn try_restage(&mut self, object: V) -> Result<(), M::Full<V>> {
        let Some(slot) = self.newest_staged(object.key()) else { return self.try_stage(object) };
        self.nodes[slot].content = Content::Delta(Delta::Replaced(object));
        Ok(())
    }

    /// Stages a key alone, for an item that could not be decoded: its object is not deleted, and no delta reports it.
    ///
    /// # Errors
    /// Where fixed memory is full.
    pub fn try_stage_present(&mut self, key: &V::Key) -> Result<(), M::Full<()>> {
        self.settle();
        let hash = self.nodes.hash(key);
        let found = self.nodes.find_hashed(hash, key);
        if self.staged(found).is_none() {
            let node = Node::new(Content::Present(key.clone().into()), hash);
            self.try_push_staged(found, node).map_err(|full| M::map_full(full, drop))?;
        }
        Ok(())
    }

    /// Notes an item whose key could not be read. It may be any object, so this list shows no deletion.
    pub fn stage_unreadable(&mut self) {
        self.unreadable = true;
    }

    /// Takes a key out of the staged list: a list that comes as a stream deleted it again before its end.
    pub fn unstage(&mut self, key: &V::Key) {
        let mut at = self.newest_staged(key);
        if let Some(newest) = at {
            self.forget_staged(newest);
        }
        while let Some(slot) = at {
            self.staged.unlink(&mut self.nodes, slot);
            at = self.nodes.remove_unfound(slot).chain;
        }
    }

    /// Replaces the known state by the staged list, in one step (client-go `Replace`).
    ///
    /// Every staged object is queued as [`Delta::Replaced`], in the list's order. Every object that the list does not
    /// have gets a [`Delta::Tombstone`], unless its deletion is queued already. Queued objects come first, in their
    /// newest queued state, then the known ones. In arrival order the tombstones come before the items; by key, behind
    /// them. (client-go takes the queued keys in the order of a Go map. They have their places already, so the
    /// difference is not visible.)
    ///
    /// # Errors
    /// Where fixed memory has no room for the tombstones. The stage stays as it is: pop, and commit again.
    pub fn try_commit_stage(&mut self, known: &impl KnownObjects<V>) -> Result<(), M::Full<()>> {
        let mut deletions = List::EMPTY;
        self.settle();
        if !self.unreadable {
            self.nodes.try_room(|| self.nodes.len() + self.count_missing(known))?;
        }
        self.arrived += 1;
        if !self.unreadable {
            self.try_bury_queued(&mut deletions)?;
            self.try_bury_known(known, &mut deletions)?;
        }
        self.attach_staged();
        let [first, last] = match self.order {
            Order::Arrival => [&mut deletions, &mut self.staged],
            Order::ByKey => [&mut self.staged, &mut deletions],
        };
        self.queued.append(&mut self.nodes, first);
        self.queued.append(&mut self.nodes, last);
        self.unreadable = false;
        self.note_initial();
        Ok(())
    }

    /// Queues what is staged, although its list has not ended, for a list that does not fit the stage. No deletion is
    /// inferred, and the initial list goes on. `present` is called with each key that was staged alone.
    #[doc(hidden)]
    pub fn commit_part(&mut self, mut present: impl FnMut(&V::Key)) {
        for slot in self.staged.iter(&self.nodes) {
            if let Content::Present(key) = &self.nodes[slot].content {
                present(key);
            }
        }
        self.arrived += 1;
        self.attach_staged();
        self.queued.append(&mut self.nodes, &mut self.staged);
    }

    /// Queues tombstones for known objects that the staged list does not have, as many as there is room for, while nothing
    /// waits. For a list with more deletions than fit: the consumer takes them, and commits again.
    #[doc(hidden)]
    pub fn bury_part(&mut self, known: &impl KnownObjects<V>) {
        let mut deletions = List::default();
        self.settle();
        self.arrived += 1;
        for object in known.known() {
            let is_missing = self.nodes.find(object.key()).is_none();
            if self.is_full() || (is_missing && self.try_bury(object.clone(), &mut deletions).is_err()) {
                break;
            }
        }
        self.queued.append(&mut self.nodes, &mut deletions);
    }

    /// Whether nothing is staged.
    #[doc(hidden)]
    pub fn has_no_stage(&self) -> bool {
        self.staged.is_empty()
    }

    /// Forgets the staged list, which broke off.
    pub fn discard_stage(&mut self) {
        while let Some(slot) = self.staged.pop_front(&mut self.nodes) {
            self.forget_staged(slot);
            self.nodes.remove_unfound(slot);
        }
        self.release_if_empty();
        self.unreadable = false;
    }

    /// The object that was staged last under `key`.
    #[cfg(any(feature = "json", feature = "fixed"))]
    pub(crate) fn staged_object(&self, key: &V::Key) -> Option<&V> {
        self.nodes[self.newest_staged(key)?].delta().map(Delta::object)
    }

    fn newest_staged(&self, key: &V::Key) -> Option<Slot> {
        self.staged(self.nodes.find(key))
    }

    /// Stages an item under a key that finds that node.
    fn try_push_staged(&mut self, found: Option<Slot>, node: Node<V, M>) -> Result<(), M::Full<Node<V, M>>> {
        let slot = self.try_link_staged(found, node)?;
        self.staged.push_back(&mut self.nodes, slot);
        Ok(())
    }

    /// Makes an item the newest staged one of a key that finds that node. It has no place in the list yet.
    pub(super) fn try_link_staged(
        &mut self,
        found: Option<Slot>,
        node: Node<V, M>,
    ) -> Result<Slot, M::Full<Node<V, M>>> {
        let (hash, chain) = (node.hash, self.staged(found));
        let inserted = self.nodes.try_insert_unfound(Linked::new(Node { chain, ..node }));
        let slot = inserted.map_err(|full| M::map_full(full, Linked::into_record))?;
        match (found, self.queued(found)) {
            (_, Some(queued)) => self.nodes[queued].staged = Some(slot),
            (Some(before), None) => self.nodes.redirect(hash, before, Some(slot)),
            (None, None) => self.nodes.make_found(hash, slot),
        }
        Ok(slot)
    }

    /// Lets the key of a staged item find no staged one, unless it finds a newer one than this.
    fn forget_staged(&mut self, slot: Slot) {
        let found = self.found(slot);
        if let Some(queued) = self.queued(found) {
            self.nodes[queued].staged = None;
        } else if found == Some(slot) {
            self.nodes.redirect(self.nodes[slot].hash, slot, None);
        }
    }

    /// The object of the newest queued delta of a key that the list does not have, unless that is its deletion.
    fn missing(&self, newest: Slot) -> Option<&V> {
        let node = &self.nodes[newest];
        node.delta().filter(|delta| node.staged.is_none() && !delta.is_deletion()).map(Delta::object)
    }

    /// The queued deltas that are the newest of their keys.
    fn newest_of_keys(&self) -> impl Iterator<Item = Slot> {
        self.queued.iter(&self.nodes).filter(|slot| self.found(*slot) == Some(*slot))
    }

    fn count_missing(&self, known: &impl KnownObjects<V>) -> usize {
        let queued = || self.newest_of_keys().filter(|newest| self.missing(*newest).is_some()).count();
        (if self.coalescing { 0 } else { queued() })
            + known.known().filter(|object| self.nodes.find(object.key()).is_none()).count()
    }

    /// Tombstones for the queued keys that the list does not have.
    fn try_bury_queued(&mut self, deletions: &mut List) -> Result<(), M::Full<()>> {
        let mut at = self.queued.front();
        while let Some(slot) = at {
            if let Some(last_known) = self.found(slot).and_then(|newest| self.missing(newest)).cloned() {
                self.try_bury(last_known, deletions)?;
            }
            at = self.nodes[slot].next();
        }
        Ok(())
    }

    /// Tombstones for the known objects that neither the list nor the queue has.
    fn try_bury_known(&mut self, known: &impl KnownObjects<V>, deletions: &mut List) -> Result<(), M::Full<()>> {
        for object in known.known() {
            if self.nodes.find(object.key()).is_none() {
                self.try_bury(object.clone(), deletions)?;
            }
        }
        Ok(())
    }

    fn try_bury(&mut self, last_known: V, deletions: &mut List) -> Result<(), M::Full<()>> {
        if self.coalescing
            && let Some(newest) = self.newest_queued(last_known.key())
        {
            let own = self.coalesce(newest, Delta::Tombstone(last_known));
            debug_assert!(own.is_none(), "a tombstone merges into the queued delta");
            return Ok(());
        }
        let tombstone = Delta::Tombstone(last_known);
        let slot = self.try_insert(tombstone, self.arrived).map_err(|full| M::map_full(full, drop))?;
        deletions.push_back(&mut self.nodes, slot);
        Ok(())
    }

    /// Makes the staged items the newest of their keys, in list order, and drops those that are a key alone.
    fn attach_staged(&mut self) {
        let mut at = self.staged.front();
        while let Some(slot) = at {
            at = self.nodes[slot].next();
            if self.attach_folded(slot) {
                continue;
            }
            let found = self.found(slot);
            let newest = self.queued(found);
            if let (Content::Delta(_), Some(found)) = (&self.nodes[slot].content, found)
                && !newest.is_some_and(|newest| self.takes_state(newest))
            {
                self.attach(found, slot);
            } else {
                self.forget_staged(slot);
                self.staged.unlink(&mut self.nodes, slot);
                if let (Content::Delta(item), Some(newest)) =
                    (self.nodes.remove_unfound(slot).into_record().content, newest)
                {
                    let own = self.coalesce(newest, item);
                    debug_assert!(own.is_none(), "a state merges into the queued one");
                }
            }
        }
    }

    /// Whether a newer state can be put into a queued delta.
    fn takes_state(&self, newest: Slot) -> bool {
        self.coalescing && !self.is_deletion(newest)
    }

    /// Makes a staged item the newest of its key, which finds that node so far.
    fn attach(&mut self, found: Slot, slot: Slot) {
        if found != slot {
            self.nodes.redirect(self.nodes[slot].hash, found, Some(slot));
        }
        let before = self.queued(Some(found));
        let node = &mut self.nodes[slot];
        (node.chain, node.arrival) = (None, Some(Arrival::new(self.arrived)));
        self.bytes += self.nodes[slot].bytes();
        if let Some(before) = before {
            self.nodes[before].staged = None;
            self.chain(before, slot);
        }
    }

    /// The first list decides how many pops make up the initial state: of deltas, or by key of keys.
    fn note_initial(&mut self) {
        if !core::mem::replace(&mut self.populated, true) {
            self.initial = match self.order {
                Order::Arrival => self.len(),
                Order::ByKey => self.newest_of_keys().count(),
            };
        }
    }
}

/// Memory that grows: the operations that are never full.
#[cfg(feature = "alloc")]
impl<V: Keyed<Key: Clone> + Clone> DeltaFifoIn<V, Heap> {
    /// As [`try_stage`](Self::try_stage).
    pub fn stage(&mut self, object: V) {
        never_full(self.try_stage(object));
    }

    /// As [`try_restage`](Self::try_restage).
    pub fn restage(&mut self, object: V) {
        never_full(self.try_restage(object));
    }

    /// As [`try_stage_present`](Self::try_stage_present).
    pub fn stage_present(&mut self, key: &V::Key) {
        never_full(self.try_stage_present(key));
    }

    /// As [`try_commit_stage`](Self::try_commit_stage).
    pub fn commit_stage(&mut self, known: &impl KnownObjects<V>) {
        never_full(self.try_commit_stage(known));
    }
}
