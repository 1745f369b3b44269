//! One request and its answer.

use super::body::Content;
use super::pipe::{self, Piece, Receiver, Sender};
use super::{Asked, Line, error, head};
use crate::server::{Permit, Server};
use listwatch_core::{TransportError, TransportErrorKind};
use std::io::Read;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::thread;

/// A TLS handshake takes up to 48 KiB of it, and up to 128 KiB where nothing is optimised; what is not touched costs
/// nothing.
const STACK: usize = 256 * 1024;

/// How much is handed over at once. There are two such buffers for each request.
const CHUNK: usize = 8 * 1024;

/// A request under way, read by a thread of its own. Its [`Line`] is what ends it early.
#[derive(Debug)]
pub(crate) struct Exchange(Receiver);

impl Exchange {
    /// Sends a request.
    pub(crate) fn start(server: &Arc<Server>, line: &Arc<Line>, asked: Asked) -> Self {
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
    line: Arc<Line>,
    asked: Asked,
    _permit: Permit,
}

impl Job {
    /// Reads the whole answer into the pipe, as fast as it is taken out there.
    fn receive(&self, sender: &Sender) -> Result<(), TransportError> {
        let (response, redactor) = self.line.ask(&self.server, &self.asked.call())?;
        error::redirection(&response).map_err(|error| redactor.error(error))?;
        let head = redactor.head(head::of(&response));
        let mut redacting = redactor.of_answer(&head);
        sender.head(head);
        let mut content = Content::of(response)?;
        let mut chunk = vec![0; CHUNK];
        loop {
            // Nothing is read behind an error: there ureq reports a proper end.
            let read = content.read(&mut chunk).map_err(|cause| error::of(&cause.into()));
            let len = *read.as_ref().unwrap_or(&0);
            chunk.truncate(len);
            if let Some(redacting) = &mut redacting {
                redacting.pass(&mut chunk);
            }
            if !chunk.is_empty() && !sender.data(&mut chunk) || len == 0 {
                return read.map(drop);
            }
            chunk.resize(CHUNK, 0);
        }
    }
}
