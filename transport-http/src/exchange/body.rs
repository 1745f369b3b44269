//! The body of an answer: what ends it, and what of its bytes is data.

use super::error::ProtocolError;
use super::head::{Fields, Head};
use super::lines::Lines;
use core::ops::Range;

/// A part of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// The status and the headers.
    Head(Head),
    /// These of the bytes are data of the body; at least one.
    Data(Range<usize>),
    /// The body ended properly.
    End,
}

/// The body of an answer, by what ends it.
#[derive(Debug)]
pub(super) enum Body {
    /// So many bytes are left.
    Counted(u64),
    Chunked(Chunked),
    UntilClose,
}

impl Body {
    /// How the body behind a head ends (RFC 9112, section 6.3).
    pub(super) fn of(fields: &Fields) -> Self {
        match fields.length {
            _ if fields.has_no_body() => Self::Counted(0),
            _ if fields.is_chunked => Self::Chunked(Chunked::Size(0, 0)),
            Some(length) => Self::Counted(length),
            None => Self::UntilClose,
        }
    }

    /// Reads bytes up to the end of the next data. Returns how many it took; no part if it needs more bytes.
    pub(super) fn handle_bytes(&mut self, bytes: &[u8]) -> Result<(usize, Option<Part>), ProtocolError> {
        match self {
            Self::Counted(0) => Ok((0, Some(Part::End))),
            Self::Counted(left) => Ok(data(0, bytes.len(), left)),
            Self::Chunked(chunks) => chunks.handle_bytes(bytes),
            Self::UntilClose => {
                let mut endless = u64::MAX;
                Ok(data(0, bytes.len(), &mut endless))
            }
        }
    }

    /// Whether the connection may end here.
    pub(super) fn may_end(&self) -> bool {
        match self {
            Self::Counted(left) => *left == 0,
            Self::Chunked(at) => matches!(at, Chunked::Over),
            Self::UntilClose => true,
        }
    }
}

/// A place in a chunked body (RFC 9112, section 7.1). Extensions and trailers are checked and dropped.
#[derive(Debug)]
pub(super) enum Chunked {
    /// In the digits of a size: the size so far, and how many digits it has.
    Size(u64, u8),
    /// In the white space between a size and its extension, of so many bytes.
    Blank(u64, u16),
    /// In the extension of a chunk of this size, which has so many bytes with the white space.
    Extension(u64, u16),
    /// Before the LF behind a size.
    SizeEnd(u64),
    /// So many bytes of the chunk are left.
    Data(u64),
    /// Before the LF behind the data.
    DataEnd,
    Trailer(Lines),
    Over,
}

/// The most bytes of the extension of one chunk.
pub(super) const EXTENSION: u16 = 256;

/// The most digits of 64 bits.
const DIGITS: u8 = 16;

impl Chunked {
    fn handle_bytes(&mut self, bytes: &[u8]) -> Result<(usize, Option<Part>), ProtocolError> {
        let mut at = 0;
        loop {
            match self {
                Self::Over => return Ok((at, Some(Part::End))),
                Self::Data(left @ 1..) => return Ok(data(at, bytes.len(), left)),
                Self::Trailer(lines) => match trailer(lines, &bytes[at..])? {
                    (taken, true) => (at, *self) = (at + taken, Self::Over),
                    (taken, false) => return Ok((at + taken, None)),
                },
                _ => {
                    let Some(byte) = bytes.get(at) else { return Ok((at, None)) };
                    *self = self.behind(*byte)?;
                    at += 1;
                }
            }
        }
    }

    /// The state behind a byte that frames a chunk.
    fn behind(&self, byte: u8) -> Result<Self, ProtocolError> {
        match (self, byte) {
            (Self::Size(size, digits), b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => longer(*size, *digits, byte),
            (Self::Size(_, 0), _) => Err(ProtocolError::ChunkSize),
            (Self::Size(size, _) | Self::Blank(size, _) | Self::Extension(size, _), b'\r') => Ok(Self::SizeEnd(*size)),
            (Self::Blank(_, EXTENSION) | Self::Extension(_, EXTENSION), _) => Err(ProtocolError::LongExtension),
            (Self::Size(size, _), b' ' | b'\t') => Ok(Self::Blank(*size, 1)),
            (Self::Blank(size, len), b' ' | b'\t') => Ok(Self::Blank(*size, len + 1)),
            (Self::Size(size, _), b';') => Ok(Self::Extension(*size, 1)),
            (Self::Blank(size, len), b';') | (Self::Extension(size, len), b'\t' | b' '..=b'~' | 0x80..) => {
                Ok(Self::Extension(*size, len + 1))
            }
            (Self::SizeEnd(0), b'\n') => Ok(Self::Trailer(Lines::new())),
            (Self::SizeEnd(size), b'\n') => Ok(Self::Data(*size)),
            (Self::Data(_), b'\r') => Ok(Self::DataEnd),
            (Self::DataEnd, b'\n') => Ok(Self::Size(0, 0)),
            (Self::Data(_) | Self::DataEnd, _) => Err(ProtocolError::ChunkEnd),
            _ => Err(ProtocolError::ChunkSize),
        }
    }
}

/// The size with one more digit.
fn longer(size: u64, digits: u8, byte: u8) -> Result<Chunked, ProtocolError> {
    let digit = char::from(byte).to_digit(16).filter(|_| digits < DIGITS).ok_or(ProtocolError::ChunkSize)?;
    Ok(Chunked::Size(size << 4 | u64::from(digit), digits + 1))
}

/// Reads the lines of a trailer. Returns how many bytes it took, and whether the last line was empty.
fn trailer(lines: &mut Lines, bytes: &[u8]) -> Result<(usize, bool), ProtocolError> {
    let mut at = 0;
    loop {
        let (taken, is_line) = lines.handle_bytes(&bytes[at..]).ok_or(ProtocolError::LongTrailer)??;
        at += taken;
        if !is_line || lines.line().is_empty() {
            return Ok((at, is_line));
        }
        lines.line().header()?;
        lines.next_line();
    }
}

/// The data of the bytes from `start` to `end`, as far as the body goes on. Returns where it ends, and the data if there is
/// any.
fn data(start: usize, end: usize, left: &mut u64) -> (usize, Option<Part>) {
    let taken = usize::try_from(*left).unwrap_or(usize::MAX).min(end - start);
    *left -= taken as u64;
    let end = start + taken;
    (end, if taken == 0 { None } else { Some(Part::Data(start..end)) })
}
