use core::fmt;

/// Keeps a part of a text: as much as the buffer has room for, from an offset on.
pub(super) struct Window<'a> {
    /// How many bytes are still before the part.
    skipped: usize,
    buf: &'a mut [u8],
    len: usize,
}

impl<'a> Window<'a> {
    pub(super) fn new(offset: usize, buf: &'a mut [u8]) -> Self {
        Self { skipped: offset, buf, len: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }
}

impl fmt::Write for Window<'_> {
    /// Returns an error where the buffer is full, so that the source stops writing.
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let skipped = self.skipped.min(text.len());
        self.skipped -= skipped;
        let (text, room) = (&text.as_bytes()[skipped..], &mut self.buf[self.len..]);
        let len = text.len().min(room.len());
        room[..len].copy_from_slice(&text[..len]);
        self.len += len;
        if len < text.len() { Err(fmt::Error) } else { Ok(()) }
    }
}
