//! The number of an arrival, in half of its memory.

use core::num::NonZeroU32;

/// An arrival of which fewer than 2^32 - 1 came later: those that wait are no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Arrival(NonZeroU32);

const NUMBERS: u64 = u32::MAX as u64;

impl Arrival {
    pub(super) fn new(number: u64) -> Self {
        Self(NonZeroU32::MIN.saturating_add(rest(number)))
    }

    /// The whole number, where `newest` is that of the newest arrival.
    pub(super) fn number(self, newest: u64) -> u64 {
        let (own, newest_own) = (self.0.get() - 1, rest(newest));
        let later = newest_own.wrapping_sub(own);
        newest.saturating_sub(u64::from(if newest_own < own { later.wrapping_sub(1) } else { later }))
    }
}

/// The rest of a division by [`NUMBERS`], without one of 64 bits: 2^32 leaves one.
fn rest(number: u64) -> u32 {
    let halves = |number: u64| (number >> 32) + (number & NUMBERS);
    let rest = halves(halves(number));
    if rest == NUMBERS { 0 } else { rest as u32 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_is_that_of_a_division() {
        for number in [0, 1, NUMBERS - 1, NUMBERS, NUMBERS + 1, 7 * NUMBERS, u64::MAX - 1, u64::MAX] {
            assert_eq!(u64::from(rest(number)), number % NUMBERS, "{number}");
        }
    }

    #[test]
    fn the_number_of_an_arrival_is_known_while_it_waits() {
        for newest in [0, 1, NUMBERS - 1, NUMBERS, NUMBERS + 1, 5 * NUMBERS + 7, u64::MAX] {
            for later in [0, 1, 1_000, NUMBERS - 1] {
                if let Some(number) = newest.checked_sub(later) {
                    assert_eq!(Arrival::new(number).number(newest), number, "{later} before {newest}");
                }
            }
        }
    }
}
