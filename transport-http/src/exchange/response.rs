use super::body::{Body, Part};
use super::error::ProtocolError;
use super::head::HeadReader;
#[cfg(feature = "ureq")]
use super::{head::Fields, lines::Line};

/// Reads one answer of HTTP/1.1, whatever the pieces in which it arrives. It needs no connection and no buffer.
///
/// The machine keeps 128 bytes of the line that it reads, and nothing of the body. It refuses an answer that two readers
/// could divide differently: two lengths, folded headers, lines without CR LF.
///
/// ```
/// use listwatch_transport_http::exchange::{Part, Response};
///
/// let bytes = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n{\"a\"\r\n3\r\n:1}\r\n0\r\n\r\n";
/// let (mut response, mut rest, mut body) = (Response::new(), &bytes[..], Vec::new());
/// loop {
///     let (taken, part) = response.handle_bytes(rest)?;
///     match part {
///         Some(Part::Head(head)) => assert_eq!(head.status(), 200),
///         Some(Part::Data(range)) => body.extend_from_slice(&rest[range]),
///         Some(Part::End) => break,
///         None => unreachable!("the answer is whole"),
///     }
///     rest = &rest[taken..];
/// }
/// assert_eq!((body.as_slice(), response.is_reusable()), (&b"{\"a\":1}"[..], true));
/// # Ok::<(), listwatch_transport_http::exchange::ProtocolError>(())
/// ```
#[derive(Debug)]
pub struct Response {
    section: Section,
    /// Whether the server keeps the connection open behind this answer.
    is_persistent: bool,
}

/// The section of an answer that comes next.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "without a heap, the head has its place here")]
enum Section {
    Head(HeadReader),
    Body(Body),
    Over,
    Failed(ProtocolError),
}

impl Response {
    /// Begins with the first byte of an answer.
    pub const fn new() -> Self {
        Self { section: Section::Head(HeadReader::new()), is_persistent: false }
    }

    /// Begins behind a head that another reader has read, by its lines that frame the body.
    #[cfg(feature = "ureq")]
    pub(crate) fn behind(status_line: &[u8], headers: impl Iterator<Item = Vec<u8>>) -> Result<Self, ProtocolError> {
        let mut fields = Fields::of_status_line(status_line)?;
        for text in headers {
            fields.handle_header(&Line { text: &text, is_cut: false })?;
        }
        Ok(Self { section: Section::Body(Body::of(&fields)), is_persistent: fields.is_persistent() })
    }

    /// Reads bytes up to the end of the next part. Returns how many it took, and the part; the caller passes the rest
    /// again. Without a part, it took all bytes, and needs more.
    ///
    /// The parts are one head, any number of data, and the end, which is repeated. An end may need no bytes. An error is
    /// repeated, too.
    pub fn handle_bytes(&mut self, bytes: &[u8]) -> Result<(usize, Option<Part>), ProtocolError> {
        let read = self.read(bytes);
        if let Err(error) = read {
            self.section = Section::Failed(error);
        }
        read
    }

    /// Moves the data of the first `len` bytes, which the connection wrote, to the front, and returns how much it is. Zero
    /// bytes say that the connection is closed. A failure behind data comes with the next call.
    #[cfg(any(feature = "embedded-io", feature = "embedded-io-async"))]
    pub(super) fn unframe(&mut self, buf: &mut [u8], len: usize) -> Result<usize, ProtocolError> {
        if len == 0 {
            self.handle_close()?;
        }
        let (mut at, mut kept) = (0, 0);
        while at < len {
            match self.handle_bytes(&buf[at..len]) {
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

    /// Notes that the server closed the connection. Unless that is an error, [`Part::End`] comes next.
    pub fn handle_close(&mut self) -> Result<(), ProtocolError> {
        let error = match &self.section {
            Section::Head(head) if head.has_begun() => ProtocolError::ClosedInHead,
            Section::Head(_) => ProtocolError::ClosedBeforeAnswer,
            Section::Body(body) if !body.may_end() => ProtocolError::ClosedInBody,
            Section::Failed(error) => *error,
            Section::Body(_) | Section::Over => {
                (self.section, self.is_persistent) = (Section::Over, false);
                return Ok(());
            }
        };
        self.section = Section::Failed(error);
        Err(error)
    }

    /// Whether the head is complete. Then all bytes belong to the body.
    pub fn is_in_body(&self) -> bool {
        matches!(self.section, Section::Body(_) | Section::Over)
    }

    /// Whether the answer has ended, and the connection can carry another request.
    pub fn is_reusable(&self) -> bool {
        matches!(self.section, Section::Over) && self.is_persistent
    }

    fn read(&mut self, bytes: &[u8]) -> Result<(usize, Option<Part>), ProtocolError> {
        match &mut self.section {
            Section::Head(head) => {
                let (taken, fields) = head.handle_bytes(bytes)?;
                let Some(fields) = fields else { return Ok((taken, None)) };
                (self.section, self.is_persistent) = (Section::Body(Body::of(&fields)), fields.is_persistent());
                Ok((taken, Some(Part::Head(fields.head()))))
            }
            Section::Body(body) => {
                let (taken, part) = body.handle_bytes(bytes)?;
                if part != Some(Part::End) {
                    return Ok((taken, part));
                }
                self.section = Section::Over;
                Ok((taken + self.surplus(&bytes[taken..]), part))
            }
            Section::Over => Ok((self.surplus(bytes), Some(Part::End))),
            Section::Failed(error) => Err(*error),
        }
    }

    /// Takes bytes behind the end. Nothing was asked for that they could answer, so the connection is of no more use.
    fn surplus(&mut self, bytes: &[u8]) -> usize {
        self.is_persistent &= bytes.is_empty();
        bytes.len()
    }
}

impl Default for Response {
    fn default() -> Self {
        Self::new()
    }
}
