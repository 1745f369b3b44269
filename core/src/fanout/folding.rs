//! What a subscriber has not read is folded into its backlog: where it is too far behind, and while it catches up.

use super::folded::Folded;
use super::ring::{Entry, Ring};
use super::subscriber::Subscriber;
use super::{EventLogIn, WhenBehind};
use crate::storage::{Mem, Slot, Versioned};

impl<V: Versioned<Key: Clone> + Clone, M: Mem> EventLogIn<V, M> {
    /// Whether every subscriber that is too far behind can fold an entry.
    pub(super) fn can_make_room(&self) -> bool {
        let Some(last) = self.last_overrun() else { return true };
        let mut behind = self.subscribers.iter().filter(|(_, subscriber)| subscriber.cursor <= last);
        let records = behind.try_fold(self.backlog.len(), |records, (slot, subscriber)| {
            let coalesces = subscriber.config.when_behind == WhenBehind::Coalesce;
            coalesces.then(|| records + usize::from(self.folds_apart(slot, subscriber)))
        });
        records.is_some_and(|records| self.backlog.try_room(records).is_ok())
    }

    /// The last number whose subscribers are too far behind for one more entry.
    fn last_overrun(&self) -> Option<u64> {
        let entries = self.ring.len();
        if entries >= self.limit() {
            return Some(self.ring.end() - self.limit() as u64);
        }
        Ring::<V, M>::try_room(entries + 1).is_err().then_some(self.ring.oldest())
    }

    /// Whether the next entry of a subscriber takes a record of its own when it is folded.
    fn folds_apart(&self, slot: Slot, subscriber: &Subscriber<V, M>) -> bool {
        let next = self.ring.get(subscriber.cursor);
        next.is_some_and(|entry| self.backlog.find(slot, entry.transition.key()).is_none())
    }

    /// Folds an entry of each subscriber that is too far behind. The others follow when it is told something.
    pub(super) fn try_make_room(&mut self, freed: &mut impl FnMut(V)) -> Result<(), M::Full<()>> {
        let Some(last) = self.last_overrun() else { return Ok(()) };
        let mut at = self.subscribers.next_used(None);
        while let Some(slot) = at {
            if self.subscribers[slot].cursor <= last {
                self.try_fold(slot, freed)?;
            }
            at = self.subscribers.next_used(at);
        }
        Ok(())
    }

    /// Folds the entries that a subscriber has not read into its backlog, while it has one. So it is told the newest
    /// state of each key. Where memory is short, it is told an earlier one first.
    pub(super) fn catch_up(&mut self, slot: Slot, freed: &mut impl FnMut(V)) {
        while !self.subscribers[slot].backlog.is_empty() && self.try_fold(slot, freed).is_ok_and(|folded| folded) {}
    }

    /// Folds the entry at a subscriber's cursor into its backlog, if it coalesces; says whether there was one. Marks come
    /// first, because they may panic: nothing else has changed yet. After that, the subscriber is told that it has none.
    pub(super) fn try_fold(&mut self, slot: Slot, freed: &mut impl FnMut(V)) -> Result<bool, M::Full<()>> {
        let Subscriber { config, cursor, backlog, marks, marks_panicked, marks_lost, .. } = &mut self.subscribers[slot];
        let entry = self.ring.get(*cursor).filter(|_| config.when_behind == WhenBehind::Coalesce);
        let Some(Entry { transition: next, arrived, .. }) = entry else { return Ok(false) };
        match self.backlog.find(slot, next.key()) {
            Some(record) => {
                if let Some(marks_of) = &config.marks {
                    let mut swallowed = self.backlog.get(record).swallowed(next, config.quiet);
                    if !*marks_panicked {
                        // It stays so if the function panics.
                        *marks_panicked = true;
                        let added = self.marks.try_add_all(marks, (slot, *arrived), swallowed, marks_of);
                        *marks_panicked = false;
                        added?;
                    } else if swallowed.next().is_some() {
                        marks_lost.get_or_insert(*arrived);
                    }
                }
                self.backlog.fold(backlog, record, (next, config.quiet), freed);
            }
            None if config.quiet && next.is_silent() => {}
            None => self.backlog.try_insert(backlog, slot, Folded::of(next), (*cursor, *arrived))?,
        }
        self.ring.advance(cursor, freed);
        Ok(true)
    }

    /// Adds an object of the cache to a subscriber's backlog; one that is there already is announced.
    pub(super) fn try_add(&mut self, slot: Slot, number: u64, object: Folded<V>) -> Result<(), M::Full<()>> {
        match self.backlog.find(slot, object.key()) {
            Some(record) => {
                self.backlog.announce(record);
                Ok(())
            }
            None => self.backlog.try_insert(&mut self.subscribers[slot].backlog, slot, object, (number, self.now)),
        }
    }
}
