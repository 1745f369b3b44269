use super::codec::CodecError;
use crate::text::Printable;
use alloc::boxed::Box;
use core::fmt;

/// The cause why a [`Packed`](super::Packed) object could not be unpacked.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UnpackError {
    /// The codec cannot read what it wrote. The memory or the codec is at fault; another list brings the object again.
    Block(CodecError),
    /// The object is no such type: serde's message and its place, as one printable line.
    Type(Box<str>),
}

impl fmt::Display for UnpackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Block(error) => write!(f, "the codec cannot unpack the object: {error}"),
            Self::Type(error) => write!(f, "the object is no such type: {}", Printable::new(error)),
        }
    }
}

impl core::error::Error for UnpackError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Block(error) => Some(error),
            Self::Type(_) => None,
        }
    }
}
