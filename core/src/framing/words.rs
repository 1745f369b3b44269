//! Compares 16 bytes where a processor has no vectors, four at a time. An emulation of vectors takes four times the code.

/// As the `Lanes` of vectors.
#[derive(Clone, Copy)]
pub(super) struct Lanes([u32; 4]);

/// The lower bits of each byte.
const LOW: u32 = every(0x7f);

impl Lanes {
    #[inline]
    pub(super) fn new(bytes: [u8; 16]) -> Self {
        let words = bytes.as_chunks().0;
        Self(core::array::from_fn(|at| u32::from_le_bytes(words[at])))
    }

    #[inline]
    pub(super) fn with(self, bits: u8) -> Self {
        Self(self.0.map(|word| word | every(bits)))
    }

    #[inline]
    pub(super) fn equal(self, byte: u8) -> u16 {
        self.mask(|word| equal(word, byte))
    }

    #[inline]
    #[cfg(feature = "json")]
    pub(super) fn special(self, last_control: u8) -> u16 {
        self.mask(|word| {
            let is_control = !(((word & LOW) + every(0x7f - last_control)) | word);
            equal(word, b'"') | equal(word, b'\\') | is_control
        })
    }

    /// A bit for each byte whose highest bit is set by `compare`.
    #[inline]
    fn mask(self, compare: impl Fn(u32) -> u32) -> u16 {
        self.0.iter().rev().fold(0, |mask, word| {
            // Each of the four bits is moved to a place of its own among the highest ones.
            let bits = (compare(*word) >> 7 & every(1)).wrapping_mul(0x1020_4080) >> 28;
            mask << 4 | bits as u16
        })
    }
}

/// Sets the highest bit of each byte that equals `byte`, and other ones.
const fn equal(word: u32, byte: u8) -> u32 {
    let differing = word ^ every(byte);
    !(((differing & LOW) + LOW) | differing)
}

const fn every(byte: u8) -> u32 {
    u32::from_le_bytes([byte; 4])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_byte_has_its_bit_whatever_stands_beside_it() {
        for byte in 0..=u8::MAX {
            for at in 0..16 {
                let mut bytes: [u8; 16] = core::array::from_fn(|n| byte.wrapping_add(1).wrapping_add(17 * n as u8));
                bytes[at] = byte;
                let expected = |is: &dyn Fn(u8) -> bool| {
                    bytes.iter().enumerate().fold(0, |mask, (at, byte)| mask | u16::from(is(*byte)) << at)
                };
                let lanes = Lanes::new(bytes);
                assert_eq!(lanes.equal(byte), expected(&|it| it == byte));
                assert_eq!(lanes.with(0x20).equal(byte), expected(&|it| it | 0x20 == byte));
                #[cfg(feature = "json")]
                assert_eq!(lanes.special(0x1f), expected(&|it| matches!(it, b'"' | b'\\' | ..=0x1f)));
            }
        }
    }
}
