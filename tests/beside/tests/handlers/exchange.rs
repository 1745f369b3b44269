//! What a server answered to one informer, with all times.

use listwatch_core::request::{Query, Request, RequestId};
use listwatch_core::transport::{Incoming, ReadContext, ResponseHead, TransportError, TransportErrorKind};
use listwatch_core::{Instant, ListerWatcher, Resource};
use std::fmt;
use std::task::Poll;

/// The requests of one informer, and their answers.
#[derive(Clone, Debug)]
pub(crate) struct Exchange {
    pub(crate) resource: Resource,
    pub(crate) asked: Vec<Asked>,
    /// When it is over.
    pub(crate) until: Instant,
}

/// A request, and its answer.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) target: String,
    pub(crate) query: Query,
    /// A page that is not the first.
    pub(crate) is_page: bool,
    pub(crate) head: Option<(Instant, ResponseHead)>,
    pub(crate) pieces: Vec<(Instant, Vec<u8>)>,
    pub(crate) end: Option<(Instant, Ended)>,
}

/// How an answer ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    Eof,
    Failed(TransportErrorKind),
    /// The informer did not wait for more.
    GivenUp,
}

impl Asked {
    pub(crate) fn new(request: &Request) -> Self {
        Self {
            target: request.to_string(),
            query: request.query(),
            is_page: request.continue_token().is_some(),
            head: None,
            pieces: Vec::new(),
            end: None,
        }
    }

    /// Whether the server answered as it was asked to, as far as the head says.
    pub(crate) fn is_accepted(&self) -> bool {
        self.head.as_ref().is_some_and(|(_, head)| head.status == 200)
    }

    pub(crate) fn body(&self) -> Vec<u8> {
        self.pieces.iter().flat_map(|(_, bytes)| bytes).copied().collect()
    }

    /// What arrives at `now`, or when something does.
    fn next(&self, now: Instant, id: RequestId, read: &mut Read, buf: &mut [u8]) -> Incoming {
        let wait = |until| Incoming::Idle { until: Some(until) };
        if let (false, Some((at, head))) = (read.head, &self.head) {
            return if *at > now {
                wait(*at)
            } else {
                read.head = true;
                Incoming::Head { id, head: head.clone() }
            };
        }
        if let Some((at, bytes)) = self.pieces.get(read.pieces) {
            if *at > now {
                return wait(*at);
            }
            assert!(
                bytes.len() <= buf.len(),
                "{} bytes came at once, and there is room for {}",
                bytes.len(),
                buf.len()
            );
            buf[..bytes.len()].copy_from_slice(bytes);
            read.pieces += 1;
            return Incoming::Data { id, len: bytes.len() };
        }
        match self.end {
            None | Some((_, Ended::GivenUp)) => Incoming::Idle { until: None },
            Some((at, _)) if at > now => wait(at),
            Some((_, Ended::Eof)) => Incoming::End { id },
            Some((_, Ended::Failed(kind))) => Incoming::Failed { id, error: TransportError::new(kind, "") },
        }
    }
}

/// Each request, what came when, and its end.
impl fmt::Display for Exchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Asked { target, head, pieces, end, .. } in &self.asked {
            writeln!(f, "{target}: {:?}", head.as_ref().map(|(at, head)| (at, head.status)))?;
            for (at, bytes) in pieces {
                writeln!(f, "    {at:?} {}", String::from_utf8_lossy(bytes).escape_debug())?;
            }
            writeln!(f, "    {end:?}")?;
        }
        writeln!(f, "over at {:?}", self.until)
    }
}

/// The answers of an exchange, for an informer that asks the same at the same times.
#[derive(Debug)]
pub(crate) struct Player<'a> {
    asked: std::slice::Iter<'a, Asked>,
    open: Option<(RequestId, &'a Asked, Read)>,
}

/// How much was read of an answer.
#[derive(Clone, Copy, Debug, Default)]
struct Read {
    head: bool,
    pieces: usize,
}

impl<'a> Player<'a> {
    pub(crate) fn new(exchange: &'a Exchange) -> Self {
        Self { asked: exchange.asked.iter(), open: None }
    }
}

impl ListerWatcher for Player<'_> {
    fn open(&mut self, id: RequestId, request: &Request) {
        let asked = self.asked.next().unwrap_or_else(|| panic!("{request} was not asked before"));
        assert_eq!(request.to_string(), asked.target);
        self.open = Some((id, asked, Read::default()));
    }

    fn poll_read(&mut self, turn: ReadContext<'_, '_>, buf: &mut [u8]) -> Poll<Incoming> {
        let Some((id, asked, read)) = &mut self.open else { return Poll::Ready(Incoming::Idle { until: None }) };
        let incoming = asked.next(turn.now, *id, read, buf);
        if matches!(incoming, Incoming::End { .. } | Incoming::Failed { .. }) {
            self.open = None;
        }
        Poll::Ready(incoming)
    }

    fn abort(&mut self, id: RequestId) {
        self.open.take_if(|(open, ..)| *open == id);
    }
}
