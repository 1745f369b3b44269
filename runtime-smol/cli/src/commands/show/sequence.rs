//! Entries in the order of their beginnings, of which some are not over yet.

use super::entry::Entry;
use std::collections::VecDeque;

/// How many entries wait for the first one that is not over. A reconcile may take hours.
const MOST: usize = 4096;

/// Entries, the first of which leave as soon as they are over.
#[derive(Default)]
pub(super) struct Sequence {
    /// The number of the first place.
    first: u64,
    places: VecDeque<Place>,
}

enum Place {
    /// What is here is told later.
    Open,
    /// What is here is told.
    Told(Vec<Entry>),
}

impl Sequence {
    /// Takes the next place for an entry that is told later, and returns its number.
    pub(super) fn open(&mut self) -> u64 {
        self.places.push_back(Place::Open);
        self.first + self.places.len() as u64 - 1
    }

    /// Adds an entry.
    pub(super) fn add(&mut self, entry: Entry) {
        self.places.push_back(Place::Told(vec![entry]));
    }

    /// Tells what is at a place, or at the end if it was passed over.
    pub(super) fn tell(&mut self, place: u64, entry: Entry) {
        let index = place.checked_sub(self.first).and_then(|index| usize::try_from(index).ok());
        match index.and_then(|index| self.places.get_mut(index)) {
            Some(Place::Told(entries)) => entries.push(entry),
            Some(open) => *open = Place::Told(vec![entry]),
            None => self.add(entry),
        }
    }

    /// Leaves a place without an entry.
    pub(super) fn pass(&mut self, place: u64) {
        let index = place.checked_sub(self.first).and_then(|index| usize::try_from(index).ok());
        if let Some(place) = index.and_then(|index| self.places.get_mut(index)) {
            *place = Place::Told(Vec::new());
        }
    }

    /// Whether all entries have left.
    pub(super) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Whether a place was passed over.
    pub(super) fn is_behind(&self, place: u64) -> bool {
        place < self.first
    }

    /// The next entries that are over, or wait for too many others.
    pub(super) fn next(&mut self) -> Option<Vec<Entry>> {
        match self.places.front()? {
            Place::Open if self.places.len() <= MOST => None,
            _ => self.pop(),
        }
    }

    /// The next entries, whether those before are over or not.
    pub(super) fn pop(&mut self) -> Option<Vec<Entry>> {
        let place = self.places.pop_front()?;
        self.first += 1;
        Some(if let Place::Told(entries) = place { entries } else { Vec::new() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(event: &str) -> Entry {
        Entry { event: event.to_owned(), ..Entry::default() }
    }

    fn left(sequence: &mut Sequence) -> String {
        std::iter::from_fn(|| sequence.next()).flatten().map(|entry| entry.event + " ").collect()
    }

    #[test]
    fn entries_leave_in_the_order_of_their_beginnings() {
        let mut sequence = Sequence::default();
        let first = sequence.open();
        sequence.add(entry("b"));
        let third = sequence.open();
        sequence.tell(third, entry("c"));
        assert_eq!(left(&mut sequence), "");
        sequence.tell(first, entry("a"));
        assert_eq!(left(&mut sequence), "a b c ");
    }

    #[test]
    fn an_entry_that_is_not_over_for_long_is_passed_over_and_told_where_it_ends() {
        let mut sequence = Sequence::default();
        let first = sequence.open();
        (0..MOST).for_each(|_| sequence.add(entry("b")));
        assert_eq!(left(&mut sequence).len(), 2 * MOST);
        assert!(sequence.is_behind(first));
        sequence.tell(first, entry("a"));
        assert_eq!(left(&mut sequence), "a ");
    }
}
