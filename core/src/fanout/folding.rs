//! What a subscriber has not read is folded into its backlog: where it is too far behind, and while it catches up.

use super::folded::Folded;
use super::queues::Queues;
use super::ring::{Entry, Ring};
use super::subscriber::Subscriber;
use super::{EventLogIn, WhenBehind};
use crate::storage::{List, Mem, Slot, Versioned};
use crate::time::Instant;

impl<V: Versioned<Key: Clone> + Clone, M: Mem> EventLogIn<V, M> {
    /// The last number whose subscribers are too far behind for one more entry.
    pub(super) fn last_overrun(&self) -> Option<u64> {
        let entries = self.ring.len();
        if entries >= self.limit() {
            return Some(self.ring.end() - self.limit() as u64);
        }
        Ring::<V, M>::try_room(entries + 1).is_err().then_some(self.ring.oldest())
    }

    /// Whether the next entry of a subscriber takes a record of its own when it is folded.
    pub(super) fn folds_apart(&self, slot: Slot, subscriber: &Subscriber<V, M>) -> bool {
        let next = self.ring.get(subscriber.cursor);
        next.is_some_and(|entry| self.find_folded(slot, entry.transition.key()).is_none())
    }

    /// Folds an entry of each subscriber that is too far behind. The others follow when it is told something.
    pub(crate) fn try_make_room(&mut self, freed: &mut impl FnMut(V)) -> Result<(), M::Full<()>> {
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
        let key = next.key();
        match self.backlog.find(slot, key, |other| other == key) {
            Some(record) => {
                let folded = self.backlog.get_mut(record);
                if let Some(marks_of) = &config.marks {
                    let mut swallowed = folded.swallowed(next, config.quiet);
                    if !*marks_panicked {
                        // It stays so if the function panics.
                        *marks_panicked = true;
                        let added = try_mark(&mut self.marks, marks, (slot, *arrived), swallowed, marks_of);
                        *marks_panicked = false;
                        added?;
                    } else if swallowed.next().is_some() {
                        marks_lost.get_or_insert(*arrived);
                    }
                }
                if folded.is_cancelled_by(next, config.quiet) {
                    self.backlog.remove(backlog, record).1.change.free(freed);
                } else {
                    folded.fold(next).free(freed);
                }
            }
            None if config.quiet && next.is_silent() => {}
            None => {
                let folded = Folded::of(next.clone(), *cursor);
                self.backlog.try_push(backlog, (slot, key.clone()), folded, *arrived)?;
            }
        }
        self.ring.advance(cursor, freed);
        Ok(true)
    }

    /// Adds an object of the cache to a subscriber's backlog; one that is there already is announced.
    pub(super) fn try_add(&mut self, slot: Slot, object: Folded<V>) -> Result<(), M::Full<()>> {
        match self.find_folded(slot, object.change.key()) {
            Some(record) => {
                self.backlog.get_mut(record).announce();
                Ok(())
            }
            None => {
                let key = (slot, object.change.key().clone());
                self.backlog.try_push(&mut self.subscribers[slot].backlog, key, object, self.now)
            }
        }
    }

    /// What waits of a key for a subscriber.
    pub(super) fn find_folded(&self, slot: Slot, key: &V::Key) -> Option<Slot> {
        self.backlog.find(slot, key, |other| other == key)
    }
}

/// Adds the marks of states, all or none, each once for a subscriber. In fixed memory a mark that is too long finds no
/// room. The function that emits them may panic.
fn try_mark<'a, V: 'a, M: Mem>(
    marks: &mut Queues<M::Text, (), M>,
    list: &mut List,
    (subscriber, arrived): (Slot, Instant),
    states: impl Iterator<Item = &'a V>,
    marks_of: &M::IndexFn<V>,
) -> Result<(), M::Full<()>> {
    let (kept, mut added) = (list.len(), Ok(()));
    for state in states {
        marks_of(state, &mut |text| {
            if added.is_err() || marks.find(subscriber, text, |other| **other == *text).is_some() {
                return;
            }
            added = match M::Text::try_from(text) {
                Ok(text) => marks.try_push(list, (subscriber, text), (), arrived),
                Err(_) => marks.try_room(usize::MAX),
            };
        });
    }
    if added.is_err() {
        marks.truncate(list, kept, drop);
    }
    added
}
