//! What ureq does not see of a request: its credential, and its answer. ureq's log at the level `trace` has all bytes
//! that pass through ureq.

use crate::exchange::{self, Part, ProtocolError};
use crate::lock::Lock;
use std::fmt;
use std::io::{self, ErrorKind, Read};
use std::sync::Arc;
use std::time::Duration;
use ureq::http::header::{CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING};
use ureq::http::{HeaderName, HeaderValue, Response, StatusCode, Version};
use ureq::unversioned::transport::{Buffers, ConnectionDetails, Connector, Either, NextTimeout, Transport, time};
use ureq::{Body, BodyReader, Error, Timeout};

/// The head that ureq sees of each answer: its body ends when [`END`] comes.
const BEGIN: &[u8] = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
const END: &[u8] = b"0\r\n\r\n";

/// The size of a buffer for requests, in bytes. Each header must fit.
pub(crate) const BUFFER: usize = 16 * 1024;

/// The longest head of an answer, in bytes.
const MAX_HEAD: usize = BUFFER - 1;
const MAX_HEADERS: usize = 128;

/// The request that a connection sends now, as ureq does not see it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Veil(Arc<Lock<Veiled>>);

#[derive(Default)]
enum Veiled {
    #[default]
    Nothing,
    /// The lines of a request's head that follow its first line.
    Unsent(Vec<u8>),
    Answered(Response<()>, Arc<Lock<Line>>),
}

impl Veil {
    /// Adds these headers to the next request.
    pub(crate) fn begin<'a>(&self, headers: impl Iterator<Item = (HeaderName, &'a HeaderValue)>) {
        let lines =
            headers.flat_map(|(name, value)| [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"].concat());
        *self.0.lock() = Veiled::Unsent(lines.collect());
    }

    /// The answer, once ureq has seen its head. The server may send nothing for `idle`.
    pub(crate) fn answer(&self, seen: Response<Body>, idle: Option<Duration>) -> Result<Response<VeiledBody>, Error> {
        match std::mem::take(&mut *self.0.lock()) {
            Veiled::Answered(head, line) => {
                let seen = seen.into_body().into_reader();
                let after = idle.map_or(time::Duration::NotHappening, time::Duration::Exact);
                let timeout = NextTimeout { after, reason: Timeout::PerRead, per_read: None, per_write: None };
                Ok(head.map(|()| VeiledBody(Some(Unread { line, seen, timeout }))))
            }
            _ => Err(Error::ConnectionFailed),
        }
    }

    fn take_unsent(&self) -> Option<Vec<u8>> {
        let mut veiled = self.0.lock();
        let Veiled::Unsent(lines) = &mut *veiled else { return None };
        let lines = std::mem::take(lines);
        *veiled = Veiled::Nothing;
        Some(lines)
    }
}

/// Hides credentials and answers. It is the last connector: what it adds goes through TLS and proxies.
#[derive(Debug)]
pub(crate) struct VeilConnector {
    veil: Veil,
    is_proxied: bool,
}

impl VeilConnector {
    pub(crate) fn new(veil: Veil, is_proxied: bool) -> Self {
        Self { veil, is_proxied }
    }
}

impl<In: Transport> Connector<In> for VeilConnector {
    type Out = Either<In, VeiledTransport>;

    fn connect(&self, details: &ConnectionDetails<'_>, below: Option<In>) -> Result<Option<Self::Out>, Error> {
        let Some(below) = below else { return Ok(None) };
        // ureq connects to a proxy by the same connectors, and without a proxy.
        if self.is_proxied && details.config.proxy().is_none() {
            return Ok(Some(Either::A(below)));
        }
        let is_tls = below.is_tls();
        let line = Line { below: Box::new(below), due: Due::Nothing };
        let (veil, shown) = (self.veil.clone(), Shown::default());
        Ok(Some(Either::B(VeiledTransport { veil, line: Arc::new(Lock::new(line)), shown, is_tls })))
    }
}

/// A connection as ureq sees it.
pub(crate) struct VeiledTransport {
    veil: Veil,
    line: Arc<Lock<Line>>,
    shown: Shown,
    is_tls: bool,
}

impl Transport for VeiledTransport {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.shown
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        let (mut line, seen) = (self.line.lock(), std::mem::take(&mut self.shown.output));
        let seen = &seen[..amount];
        let Some(unseen) = self.veil.take_unsent() else { return line.send(seen, timeout) };
        line.due = Due::Head { passed: 0 };
        let first = seen.windows(2).position(|end| end == b"\r\n").map_or(0, |at| at + 2);
        line.send(&[&seen[..first], &unseen, &seen[first..]].concat(), timeout)
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        let line = &mut *self.line.lock();
        match line.due {
            Due::Head { .. } => {
                let has_come = line.below.await_input(timeout)?;
                if let Some(head) = line.try_head()? {
                    *self.veil.0.lock() = Veiled::Answered(head, self.line.clone());
                    self.shown.input = BEGIN;
                }
                Ok(has_come)
            }
            Due::Nothing => {
                self.shown.input = END;
                Ok(true)
            }
            Due::Body(_) => Ok(false),
        }
    }

    fn is_open(&mut self) -> bool {
        let mut line = self.line.lock();
        matches!(line.due, Due::Nothing) && line.below.buffers().input().is_empty() && line.below.is_open()
    }

    fn is_tls(&self) -> bool {
        self.is_tls
    }
}

/// A connection, and what it brings next.
struct Line {
    below: Box<dyn Transport>,
    due: Due,
}

enum Due {
    Nothing,
    Head {
        /// The bytes of interim answers before it.
        passed: usize,
    },
    Body(Box<exchange::Response>),
}

impl Line {
    fn send(&mut self, mut bytes: &[u8], timeout: NextTimeout) -> Result<(), Error> {
        while !bytes.is_empty() {
            let output = self.below.buffers().output();
            let (now, later) = bytes.split_at(bytes.len().min(output.len()));
            output[..now.len()].copy_from_slice(now);
            self.below.transmit_output(now.len(), timeout)?;
            bytes = later;
        }
        Ok(())
    }

    /// The head of the answer, once all of it has come. Interim answers (1xx) before it are passed over, and count in its
    /// length.
    fn try_head(&mut self) -> Result<Option<Response<()>>, Error> {
        while let Due::Head { passed } = self.due {
            let input = self.below.buffers().input();
            let parsed = parsed(input)?;
            let passed = passed + parsed.as_ref().map_or(input.len(), |(len, _)| *len);
            if passed > MAX_HEAD {
                return Err(Error::LargeResponseHeader(passed, MAX_HEAD));
            }
            let Some((len, head)) = parsed else { return Ok(None) };
            self.below.buffers().input_consume(len);
            match head.status() {
                StatusCode::SWITCHING_PROTOCOLS => return Err(broken(ProtocolError::Upgrade)),
                status if status.is_informational() => self.due = Due::Head { passed },
                _ => {
                    self.due = Due::Body(Box::new(body_of(&head).map_err(broken)?));
                    return Ok(Some(head));
                }
            }
        }
        Ok(None)
    }

    /// Reads data of the body; none at its end. An error of the socket changes nothing.
    fn read(&mut self, buf: &mut [u8], timeout: NextTimeout) -> Result<usize, Error> {
        let Due::Body(body) = &mut self.due else { return Ok(0) };
        let mut filled = 0;
        while filled < buf.len() {
            let input = self.below.buffers().input();
            let (taken, part) = match body.handle_bytes(&input[..input.len().min(buf.len() - filled)]) {
                Ok(read) => read,
                // The next read repeats it.
                Err(_) if filled > 0 => break,
                Err(error) => return Err(broken(error)),
            };
            if let Some(Part::Data(range)) = &part {
                let data = &input[range.clone()];
                buf[filled..filled + data.len()].copy_from_slice(data);
                filled += data.len();
            }
            self.below.buffers().input_consume(taken);
            match part {
                Some(Part::End) => break,
                None if taken == 0 && filled > 0 => break,
                None if taken == 0 && !self.below.await_input(timeout)? => body.handle_close().map_err(broken)?,
                _ => {}
            }
        }
        Ok(filled)
    }

    /// Ends the body. Whether the connection can carry another request.
    fn end(&mut self) -> bool {
        matches!(std::mem::replace(&mut self.due, Due::Nothing), Due::Body(body) if body.is_reusable())
    }
}

/// Reads a head, and its length; `None` if more of it has to come.
fn parsed(input: &[u8]) -> Result<Option<(usize, Response<()>)>, Error> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut head = httparse::Response::new(&mut headers);
    let status = head.parse(input).map_err(|error| invalid(format!("the head of the response is invalid: {error}")))?;
    let httparse::Status::Complete(len) = status else { return Ok(None) };
    let version = if head.version == Some(0) { Version::HTTP_10 } else { Version::HTTP_11 };
    let mut response = Response::builder().version(version).status(head.code.unwrap_or_default());
    for header in head.headers {
        response = response.header(header.name, header.value);
    }
    Ok(Some((len, response.body(()).map_err(|error| invalid(error.to_string()))?)))
}

/// What reads the body behind a head.
fn body_of(head: &Response<()>) -> Result<exchange::Response, ProtocolError> {
    let minor = u8::from(head.version() != Version::HTTP_10);
    let status_line = format!("HTTP/1.{minor} {}", head.status().as_u16());
    let lines = [CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING].into_iter().flat_map(|name| {
        let values = head.headers().get_all(&name).into_iter();
        values.map(|value| [name.as_str().as_bytes(), b":", value.as_bytes()].concat()).collect::<Vec<_>>()
    });
    exchange::Response::behind(status_line.as_bytes(), lines)
}

fn broken(error: ProtocolError) -> Error {
    let kind = if error.is_closed() { ErrorKind::UnexpectedEof } else { ErrorKind::InvalidData };
    Error::Io(io::Error::new(kind, error))
}

fn invalid(what: String) -> Error {
    Error::Io(io::Error::new(ErrorKind::InvalidData, what))
}

/// The body of an answer. A read that would block has changed nothing, and may be repeated.
pub(crate) struct VeiledBody(Option<Unread>);

/// A body whose end has not been read.
struct Unread {
    line: Arc<Lock<Line>>,
    /// ureq keeps the connection until this ends.
    seen: BodyReader<'static>,
    timeout: NextTimeout,
}

impl Read for VeiledBody {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let Some(Unread { line, seen, timeout }) = &mut self.0 else { return Ok(0) };
        let read = line.lock().read(buf, *timeout).map_err(Error::into_io)?;
        if read == 0 && !buf.is_empty() {
            let is_reusable = line.lock().end();
            // At its own end, ureq keeps the connection for the next request.
            let kept = is_reusable.then(|| seen.read(&mut [0]));
            drop(kept);
            self.0 = None;
        }
        Ok(read)
    }
}

/// The buffers of a connection that ureq sees.
#[derive(Default)]
struct Shown {
    input: &'static [u8],
    /// Freed once it is sent.
    output: Vec<u8>,
}

impl Buffers for Shown {
    fn output(&mut self) -> &mut [u8] {
        self.output.resize(BUFFER, 0);
        &mut self.output
    }

    fn input(&self) -> &[u8] {
        self.input
    }

    fn input_append_buf(&mut self) -> &mut [u8] {
        &mut []
    }

    fn input_appended(&mut self, _: usize) {}

    fn input_consume(&mut self, amount: usize) {
        self.input = &self.input[amount..];
    }

    /// No room for a body without a length, because no request has one.
    fn tmp_and_output(&mut self) -> (&mut [u8], &mut [u8]) {
        (&mut [], self.output())
    }

    fn can_use_input(&self) -> bool {
        !self.input.is_empty()
    }
}

impl fmt::Debug for VeiledTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VeiledTransport").finish_non_exhaustive()
    }
}

impl fmt::Debug for Veiled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Veiled")
    }
}
