use core::fmt;

/// A part of a request, which the program chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestPart {
    /// Path and query.
    Target,
    /// The name of the server.
    Host,
    /// The media types that the program accepts.
    Accept,
    /// The name of the program.
    UserAgent,
    /// The bearer token.
    Token,
}

/// The reason why an answer, or a request, is refused. It never quotes a credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProtocolError {
    /// This part of the request holds characters that HTTP does not allow there, or is empty. Nothing was sent.
    Unsendable(RequestPart),
    /// The server closed the connection before the first byte of the answer.
    ClosedBeforeAnswer,
    /// The server closed the connection inside of the head.
    ClosedInHead,
    /// The server closed the connection before the end of the body.
    ClosedInBody,
    /// The answer does not begin with a status line of HTTP/1.0 or HTTP/1.1.
    StatusLine,
    /// A line of the head or of the trailer is no header.
    Header,
    /// A line of the head or of the trailer does not end with CR LF.
    LineEnd,
    /// The head is longer than 16,384 bytes, with the interim answers before it.
    LongHead,
    /// The trailer is longer than 16,384 bytes.
    LongTrailer,
    /// A header that frames the body is longer than 128 bytes.
    LongHeader,
    /// `Content-Length` is no number of at most 64 bits.
    Length,
    /// The answer has two lengths.
    TwoLengths,
    /// `Transfer-Encoding` is not `chunked`.
    TransferCoding,
    /// The body is compressed.
    ContentCoding,
    /// The server switches to another protocol (status 101).
    Upgrade,
    /// A chunk has no size of 1 to 16 hexadecimal digits.
    ChunkSize,
    /// The extension of a chunk is longer than 256 bytes.
    LongExtension,
    /// A chunk does not end where its size says.
    ChunkEnd,
}

impl ProtocolError {
    /// Whether the connection ended too early: another one may bring the whole answer.
    pub const fn is_closed(self) -> bool {
        matches!(self, Self::ClosedBeforeAnswer | Self::ClosedInHead | Self::ClosedInBody)
    }
}

impl fmt::Display for RequestPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

impl fmt::Display for ProtocolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

impl RequestPart {
    const fn text(self) -> &'static str {
        match self {
            Self::Target => "the request's target has to begin with a slash",
            Self::Host => "the request's host has to be a name or an address, with or without a port",
            Self::Accept => "the request's accepted media types have to be printable ASCII",
            Self::UserAgent => "the request's user agent has to be printable ASCII",
            Self::Token => "the request's token has to be printable ASCII without spaces",
        }
    }
}

impl ProtocolError {
    /// The whole message. It is a constant: where there is no heap, the informer's failure has it too.
    const fn text(self) -> &'static str {
        match self {
            Self::Unsendable(part) => part.text(),
            Self::ClosedBeforeAnswer => "the server closed the connection before it answered",
            Self::ClosedInHead => "the server closed the connection inside of the answer's head",
            Self::ClosedInBody => "the server closed the connection before the end of the answer's body",
            Self::StatusLine => {
                "the answer does not begin with a status line of HTTP/1.0 or HTTP/1.1: check address, port and TLS"
            }
            Self::Header => "a line of the answer's head or trailer is no header",
            Self::LineEnd => "a line of the answer's head or trailer does not end with CR LF",
            Self::LongHead => "the head of the answer is longer than 16384 bytes",
            Self::LongTrailer => "the trailer of the answer is longer than 16384 bytes",
            Self::LongHeader => "a header of the answer that frames its body is too long",
            Self::Length => "the answer's Content-Length is no number of at most 64 bits",
            Self::TwoLengths => "the answer has two lengths: Content-Length or Transfer-Encoding comes twice",
            Self::TransferCoding => "the answer's Transfer-Encoding is not `chunked`",
            Self::ContentCoding => "the answer is compressed, although the request accepts `identity` alone",
            Self::Upgrade => "the server switches to another protocol, which the request did not ask for",
            Self::ChunkSize => "a chunk of the body has no size of 1 to 16 hexadecimal digits",
            Self::LongExtension => "the extension of a chunk of the body is longer than 256 bytes",
            Self::ChunkEnd => "a chunk of the body does not end where its size says",
        }
    }
}

impl core::error::Error for ProtocolError {}

/// The message of [`ExchangeError::Unwritten`].
pub(super) const UNWRITTEN: &str = "the connection takes no more bytes of the request";

/// The reason why an exchange over a connection failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExchangeError<E> {
    /// The connection failed. After a time limit of a read, the exchange can go on.
    Connection(E),
    /// The connection takes no more bytes of the request.
    Unwritten,
    /// The request or the answer breaks a rule of HTTP. The connection has to be closed.
    Protocol(ProtocolError),
}

impl<E> From<ProtocolError> for ExchangeError<E> {
    fn from(error: ProtocolError) -> Self {
        Self::Protocol(error)
    }
}

impl<E: fmt::Display> fmt::Display for ExchangeError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connection(error) => error.fmt(f),
            Self::Unwritten => f.write_str(UNWRITTEN),
            Self::Protocol(error) => error.fmt(f),
        }
    }
}

impl<E: core::error::Error> core::error::Error for ExchangeError<E> {}

#[cfg(any(feature = "embedded-io", feature = "embedded-io-async"))]
mod kinds {
    use super::{ExchangeError, ProtocolError};
    use embedded_io::{Error, ErrorKind};
    use listwatch_core::text::SharedText;
    use listwatch_core::transport::{TransportError, TransportErrorKind};

    impl From<ProtocolError> for TransportError {
        fn from(error: ProtocolError) -> Self {
            let kind = match error {
                ProtocolError::Unsendable(_) => TransportErrorKind::Unsendable,
                error => error.kind().into(),
            };
            Self::new(kind, SharedText::constant(error.text()))
        }
    }

    impl<E: Error> Error for ExchangeError<E> {
        fn kind(&self) -> ErrorKind {
            match self {
                Self::Connection(error) => error.kind(),
                Self::Unwritten => ErrorKind::WriteZero,
                Self::Protocol(error) => error.kind(),
            }
        }
    }

    impl Error for ProtocolError {
        fn kind(&self) -> ErrorKind {
            match self {
                Self::Unsendable(_) => ErrorKind::InvalidInput,
                error if error.is_closed() => ErrorKind::ConnectionReset,
                _ => ErrorKind::InvalidData,
            }
        }
    }
}
