use crate::text::Printable;
use alloc::borrow::Cow;
use alloc::vec::Vec;
use core::fmt;

/// Compresses the texts of [`Packed`](super::Packed) objects.
///
#[cfg_attr(feature = "lz4", doc = "[`Lz4`](super::Lz4) is one. ")]
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
    #[must_use]
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
