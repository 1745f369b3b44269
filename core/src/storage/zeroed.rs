//! Values that constants can have, and that are all zeros in memory.
//!
//! A `static` whose initial value is all zeros takes no flash: it is in `.bss`. One bit elsewhere, and the whole of it is
//! in `.data`, with a copy in flash. So a machine begins with zeros: its numbers are kept as the distance from their
//! initial values, and its options have a tag of their own.

use core::fmt;

/// A number whose initial value `VALUE` is zero in memory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Initially<const VALUE: u64>(u64);

impl<const VALUE: u64> Initially<VALUE> {
    pub(crate) const fn new(value: u64) -> Self {
        Self(value ^ VALUE)
    }

    #[inline]
    pub(crate) const fn get(self) -> u64 {
        self.0 ^ VALUE
    }
}

impl<const VALUE: u64> Default for Initially<VALUE> {
    fn default() -> Self {
        Self::new(VALUE)
    }
}

impl<const VALUE: u64> fmt::Debug for Initially<VALUE> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

/// An `Option` of which nothing is zero in memory. That of the language may keep it in a niche of the value, as another
/// number.
#[derive(Clone, Copy, Debug)]
#[repr(u8)]
pub(crate) enum Maybe<T> {
    Nothing = 0,
    Just(T) = 1,
}

impl<T> Maybe<T> {
    #[inline]
    pub(crate) const fn as_ref(&self) -> Option<&T> {
        match self {
            Self::Nothing => None,
            Self::Just(value) => Some(value),
        }
    }

    #[inline]
    pub(crate) const fn is_nothing(&self) -> bool {
        matches!(self, Self::Nothing)
    }

    #[inline]
    pub(crate) fn take(&mut self) -> Option<T> {
        match core::mem::replace(self, Self::Nothing) {
            Self::Nothing => None,
            Self::Just(value) => Some(value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_what_it_was_made_of() {
        for value in [0, 5, 7, u64::MAX] {
            assert_eq!(Initially::<7>::new(value).get(), value);
        }
        assert_eq!((Initially::<7>::default().0, Initially::<7>::default().get()), (0, 7));
    }

    #[test]
    fn what_is_taken_is_there_no_more() {
        let mut maybe = Maybe::Just(3);
        assert_eq!(maybe.as_ref(), Some(&3));
        assert_eq!((maybe.take(), maybe.take()), (Some(3), None));
        assert!(maybe.is_nothing());
    }
}
