use super::error::{ExchangeError, ProtocolError};
use super::get::Get;
use super::head::Head;
use super::response::{Part, Response};
use core::fmt::{self, Display};
use core::ops::Range;

/// One exchange after another over a connection of the firmware, which it passes to each call.
///
/// The exchange has a buffer of `N` bytes for the request, and for the head of the answer. Any size is enough; 512 bytes
/// hold most of both.
///
/// | | blocking (feature `embedded-io`) | in a task (feature `embedded-io-async`) |
/// |---|---|---|
/// | send a request | `open` | `open_async` |
/// | read into a buffer of the caller | `read` | `read_async` |
/// | borrow what was read | `receive` | `receive_async` |
///
/// If an exchange fails, or its answer is given up before the end, the firmware closes the connection. Else
/// [`is_reusable`](Self::is_reusable) says whether the connection can carry the next request.
pub struct Exchange<const N: usize> {
    buffer: [u8; N],
    /// What of the buffer was read, and not handed out.
    unread: Range<usize>,
    response: Response,
    /// How many bytes of the request were sent.
    sent: usize,
}

/// What a read into a buffer brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// The status and the headers.
    Head(Head),
    /// So many bytes of the body are at the front of the buffer; none only if it is empty.
    Data(usize),
    /// The body ended properly. Later reads repeat it.
    End,
}

/// What a read brought, in the exchange's own buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// The status and the headers.
    Head(Head),
    /// Bytes of the body; at least one.
    Data(&'a [u8]),
    /// The body ended properly. Later reads repeat it.
    End,
}

impl<const N: usize> Exchange<N> {
    /// Without a request. It can be a `static`.
    #[must_use]
    pub const fn new() -> Self {
        const { assert!(N > 0, "an exchange needs a buffer") };
        Self { buffer: [0; N], unread: 0..0, response: Response::new(), sent: 0 }
    }

    /// Whether the answer has ended, and the connection can carry another request.
    #[must_use]
    pub fn is_reusable(&self) -> bool {
        self.unread.is_empty() && self.response.is_reusable()
    }

    /// Forgets the answer before.
    pub(super) fn begin(&mut self) {
        (self.unread, self.response, self.sent) = (0..0, Response::new(), 0);
    }

    /// The next bytes of the request; fewer than `N` at its end.
    pub(super) fn unsent<T: Display>(&mut self, request: &Get<'_, T>) -> Result<&[u8], ProtocolError> {
        let len = request.try_write(self.sent, &mut self.buffer)?;
        Ok(&self.buffer[..len])
    }

    /// Whether a byte of the request was sent.
    pub(super) fn has_begun(&self) -> bool {
        self.sent > 0
    }

    /// Notes that the connection took so many bytes of the request.
    pub(super) fn handle_sent<E>(&mut self, len: usize) -> Result<(), ExchangeError<E>> {
        self.sent += len;
        if len == 0 { Err(ExchangeError::Unwritten) } else { Ok(()) }
    }

    /// Forgets the bytes of the request, which may have had a token.
    pub(super) fn wipe(&mut self) {
        self.buffer.fill(0);
    }

    /// The part that the bytes in the buffer hold, of at most `most` bytes: a head, data in the buffer, or the end.
    /// `None` if it needs more.
    pub(super) fn try_part(&mut self, most: usize) -> Result<Option<Part>, ProtocolError> {
        loop {
            let start = self.unread.start;
            let len = if self.is_in_body() { self.unread.len().min(most) } else { self.unread.len() };
            let (taken, part) = self.response.handle_bytes(&self.buffer[start..start + len])?;
            self.unread.start += taken;
            match part {
                Some(Part::Data(range)) => return Ok(Some(Part::Data(start + range.start..start + range.end))),
                None if !self.unread.is_empty() => {}
                part => return Ok(part),
            }
        }
    }

    /// Where the connection may write the next bytes, when all before are handed out.
    pub(super) fn space(&mut self) -> &mut [u8] {
        &mut self.buffer
    }

    /// Notes that the connection wrote so many bytes; none if it is closed.
    pub(super) fn handle_read(&mut self, len: usize) -> Result<(), ProtocolError> {
        self.unread = 0..len;
        if len == 0 { self.response.handle_close() } else { Ok(()) }
    }

    /// Whether the connection may write into the buffer of the caller.
    pub(super) fn is_in_body(&self) -> bool {
        self.response.is_in_body()
    }

    /// The part, with its data copied to the front of `buf`.
    pub(super) fn received(&self, part: Part, buf: &mut [u8]) -> Received {
        match part {
            Part::Head(head) => Received::Head(head),
            Part::Data(range) => {
                let data = &self.buffer[range];
                buf[..data.len()].copy_from_slice(data);
                Received::Data(data.len())
            }
            Part::End => Received::End,
        }
    }

    /// The part, with its data in the buffer.
    pub(super) fn piece(&self, part: Part) -> Piece<'_> {
        match part {
            Part::Head(head) => Piece::Head(head),
            Part::Data(range) => Piece::Data(&self.buffer[range]),
            Part::End => Piece::End,
        }
    }

    /// Moves the data of the first `len` bytes to the front, and returns how much it is. A failure behind data comes with
    /// the next read.
    pub(super) fn unframe(&mut self, buf: &mut [u8], len: usize) -> Result<usize, ProtocolError> {
        if len == 0 {
            self.response.handle_close()?;
        }
        let (mut at, mut kept) = (0, 0);
        while at < len {
            match self.response.handle_bytes(&buf[at..len]) {
                Err(error) if kept == 0 => return Err(error),
                Err(_) => break,
                Ok((taken, part)) => {
                    if let Some(Part::Data(range)) = part {
                        // Byte by byte: `memmove` would take 1.6 KB of a device's flash.
                        for from in at + range.start..at + range.end {
                            buf[kept] = buf[from];
                            kept += 1;
                        }
                    }
                    at += taken;
                }
            }
        }
        Ok(kept)
    }
}

/// Without the bytes of the buffer, which may be those of a token.
impl<const N: usize> fmt::Debug for Exchange<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { unread, response, sent, buffer: _ } = self;
        let mut shown = f.debug_struct("Exchange");
        shown.field("unread", unread).field("response", response).field("sent", sent).finish_non_exhaustive()
    }
}

impl<const N: usize> Default for Exchange<N> {
    fn default() -> Self {
        Self::new()
    }
}
