//! One request and its answer.

use super::answer::Answer;
use super::connection::Connection;
use super::outgoing::OutgoingRequest;
use super::pipe::{self, Piece, Receiver, Sender};
use crate::server::{Permit, Server};
use listwatch_core::transport::{TransportError, TransportErrorKind};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::thread;

/// A TLS handshake takes up to 48 KiB of it, and up to 128 KiB where nothing is optimised; what is not touched costs
/// nothing.
const STACK: usize = 256 * 1024;

/// A request under way, read by a thread of its own. Its [`Connection`] is what ends it early.
#[derive(Debug)]
pub(crate) struct Exchange(Receiver);

impl Exchange {
    /// Sends a request.
    pub(crate) fn start(server: &Arc<Server>, line: &Arc<Connection>, asked: OutgoingRequest) -> Self {
        let Some(permit) = server.admit() else {
            let limit = server.limits().max_requests;
            let detail = format!("{limit} requests are open already: raise ClusterOptions::max_requests");
            return Self::failed(TransportError::new(TransportErrorKind::Exhausted, detail));
        };
        let (sender, answer) = pipe::new();
        let job = Job { server: server.clone(), line: line.clone(), asked, _permit: permit };
        let worker = move || {
            let end = job.receive(&sender);
            // Who hears the end may open the next request: there has to be room for it.
            drop(job);
            sender.end(end);
        };
        match thread::Builder::new().name("listwatch-http".into()).stack_size(STACK).spawn(worker) {
            Ok(_) => Self(answer),
            Err(error) => {
                let detail = format!("there is no thread for it: {error}");
                Self::failed(TransportError::new(TransportErrorKind::Exhausted, detail))
            }
        }
    }

    /// One that could not be sent.
    fn failed(error: TransportError) -> Self {
        let (sender, answer) = pipe::new();
        sender.end(Err(error));
        Self(answer)
    }

    pub(crate) fn poll(&self, cx: &Context<'_>, buf: &mut [u8]) -> Poll<Piece> {
        self.0.poll(cx, buf)
    }
}

/// What the thread does.
struct Job {
    server: Arc<Server>,
    line: Arc<Connection>,
    asked: OutgoingRequest,
    _permit: Permit,
}

impl Job {
    /// Reads the whole answer into the pipe, as fast as it is taken out there.
    fn receive(&self, sender: &Sender) -> Result<(), TransportError> {
        let answer = Answer::ask(&self.line, &self.server, &self.asked)?;
        sender.head(answer.head.clone());
        // The pipe has another such buffer.
        let (mut pieces, mut chunk) = (answer.pieces()?, Vec::new());
        loop {
            // Nothing is read behind an error: there ureq reports a proper end.
            let read = pieces.read(&mut chunk);
            if !chunk.is_empty() && !sender.data(&mut chunk) || !matches!(read, Ok(1..)) {
                return read.map(drop);
            }
        }
    }
}
