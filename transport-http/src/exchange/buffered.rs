use super::body::Part;
use super::error::{ExchangeError, ProtocolError};
use super::get::Get;
use super::head::Head;
use super::response::Response;
use core::fmt::Display;
use core::ops::Range;

/// One exchange after another over a connection of the firmware, which it passes to each call.
///
/// The exchange has a buffer of `N` bytes for the request, and for the head of the answer. Any size is enough; 512 bytes
/// hold most of both.
///
/// | | blocking (feature `embedded-io`) | in a task (feature `embedded-io-async`) |
/// |---|---|---|
/// | send a request | `open` | `open_async` |
/// | read the answer | `read` | `read_async` |
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

impl<const N: usize> Exchange<N> {
    /// Without a request. It can be a `static`.
    pub const fn new() -> Self {
        const { assert!(N > 0, "an exchange needs a buffer") };
        Self { buffer: [0; N], unread: 0..0, response: Response::new(), sent: 0 }
    }

    /// Whether the answer has ended, and the connection can carry another request.
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

    /// Notes that the connection took `len` of the `most` bytes that were unsent. Returns whether they were the last.
    pub(super) fn handle_sent<E>(&mut self, len: usize, most: usize) -> Result<bool, ExchangeError<E>> {
        self.sent += len;
        if len == 0 && most > 0 { Err(ExchangeError::Unwritten) } else { Ok(most < N && len == most) }
    }

    /// Forgets the bytes of the request, which may have had a token.
    pub(super) fn wipe(&mut self) {
        self.buffer.fill(0);
    }

    /// Where the connection writes the next bytes: the buffer of the caller for those of a body.
    pub(super) fn space<'a>(&'a mut self, buf: &'a mut [u8]) -> &'a mut [u8] {
        if self.response.is_in_body() { buf } else { &mut self.buffer }
    }

    /// The part that comes next without a read, with data at the front of `buf`; `None` if it needs more bytes.
    pub(super) fn try_received(&mut self, buf: &mut [u8]) -> Result<Option<Received>, ProtocolError> {
        if buf.is_empty() {
            return Ok(Some(Received::Data(0)));
        }
        Ok(self.try_part(buf.len())?.map(|part| match part {
            Part::Head(head) => Received::Head(head),
            Part::Data(range) => {
                let data = &self.buffer[range];
                buf[..data.len()].copy_from_slice(data);
                Received::Data(data.len())
            }
            Part::End => Received::End,
        }))
    }

    /// Notes that the connection wrote so many bytes into the [`space`](Self::space); none if it is closed. Returns the part
    /// that they complete.
    pub(super) fn handle_received(&mut self, buf: &mut [u8], len: usize) -> Result<Option<Received>, ProtocolError> {
        if self.response.is_in_body() {
            let kept = self.response.unframe(buf, len)?;
            if kept > 0 {
                return Ok(Some(Received::Data(kept)));
            }
        } else {
            self.unread = 0..len;
            if len == 0 {
                self.response.handle_close()?;
            }
        }
        self.try_received(buf)
    }

    /// The part that the bytes in the buffer hold, of at most `most` bytes: a head, data in the buffer, or the end.
    /// `None` if it needs more.
    fn try_part(&mut self, most: usize) -> Result<Option<Part>, ProtocolError> {
        loop {
            let start = self.unread.start;
            let len = if self.response.is_in_body() { self.unread.len().min(most) } else { self.unread.len() };
            let (taken, part) = self.response.handle_bytes(&self.buffer[start..start + len])?;
            self.unread.start += taken;
            match part {
                Some(Part::Data(range)) => return Ok(Some(Part::Data(start + range.start..start + range.end))),
                None if !self.unread.is_empty() => {}
                part => return Ok(part),
            }
        }
    }
}

// Without the bytes of the buffer, which may be those of a token.
listwatch_core::summary!(impl[const N: usize] "Exchange" for Exchange<N>, |it| {
    unread: it.unread, response: it.response, sent: it.sent,
});

impl<const N: usize> Default for Exchange<N> {
    fn default() -> Self {
        Self::new()
    }
}
