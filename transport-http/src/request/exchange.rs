use super::answer::Answer;
use super::connection::Connection;
use super::outgoing::OutgoingRequest;
use super::pipe::{self, Piece, Receiver, Sender};
use crate::server::{Permit, Server};
use listwatch_core::transport::{TransportError, TransportErrorKind};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::thread;

/// The stack of a thread, in bytes. A TLS handshake takes up to 48 KiB of it, and 128 KiB without optimisation.
/// Untouched stack takes no memory.
const STACK: usize = 256 * 1024;

/// A request whose response is read by its own thread. To end it early, close its [`Connection`].
#[derive(Debug)]
pub(crate) struct Exchange(Receiver);

impl Exchange {
    /// Sends a request.
    pub(crate) fn start(server: &Arc<Server>, connection: &Arc<Connection>, request: OutgoingRequest) -> Self {
        let Some(permit) = server.admit() else {
            let limit = server.limits().max_requests;
            let detail = format!("{limit} requests are open already: raise ClusterOptions::max_requests");
            return Self::failed(TransportError::new(TransportErrorKind::Exhausted, detail));
        };
        let (sender, answer) = pipe::new();
        let job = Job { server: server.clone(), connection: connection.clone(), request, _permit: permit };
        let worker = move || {
            let end = job.receive(&sender);
            // The caller may open its next request when it sees the end: the limit must have room by then.
            drop(job);
            sender.end(end);
        };
        match thread::Builder::new().name("listwatch-http".into()).stack_size(STACK).spawn(worker) {
            Ok(_) => Self(answer),
            Err(error) => {
                let detail = format!("no thread can be started: {error}");
                Self::failed(TransportError::new(TransportErrorKind::Exhausted, detail))
            }
        }
    }

    /// An exchange that failed before it was sent.
    fn failed(error: TransportError) -> Self {
        let (sender, answer) = pipe::new();
        sender.end(Err(error));
        Self(answer)
    }

    pub(crate) fn poll(&mut self, cx: &Context<'_>, buf: &mut [u8]) -> Poll<Piece> {
        self.0.poll(cx, buf)
    }
}

/// The work of the thread.
struct Job {
    server: Arc<Server>,
    connection: Arc<Connection>,
    request: OutgoingRequest,
    _permit: Permit,
}

impl Job {
    /// Reads the whole response into the pipe, as fast as the caller takes it out.
    fn receive(&self, sender: &Sender) -> Result<(), TransportError> {
        let answer = Answer::ask(&self.connection, &self.server, &self.request)?;
        sender.head(answer.head.clone());
        let (mut pieces, mut chunk) = (answer.pieces()?, Vec::new());
        loop {
            // After an error, ureq would report a proper end.
            let read = pieces.read(&mut chunk);
            if !chunk.is_empty() && !sender.data(&mut chunk) || !matches!(read, Ok(1..)) {
                return read.map(drop);
            }
        }
    }
}
