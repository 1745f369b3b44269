//! Lists of values by key, in one memory for all keys.

use crate::storage::{Linked, List, Mem, Slab, Slot};

/// The values of all lists.
#[derive(Debug)]
pub(super) struct Notes<T, M: Mem> {
    notes: Slab<Linked<T>, M>,
}

/// The values of one list, the oldest first.
#[derive(Debug, Default)]
pub(super) struct NoteList {
    list: List,
    /// The number of values that were dropped for want of room.
    pub(super) dropped: u64,
}

impl<T, M: Mem> Notes<T, M> {
    pub(super) const EMPTY: Self = Self { notes: Slab::EMPTY };

    /// Adds a value, and counts it as dropped if the memory is full.
    pub(super) fn push(&mut self, list: &mut NoteList, value: T) {
        match self.notes.try_insert(Linked::new(value)) {
            Ok(slot) => list.list.push_back(&mut self.notes, slot),
            Err(_) => list.dropped += 1,
        }
    }

    /// Adds a value to a list that keeps the newest `limit` values, or fewer if the memory is full.
    pub(super) fn push_newest(&mut self, list: &mut NoteList, value: T, limit: usize) {
        if list.len() >= limit || self.notes.vacant().is_none() {
            self.drop_oldest(list);
        }
        self.push(list, value);
    }

    /// Puts the values of `older` before those of `list`, and keeps the newest `limit`.
    pub(super) fn put_before(&mut self, list: &mut NoteList, mut older: NoteList, limit: usize) {
        older.list.append(&mut self.notes, &mut list.list);
        older.dropped += list.dropped;
        *list = older;
        while list.len() > limit {
            self.drop_oldest(list);
        }
    }

    /// Takes out the first value for which `is_it` returns true.
    pub(super) fn take(&mut self, list: &mut NoteList, is_it: impl Fn(&T) -> bool) -> Option<T> {
        let slot = self.slots(list).find(|slot| is_it(&self.notes[*slot]))?;
        list.list.unlink(&mut self.notes, slot);
        Some(self.remove(slot))
    }

    pub(super) fn clear(&mut self, mut list: NoteList) {
        while let Some(slot) = list.list.pop_front(&mut self.notes) {
            self.remove(slot);
        }
    }

    pub(super) fn iter<'a>(&'a self, list: &'a NoteList) -> impl Iterator<Item = &'a T> {
        self.slots(list).map(|slot| &*self.notes[slot])
    }

    fn slots(&self, list: &NoteList) -> impl Iterator<Item = Slot> {
        list.list.iter(&self.notes)
    }

    fn drop_oldest(&mut self, list: &mut NoteList) {
        if let Some(slot) = list.list.pop_front(&mut self.notes) {
            list.dropped += 1;
            self.remove(slot);
        }
    }

    fn remove(&mut self, slot: Slot) -> T {
        let value = self.notes.remove(slot).into_record();
        if self.notes.len() == 0 {
            self.notes.release();
        }
        value
    }
}

impl NoteList {
    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0 && self.dropped == 0
    }
}
