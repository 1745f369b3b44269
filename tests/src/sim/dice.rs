//! Every chance of a world, out of one seed.

use std::time::Duration;

/// A seeded generator (xorshift64*): the same seed, the same throws.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// The throws of `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        // The state must not be zero, and neighbours should not look alike.
        let mut dice = Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x6a09_e667_f3bc_c909);
        dice.0 |= 1 << 63;
        (0..4).for_each(|_| _ = dice.throw());
        dice
    }

    /// The next 64 bits.
    pub fn throw(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number from zero up to, and without, `end`, which is not zero.
    pub fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.throw()) * u128::from(end)) >> 64) as u64
    }

    /// Whether something happens that happens so many times in a hundred.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// One of several.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }

    /// A time from `least` up to, and without, `most`, which is longer.
    pub fn between(&mut self, least: Duration, most: Duration) -> Duration {
        least + Duration::from_nanos(self.below((most - least).as_nanos() as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_seed_throws_the_same_and_every_number_comes() {
        let (mut one, mut other) = (Dice::new(0), Dice::new(0));
        let mut seen = [false; 6];
        for _ in 0..200 {
            let number = one.below(6);
            assert_eq!(number, other.below(6));
            seen[number as usize] = true;
        }
        assert_eq!(seen, [true; 6]);
        assert_ne!(Dice::new(1).throw(), Dice::new(2).throw());
    }
}
