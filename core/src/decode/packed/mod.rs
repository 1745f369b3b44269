//! Objects kept as compressed text.

mod codec;
mod dictionary;
mod error;
#[cfg(feature = "lz4")]
mod lz4;
mod object;
mod packer;
mod succession;

pub use codec::{Codec, CodecError};
pub use error::UnpackError;
#[cfg(feature = "lz4")]
pub use lz4::Lz4;
pub use object::Packed;
pub use packer::Packer;

#[cfg(test)]
mod tests;
