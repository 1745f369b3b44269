use super::codec::{Codec, CodecError};
use alloc::boxed::Box;
use alloc::vec::Vec;

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
