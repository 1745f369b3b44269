//! The limits of an answer, in bytes.

/// A head, with the interim answers before it; and a trailer.
pub(super) const HEAD: usize = 16_384;

/// What is kept of one line of a head.
pub(super) const LINE: usize = 128;

/// The extension of one chunk.
pub(super) const EXTENSION: u16 = 256;
