use super::answer::{Answer, Pieces};
use super::connection::Connection;
use super::outgoing::OutgoingRequest;
use super::pipe::{self, Piece, Receiver, Sender};
use super::polled::{PolledBody, UnreadBody};
use crate::permits::{Claim, Entry, Permit, Permits};
use crate::reactor::Reactor;
use crate::server::Server;
use listwatch_core::transport::{TransportError, TransportErrorKind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::thread;

/// The stack of a thread, in bytes. A TLS handshake takes up to 48 KiB of it, and 128 KiB without optimisation.
/// Untouched stack takes no memory.
const STACK: usize = 256 * 1024;

/// A request whose response is read by its own thread, or by the task. To end it early, close its [`Connection`].
#[derive(Debug)]
pub(crate) struct Exchange {
    state: State,
    warnings: Arc<Mutex<Vec<String>>>,
}

#[derive(Debug)]
enum State {
    /// A thread sends the request, and reads. Before, it may wait until one more may be open.
    Piped { answer: Receiver, unread: Arc<Unread>, claim: Option<Claim> },
    /// The task reads the body.
    Polled(Box<PolledBody>),
}

/// The body that a thread leaves for the task. It is there before the pipe ends.
#[derive(Debug, Default)]
struct Unread(Mutex<Option<UnreadBody>>);

impl Exchange {
    /// Sends a request. With a reactor, the task reads the body, unless it has to be decompressed or redacted.
    pub(crate) fn start(
        server: &Arc<Server>,
        permits: &Arc<Permits>,
        connection: &Arc<Connection>,
        request: OutgoingRequest,
        reactor: Option<Arc<dyn Reactor>>,
    ) -> Self {
        let (entry, claim) = match permits.enter() {
            Ok(entered) => entered,
            Err(full) => return Self::failed(full),
        };
        let ((sender, answer), unread) = (pipe::new(), Arc::<Unread>::default());
        let (server, connection) = (server.clone(), connection.clone());
        let warnings = Arc::<Mutex<Vec<String>>>::default();
        let (left, warned) = (unread.clone(), warnings.clone());
        let job = Job { server, connection, request, reactor, unread: left, warnings: warned };
        let worker = move || {
            // The caller may open its next request when it sees the end: the limit must have room by then.
            let end = admitted(entry, &sender).and_then(|permit| job.receive(&sender, permit));
            sender.end(end);
        };
        match thread::Builder::new().name("listwatch-http".into()).stack_size(STACK).spawn(worker) {
            Ok(_) => Self { state: State::Piped { answer, unread, claim }, warnings },
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
        Self { state: State::Piped { answer, unread: Arc::default(), claim: None }, warnings: Arc::default() }
    }

    /// What the request waits for before it is sent, while it does.
    pub(crate) fn waits_for(&self) -> Option<String> {
        match &self.state {
            State::Piped { claim, .. } => claim.as_ref()?.waits_for(),
            State::Polled(_) => None,
        }
    }

    /// What the server warns of, once the head of the response was polled.
    pub(crate) fn take_warnings(&self) -> Vec<String> {
        std::mem::take(&mut *self.warnings.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn poll(&mut self, cx: &mut Context<'_>, buf: &mut [u8]) -> Poll<Piece> {
        loop {
            let (answer, unread) = match &mut self.state {
                State::Polled(body) => return body.poll(cx, buf),
                State::Piped { answer, unread, .. } => (answer, unread),
            };
            let piece = ready!(answer.poll(cx, buf));
            let body = if let Piece::End(Ok(())) = piece { unread.lock().take() } else { None };
            let Some(body) = body else { return Poll::Ready(piece) };
            match body.register() {
                Ok(body) => self.state = State::Polled(Box::new(body)),
                Err(error) => return Poll::Ready(Piece::End(Err(error))),
            }
        }
    }
}

impl Unread {
    fn lock(&self) -> MutexGuard<'_, Option<UnreadBody>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The work of the thread.
struct Job {
    server: Arc<Server>,
    connection: Arc<Connection>,
    request: OutgoingRequest,
    reactor: Option<Arc<dyn Reactor>>,
    unread: Arc<Unread>,
    warnings: Arc<Mutex<Vec<String>>>,
}

impl Job {
    /// Reads the head of the response, and the body unless the task can.
    fn receive(self, sender: &Sender, permit: Permit) -> Result<(), TransportError> {
        let answer = Answer::ask(&self.connection, &self.server, &self.request)?;
        self.warnings.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&answer.warnings);
        sender.head(answer.head.clone());
        let pieces = answer.pieces()?;
        let waits = self.reactor.filter(|_| pieces.is_plain()).zip(self.connection.wire());
        let Some((reactor, wire)) = waits else { return pump(pieces, sender) };
        let (content, idle) = (pieces.into_content(), self.request.idle());
        *self.unread.lock() = Some(UnreadBody { content, wire, reactor, idle, permit });
        Ok(())
    }
}

/// Waits until the request may be sent. Its task hears of it.
fn admitted(entry: Entry, sender: &Sender) -> Result<Permit, TransportError> {
    match entry {
        Entry::Admitted(permit) => Ok(permit),
        Entry::Waits(wait) => wait.wait().inspect(|_| sender.wake()),
    }
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
