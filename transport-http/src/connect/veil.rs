//! What ureq does not see of a request: its credential, and its answer. ureq's log at the level `trace` has all bytes
//! that pass through ureq.

use super::input::Input;
use super::wire::{Stream, Wire};
use crate::exchange::{self, Part, ProtocolError};
use crate::lock::Lock;
use listwatch_core::api::SendGate;
use std::io::{self, ErrorKind, Read};
use std::sync::Arc;
use std::time::Duration;
use ureq::http::header::{CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING};
use ureq::http::{HeaderName, HeaderValue, Response, StatusCode, Version};
use ureq::unversioned::transport::{Buffers, NextTimeout, Transport, time};
use ureq::{Body, BodyReader, Error, Timeout};
use ureq_proto::parser::try_parse_response;

/// The head that ureq sees of each answer: its body ends when [`END`] comes.
const BEGIN: &[u8] = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
const END: &[u8] = b"0\r\n\r\n";

/// How requests name this program.
pub(crate) const USER_AGENT: &str = concat!("listwatch/", env!("CARGO_PKG_VERSION"));

/// The size of a buffer for requests, in bytes. Each header must fit.
pub(super) const BUFFER: usize = 16 * 1024;

/// The longest head of an answer, in bytes.
pub(super) const MAX_HEAD: usize = BUFFER - 1;
const MAX_HEADERS: usize = 128;

/// The request that a connection sends now, as ureq does not see it. A clone is the same request.
#[derive(Clone, Default)]
pub(crate) struct Veil(Arc<Lock<Veiled>>);

#[derive(Default)]
struct Veiled {
    /// The lines of the head that follow its first line, until they are sent.
    unsent: Option<Vec<u8>>,
    /// Asked before each piece of the request is written.
    gate: Option<SendGate>,
    answer: Option<(Response<()>, Arc<Lock<Line>>)>,
}

impl Veil {
    /// Adds these headers to the next request, and lets it leave if the gate allows it.
    pub(crate) fn begin<'a>(
        &self,
        headers: impl Iterator<Item = (HeaderName, &'a HeaderValue)>,
        gate: Option<&SendGate>,
    ) {
        let lines =
            headers.flat_map(|(name, value)| [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"].concat());
        let next = Veiled { unsent: Some(lines.collect()), gate: gate.cloned(), answer: None };
        *self.0.lock() = next;
    }

    /// The answer, once ureq has seen its head. The server may send nothing for `idle`.
    pub(crate) fn end(
        &self,
        seen: Result<Response<Body>, Error>,
        idle: Option<Duration>,
    ) -> Result<Response<VeiledBody>, Error> {
        // Dropped behind the lock: a gate is foreign code.
        let veiled = std::mem::take(&mut *self.0.lock());
        let (seen, (head, line)) = (seen?.into_body().into_reader(), veiled.answer.ok_or(Error::ConnectionFailed)?);
        let after = idle.map_or(time::Duration::NotHappening, time::Duration::Exact);
        let timeout = NextTimeout { after, reason: Timeout::PerRead, per_read: None, per_write: None };
        Ok(head.map(|()| VeiledBody(Some(Unread { line, seen, timeout }))))
    }

    /// What is to be sent now, and asked before.
    fn unsent(&self) -> (Option<Vec<u8>>, Option<SendGate>) {
        let mut veiled = self.0.lock();
        (veiled.unsent.take(), veiled.gate.clone())
    }
}

listwatch_core::summary!("Veil" for Veil);

/// A connection as ureq sees it.
pub(crate) struct VeiledTransport {
    veil: Veil,
    line: Arc<Lock<Line>>,
    shown: Shown,
}

impl VeiledTransport {
    pub(super) fn over(below: Link, veil: Veil) -> Self {
        let line = Line { below, due: Due::Nothing };
        Self { veil, line: Arc::new(Lock::new(line)), shown: Shown::default() }
    }
}

impl Transport for VeiledTransport {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.shown
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        let (mut line, seen) = (self.line.lock(), std::mem::take(&mut self.shown.output));
        let (seen, (unsent, gate)) = (&seen[..amount], self.veil.unsent());
        line.below.wire.limit(timeout);
        let Some(unseen) = unsent else { return line.below.send(seen, gate.as_ref()) };
        line.due = Due::Head { passed: 0 };
        let first = seen.windows(2).position(|end| end == b"\r\n").map_or(0, |at| at + 2);
        line.below.send(&[&seen[..first], &unseen, &seen[first..]].concat(), gate.as_ref())
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        let line = &mut *self.line.lock();
        match line.due {
            Due::Head { .. } => {
                let has_come = line.below.fill(timeout)?;
                if let Some(head) = line.try_head()? {
                    self.veil.0.lock().answer = Some((head, self.line.clone()));
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
        let Line { below, due } = &*self.line.lock();
        matches!(due, Due::Nothing) && below.input.unread().is_empty() && below.wire.is_quiet().unwrap_or(false)
    }

    fn is_tls(&self) -> bool {
        self.line.lock().below.is_tls
    }
}

/// A connection, and what it brings next.
struct Line {
    below: Link,
    due: Due,
}

/// A connection to the server.
pub(super) struct Link {
    pub(super) wire: Arc<Wire>,
    pub(super) stream: Stream,
    pub(super) is_tls: bool,
    pub(super) input: Input,
}

enum Due {
    Nothing,
    Head {
        /// The bytes of interim answers before it.
        passed: usize,
    },
    Body(Box<exchange::Response>),
}

impl Link {
    /// Sends bytes piece by piece, as long as the gate lets them leave.
    fn send(&mut self, bytes: &[u8], gate: Option<&SendGate>) -> Result<(), Error> {
        for piece in bytes.chunks(BUFFER) {
            gate.map_or(Ok(()), SendGate::check).map_err(io::Error::other)?;
            self.stream.write_all(piece)?;
            self.stream.flush()?;
        }
        Ok(())
    }

    /// Reads what comes next. Whether anything came.
    fn fill(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        self.wire.limit(timeout);
        let read = self.input.fill(&mut self.stream);
        Ok(read.map_err(|error| if self.is_tls { broken_off(error) } else { error })? > 0)
    }
}

impl Line {
    /// The head of the answer, once all of it has come. Interim answers (1xx) before it are passed over, and count in its
    /// length.
    fn try_head(&mut self) -> Result<Option<Response<()>>, Error> {
        while let Due::Head { passed } = self.due {
            let input = self.below.input.unread();
            let parsed = parsed(input)?;
            let passed = passed + parsed.as_ref().map_or(input.len(), |(len, _)| *len);
            if passed > MAX_HEAD {
                return Err(Error::LargeResponseHeader(passed, MAX_HEAD));
            }
            let Some((len, head)) = parsed else { return Ok(None) };
            self.below.input.consume(len);
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
            let input = self.below.input.unread();
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
            self.below.input.consume(taken);
            match part {
                Some(Part::End) => break,
                None if taken == 0 && filled > 0 => break,
                None if taken == 0 && !self.below.fill(timeout)? => body.handle_close().map_err(broken)?,
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
pub(super) fn parsed(input: &[u8]) -> Result<Option<(usize, Response<()>)>, Error> {
    let fault = |error| io::Error::new(ErrorKind::InvalidData, format!("the head of the response is invalid: {error}"));
    Ok(try_parse_response::<MAX_HEADERS>(input).map_err(fault)?)
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

/// An error of a connection that ended without TLS's `close_notify`.
fn broken_off(error: io::Error) -> io::Error {
    match error.kind() {
        ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted => {
            io::Error::new(ErrorKind::BrokenPipe, "TLS was broken off")
        }
        _ => error,
    }
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

impl VeiledBody {
    /// The socket of an answer that has not ended.
    pub(crate) fn wire(&self) -> Option<Arc<Wire>> {
        self.0.as_ref().map(|unread| unread.line.lock().below.wire.clone())
    }
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

listwatch_core::summary!("VeiledTransport" for VeiledTransport);
