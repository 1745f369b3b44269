//! An array that gives memory back while it is drained.

use super::never::NeverFull;
use super::sealed::{Empty, Records};
use super::segments::SEGMENT;
use alloc::vec::Vec;
use core::ops::Range;

/// Places in segments, as [`Segments`](super::segments::Segments) has them. If two segments have no record, one of them
/// is given back. So a queue that a list has filled shrinks while the cache grows, and one that is in use keeps a
/// segment for what comes.
#[derive(Debug)]
pub struct Draining<T> {
    segments: Vec<Segment<T>>,
    /// The segment that has room for more places. All others are full, or were given back.
    growing: usize,
    /// Those that were given back.
    gone: Vec<usize>,
    /// How many have places, and no record.
    idle: usize,
}

#[derive(Debug)]
struct Segment<T> {
    places: Vec<T>,
    /// How many places have a record.
    records: usize,
}

impl<T> Draining<T> {
    /// The segment of the next place.
    fn next_segment(&self) -> usize {
        match self.segments.get(self.growing) {
            Some(growing) if growing.places.len() < SEGMENT => self.growing,
            _ => self.gone.last().copied().unwrap_or(self.segments.len()),
        }
    }

    #[cold]
    fn grow(&mut self) {
        self.growing = self.next_segment();
        self.idle += 1;
        match self.gone.pop() {
            Some(gone) => self.segments[gone].places.reserve_exact(SEGMENT),
            // The first one grows as a `Vec` does, so that a small queue is small.
            None => {
                let places = if self.segments.is_empty() { 0 } else { SEGMENT };
                self.segments.push(Segment { places: Vec::with_capacity(places), records: 0 });
            }
        }
    }
}

impl<T> Records<T> for Draining<T> {
    type Full = NeverFull<T>;
    const CAPACITY: usize = usize::MAX;

    fn len(&self) -> usize {
        self.segments.len() * SEGMENT
    }

    fn next(&self) -> usize {
        let segment = self.next_segment();
        segment * SEGMENT + self.segments.get(segment).map_or(0, |segment| segment.places.len())
    }

    #[inline]
    fn get(&self, index: usize) -> Option<&T> {
        self.segments.get(index / SEGMENT)?.places.get(index % SEGMENT)
    }

    #[inline]
    fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        self.segments.get_mut(index / SEGMENT)?.places.get_mut(index % SEGMENT)
    }

    fn try_push(&mut self, place: T) -> Result<(), NeverFull<T>> {
        if self.segments.get(self.growing).is_none_or(|growing| growing.places.len() == SEGMENT) {
            self.grow();
        }
        self.segments[self.growing].places.push(place);
        Ok(())
    }

    fn is_full(&self) -> bool {
        false
    }

    #[inline]
    fn occupy(&mut self, index: usize) {
        let segment = &mut self.segments[index / SEGMENT];
        self.idle -= usize::from(segment.records == 0);
        segment.records += 1;
    }

    #[inline]
    fn vacate(&mut self, index: usize) -> Option<Range<usize>> {
        let at = index / SEGMENT;
        let segment = &mut self.segments[at];
        segment.records -= 1;
        if segment.records > 0 {
            return None;
        }
        self.idle += 1;
        (self.idle > 1).then_some(at * SEGMENT..(at + 1) * SEGMENT)
    }

    fn give_back(&mut self, places: Range<usize>) {
        let segment = places.start / SEGMENT;
        self.segments[segment].places = Vec::new();
        self.gone.push(segment);
        self.idle -= 1;
        if self.growing == segment {
            // What is gone has room, and is not to grow before `grow` takes it from there.
            self.growing = usize::MAX;
        }
    }

    fn clear(&mut self) {
        *self = Self::EMPTY;
    }

    fn release(&mut self) -> bool {
        let release = self.segments.len() > 1;
        if release {
            *self = Self::EMPTY;
        }
        release
    }
}

impl<T> Empty for Draining<T> {
    const EMPTY: Self = Self { segments: Vec::new(), growing: 0, gone: Vec::new(), idle: 0 };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use crate::storage::slab::Entry;
    use crate::storage::{Heap, Slab, Slot};

    type Queue = Slab<usize, Heap, Draining<Entry<usize>>>;

    fn filled(records: usize) -> (Queue, Vec<Slot>) {
        let mut queue = Queue::default();
        let slots = (0..records).map(|n| queue.try_insert(n).ok().unwrap()).collect();
        (queue, slots)
    }

    fn places(queue: &Queue) -> usize {
        queue.entries.segments.iter().map(|segment| segment.places.capacity()).sum()
    }

    #[test]
    fn a_queue_that_a_list_had_filled_kept_its_memory_to_the_last_pop() {
        let (mut queue, slots) = filled(10 * SEGMENT);
        for (popped, slot) in (1..).zip(slots) {
            queue.remove(slot);
            assert!(places(&queue) <= 10 * SEGMENT - popped + 2 * SEGMENT, "after {popped}");
        }
        assert_eq!(places(&queue), SEGMENT);
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
