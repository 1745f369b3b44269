//! An array that grows without moving what it has.

use super::never::NeverFull;
use super::sealed::{Empty, Records};
use alloc::vec::Vec;

/// The records of a segment.
pub(super) const SEGMENT: usize = 1024;

/// Records in segments. The first one grows as a `Vec` does, so that a small array is one, read as fast. Each further
/// one has its memory from the start. So what an insertion copies is bounded: the records of a segment, or the
/// addresses of all.
#[derive(Debug)]
pub struct Segments<T> {
    /// Full, if there are more.
    first: Vec<T>,
    more: Vec<Vec<T>>,
}

impl<T> Segments<T> {
    #[cold]
    fn push_behind(&mut self, record: T) {
        match self.more.last_mut() {
            Some(last) if last.len() < SEGMENT => last.push(record),
            _ => {
                let mut segment = Vec::with_capacity(SEGMENT);
                segment.push(record);
                self.more.push(segment);
            }
        }
    }
}

impl<T> Records<T> for Segments<T> {
    type Full = NeverFull<T>;
    const CAPACITY: usize = usize::MAX;

    fn len(&self) -> usize {
        match self.more.last() {
            None => self.first.len(),
            Some(last) => self.more.len() * SEGMENT + last.len(),
        }
    }

    #[inline]
    fn get(&self, index: usize) -> Option<&T> {
        let segment = if index < SEGMENT { &self.first } else { self.more.get(index / SEGMENT - 1)? };
        segment.get(index % SEGMENT)
    }

    #[inline]
    fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        let segment = if index < SEGMENT { &mut self.first } else { self.more.get_mut(index / SEGMENT - 1)? };
        segment.get_mut(index % SEGMENT)
    }

    fn try_push(&mut self, record: T) -> Result<(), NeverFull<T>> {
        if self.first.len() < SEGMENT {
            self.first.push(record);
        } else {
            self.push_behind(record);
        }
        Ok(())
    }

    fn is_full(&self) -> bool {
        false
    }

    fn clear(&mut self) {
        self.first.clear();
        self.more.clear();
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
    const EMPTY: Self = Self { first: Vec::new(), more: Vec::new() };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_never_moves_once_it_is_full() {
        let (mut segments, mut addresses) = (Segments::EMPTY, Vec::new());
        for n in 0..3 * SEGMENT + 1 {
            assert_eq!((segments.len(), segments.get(n)), (n, None));
            assert!(segments.try_push(n).is_ok());
            assert_eq!(segments.get_mut(n), Some(&mut { n }));
            if segments.len() % SEGMENT == 0 {
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
}
