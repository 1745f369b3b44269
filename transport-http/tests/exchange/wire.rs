//! A connection in memory, with a clock of its own, and an informer in fixed memory that reads it.

use core::future::{Future, poll_fn};
use core::pin::pin;
use core::task::{Context, Poll, Waker};
use embedded_io::{ErrorKind, ErrorType, Read, Write};
use listwatch_core::informer::{DriverIn, EventOf, FixedInformer, Pumped};
use listwatch_core::projection::{Projected, Text};
use listwatch_core::request::{Request, RequestId};
use listwatch_core::transport::{Incoming, ReadContext};
use listwatch_core::{InformerConfig, Instant, ListerWatcher, Resource, projection};
use listwatch_transport_http::exchange::{AsyncConnection, AsyncHttpSource, Connection, Endpoint, HttpSource};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

projection! {
    pub(crate) struct Pod { node: Text<16> = "spec.nodeName" }
}

/// What the server sends for a request, and what it does then.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) bytes: Vec<u8>,
    pub(crate) then: Then,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Then {
    /// It waits for the next request.
    Wait,
    Close,
    /// It sends this again and again.
    Repeat(&'static [u8]),
}

/// A server that sends a piece of an answer for each read.
#[derive(Clone)]
pub(crate) struct Wire {
    answers: VecDeque<Answer>,
    /// The bytes of a piece.
    piece: usize,
    /// The time before each piece.
    pace: Duration,
    pub(crate) seen: Rc<Seen>,
    now: Rc<Cell<Instant>>,
    waited: Duration,
    max_wait: Option<Duration>,
    request: Vec<u8>,
    unread: VecDeque<u8>,
    then: Then,
    is_connected: bool,
}

/// What the server saw.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) requests: RefCell<Vec<String>>,
    pub(crate) connected: Cell<usize>,
    pub(crate) closed: Cell<usize>,
    pub(crate) reads: Cell<usize>,
}

pub(crate) fn answer(bytes: impl AsRef<[u8]>, then: Then) -> Answer {
    Answer { bytes: bytes.as_ref().to_vec(), then }
}

impl Wire {
    pub(crate) fn new(answers: &[Answer]) -> Self {
        Self {
            answers: answers.iter().cloned().collect(),
            piece: usize::MAX,
            pace: Duration::ZERO,
            seen: Rc::default(),
            now: Rc::new(Cell::new(Instant::ZERO)),
            waited: Duration::ZERO,
            max_wait: None,
            request: Vec::new(),
            unread: VecDeque::new(),
            then: Then::Wait,
            is_connected: false,
        }
    }

    /// The same with so many bytes in a piece.
    pub(crate) fn in_pieces(self, piece: usize) -> Self {
        Self { piece, ..self }
    }

    /// The same with so much time before each piece.
    pub(crate) fn each(self, pace: Duration) -> Self {
        Self { pace, ..self }
    }

    /// The same server for another client, which has seen nothing yet.
    fn again(&self) -> Self {
        Self { seen: Rc::default(), now: Rc::default(), ..self.clone() }
    }

    /// Lets time pass, as long as the caller waits.
    fn wait(&self, time: Duration) -> Result<(), ErrorKind> {
        let waits = self.max_wait.map_or(time, |most| most.min(time));
        self.now.set(self.now.get() + waits);
        if waits < time { Err(ErrorKind::TimedOut) } else { Ok(()) }
    }

    fn begin(&mut self) -> Result<(), ErrorKind> {
        assert!(!self.is_connected, "it is connected");
        (self.is_connected, self.then) = (true, Then::Wait);
        self.seen.connected.set(self.seen.connected.get() + 1);
        self.request.clear();
        Ok(())
    }

    fn end(&mut self) {
        if std::mem::take(&mut self.is_connected) {
            self.seen.closed.set(self.seen.closed.get() + 1);
        }
        self.unread.clear();
    }

    fn take(&mut self, buf: &mut [u8]) -> Result<usize, ErrorKind> {
        assert!(self.is_connected, "it is not connected");
        self.seen.reads.set(self.seen.reads.get() + 1);
        if let Then::Repeat(bytes) = self.then {
            while self.unread.len() < 4096 {
                self.unread.extend(bytes);
            }
        }
        match self.then {
            Then::Close if self.unread.is_empty() => return Ok(0),
            Then::Wait if self.unread.is_empty() => {
                self.wait(Duration::MAX)?;
            }
            _ => {}
        }
        let before = self.now.get();
        let waited = self.wait(self.pace - self.waited);
        self.waited += self.now.get().saturating_since(before);
        waited?;
        self.waited = Duration::ZERO;
        let len = buf.len().min(self.piece).min(self.unread.len());
        buf.iter_mut().zip(self.unread.drain(..len)).for_each(|(place, byte)| *place = byte);
        Ok(len)
    }

    fn put(&mut self, buf: &[u8]) -> usize {
        assert!(self.is_connected, "it is not connected");
        let len = buf.len().min(self.piece);
        self.request.extend_from_slice(&buf[..len]);
        if self.request.ends_with(b"\r\n\r\n") {
            let request = String::from_utf8(std::mem::take(&mut self.request)).unwrap();
            self.seen.requests.borrow_mut().push(request);
            if let Some(Answer { bytes, then }) = self.answers.pop_front() {
                self.unread.extend(bytes);
                self.then = then;
            }
        }
        len
    }
}

impl ErrorType for Wire {
    type Error = ErrorKind;
}

impl Read for Wire {
    fn read(&mut self, buf: &mut [u8]) -> Result<usize, ErrorKind> {
        self.take(buf)
    }
}

impl Write for Wire {
    fn write(&mut self, buf: &[u8]) -> Result<usize, ErrorKind> {
        Ok(self.put(buf))
    }

    fn flush(&mut self) -> Result<(), ErrorKind> {
        Ok(())
    }
}

impl Connection for Wire {
    fn connect(&mut self) -> Result<(), ErrorKind> {
        self.begin()
    }

    fn close(&mut self) {
        self.end();
    }

    fn set_max_wait(&mut self, max_wait: Option<Duration>) {
        self.max_wait = max_wait;
    }
}

/// The same in a task, where a read that would last is pending.
struct AsyncWire {
    wire: Wire,
    /// When the timer of the task is due.
    due: Option<Instant>,
}

impl AsyncWire {
    fn new(wire: Wire) -> Self {
        Self { wire, due: None }
    }
}

impl ErrorType for AsyncWire {
    type Error = ErrorKind;
}

impl embedded_io_async::Read for AsyncWire {
    async fn read(&mut self, buf: &mut [u8]) -> Result<usize, ErrorKind> {
        poll_fn(|_| {
            self.wire.max_wait = self.due.map(|due| due.saturating_since(self.wire.now.get()));
            match self.wire.take(buf) {
                Err(ErrorKind::TimedOut) => Poll::Pending,
                read => Poll::Ready(read),
            }
        })
        .await
    }
}

impl embedded_io_async::Write for AsyncWire {
    async fn write(&mut self, buf: &[u8]) -> Result<usize, ErrorKind> {
        Ok(self.wire.put(buf))
    }

    async fn flush(&mut self) -> Result<(), ErrorKind> {
        Ok(())
    }
}

impl AsyncConnection for AsyncWire {
    async fn connect(&mut self) -> Result<(), ErrorKind> {
        self.wire.begin()
    }

    fn close(&mut self) {
        self.wire.end();
    }
}

/// A task that drops its read whenever its timer is due.
struct Task<const N: usize>(AsyncHttpSource<'static, AsyncWire, N>);

impl<const N: usize> ListerWatcher for Task<N> {
    fn open(&mut self, id: RequestId, request: &Request) {
        self.0.open(id, request);
    }

    fn poll_read(&mut self, context: ReadContext<'_, '_>, buf: &mut [u8]) -> Poll<Incoming> {
        let wire = self.0.connection_mut();
        let before = wire.wire.now.get();
        wire.due = context.max_wait.map(|wait| before + wait);
        let polled = pin!(self.0.read(buf)).poll(context.cx);
        // A read that is pending let the time of the timer pass.
        let has_waited = self.0.connection().wire.now.get() > before;
        let until = Some(context.now).filter(|_| has_waited);
        Poll::Ready(if let Poll::Ready(incoming) = polled { incoming } else { Incoming::Idle { until } })
    }

    fn abort(&mut self, id: RequestId) {
        self.0.abort(id);
    }
}

const ENDPOINT: Endpoint<'_> = Endpoint::new("10.0.0.1:6443").with_token("t0ken");

/// The first `count` events of an informer in fixed memory.
pub(crate) fn tell(wire: &Wire, config: InformerConfig, count: usize) -> Vec<String> {
    tell_until(wire, config, |told| told.len() == count)
}

/// The first failure of an informer in fixed memory.
pub(crate) fn fail(wire: &Wire, config: InformerConfig) -> String {
    let is_failure = |told: &[String]| told.last().is_some_and(|last| last.contains(", again in "));
    tell_until(wire, config, is_failure).pop().unwrap()
}

/// The events of an informer in fixed memory: one that blocks, with buffers of 512 bytes and of one, and one in a task. All
/// have to be the same. What the server saw is that of the first one.
fn tell_until(wire: &Wire, config: InformerConfig, enough: impl Fn(&[String]) -> bool) -> Vec<String> {
    let blocking = follow(HttpSource::<_, 512>::new(ENDPOINT, wire.clone()), wire, config, &enough);
    let other = wire.again();
    let small = follow(HttpSource::<_, 1>::new(ENDPOINT, other.clone()), &other, config, &enough);
    let other = wire.again();
    let task = Task(AsyncHttpSource::<_, 64>::new(ENDPOINT, AsyncWire::new(other.clone())));
    let task = follow(task, &other, config, &enough);
    assert_eq!(small, blocking, "a buffer of one byte");
    assert_eq!(task, blocking, "a task");
    assert_eq!(*other.seen.requests.borrow(), *wire.seen.requests.borrow());
    assert_eq!(other.seen.connected, wire.seen.connected);
    assert_eq!(other.seen.closed, wire.seen.closed);
    blocking
}

fn follow<L: ListerWatcher>(
    source: L,
    wire: &Wire,
    config: InformerConfig,
    enough: impl Fn(&[String]) -> bool,
) -> Vec<String> {
    const PODS: Resource = Resource::constant("/api/v1/pods", "", "");
    let informer = FixedInformer::<Pod, 8>::fixed(PODS, config);
    let (mut driver, mut told) = (DriverIn::new(informer, source), Vec::new());
    driver.informer_mut().start(wire.now.get());
    for _ in 0..200_000 {
        let pumped = driver.pump(wire.now.get(), &mut Context::from_waker(Waker::noop()));
        while let Some(event) = driver.informer_mut().poll_event() {
            told.push(shown(&event));
            if enough(&told) {
                return told;
            }
        }
        if pumped == Pumped::Waiting {
            wire.now.set(driver.poll_timeout().expect("something is due").max(wire.now.get()));
        }
    }
    panic!("no end after {told:?}")
}

fn shown(event: &EventOf<Projected<Pod, 128>>) -> String {
    match event {
        EventOf::Added { object, .. } => format!("{} on {}", object.key(), object.value.node.as_str()),
        EventOf::Updated { new, .. } => format!("{} now on {}", new.key(), new.value.node.as_str()),
        EventOf::Deleted { object, .. } => format!("{} gone", object.key()),
        EventOf::Failed(report) => {
            format!("{}: {}, again in {} s", report.operation, report.failure, report.retry_in.as_secs())
        }
        event => format!("{event:?}"),
    }
}
