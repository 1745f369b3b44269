//! HalfSipHash-1-3 (Aumasson and Bernstein; the Linux kernel hashes its tables by it): a keyed hash out of additions,
//! rotations and exclusive ors of 32 bits. foldhash multiplies 64 bits, which takes ten times the code on a Cortex-M.

use core::hash::{Hash, Hasher};

/// The hashes of fixed memory.
pub(super) struct HalfSip {
    state: [u32; 4],
    /// The bytes that do not fill a word yet.
    word: u32,
    len: u32,
}

impl HalfSip {
    pub(super) fn hash<Q: Hash + ?Sized>(seed: u64, key: &Q) -> u32 {
        let mut hasher = Self::new(seed);
        key.hash(&mut hasher);
        hasher.end()
    }

    fn new(seed: u64) -> Self {
        let (low, high) = (seed as u32, (seed >> 32) as u32);
        Self { state: [low, high, 0x6c79_6765 ^ low, 0x7465_6462 ^ high], word: 0, len: 0 }
    }

    #[inline(never)]
    fn rounds(&mut self, rounds: usize) {
        let [mut a, mut b, mut c, mut d] = self.state;
        for _ in 0..rounds {
            a = a.wrapping_add(b);
            b = b.rotate_left(5) ^ a;
            a = a.rotate_left(16);
            c = c.wrapping_add(d);
            d = d.rotate_left(8) ^ c;
            a = a.wrapping_add(d);
            d = d.rotate_left(7) ^ a;
            c = c.wrapping_add(b);
            b = b.rotate_left(13) ^ c;
            c = c.rotate_left(16);
        }
        self.state = [a, b, c, d];
    }

    fn add(&mut self, word: u32) {
        self.state[3] ^= word;
        self.rounds(1);
        self.state[0] ^= word;
    }

    fn end(mut self) -> u32 {
        self.add(self.word | self.len << 24);
        self.state[2] ^= 0xff;
        self.rounds(3);
        self.state[1] ^ self.state[3]
    }
}

impl Hasher for HalfSip {
    #[inline(never)]
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.word |= u32::from(*byte) << (self.len % 4 * 8);
            self.len = self.len.wrapping_add(1);
            if self.len.is_multiple_of(4) {
                let word = core::mem::take(&mut self.word);
                self.add(word);
            }
        }
    }

    fn finish(&self) -> u64 {
        Self { ..*self }.end().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_have_the_hashes_that_linux_computes() {
        let text: [u8; 8] = core::array::from_fn(|at| at as u8);
        let hashes =
            [0x5814_c896, 0xe7e8_64ca, 0xbc4b_0e30, 0x0153_9939, 0x7e05_9ea6, 0x88e3_d89b, 0xa008_0b65, 0x9d38_d9d6];
        for (len, hash) in hashes.into_iter().enumerate() {
            let mut hasher = HalfSip::new(0x0706_0504_0302_0100);
            text[..len].iter().for_each(|byte| hasher.write(&[*byte]));
            assert_eq!(hasher.finish(), hash, "{len}");
        }
    }

    #[test]
    fn another_seed_gives_other_hashes() {
        let hash = |seed, key: &str| HalfSip::hash(seed, key);
        assert_eq!(hash(1, "team/web"), hash(1, "team/web"));
        assert!((0..64).all(|bit| hash(1 << bit, "team/web") != hash(0, "team/web")));
    }
}
