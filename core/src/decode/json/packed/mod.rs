//! Objects kept as compressed text.

mod codec;
mod object;
mod packer;

#[cfg(feature = "lz4")]
pub use codec::Lz4;
pub use codec::{Codec, CodecError, UnpackError};
pub use object::Packed;
pub use packer::Packer;

#[cfg(test)]
mod tests;
