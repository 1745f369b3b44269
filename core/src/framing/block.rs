//! Compares 64 bytes at once.

#[cfg(any(target_feature = "neon", target_feature = "simd128", target_feature = "sse2"))]
use super::lanes::Lanes;
#[cfg(not(any(target_feature = "neon", target_feature = "simd128", target_feature = "sse2")))]
use super::words::Lanes;

/// 64 bytes. Each question about them is answered by a mask with a bit for each byte; the lowest bit is the first byte's.
#[derive(Clone, Copy)]
pub(crate) struct Block([Lanes; Self::LEN / LANES]);

const LANES: usize = 16;

impl Block {
    /// The number of bytes.
    pub(crate) const LEN: usize = 64;

    /// The first bytes of `bytes`. Zeros stand for those that are missing.
    #[inline]
    pub(crate) fn first_of(bytes: &[u8]) -> Self {
        match bytes.first_chunk() {
            Some(block) => Self::new(block),
            None => {
                let mut block = [0; Self::LEN];
                block[..bytes.len()].copy_from_slice(bytes);
                Self::new(&block)
            }
        }
    }

    #[inline]
    pub(crate) fn new(bytes: &[u8; Self::LEN]) -> Self {
        let lanes = bytes.as_chunks::<LANES>().0;
        Self(core::array::from_fn(|at| Lanes::new(lanes[at])))
    }

    /// The bytes that equal `byte`.
    #[inline]
    pub(crate) fn equal(self, byte: u8) -> u64 {
        self.mask(|lanes| lanes.equal(byte))
    }

    /// The bytes that equal `byte` once their bits are joined with `bits`.
    #[inline]
    pub(crate) fn equal_with(self, bits: u8, byte: u8) -> u64 {
        self.mask(|lanes| lanes.with(bits).equal(byte))
    }

    /// The bytes of at most `byte`, which is ASCII.
    #[inline]
    #[cfg(feature = "json")]
    pub(crate) fn at_most(self, byte: u8) -> u64 {
        self.mask(|lanes| lanes.at_most(byte))
    }

    #[inline]
    fn mask(self, compare: impl Fn(Lanes) -> u16) -> u64 {
        self.0.iter().rev().fold(0, |mask, lanes| mask << LANES | u64::from(compare(*lanes)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn each_byte_has_its_bit_whatever_stands_beside_it() {
        for byte in 0..=u8::MAX {
            for at in [0, 1, 15, 16, 31, 47, 63] {
                let mut bytes: Vec<u8> = (0..64).map(|n| byte.wrapping_add(1 + n)).collect();
                bytes[at] = byte;
                let block = Block::first_of(&bytes);
                let expected = |is: &dyn Fn(u8) -> bool| {
                    bytes.iter().enumerate().fold(0, |mask, (at, byte)| mask | u64::from(is(*byte)) << at)
                };
                assert_eq!(block.equal(byte), expected(&|it| it == byte));
                assert_eq!(block.equal_with(0x20, byte), expected(&|it| it | 0x20 == byte));
                #[cfg(feature = "json")]
                if byte.is_ascii() {
                    assert_eq!(block.at_most(byte), expected(&|it| it <= byte));
                }
            }
        }
    }

    #[test]
    fn missing_bytes_are_zeros_and_further_ones_are_not_read() {
        assert_eq!(Block::first_of(b"ab").equal(0), !0b11);
        assert_eq!(Block::first_of(&[b'a'; 65]).equal(b'a'), u64::MAX);
        assert_eq!(Block::first_of(b"").equal(0), u64::MAX);
    }
}
