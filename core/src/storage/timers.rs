//! Records by deadline: a binary heap of slots in which every record knows its place, so that leaving is cheap.

use super::sealed::{Array, Empty, Records};
use super::{Mem, Slot};
use crate::time::Instant;
use core::ops::IndexMut;

/// A record that can wait for a deadline.
pub(crate) trait Timed {
    /// The slot of the record's timer; `None` while it is not waiting.
    fn timer(&mut self) -> &mut Option<Slot>;
}

/// The waiting records of one slab or table, the earliest deadline first; equal deadlines in the order they were set.
pub(crate) struct Timers<M: Mem> {
    waiting: M::Array<Waiting>,
    /// The number that the next one gets, which may wrap around.
    armed: u32,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    due: Instant,
    number: u32,
    slot: Slot,
}

impl<M: Mem> Timers<M> {
    pub(crate) const EMPTY: Self = Self { waiting: M::Array::EMPTY, armed: 0 };

    /// The earliest deadline.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.waiting.first().map(|first| first.due)
    }

    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// When the record of a timer is due.
    pub(crate) fn due(&self, timer: Slot) -> Instant {
        self.waiting[timer.index()].due
    }

    /// Lets the record wait until `due`; it must not be waiting. There is room for every slot of a slab of this memory.
    pub(crate) fn arm(&mut self, records: &mut impl IndexMut<Slot, Output: Timed>, slot: Slot, due: Instant) {
        let place = self.len();
        let waiting = Waiting { due, number: self.armed, slot };
        self.armed = self.armed.wrapping_add(1);
        if self.waiting.try_push(waiting).is_err() {
            unreachable!("as many timers as records");
        }
        self.up(records, place);
    }

    /// Stops a timer.
    pub(crate) fn disarm(&mut self, records: &mut impl IndexMut<Slot, Output: Timed>, timer: Slot) {
        let place = timer.index();
        let last = self.len() - 1;
        self.exchange(place, last);
        if let Some(gone) = self.waiting.pop() {
            *records[gone.slot].timer() = None;
        }
        if place < last {
            self.up(records, place);
            self.down(records, place);
        }
    }

    /// The record with the earliest deadline, if that is not after `now`.
    pub(crate) fn first_due(&self, now: Instant) -> Option<Slot> {
        self.waiting.first().filter(|first| first.due <= now).map(|first| first.slot)
    }

    /// Takes out the record with the earliest deadline, if that is not after `now`.
    pub(crate) fn pop_due(&mut self, records: &mut impl IndexMut<Slot, Output: Timed>, now: Instant) -> Option<Slot> {
        let slot = self.first_due(now)?;
        self.disarm(records, Slot::at(0));
        Some(slot)
    }

    /// Gives back the memory where none waits and many did once.
    pub(crate) fn release(&mut self) {
        debug_assert_eq!(self.len(), 0, "no record waits");
        self.waiting.release();
    }

    fn up(&mut self, records: &mut impl IndexMut<Slot, Output: Timed>, mut place: usize) {
        while place > 0 && self.before(place, (place - 1) / 2) {
            self.swap(records, place, (place - 1) / 2);
            place = (place - 1) / 2;
        }
        self.note(records, place);
    }

    fn down(&mut self, records: &mut impl IndexMut<Slot, Output: Timed>, mut place: usize) {
        loop {
            let left = 2 * place + 1;
            if left >= self.len() {
                break;
            }
            let child = if left + 1 < self.len() && self.before(left + 1, left) { left + 1 } else { left };
            if !self.before(child, place) {
                break;
            }
            self.swap(records, place, child);
            place = child;
        }
        self.note(records, place);
    }

    /// Of two that were armed less than 2^31 arms apart, the one that is due first, or was armed first.
    fn before(&self, one: usize, other: usize) -> bool {
        let (one, other) = (self.waiting[one], self.waiting[other]);
        one.due < other.due || one.due == other.due && (one.number.wrapping_sub(other.number) as i32) < 0
    }

    /// Moves the record at `to` to `from`; the one that was at `from` is noted when it has arrived.
    fn swap(&mut self, records: &mut impl IndexMut<Slot, Output: Timed>, from: usize, to: usize) {
        self.exchange(from, to);
        self.note(records, from);
    }

    /// Two places that may be one need `memmove`, as in slices' `swap`: in a firmware, nothing else does.
    fn exchange(&mut self, one: usize, other: usize) {
        if let Ok([one, other]) = self.waiting.get_disjoint_mut([one, other]) {
            core::mem::swap(one, other);
        }
    }

    fn note(&self, records: &mut impl IndexMut<Slot, Output: Timed>, place: usize) {
        *records[self.waiting[place].slot].timer() = Some(Slot::at(place));
    }
}

impl<M: Mem> Default for Timers<M> {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl<M: Mem> core::fmt::Debug for Timers<M> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_list().entries(self.waiting.iter()).finish()
    }
}

#[cfg(test)]
#[cfg(all(feature = "alloc", feature = "fixed"))]
mod tests {
    use super::*;
    use crate::random::Random;
    use crate::storage::Slab;
    use alloc::vec::Vec;

    crate::storage::in_both_memories!(deadlines_come_in_order_and_disarmed_ones_never);

    struct Timer(u64, Option<Slot>);

    impl Timed for Timer {
        fn timer(&mut self) -> &mut Option<Slot> {
            &mut self.1
        }
    }

    fn deadlines_come_in_order_and_disarmed_ones_never<M: Mem>() {
        let (mut slab, mut timers, mut random) = (Slab::<Timer, M>::default(), Timers::<M>::default(), Random::new(5));
        let mut expected = Vec::new();
        for _ in 0..64 {
            let due = random.next() % 20;
            let slot = slab.try_insert(Timer(due, None)).ok().unwrap();
            timers.arm(&mut slab, slot, Instant::from_nanos(due));
            expected.push(due);
        }
        let gone: Vec<Slot> = slab.iter().map(|(slot, _)| slot).step_by(3).collect();
        for slot in gone {
            let place = slab[slot].1.unwrap();
            assert_eq!(timers.due(place).as_nanos(), slab[slot].0);
            timers.disarm(&mut slab, place);
            let at = expected.iter().position(|due| *due == slab[slot].0).unwrap();
            expected.remove(at);
            assert!(slab[slot].1.is_none());
        }
        expected.sort_unstable();
        let end = Instant::from_nanos(u64::MAX);
        let order: Vec<u64> = core::iter::from_fn(|| timers.pop_due(&mut slab, end).map(|slot| slab[slot].0)).collect();
        assert_eq!(order, expected);
    }

    #[test]
    fn equal_deadlines_keep_their_order_where_the_numbers_wrap_around() {
        let mut slab = Slab::<Timer, crate::storage::Heap>::default();
        let mut timers = Timers::<crate::storage::Heap> { armed: u32::MAX - 4, ..Timers::default() };
        for number in 0..10 {
            let slot = slab.try_insert(Timer(number, None)).ok().unwrap();
            timers.arm(&mut slab, slot, Instant::from_nanos(7));
        }
        let order = core::iter::from_fn(|| timers.pop_due(&mut slab, Instant::from_nanos(7)).map(|slot| slab[slot].0));
        assert!(order.eq(0..10));
    }

    #[test]
    fn a_deadline_that_is_now_is_due() {
        let mut slab = Slab::<Timer, crate::storage::Heap>::default();
        let mut timers = Timers::<crate::storage::Heap>::default();
        let slot = slab.try_insert(Timer(7, None)).ok().unwrap();
        timers.arm(&mut slab, slot, Instant::from_nanos(7));
        assert_eq!(timers.pop_due(&mut slab, Instant::from_nanos(6)), None);
        assert_eq!(timers.pop_due(&mut slab, Instant::from_nanos(7)), Some(slot));
    }
}
