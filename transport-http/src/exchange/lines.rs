//! The lines of a head or of a trailer, in fixed memory.

use super::error::ProtocolError;

/// The most bytes of a head, with the interim answers before it; and of a trailer.
pub(super) const HEAD: usize = 16_384;

/// What is kept of one line, in bytes.
const LINE: usize = 128;

/// The lines of a head or of a trailer, as their bytes arrive. The rest of a long line is checked and dropped.
#[derive(Debug)]
pub(super) struct Lines {
    kept: Short<LINE>,
    is_cut: bool,
    has_return: bool,
    /// How many bytes all lines together may still have.
    left: usize,
}

/// A whole line.
pub(super) struct Line<'a> {
    pub(super) text: &'a [u8],
    /// Whether the line had more bytes.
    pub(super) is_cut: bool,
}

impl Lines {
    pub(super) const fn new() -> Self {
        Self { kept: Short::EMPTY, is_cut: false, has_return: false, left: HEAD }
    }

    /// Reads up to the end of a line; true if the line is complete. `None` if the lines are longer than the limit.
    pub(super) fn handle_bytes(&mut self, bytes: &[u8]) -> Option<Result<(usize, bool), ProtocolError>> {
        for (at, byte) in bytes.iter().enumerate() {
            self.left = self.left.checked_sub(1)?;
            match self.handle_byte(*byte) {
                Ok(false) => {}
                ended => return Some(ended.map(|_| (at + 1, true))),
            }
        }
        Some(Ok((bytes.len(), false)))
    }

    /// The line that is complete.
    pub(super) fn line(&self) -> Line<'_> {
        Line { text: self.kept.as_bytes(), is_cut: self.is_cut }
    }

    /// Begins the next line.
    pub(super) fn next_line(&mut self) {
        (self.kept, self.is_cut, self.has_return) = (Short::EMPTY, false, false);
    }

    fn handle_byte(&mut self, byte: u8) -> Result<bool, ProtocolError> {
        match (self.has_return, byte) {
            (true, b'\n') => return Ok(true),
            (true, _) | (false, b'\n') => return Err(ProtocolError::LineEnd),
            (false, b'\r') => self.has_return = true,
            (false, b'\t' | b' '..=b'~' | 0x80..) if self.kept.is_full() => self.is_cut = true,
            (false, b'\t' | b' '..=b'~' | 0x80..) => self.kept.push(byte),
            _ => return Err(ProtocolError::Header),
        }
        Ok(false)
    }
}

impl<'a> Line<'a> {
    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// A value that has to be there to its end.
    pub(super) fn whole(&self, value: &'a [u8]) -> Result<&'a [u8], ProtocolError> {
        if self.is_cut { Err(ProtocolError::LongHeader) } else { Ok(value) }
    }

    /// The name and the value of a header, without the white space around the value.
    pub(super) fn header(&self) -> Result<(&'a [u8], &'a [u8]), ProtocolError> {
        let colon = self.text.iter().position(|byte| *byte == b':').ok_or(ProtocolError::Header)?;
        let (name, value) = (&self.text[..colon], &self.text[colon + 1..]);
        // A folded line begins with white space.
        let is_name = !name.is_empty() && name.iter().all(|byte| is_token(*byte));
        if is_name { Ok((name, trimmed(value))) } else { Err(ProtocolError::Header) }
    }
}

/// Removes spaces and tabs on both sides.
pub(super) fn trimmed(mut text: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = text {
        text = rest;
    }
    text
}

/// Whether a byte may stand in the name of a header (RFC 9110, section 5.6.2).
pub(crate) fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// The beginning of a text, of at most `N` bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Short<const N: usize> {
    bytes: [u8; N],
    len: usize,
}

impl<const N: usize> Short<N> {
    pub(super) const EMPTY: Self = Self { bytes: [0; N], len: 0 };

    /// The beginning of `text`.
    pub(super) fn of(text: &[u8]) -> Self {
        let mut short = Self::EMPTY;
        text.iter().take(N).for_each(|byte| short.push(*byte));
        short
    }

    /// Appends a byte, if there is room.
    pub(super) fn push(&mut self, byte: u8) {
        if let Some(place) = self.bytes.get_mut(self.len) {
            *place = byte;
            self.len += 1;
        }
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// The text; empty if it is no UTF-8.
    pub(super) fn as_str(&self) -> &str {
        core::str::from_utf8(self.as_bytes()).unwrap_or_default()
    }

    pub(super) fn is_full(&self) -> bool {
        self.len == N
    }

    pub(super) fn make_ascii_lowercase(&mut self) {
        self.bytes.make_ascii_lowercase();
    }
}
