//! The marks of states that subscribers are not told: each once for a subscriber, until it is told.

use crate::storage::sealed::Text;
use crate::storage::{Keyed, Linked, Links, List, Mem, PassingTable, Slot};
use crate::time::Instant;
use core::hash::{Hash, Hasher};

/// The marks of all subscribers; each subscriber has a list of its own, in the order of arrival.
pub(super) struct Marks<M: Mem> {
    marks: PassingTable<Mark<M>, M>,
}

pub(super) struct Mark<M: Mem> {
    key: MarkKey<M>,
    pub(super) arrived: Instant,
    links: Links,
}

pub(super) struct MarkKey<M: Mem> {
    subscriber: Slot,
    text: M::Text,
}

pub(super) enum Marked {}

impl<M: Mem> Marks<M> {
    pub(super) const fn with_seed(seed: u64) -> Self {
        Self { marks: PassingTable::<_, M>::with_seed(seed) }
    }

    /// Makes the hashes depend on `seed`, where there is no mark.
    pub(super) fn set_seed(&mut self, seed: u64) {
        self.marks.set_seed(seed);
    }

    pub(super) fn len(&self) -> usize {
        self.marks.len()
    }

    /// The mark at the front of a list.
    pub(super) fn front(&self, list: &List<Marked>) -> Option<&Mark<M>> {
        list.front().map(|slot| &self.marks[slot])
    }

    /// Adds the marks of states, all or none. The function that emits them may panic.
    pub(super) fn try_add_all<'a, V: 'a>(
        &mut self,
        list: &mut List<Marked>,
        (subscriber, arrived): (Slot, Instant),
        states: impl Iterator<Item = &'a V>,
        marks: &M::IndexFn<V>,
    ) -> Result<(), M::Full<()>> {
        let (kept, mut added) = (list.len(), Ok(()));
        for state in states {
            marks(state, &mut |text| {
                if added.is_ok() {
                    added = self.try_add(list, subscriber, text, arrived);
                }
            });
        }
        if added.is_err() {
            self.truncate(list, kept);
        }
        added
    }

    /// Adds a mark, unless the subscriber has it. In fixed memory a mark that is too long finds no room.
    pub(super) fn try_add(
        &mut self,
        list: &mut List<Marked>,
        subscriber: Slot,
        text: &str,
        arrived: Instant,
    ) -> Result<(), M::Full<()>> {
        if self.marks.find_by(&(subscriber, text), |key| key.subscriber == subscriber && *key.text == *text).is_some() {
            return Ok(());
        }
        let Some(text) = M::Text::try_copy(text) else { return self.marks.try_room(|| usize::MAX) };
        let mark = Mark { key: MarkKey { subscriber, text }, arrived, links: Links::default() };
        let slot = self.marks.try_insert(mark).map_err(|full| M::map_full(full, drop))?;
        list.push_back(&mut self.marks, slot);
        Ok(())
    }

    pub(super) fn pop(&mut self, list: &mut List<Marked>) -> Option<M::Text> {
        list.front().map(|slot| self.remove(list, slot))
    }

    /// Removes the marks of a list behind the first `kept`.
    pub(super) fn truncate(&mut self, list: &mut List<Marked>, kept: usize) {
        let mut at = core::iter::successors(list.front(), |slot| self.marks[*slot].next()).nth(kept);
        while let Some(slot) = at {
            at = self.marks[slot].next();
            self.remove(list, slot);
        }
    }

    fn remove(&mut self, list: &mut List<Marked>, slot: Slot) -> M::Text {
        list.unlink(&mut self.marks, slot);
        let text = self.marks.remove(slot).key.text;
        if self.marks.len() == 0 {
            self.marks.release();
        }
        text
    }
}

impl<M: Mem> Keyed for Mark<M> {
    type Key = MarkKey<M>;

    fn key(&self) -> &MarkKey<M> {
        &self.key
    }
}

impl<M: Mem> Linked<Marked> for Mark<M> {
    type Slot = Slot;

    fn links(&mut self) -> &mut Links {
        &mut self.links
    }

    fn next(&self) -> Option<Slot> {
        self.links.next
    }
}

impl<M: Mem> Hash for MarkKey<M> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.subscriber, &*self.text).hash(state);
    }
}

impl<M: Mem> PartialEq for MarkKey<M> {
    fn eq(&self, other: &Self) -> bool {
        self.subscriber == other.subscriber && *self.text == *other.text
    }
}

impl<M: Mem> Eq for MarkKey<M> {}
