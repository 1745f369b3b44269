//! An array that grows without moving what it has, and shrinks while it is drained.

use super::NeverFull;
use super::sealed::{Empty, Records};
use super::shards::Shards;
use alloc::vec::Vec;
use core::ops::Range;

/// The places of a segment.
pub(super) const SEGMENT: usize = 1024;

/// Places in segments. The first segment grows as a `Vec` does, so that a small array is one `Vec`. Each further one has
/// its memory from the start. So an insertion copies at most the places of a segment, or the addresses of all segments.
///
/// If two further segments have no record, one of them is given back. So a queue that a list has filled shrinks while
/// the cache grows, and one at the edge of a segment does not ask for memory again and again.
#[derive(Debug)]
pub struct Segments<T> {
    first: Segment<T>,
    more: Vec<Segment<T>>,
    /// Those of `more` that have room. The last one grows.
    with_room: Vec<usize>,
    /// One of `more` that had no record when it was looked at last.
    spare: usize,
}

#[derive(Debug)]
struct Segment<T> {
    places: Vec<T>,
    /// How many places have a record.
    records: usize,
}

impl<T> Segment<T> {
    const EMPTY: Self = Self { places: Vec::new(), records: 0 };
}

impl<T> Segments<T> {
    #[cold]
    fn push_behind(&mut self, place: T) {
        let at = self.with_room.last().copied().unwrap_or(self.more.len());
        if at == self.more.len() {
            self.more.push(Segment::EMPTY);
            self.with_room.push(at);
        }
        let places = &mut self.more[at].places;
        if places.capacity() == 0 {
            places.reserve_exact(SEGMENT);
        }
        places.push(place);
        if places.len() == SEGMENT {
            self.with_room.pop();
        }
    }

    #[inline]
    fn segment(&self, index: usize) -> Option<&Segment<T>> {
        if index < SEGMENT { Some(&self.first) } else { self.more.get(index / SEGMENT - 1) }
    }

    #[inline]
    fn segment_mut(&mut self, index: usize) -> Option<&mut Segment<T>> {
        if index < SEGMENT { Some(&mut self.first) } else { self.more.get_mut(index / SEGMENT - 1) }
    }

    /// One of `more` has no record.
    #[cold]
    fn note_vacant(&mut self, at: usize) -> Option<Range<usize>> {
        let is_vacant = |segment: &Segment<T>| segment.records == 0 && segment.places.capacity() > 0;
        if self.spare != at && self.more.get(self.spare).is_some_and(is_vacant) {
            return Some((at + 1) * SEGMENT..(at + 2) * SEGMENT);
        }
        self.spare = at;
        None
    }
}

impl<T> Records<T> for Segments<T> {
    type Index = Shards;
    type Full = NeverFull<T>;
    const CAPACITY: usize = usize::MAX;

    fn len(&self) -> usize {
        if self.more.is_empty() { self.first.places.len() } else { (self.more.len() + 1) * SEGMENT }
    }

    fn next(&self) -> usize {
        if self.first.places.len() < SEGMENT {
            return self.first.places.len();
        }
        let at = self.with_room.last().copied().unwrap_or(self.more.len());
        (at + 1) * SEGMENT + self.more.get(at).map_or(0, |segment| segment.places.len())
    }

    #[inline]
    fn get(&self, index: usize) -> Option<&T> {
        self.segment(index)?.places.get(index % SEGMENT)
    }

    #[inline]
    fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        self.segment_mut(index)?.places.get_mut(index % SEGMENT)
    }

    fn try_push(&mut self, place: T) -> Result<(), NeverFull<T>> {
        if self.first.places.len() < SEGMENT {
            self.first.places.push(place);
        } else {
            self.push_behind(place);
        }
        Ok(())
    }

    #[inline]
    fn occupy(&mut self, index: usize) {
        if let Some(segment) = self.segment_mut(index) {
            segment.records += 1;
        }
    }

    #[inline]
    fn vacate(&mut self, index: usize) -> Option<Range<usize>> {
        let segment = self.segment_mut(index)?;
        segment.records -= 1;
        if segment.records > 0 || index < SEGMENT { None } else { self.note_vacant(index / SEGMENT - 1) }
    }

    fn give_back(&mut self, places: Range<usize>) {
        let at = places.start / SEGMENT - 1;
        let gone = core::mem::take(&mut self.more[at].places);
        if gone.len() == SEGMENT {
            self.with_room.push(at);
        }
    }

    fn clear(&mut self) {
        let mut first = core::mem::replace(&mut self.first, Segment::EMPTY);
        first.places.clear();
        first.records = 0;
        *self = Self { first, ..Self::EMPTY };
    }

    #[inline]
    fn release(&mut self) -> bool {
        let release = !self.more.is_empty();
        if release {
            *self = Self::EMPTY;
        }
        release
    }
}

impl<T> Empty for Segments<T> {
    const EMPTY: Self = Self { first: Segment::EMPTY, more: Vec::new(), with_room: Vec::new(), spare: 0 };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use crate::storage::slab::Entry;
    use crate::storage::{Heap, Slab, Slot};

    type Queue = Slab<usize, Heap, Segments<Entry<usize>>>;

    fn filled(records: usize) -> (Queue, Vec<Slot>) {
        let mut queue = Queue::default();
        let slots = (0..records).map(|n| queue.try_insert(n).ok().unwrap()).collect();
        (queue, slots)
    }

    fn places(queue: &Queue) -> usize {
        let Segments { first, more, .. } = &queue.entries;
        first.places.capacity() + more.iter().map(|segment| segment.places.capacity()).sum::<usize>()
    }

    #[test]
    fn a_segment_never_moves_once_it_is_full() {
        let (mut segments, mut addresses) = (Segments::EMPTY, Vec::new());
        for n in 0..3 * SEGMENT + 1 {
            assert_eq!((segments.next(), segments.get(n)), (n, None));
            assert!(segments.try_push(n).is_ok());
            assert_eq!(segments.get_mut(n), Some(&mut { n }));
            if segments.next() % SEGMENT == 0 {
                addresses.extend((addresses.len()..=n).map(|at| segments.get(at).map(core::ptr::from_ref)));
            }
        }
        assert!((0..=3 * SEGMENT).all(|n| segments.get(n) == Some(&n)));
        let moved = (0..).zip(addresses).filter(|(at, then)| segments.get(*at).map(core::ptr::from_ref) != *then);
        assert_eq!(moved.count(), 0);
    }

    #[test]
    fn an_array_that_was_large_gives_its_memory_back() {
        for (records, released) in [(SEGMENT, false), (SEGMENT + 1, true)] {
            let mut segments = Segments::EMPTY;
            (0..records).for_each(|n| assert!(segments.try_push(n).is_ok()));
            assert_eq!((segments.release(), segments.len()), (released, if released { 0 } else { records }));
        }
    }

    #[test]
    fn a_queue_that_a_list_has_filled_frees_memory_with_its_pops() {
        let (mut queue, slots) = filled(10 * SEGMENT);
        for (popped, slot) in (1..).zip(slots) {
            queue.remove(slot);
            assert!(places(&queue) <= 10 * SEGMENT - popped + 3 * SEGMENT, "after {popped}");
        }
        assert_eq!(places(&queue), 2 * SEGMENT);
    }

    #[test]
    fn a_queue_at_the_edge_of_a_segment_asks_for_no_memory() {
        let (mut queue, mut slots) = filled(SEGMENT);
        for _ in 0..10 {
            slots.push(queue.try_insert(0).ok().unwrap());
            assert_eq!(places(&queue), 2 * SEGMENT);
            queue.remove(slots.pop().unwrap());
            assert_eq!(places(&queue), 2 * SEGMENT, "one that has no record is kept");
        }
    }

    #[test]
    fn records_stay_in_their_slots_whatever_segments_go() {
        let (mut queue, mut random) = (Queue::default(), Random::new(5));
        let mut known: Vec<(Slot, usize)> = Vec::new();
        for step in 0..100_000 {
            let wanted = if step / 10_000 % 2 == 0 { 8 * SEGMENT } else { 20 };
            if known.len() < wanted {
                let vacant = queue.vacant();
                let slot = queue.try_insert(step).ok().unwrap();
                assert_eq!(vacant, Some(slot));
                known.push((slot, step));
            } else {
                let (slot, record) = known.swap_remove(random.next() as usize % known.len());
                assert_eq!(queue.remove(slot), record);
            }
            if step % 1_000 == 0 {
                assert!(known.iter().all(|(slot, record)| queue.get(*slot) == Some(record)));
                assert_eq!(queue.iter().count(), known.len());
            }
        }
        assert!(places(&queue) <= 22 * SEGMENT, "twenty records, and one segment to spare");
    }
}
