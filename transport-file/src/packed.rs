//! The texts of objects, as they came or packed.

use core::fmt;
use std::borrow::Cow;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use zstd::bulk::{Compressor, Decompressor};

/// The text of an object. A clone shares it.
#[derive(Clone)]
pub(crate) enum Text {
    Plain(Arc<str>),
    Packed { frame: Arc<[u8]>, len: usize, unpacker: Arc<Unpacker> },
}

/// Packs objects of a kind by the differences to the first one. A clone begins anew.
#[derive(Default)]
pub struct ObjectPacker(Option<(Compressor<'static>, Arc<Unpacker>)>);

/// Unpacks texts that were packed by the differences to one.
pub(crate) struct Unpacker(Mutex<Decompressor<'static>>);

/// A level that takes a sixth less time than level 1, and finds what recurs in each event of an object.
pub(crate) const LEVEL: i32 = -3;

impl Text {
    /// The text as it came.
    pub(crate) fn unpacked(&self) -> Cow<'_, str> {
        match self {
            Self::Plain(text) => Cow::Borrowed(text),
            // It was packed here, from a text. Without memory for it, it reads as an object that is no JSON.
            Self::Packed { frame, len, unpacker } => unpacker.unpack(frame, *len).unwrap_or_default().into(),
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
    /// The text packed; as it is, if there is no memory to pack it.
    pub(crate) fn pack(&mut self, text: Text) -> Text {
        match &text {
            Text::Plain(plain) => self.packed(plain).unwrap_or(text),
            Text::Packed { .. } => text,
        }
    }

    fn packed(&mut self, text: &str) -> io::Result<Text> {
        let (compressor, unpacker) = match &mut self.0 {
            Some(own) => own,
            none => none.insert(of(text.as_bytes())?),
        };
        let frame = compressor.compress(text.as_bytes())?.into();
        Ok(Text::Packed { frame, len: text.len(), unpacker: Arc::clone(unpacker) })
    }
}

/// What packs and unpacks by the differences to a text.
fn of(dictionary: &[u8]) -> io::Result<(Compressor<'static>, Arc<Unpacker>)> {
    let unpacker = Unpacker(Mutex::new(Decompressor::with_dictionary(dictionary)?));
    Ok((Compressor::with_dictionary(LEVEL, dictionary)?, unpacker.into()))
}

impl Clone for ObjectPacker {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Unpacker {
    fn unpack(&self, frame: &[u8], len: usize) -> io::Result<String> {
        let text = self.0.lock().unwrap_or_else(PoisonError::into_inner).decompress(frame, len)?;
        String::from_utf8(text).map_err(io::Error::other)
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.unpacked().fmt(f)
    }
}

listwatch_core::summary!("ObjectPacker" for ObjectPacker, |it| { is_begun: it.0.is_some() });

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packed_text_comes_back_and_takes_little_memory() {
        let text = |number: u64| format!("{{\"x\":\"{}{number}\"}}", "0123456789abcdef".repeat(99));
        let mut packer = ObjectPacker::default();
        let packed: Vec<Text> = (0..9).map(|number| packer.pack(Text::Plain(text(number).into()))).collect();
        for (number, packed) in (0..).zip(&packed) {
            assert_eq!((packed.unpacked(), packed.len()), (text(number).into(), text(number).len()));
            assert!(packed.held() < 60, "{}", packed.held());
        }
        let again = ObjectPacker::default().pack(packed[1].clone());
        assert_eq!(again.unpacked(), text(1), "it stays packed by its own differences");
    }
}
