use super::answer::{Answer, Pieces};
use super::connection::Connection;
use super::outgoing::OutgoingRequest;
use super::pipe::{self, Piece, Receiver, Sender};
use super::polled::{PolledBody, UnreadBody};
use crate::lock::Lock;
use crate::permits::{Permit, Permits, Ticket};
use crate::reactor::Reactor;
use crate::server::Server;
use listwatch_core::transport::{TransportError, TransportErrorKind};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::thread;

/// The stack of a thread, in bytes. A TLS handshake takes up to 48 KiB of it, and 128 KiB without optimisation.
/// Untouched stack takes no memory.
const STACK: usize = 256 * 1024;

/// A request whose response is read by its own thread, or by the task. To end it early, close its [`Connection`].
#[derive(Debug)]
pub(crate) struct Exchange {
    server: Arc<Server>,
    reader: Reader,
    warnings: Arc<Lock<Vec<String>>>,
}

#[derive(Debug)]
enum Reader {
    /// A thread sends the request, and reads. Until the head has come, it may wait for its turn or for a credential.
    Thread { answer: Receiver, unread: Arc<Unread>, ticket: Option<Arc<Ticket>> },
    /// The task reads the body.
    Task(Box<PolledBody>),
}

/// The body that a thread leaves for the task. It is there before the pipe ends.
#[derive(Debug, Default)]
struct Unread(Lock<Option<UnreadBody>>);

impl Exchange {
    /// Sends a request. With a reactor, the task reads the body, unless it has to be decompressed or redacted.
    pub(crate) fn start(
        server: &Arc<Server>,
        permits: &Arc<Permits>,
        connection: &Arc<Connection>,
        request: OutgoingRequest,
        reactor: Option<Arc<dyn Reactor>>,
    ) -> Self {
        let ticket = match permits.enter() {
            Ok(ticket) => ticket,
            Err(full) => return Self::failed(server, full),
        };
        let ((sender, answer), unread) = (pipe::new(), Arc::<Unread>::default());
        let warnings = Arc::<Lock<Vec<String>>>::default();
        let (left, warned, place) = (unread.clone(), warnings.clone(), ticket.clone());
        let (job_server, connection) = (server.clone(), connection.clone());
        let job = Job { server: job_server, connection, request, reactor, unread: left, warnings: warned };
        let worker = move || {
            // The caller may open its next request when it sees the end: the limit must have room by then.
            let end = admitted(&place, &sender).and_then(|permit| job.receive(&sender, permit));
            sender.end(end);
        };
        match thread::Builder::new().name("listwatch-http".into()).stack_size(STACK).spawn(worker) {
            Ok(_) => {
                let reader = Reader::Thread { answer, unread, ticket: Some(ticket) };
                Self { server: server.clone(), reader, warnings }
            }
            Err(error) => {
                let detail = format!("no thread can be started: {error}");
                Self::failed(server, TransportError::new(TransportErrorKind::Exhausted, detail))
            }
        }
    }

    /// An exchange that failed before it was sent.
    fn failed(server: &Arc<Server>, error: TransportError) -> Self {
        let (sender, answer) = pipe::new();
        sender.end(Err(error));
        let reader = Reader::Thread { answer, unread: Arc::default(), ticket: None };
        Self { server: server.clone(), reader, warnings: Arc::default() }
    }

    /// What the request waits for before it is sent, while it does.
    pub(crate) fn waits_for(&self) -> Option<String> {
        let Reader::Thread { ticket: Some(ticket), .. } = &self.reader else { return None };
        ticket.waits_for().or_else(|| self.server.waits_for())
    }

    /// What the server warns of, once the head of the response was polled.
    pub(crate) fn take_warnings(&self) -> Vec<String> {
        std::mem::take(&mut *self.warnings.lock())
    }

    pub(crate) fn poll(&mut self, cx: &mut Context<'_>, buf: &mut [u8]) -> Poll<Piece> {
        loop {
            let (answer, unread, ticket) = match &mut self.reader {
                Reader::Task(body) => return body.poll(cx, buf),
                Reader::Thread { answer, unread, ticket } => (answer, unread, ticket),
            };
            let piece = ready!(answer.poll(cx, buf));
            *ticket = None;
            let body = if let Piece::End(Ok(())) = piece { unread.0.lock().take() } else { None };
            let Some(body) = body else { return Poll::Ready(piece) };
            match body.register() {
                Ok(body) => self.reader = Reader::Task(Box::new(body)),
                Err(error) => return Poll::Ready(Piece::End(Err(error))),
            }
        }
    }
}

/// A request that is given up leaves the queue.
impl Drop for Exchange {
    fn drop(&mut self) {
        if let Reader::Thread { ticket: Some(ticket), .. } = &self.reader {
            ticket.leave();
        }
    }
}

impl Unread {}

/// The work of the thread.
struct Job {
    server: Arc<Server>,
    connection: Arc<Connection>,
    request: OutgoingRequest,
    reactor: Option<Arc<dyn Reactor>>,
    unread: Arc<Unread>,
    warnings: Arc<Lock<Vec<String>>>,
}

impl Job {
    /// Reads the head of the response, and the body unless the task can.
    fn receive(self, sender: &Sender, permit: Permit) -> Result<(), TransportError> {
        let answer = Answer::ask(&self.connection, &self.server, &self.request)?;
        self.warnings.lock().clone_from(&answer.warnings);
        sender.head(answer.head.clone());
        let pieces = answer.pieces()?;
        let waits = self.reactor.filter(|_| pieces.is_plain()).zip(self.connection.wire());
        let Some((reactor, wire)) = waits else { return pump(pieces, sender) };
        let (content, idle) = (pieces.into_content(), self.request.idle());
        *self.unread.0.lock() = Some(UnreadBody { content, wire, reactor, idle, permit });
        Ok(())
    }
}

/// Waits until the request may be sent. Its task hears of it.
fn admitted(ticket: &Ticket, sender: &Sender) -> Result<Permit, TransportError> {
    let waits = ticket.waits_for().is_some();
    let permit = ticket.wait()?;
    if waits {
        sender.wake();
    }
    Ok(permit)
}

/// Reads the whole body into the pipe, as fast as the caller takes it out.
fn pump(mut pieces: Pieces, sender: &Sender) -> Result<(), TransportError> {
    let mut chunk = Vec::new();
    loop {
        // After an error, ureq would report a proper end.
        let read = pieces.read(&mut chunk);
        if !chunk.is_empty() && !sender.data(&mut chunk) || !matches!(read, Ok(1..)) {
            return read.map(drop);
        }
    }
}
