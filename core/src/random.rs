//! The random numbers of jitter: seeded by configuration, so that a run can be repeated.

use crate::time::{from_nanos, nanos};
use core::time::Duration;

/// SplitMix64 (Steele, Lea and Flood, 2014): eight bytes of state, good enough to spread clients in time. Not for
/// cryptography.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A duration from zero up to, and without, `end`.
    pub(crate) fn below(&mut self, end: Duration) -> Duration {
        let scaled = (u128::from(self.next()) * u128::from(nanos(end))) >> 64;
        from_nanos(scaled as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_seed_gives_one_sequence() {
        let (mut a, mut b) = (Random::new(7), Random::new(7));
        assert!((0..100).all(|_| a.next() == b.next()));
    }

    #[test]
    fn below_stays_below_and_spreads() {
        let mut random = Random::new(1);
        let end = Duration::from_secs(8);
        let drawn: [Duration; 200] = core::array::from_fn(|_| random.below(end));
        assert!(drawn.iter().all(|d| *d < end));
        assert!(drawn.iter().any(|d| *d < end / 4) && drawn.iter().any(|d| *d > end * 3 / 4));
        assert_eq!(random.below(Duration::ZERO), Duration::ZERO);
    }
}
