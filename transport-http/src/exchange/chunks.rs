use super::content::Content;
use super::error::ProtocolError;
use super::limits;
use super::lines::Lines;

/// A chunked body (RFC 9112, section 7.1). Extensions and trailers are checked and dropped.
#[derive(Debug)]
pub(super) struct Chunks(State);

#[derive(Debug)]
enum State {
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

/// The most digits of 64 bits.
const DIGITS: u8 = 16;

impl Chunks {
    pub(super) const fn new() -> Self {
        Self(State::Size(0, 0))
    }

    /// Reads bytes up to the end of the next data. Returns how many it took; no content if it needs more bytes.
    pub(super) fn handle_bytes(&mut self, bytes: &[u8]) -> Result<(usize, Option<Content>), ProtocolError> {
        let mut at = 0;
        loop {
            match &mut self.0 {
                State::Over => return Ok((at, Some(Content::End))),
                State::Data(left @ 1..) => return Ok(Content::data(at, bytes.len(), left)),
                State::Trailer(lines) => match trailer(lines, &bytes[at..])? {
                    (taken, true) => (at, self.0) = (at + taken, State::Over),
                    (taken, false) => return Ok((at + taken, None)),
                },
                _ => {
                    let Some(byte) = bytes.get(at) else { return Ok((at, None)) };
                    self.0 = self.behind(*byte)?;
                    at += 1;
                }
            }
        }
    }

    pub(super) fn is_over(&self) -> bool {
        matches!(self.0, State::Over)
    }

    /// The state behind a byte that frames a chunk.
    fn behind(&self, byte: u8) -> Result<State, ProtocolError> {
        match (&self.0, byte) {
            (State::Size(size, digits), b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => longer(*size, *digits, byte),
            (State::Size(_, 0), _) => Err(ProtocolError::ChunkSize),
            (State::Size(size, _) | State::Blank(size, _) | State::Extension(size, _), b'\r') => {
                Ok(State::SizeEnd(*size))
            }
            (State::Blank(_, limits::EXTENSION) | State::Extension(_, limits::EXTENSION), _) => {
                Err(ProtocolError::LongExtension)
            }
            (State::Size(size, _), b' ' | b'\t') => Ok(State::Blank(*size, 1)),
            (State::Blank(size, len), b' ' | b'\t') => Ok(State::Blank(*size, len + 1)),
            (State::Size(size, _), b';') => Ok(State::Extension(*size, 1)),
            (State::Blank(size, len), b';') | (State::Extension(size, len), b'\t' | b' '..=b'~' | 0x80..) => {
                Ok(State::Extension(*size, len + 1))
            }
            (State::SizeEnd(0), b'\n') => Ok(State::Trailer(Lines::new(limits::HEAD))),
            (State::SizeEnd(size), b'\n') => Ok(State::Data(*size)),
            (State::Data(_), b'\r') => Ok(State::DataEnd),
            (State::DataEnd, b'\n') => Ok(State::Size(0, 0)),
            (State::Data(_) | State::DataEnd, _) => Err(ProtocolError::ChunkEnd),
            _ => Err(ProtocolError::ChunkSize),
        }
    }
}

/// The size with one more digit.
fn longer(size: u64, digits: u8, byte: u8) -> Result<State, ProtocolError> {
    let digit = char::from(byte).to_digit(16).filter(|_| digits < DIGITS).ok_or(ProtocolError::ChunkSize)?;
    Ok(State::Size(size << 4 | u64::from(digit), digits + 1))
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
