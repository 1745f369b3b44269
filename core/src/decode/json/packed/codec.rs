use crate::text::Printable;
use alloc::borrow::Cow;
use alloc::boxed::Box;
#[cfg(feature = "lz4")]
use alloc::string::ToString;
use alloc::vec::Vec;
use core::fmt;
#[cfg(feature = "lz4")]
use lz4_flex::block::{compress_into_with_dict, decompress_into_with_dict, get_maximum_output_size};

/// Compresses the texts of [`Packed`](super::Packed) objects.
///
#[cfg_attr(feature = "lz4", doc = "[`Lz4`] is one. ")]
/// Another one can use a better ratio, or a device's hardware. A clone of the codec is kept beside each dictionary, so
/// a clone should be cheap.
///
/// A dictionary is text that many objects resemble; it may be empty. The decoder chooses it, and hands the same one to
/// both methods.
///
/// ```
/// use listwatch_core::decode::{Codec, CodecError};
///
/// /// Leaves out what a text has in common with the beginning of the dictionary.
/// #[derive(Clone, Debug, Default)]
/// struct CommonPrefix;
///
/// impl Codec for CommonPrefix {
///     fn pack(&self, text: &[u8], dictionary: &[u8], block: &mut Vec<u8>) -> Result<(), CodecError> {
///         let common = text.iter().zip(dictionary).take(255).take_while(|(one, other)| one == other).count();
///         block.push(common as u8);
///         block.extend_from_slice(&text[common..]);
///         Ok(())
///     }
///
///     fn unpack(&self, block: &[u8], dictionary: &[u8], text: &mut [u8]) -> Result<usize, CodecError> {
///         let (common, rest) = block.split_first().ok_or(CodecError::new("the block is empty"))?;
///         let common = dictionary.get(..usize::from(*common)).ok_or(CodecError::new("the dictionary is too short"))?;
///         let len = common.len() + rest.len();
///         let text = text.get_mut(..len).ok_or(CodecError::new("the block is too long"))?;
///         text[..common.len()].copy_from_slice(common);
///         text[common.len()..].copy_from_slice(rest);
///         Ok(len)
///     }
/// }
///
/// let (mut block, mut text) = (Vec::new(), [0; 16]);
/// CommonPrefix.pack(b"{\"kind\":\"Pod\"}", b"{\"kind\":\"Node\"}", &mut block)?;
/// let len = CommonPrefix.unpack(&block, b"{\"kind\":\"Node\"}", &mut text)?;
/// assert_eq!((block.len(), &text[..len]), (6, &b"{\"kind\":\"Pod\"}"[..]));
/// # Ok::<(), CodecError>(())
/// ```
pub trait Codec: Clone + Send + Sync + 'static {
    /// Appends the block of `text` to `block`. The decoder uses this buffer again for the next object, and keeps a copy
    /// of exactly the block's length.
    ///
    /// # Errors
    /// If the codec cannot pack the text. The object then keeps its text, and so it does where the block is no shorter.
    fn pack(&self, text: &[u8], dictionary: &[u8], block: &mut Vec<u8>) -> Result<(), CodecError>;

    /// Writes the text of `block` to the front of `text`, which has room for exactly that text. Returns how many bytes
    /// it has written.
    ///
    /// # Errors
    /// If the block is broken, or longer than the room. It must not panic, whatever the block is.
    fn unpack(&self, block: &[u8], dictionary: &[u8], text: &mut [u8]) -> Result<usize, CodecError>;
}

/// The cause why a [`Codec`] failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodecError(Cow<'static, str>);

impl CodecError {
    /// An error with this cause.
    pub fn new(cause: impl Into<Cow<'static, str>>) -> Self {
        Self(cause.into())
    }
}

impl fmt::Display for CodecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Printable::new(&self.0).fmt(f)
    }
}

impl core::error::Error for CodecError {}

/// The cause why a [`Packed`](super::Packed) object could not be unpacked.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UnpackError {
    /// The codec cannot read what it wrote. The memory or the codec is at fault; another list brings the object again.
    Block(CodecError),
    /// The object is no such type: the field that does not fit and serde's message, as one printable line.
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

/// LZ4 blocks, by `lz4_flex`: without unsafe code and without `std`. (Feature `lz4`.)
///
/// A pod of 5 KB takes 80 to 700 bytes, and a microsecond to unpack. Packing takes 4 to 10 microseconds, and 8 to 16 KB
/// of memory for this time. Of a dictionary, the last 64 KB count.
#[cfg(feature = "lz4")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lz4;

/// `lz4_flex` reads eight bytes at a time, and panics on a dictionary that has fewer.
#[cfg(feature = "lz4")]
const SHORTEST_DICTIONARY: usize = 8;

#[cfg(feature = "lz4")]
impl Codec for Lz4 {
    fn pack(&self, text: &[u8], dictionary: &[u8], block: &mut Vec<u8>) -> Result<(), CodecError> {
        let from = block.len();
        block.resize(from + get_maximum_output_size(text.len()), 0);
        let written = compress_into_with_dict(text, &mut block[from..], usable(dictionary));
        block.truncate(from + written.as_ref().map_or(0, |len| *len));
        written.map(drop).map_err(|error| CodecError::new(error.to_string()))
    }

    fn unpack(&self, block: &[u8], dictionary: &[u8], text: &mut [u8]) -> Result<usize, CodecError> {
        decompress_into_with_dict(block, text, usable(dictionary)).map_err(|error| CodecError::new(error.to_string()))
    }
}

#[cfg(feature = "lz4")]
fn usable(dictionary: &[u8]) -> &[u8] {
    if dictionary.len() < SHORTEST_DICTIONARY { &[] } else { dictionary }
}

/// A codec, and the text that it packs against. Each object that was packed with it keeps it alive.
pub(super) struct Dictionary<C> {
    codec: C,
    text: Box<[u8]>,
}

impl<C: Codec> Dictionary<C> {
    pub(super) fn new(codec: C, text: &[u8]) -> Self {
        Self { codec, text: text.into() }
    }

    /// The same codec with another text.
    pub(super) fn with_text(&self, text: &[u8]) -> Self {
        Self::new(self.codec.clone(), text)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Packs `text` into the buffer, which is emptied first. What is kept of it: the block, or else the text.
    pub(super) fn pack<'a>(&self, text: &'a [u8], block: &'a mut Vec<u8>) -> &'a [u8] {
        block.clear();
        match self.codec.pack(text, &self.text, block) {
            Ok(()) if block.len() < text.len() => block,
            _ => text,
        }
    }

    pub(super) fn unpack(&self, block: &[u8], text: &mut [u8]) -> Result<(), CodecError> {
        let room = text.len();
        match self.codec.unpack(block, &self.text, text)? {
            len if len == room => Ok(()),
            _ => Err(CodecError::new("the block has another length")),
        }
    }
}
