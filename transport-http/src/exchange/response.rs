use super::body::Body;
use super::content::Content;
use super::error::ProtocolError;
use super::head::Head;
use super::head_reader::HeadReader;
#[cfg(feature = "ureq")]
use super::{fields::Fields, lines::Line};
use core::ops::Range;

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
    state: State,
    /// Whether the server keeps the connection open behind this answer.
    is_persistent: bool,
}

#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "without a heap, the head has its place here")]
enum State {
    Head(HeadReader),
    Body(Body),
    Over,
    Failed(ProtocolError),
}

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

impl Response {
    /// Begins with the first byte of an answer.
    #[must_use]
    pub const fn new() -> Self {
        Self { state: State::Head(HeadReader::new()), is_persistent: false }
    }

    /// Begins behind a head that another reader has read, by its lines that frame the body.
    #[cfg(feature = "ureq")]
    pub(crate) fn behind(status_line: &[u8], headers: impl Iterator<Item = Vec<u8>>) -> Result<Self, ProtocolError> {
        let mut fields = Fields::of_status_line(status_line)?;
        for text in headers {
            fields.handle_header(&Line { text: &text, is_cut: false })?;
        }
        Ok(Self { state: State::Body(fields.body()), is_persistent: fields.is_persistent() })
    }

    /// Reads bytes up to the end of the next part. Returns how many it took, and the part; the caller passes the rest
    /// again. Without a part, it took all bytes, and needs more.
    ///
    /// The parts are one head, any number of data, and the end, which is repeated. An end may need no bytes. An error is
    /// repeated, too.
    pub fn handle_bytes(&mut self, bytes: &[u8]) -> Result<(usize, Option<Part>), ProtocolError> {
        let read = self.read(bytes);
        if let Err(error) = read {
            self.state = State::Failed(error);
        }
        read
    }

    /// Notes that the server closed the connection. Unless that is an error, [`Part::End`] comes next.
    pub fn handle_close(&mut self) -> Result<(), ProtocolError> {
        let error = match &self.state {
            State::Head(head) if head.has_begun() => ProtocolError::ClosedInHead,
            State::Head(_) => ProtocolError::ClosedBeforeAnswer,
            State::Body(body) if !body.may_end() => ProtocolError::ClosedInBody,
            State::Failed(error) => *error,
            State::Body(_) | State::Over => {
                (self.state, self.is_persistent) = (State::Over, false);
                return Ok(());
            }
        };
        self.state = State::Failed(error);
        Err(error)
    }

    /// Whether the head is complete. Then all bytes belong to the body.
    #[must_use]
    pub fn is_in_body(&self) -> bool {
        matches!(self.state, State::Body(_) | State::Over)
    }

    /// Whether the answer has ended, and the connection can carry another request.
    #[must_use]
    pub fn is_reusable(&self) -> bool {
        matches!(self.state, State::Over) && self.is_persistent
    }

    fn read(&mut self, bytes: &[u8]) -> Result<(usize, Option<Part>), ProtocolError> {
        match &mut self.state {
            State::Head(head) => {
                let (taken, answer) = head.handle_bytes(bytes)?;
                let Some(answer) = answer else { return Ok((taken, None)) };
                (self.state, self.is_persistent) = (State::Body(answer.body), answer.is_persistent);
                Ok((taken, Some(Part::Head(answer.head))))
            }
            State::Body(body) => match body.handle_bytes(bytes)? {
                (taken, Some(Content::End)) => {
                    self.state = State::Over;
                    Ok((taken + self.surplus(&bytes[taken..]), Some(Part::End)))
                }
                (taken, Some(Content::Data(range))) => Ok((taken, Some(Part::Data(range)))),
                (taken, None) => Ok((taken, None)),
            },
            State::Over => Ok((self.surplus(bytes), Some(Part::End))),
            State::Failed(error) => Err(*error),
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
