//! Replacing the known state by a list, in two steps: stage its items, then commit or discard them.

use super::{Delta, DeltaFifoIn, Order, Queued};
#[cfg(feature = "alloc")]
use crate::storage::{Heap, never_full};
use crate::storage::{Keyed, KnownObjects, Linked, List, Mem, Slot};

impl<V: Keyed<Key: Clone> + Clone, M: Mem> DeltaFifoIn<V, M> {
    /// Stages an item of a list that is being read. A key that the list has twice is staged twice, as client-go does.
    ///
    /// # Errors
    /// The object, where fixed memory is full.
    pub fn try_stage(&mut self, object: V) -> Result<(), M::Full<V>> {
        match self.newest_staged(object.key()).filter(|slot| self.nodes[*slot].delta.is_none()) {
            Some(presence) => {
                self.nodes[presence].delta = Some(Delta::Replaced(object));
                Ok(())
            }
            None => self.try_insert(Delta::Replaced(object)).map(|slot| self.push_staged(slot)),
        }
    }

    /// Stages an object in place of the one that is staged under its key, if any. A list that comes as a stream needs
    /// this: an object can change before the list has ended.
    ///
    /// # Errors
    /// The object, where fixed memory is full.
    pub fn try_restage(&mut self, object: V) -> Result<(), M::Full<V>> {
        let Some(slot) = self.newest_staged(object.key()) else { return self.try_stage(object) };
        self.nodes[slot].delta = Some(Delta::Replaced(object));
        Ok(())
    }

    /// Stages a key alone, for an item that could not be decoded: its object is not deleted, and no delta reports it.
    ///
    /// # Errors
    /// Where fixed memory is full.
    pub fn try_stage_present(&mut self, key: &V::Key) -> Result<(), M::Full<()>> {
        if self.newest_staged(key).is_none() {
            let entry = self.try_entry(key)?;
            let slot = self.try_node(entry, None).map_err(|full| M::map_full(full, drop))?;
            self.push_staged(slot);
        }
        Ok(())
    }

    /// Notes an item whose key could not be read. It may be any object, so this list shows no deletion.
    pub fn stage_unreadable(&mut self) {
        self.unreadable = true;
    }

    /// Takes a key out of the staged list: a list that comes as a stream deleted it again before its end.
    pub fn unstage(&mut self, key: &V::Key) {
        let Some(entry) = self.keys.find(key) else { return };
        let mut at = self.keys[entry].staged.take();
        while let Some(slot) = at {
            self.staged.unlink(&mut self.nodes, slot);
            at = self.nodes.remove(slot).chain;
        }
        self.forget_if_unused(entry);
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
        let mut deletions = List::default();
        if !self.unreadable {
            M::try_room(|| self.nodes.len() + self.count_missing(known))?;
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

    /// Forgets the staged list, which broke off.
    pub fn discard_stage(&mut self) {
        while let Some(slot) = self.staged.pop_front(&mut self.nodes) {
            let entry = self.nodes.remove(slot).entry;
            if self.keys[entry].staged == Some(slot) {
                self.keys[entry].staged = None;
                self.forget_if_unused(entry);
            }
        }
        self.release_if_empty();
        self.unreadable = false;
    }

    fn newest_staged(&self, key: &V::Key) -> Option<Slot> {
        self.keys[self.keys.find(key)?].staged
    }

    fn push_staged(&mut self, slot: Slot) {
        let entry = self.nodes[slot].entry;
        self.nodes[slot].chain = self.keys[entry].staged.replace(slot);
        self.staged.push_back(&mut self.nodes, slot);
    }

    /// The newest queued object of a key that the list does not have, unless its deletion is queued.
    fn missing(&self, entry: Slot) -> Option<&V> {
        let entry = &self.keys[entry];
        let newest = self.nodes[entry.newest?].delta.as_ref()?;
        (entry.staged.is_none() && !newest.is_deletion()).then(|| newest.object())
    }

    fn count_missing(&self, known: &impl KnownObjects<V>) -> usize {
        let queued = || self.keys.iter().filter(|(entry, _)| self.missing(*entry).is_some()).count();
        (if self.coalescing { 0 } else { queued() })
            + known.known().filter(|object| self.keys.find(object.key()).is_none()).count()
    }

    /// Tombstones for the queued keys that the list does not have.
    fn try_bury_queued(&mut self, deletions: &mut List<Queued>) -> Result<(), M::Full<()>> {
        let mut at = self.queued.front();
        while let Some(slot) = at {
            let entry = self.nodes[slot].entry;
            if let Some(last_known) = self.missing(entry).cloned() {
                self.try_bury(last_known, deletions)?;
            }
            at = self.nodes[slot].next();
        }
        Ok(())
    }

    /// Tombstones for the known objects that neither the list nor the queue has.
    fn try_bury_known(
        &mut self,
        known: &impl KnownObjects<V>,
        deletions: &mut List<Queued>,
    ) -> Result<(), M::Full<()>> {
        for object in known.known() {
            if self.keys.find(object.key()).is_none() {
                self.try_bury(object.clone(), deletions)?;
            }
        }
        Ok(())
    }

    fn try_bury(&mut self, last_known: V, deletions: &mut List<Queued>) -> Result<(), M::Full<()>> {
        if self.coalescing
            && let Some(newest) = self.newest_queued(last_known.key())
        {
            let own = self.coalesce(newest, Delta::Tombstone(last_known));
            debug_assert!(own.is_none(), "a tombstone merges into the queued delta");
            return Ok(());
        }
        let slot = self.try_insert(Delta::Tombstone(last_known)).map_err(|full| M::map_full(full, drop))?;
        self.attach(slot);
        self.bytes += self.nodes[slot].bytes();
        deletions.push_back(&mut self.nodes, slot);
        Ok(())
    }

    /// Makes the staged items the newest of their keys, in list order, and drops those that are a key alone.
    fn attach_staged(&mut self) {
        let mut at = self.staged.front();
        while let Some(slot) = at {
            at = self.nodes[slot].next();
            let entry = self.nodes[slot].entry;
            self.keys[entry].staged = None;
            self.coalesce_staged(slot);
            if self.nodes[slot].delta.is_some() {
                self.attach(slot);
                self.bytes += self.nodes[slot].bytes();
            } else {
                self.staged.unlink(&mut self.nodes, slot);
                self.nodes.remove(slot);
                self.forget_if_unused(entry);
            }
        }
    }

    /// Leaves a key alone where the item could be put into a queued delta.
    fn coalesce_staged(&mut self, slot: Slot) {
        if self.coalescing
            && let Some(newest) = self.keys[self.nodes[slot].entry].newest
            && let Some(item) = self.nodes[slot].delta.take()
        {
            self.nodes[slot].delta = self.coalesce(newest, item);
        }
    }

    /// The first list decides how many pops make up the initial state: of deltas, or by key of keys.
    fn note_initial(&mut self) {
        if !core::mem::replace(&mut self.populated, true) {
            self.initial = match self.order {
                Order::Arrival => self.queued.len(),
                Order::ByKey => self.keys.len(),
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
