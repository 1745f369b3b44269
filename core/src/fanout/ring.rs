//! The entries of the log that some subscriber has not read. Entries are numbered from one, for ever.

use super::Transition;
use crate::storage::Mem;
use crate::storage::sealed::{Empty, Records};
use crate::time::Instant;

/// A ring buffer in which each entry counts the cursors that are at it, so that it goes when the last has passed.
pub(super) struct Ring<V, M: Mem> {
    places: M::Array<Option<Entry<V>>>,
    /// The place of the oldest entry.
    head: usize,
    /// How many entries have gone.
    gone: u64,
    /// How many entries have come.
    come: u64,
    /// The number of cursors that have passed every entry.
    at_end: usize,
}

pub(super) struct Entry<V> {
    pub(super) transition: Transition<V>,
    pub(super) arrived: Instant,
    cursors: usize,
}

impl<V, M: Mem> Ring<V, M> {
    pub(super) const EMPTY: Self =
        Self { places: <M::Array<Option<Entry<V>>> as Empty>::EMPTY, head: 0, gone: 0, come: 0, at_end: 0 };

    /// The number of the oldest entry.
    pub(super) fn oldest(&self) -> u64 {
        self.gone + 1
    }

    /// The number that the next entry gets.
    pub(super) fn end(&self) -> u64 {
        self.come + 1
    }

    pub(super) fn len(&self) -> usize {
        (self.come - self.gone) as usize
    }

    /// Whether there is memory for so many entries.
    pub(super) fn try_room(entries: usize) -> Result<(), M::Full<()>> {
        M::try_room(<M::Array<Option<Entry<V>>> as Records<_>>::CAPACITY, || entries)
    }

    pub(super) fn get(&self, number: u64) -> Option<&Entry<V>> {
        if number < self.end() { self.places[self.place(number)].as_ref() } else { None }
    }

    /// Appends an entry, which stays until each cursor has passed it. There must be a cursor.
    pub(super) fn try_push(
        &mut self,
        transition: Transition<V>,
        arrived: Instant,
    ) -> Result<(), M::Full<Transition<V>>> {
        if self.len() == self.places.len()
            && let Err(full) = self.try_grow()
        {
            return Err(M::map_full(full, |()| transition));
        }
        let place = self.place(self.end());
        let cursors = core::mem::take(&mut self.at_end);
        self.places[place] = Some(Entry { transition, arrived, cursors });
        self.come += 1;
        Ok(())
    }

    /// A new cursor, behind the newest entry.
    pub(super) fn join(&mut self) -> u64 {
        self.at_end += 1;
        self.end()
    }

    /// Moves a cursor to the next entry.
    pub(super) fn advance(&mut self, cursor: &mut u64, freed: &mut impl FnMut(V)) {
        *self.cursors(*cursor + 1) += 1;
        let left = core::mem::replace(cursor, *cursor + 1);
        self.leave(left, freed);
    }

    /// Removes a cursor.
    pub(super) fn leave(&mut self, cursor: u64, freed: &mut impl FnMut(V)) {
        *self.cursors(cursor) -= 1;
        while self.get(self.oldest()).is_some_and(|entry| entry.cursors == 0) {
            let passed = self.places[self.head].take();
            self.head = self.place(self.oldest() + 1);
            self.gone += 1;
            passed.into_iter().for_each(|entry| entry.transition.free(freed));
        }
        if self.len() == 0 && self.places.release() {
            self.head = 0;
        }
    }

    /// Panics if an entry counts other cursors than these.
    pub(super) fn check<I: Iterator<Item = u64>>(&self, cursors: impl Fn() -> I) {
        let at = |number| cursors().filter(|cursor| *cursor == number).count();
        for number in self.oldest()..self.end() {
            assert_eq!(self.get(number).map(|entry| entry.cursors), Some(at(number)), "cursors are counted");
        }
        assert_eq!(self.at_end, at(self.end()), "cursors are counted");
        assert_eq!(cursors().min().unwrap_or_else(|| self.end()), self.oldest(), "an entry stays while it is not read");
        assert_eq!(self.places.iter().flatten().count(), self.len(), "what was read is dropped");
    }

    fn cursors(&mut self, number: u64) -> &mut usize {
        let (place, end) = (self.place(number), self.end());
        match self.places.get_mut(place) {
            Some(Some(entry)) if number < end => &mut entry.cursors,
            _ => &mut self.at_end,
        }
    }

    fn place(&self, number: u64) -> usize {
        (self.head + (number - self.oldest()) as usize) % self.places.len().max(1)
    }

    /// Doubles the places, or takes what memory there is.
    fn try_grow(&mut self) -> Result<(), M::Full<()>> {
        self.places.rotate_left(self.head);
        self.head = 0;
        self.places.try_push(None).map_err(|full| M::map_full(full, drop))?;
        for _ in 1..self.len() {
            if self.places.try_push(None).is_err() {
                break;
            }
        }
        Ok(())
    }
}
