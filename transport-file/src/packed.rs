//! The texts of objects, as they came or packed.

use core::fmt;
use std::borrow::Cow;
use std::cell::RefCell;
use std::io;
use std::sync::Arc;
use zstd::dict::{DecoderDictionary, EncoderDictionary};
use zstd::zstd_safe::{CCtx, DCtx, compress_bound, get_error_name};

/// The text of an object. A clone shares it.
#[derive(Clone)]
pub(crate) enum Text {
    /// It may have bytes that are not UTF-8.
    Plain(Arc<[u8]>),
    Packed {
        frame: Arc<[u8]>,
        len: usize,
        dictionary: Arc<Dictionary>,
    },
}

/// Packs objects of a kind by the differences to the first one that it packs.
#[derive(Clone, Default)]
pub struct ObjectPacker(Option<Arc<Dictionary>>);

/// A text, by whose differences others are packed.
pub(crate) struct Dictionary {
    encoder: EncoderDictionary<'static>,
    decoder: DecoderDictionary<'static>,
    held: usize,
}

thread_local! {
    /// What packs and unpacks on this thread, whatever the dictionary is.
    static CONTEXTS: RefCell<(CCtx<'static>, DCtx<'static>)> = RefCell::new((CCtx::create(), DCtx::create()));
}

/// A level that takes a sixth less time than level 1, and finds what recurs in each event of an object.
pub(crate) const LEVEL: i32 = -3;

/// How many bytes of a text others are compared with.
const MOST: usize = 64 * 1024;

/// The memory of what unpacks by a dictionary, beside its text.
const DECODER: usize = 28 * 1024;

impl Text {
    /// The text as it came, with U+FFFD for what is no UTF-8.
    ///
    /// # Errors
    /// There is no memory to unpack it.
    pub(crate) fn unpacked(&self) -> io::Result<Cow<'_, str>> {
        match self {
            Self::Plain(text) => Ok(String::from_utf8_lossy(text)),
            Self::Packed { frame, len, dictionary } => dictionary.unpack(frame, *len).map(Cow::Owned),
        }
    }

    /// The bytes of the text as it came.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Plain(text) => text.len(),
            Self::Packed { len, .. } => *len,
        }
    }

    /// The bytes that are held of it.
    pub(crate) fn held(&self) -> usize {
        match self {
            Self::Plain(text) => text.len(),
            Self::Packed { frame, .. } => frame.len(),
        }
    }
}

impl ObjectPacker {
    /// The memory that it takes beside the objects, about, in bytes.
    #[must_use]
    pub fn held(&self) -> usize {
        self.0.as_ref().map_or(0, |dictionary| dictionary.held)
    }

    /// The text packed; as it is, if there is no memory to pack it.
    pub(crate) fn pack(&mut self, text: Text) -> Text {
        let Text::Plain(plain) = &text else { return text };
        let dictionary = self.0.get_or_insert_with(|| Dictionary::of(plain).into());
        match dictionary.pack(plain) {
            Ok(frame) => Text::Packed { frame: frame.into(), len: plain.len(), dictionary: Arc::clone(dictionary) },
            Err(_) => text,
        }
    }
}

impl Dictionary {
    fn of(text: &[u8]) -> Self {
        let text = &text[..text.len().min(MOST)];
        let (encoder, decoder) = (EncoderDictionary::copy(text, LEVEL), DecoderDictionary::copy(text));
        let held = encoder.as_cdict().sizeof() + DECODER + text.len();
        Self { encoder, decoder, held }
    }

    fn pack(&self, text: &[u8]) -> io::Result<Vec<u8>> {
        let mut frame = Vec::with_capacity(compress_bound(text.len()));
        CONTEXTS.with_borrow_mut(|(context, _)| {
            context.compress_using_cdict(&mut frame, text, self.encoder.as_cdict()).map_err(failure)
        })?;
        Ok(frame)
    }

    fn unpack(&self, frame: &[u8], len: usize) -> io::Result<String> {
        let mut text = Vec::with_capacity(len);
        CONTEXTS.with_borrow_mut(|(_, context)| {
            context.decompress_using_ddict(&mut text, frame, self.decoder.as_ddict()).map_err(failure)
        })?;
        Ok(String::from_utf8(text).unwrap_or_else(|other| String::from_utf8_lossy(other.as_bytes()).into()))
    }
}

fn failure(code: usize) -> io::Error {
    io::Error::other(get_error_name(code))
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.unpacked().unwrap_or_default().fmt(f)
    }
}

listwatch_core::summary!("ObjectPacker" for ObjectPacker, |it| { held: it.held() });

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packed_text_comes_back_and_takes_little_memory() {
        let text = |number: u64| format!("{{\"x\":\"{}{number}\"}}", "0123456789abcdef".repeat(99));
        let mut packer = ObjectPacker::default();
        let packed: Vec<Text> =
            (0..9).map(|number| packer.pack(Text::Plain(text(number).into_bytes().into()))).collect();
        for (number, packed) in (0..).zip(&packed) {
            assert_eq!((packed.unpacked().unwrap(), packed.len()), (text(number).into(), text(number).len()));
            assert!(packed.held() < 60, "{}", packed.held());
        }
        let again = ObjectPacker::default().pack(packed[1].clone());
        assert_eq!(again.unpacked().unwrap(), text(1), "it stays packed by its own differences");
    }
}
