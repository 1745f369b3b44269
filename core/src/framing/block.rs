//! Compares 64 bytes at once.

#[cfg(any(target_feature = "neon", target_feature = "simd128", target_feature = "sse2"))]
use super::lanes::Lanes;
#[cfg(not(any(target_feature = "neon", target_feature = "simd128", target_feature = "sse2")))]
use super::words::Lanes;

/// 64 bytes. Each question about them is answered by a mask with a bit for each byte; the lowest bit is the first byte's.
#[derive(Clone, Copy)]
pub(crate) struct Block([Lanes; Self::LEN / LANES]);

const LANES: usize = 16;

/// The last control character of ASCII but one.
#[cfg(feature = "json")]
const LAST_CONTROL: u8 = 0x1f;

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

    #[inline]
    fn mask(self, compare: impl Fn(Lanes) -> u16) -> u64 {
        self.0.iter().rev().fold(0, |mask, lanes| mask << LANES | u64::from(compare(*lanes)))
    }
}

/// How many of `bytes` come before the first one that a plain text in JSON cannot have: a quotation mark, a backslash, or
/// a control character. Most texts end within 16 bytes, so it takes 16 at a time.
#[inline]
#[cfg(feature = "json")]
pub(crate) fn plain_len(bytes: &[u8]) -> usize {
    let mut len = 0;
    while let Some(lanes) = bytes.get(len..).and_then(<[u8]>::first_chunk) {
        let special = Lanes::new(*lanes).special(LAST_CONTROL);
        if special != 0 {
            return len + special.trailing_zeros() as usize;
        }
        len += LANES;
    }
    len + bytes[len..].iter().take_while(|byte| is_plain(**byte)).count()
}

#[cfg(feature = "json")]
fn is_plain(byte: u8) -> bool {
    !matches!(byte, b'"' | b'\\' | ..=LAST_CONTROL)
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
                assert_eq!(plain_len(&bytes), bytes.iter().take_while(|byte| is_plain(**byte)).count());
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
