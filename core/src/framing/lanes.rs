//! Compares 16 bytes by the processor's vectors.

use wide::u8x16;

/// 16 bytes. The lowest bit of a mask is the first byte's.
#[derive(Clone, Copy)]
pub(super) struct Lanes(u8x16);

impl Lanes {
    #[inline]
    pub(super) fn new(bytes: [u8; 16]) -> Self {
        Self(u8x16::new(bytes))
    }

    /// Joins each byte with `bits`.
    #[inline]
    pub(super) fn with(self, bits: u8) -> Self {
        Self(self.0 | u8x16::splat(bits))
    }

    #[inline]
    pub(super) fn equal(self, byte: u8) -> u16 {
        self.0.cmp_eq(u8x16::splat(byte)).move_mask() as u16
    }

    /// The bytes of at most `byte`, which is ASCII.
    #[inline]
    #[cfg(feature = "json")]
    pub(super) fn at_most(self, byte: u8) -> u16 {
        self.0.min(u8x16::splat(byte)).cmp_eq(self.0).move_mask() as u16
    }
}
