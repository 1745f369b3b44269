//! Requests whose responses are read by threads of their own.

use super::connection::Connection;
use super::outgoing::OutgoingRequest;
use super::pipe::{self, Piece, Receiver, Sender};
use super::polled::UnreadBody;
use super::response::Answer;
use crate::permits::{Permit, Permits};
use crate::reactor::Reactor;
use crate::server::Server;
use listwatch_core::transport::{TransportError, TransportErrorKind};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, ready};
use std::thread;

/// The stack of a thread, in bytes. A TLS handshake takes up to 48 KiB of it, and 128 KiB without optimisation.
/// Untouched stack takes no memory.
const STACK: usize = 256 * 1024;

/// A request that a thread sends, once the limit of open requests allows it. It ends with a `T`. To end it early, close
/// its [`Connection`].
pub(crate) struct Pending<T> {
    answer: Receiver<T>,
    /// Its place among the requests, until the thread delivers something.
    permit: Weak<Permit>,
}

impl<T: Send + 'static> Pending<T> {
    /// Starts the thread.
    pub(crate) fn start(
        permits: &Arc<Permits>,
        work: impl FnOnce(&Sender<T>, Arc<Permit>) -> Result<T, TransportError> + Send + 'static,
    ) -> Self {
        let started = permits.enter().and_then(|permit| {
            let ((sender, answer), place) = (pipe::new(), Arc::downgrade(&permit));
            let worker = move || {
                // The caller may open its next request when it sees the end: the limit must have room by then.
                let end = admitted(&permit, &sender).and_then(|()| work(&sender, permit));
                sender.end(end);
            };
            let thread = thread::Builder::new().name("listwatch-http".into()).stack_size(STACK).spawn(worker);
            thread.map(|_| Self { answer, permit: place }).map_err(|error| {
                TransportError::new(TransportErrorKind::Exhausted, format!("no thread can be started: {error}"))
            })
        });
        started.unwrap_or_else(Self::failed)
    }

    /// A request that failed before it was sent.
    pub(crate) fn failed(error: TransportError) -> Self {
        let (sender, answer) = pipe::new();
        sender.end(Err(error));
        Self { answer, permit: Weak::new() }
    }

    /// What the request waits for before it is sent, while it does.
    pub(crate) fn waits_for(&self, server: &Server) -> Option<String> {
        self.permit.upgrade()?.waits_for().or_else(|| server.auth.waits_for())
    }

    pub(crate) fn poll(&mut self, cx: &Context<'_>, buf: &mut [u8]) -> Poll<Piece<T>> {
        let piece = ready!(self.answer.poll(cx, buf));
        self.permit = Weak::new();
        Poll::Ready(piece)
    }
}

/// A request that is given up leaves the queue.
impl<T> Drop for Pending<T> {
    fn drop(&mut self) {
        if let Some(permit) = self.permit.upgrade() {
            permit.leave();
        }
    }
}

/// Waits until the request may be sent. Its task hears of it.
fn admitted<T>(permit: &Permit, sender: &Sender<T>) -> Result<(), TransportError> {
    let waits = permit.waits_for().is_some();
    permit.wait()?;
    if waits {
        sender.wake();
    }
    Ok(())
}

/// Sends a request for a list or a watch, and reads the response. With a reactor, the body is left for the task, unless it
/// has to be decompressed or redacted.
pub(crate) fn stream(
    server: &Arc<Server>,
    connection: &Arc<Connection>,
    permits: &Arc<Permits>,
    request: OutgoingRequest,
    reactor: Option<Arc<dyn Reactor>>,
) -> Pending<Option<UnreadBody>> {
    let (server, connection) = (server.clone(), connection.clone());
    Pending::start(permits, move |sender, permit| {
        let answer = Answer::ask(&connection, &server, &request)?;
        sender.head(answer.head.clone(), answer.warnings.clone());
        let mut pieces = answer.pieces()?;
        if let Some(reactor) = reactor.filter(|_| pieces.is_plain()) {
            let idle = request.idle;
            return Ok(pieces.into_plain().map(|body| UnreadBody { body, reactor, idle, permit }));
        }
        // As fast as the caller takes it out of the pipe. After an error there is no further piece.
        let mut chunk = Vec::new();
        loop {
            let read = pieces.read(&mut chunk);
            if !chunk.is_empty() && !sender.data(std::mem::take(&mut chunk)) || !matches!(read, Ok(1..)) {
                return read.map(|_| None);
            }
        }
    })
}
