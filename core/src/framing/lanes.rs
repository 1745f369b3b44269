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

    /// The bytes that a plain text in JSON cannot have: quotation marks, backslashes and control
    /// characters, of which the last one is given.
    #[inline]
    #[cfg(feature = "json")]
    pub(super) fn special(self, last_control: u8) -> u16 {
        let is_control = self.0.min(u8x16::splat(last_control)).cmp_eq(self.0);
        let is_special = self.0.cmp_eq(u8x16::splat(b'"')) | self.0.cmp_eq(u8x16::splat(b'\\')) | is_control;
        is_special.move_mask() as u16
    }
}
