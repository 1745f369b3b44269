//! Captures as the bytes of HTTP/1.1, through the transport that firmware uses.

use crate::captures::expected::captures;
use crate::captures::play::{Case, Drain, Plays, Speed, play_through};
use core::task::{Context, Poll, Waker};
use embedded_io::{ErrorKind, ErrorType, Read, Write};
use listwatch_core::decode::MetadataOnly;
use listwatch_core::fifo::Order;
use listwatch_core::request::{Query, Request, RequestId};
use listwatch_core::transport::{Incoming, ReadContext, ResponseHead};
use listwatch_core::{Instant, ListerWatcher};
use listwatch_transport_file::{Chunks, Playback};
use listwatch_transport_http::exchange::{Connection, Endpoint, HttpSource};
use std::collections::VecDeque;

/// What ends a body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Frame {
    Counted,
    Chunked,
    UntilClose,
}

/// How the answer to the request of this number is framed.
pub(crate) type Framing = fn(usize, Query) -> Frame;

/// Reads a playback over HTTP.
pub(crate) struct Wired<const N: usize>(HttpSource<'static, Server, N>);

/// A connection in memory, and behind it a server that answers by a playback.
struct Server {
    playback: Playback,
    /// The most bytes of one read.
    piece: usize,
    framing: Framing,
    now: Instant,
    /// The request that is due.
    asked: Option<(RequestId, Request)>,
    /// How many requests came.
    requests: usize,
    request: Vec<u8>,
    /// What was answered, and not read.
    answer: VecDeque<u8>,
    frame: Frame,
    /// What a counted body holds so far.
    counted: Vec<u8>,
    /// How the answer ends behind that: the connection breaks, or is closed.
    end: Option<Result<(), ErrorKind>>,
    /// When the playback goes on, if that is what it waits for.
    idle: Option<Option<Instant>>,
    is_connected: bool,
}

impl<const N: usize> Wired<N> {
    pub(crate) fn new(playback: Playback, piece: usize, framing: Framing) -> Self {
        let server = Server {
            playback,
            piece,
            framing,
            now: Instant::ZERO,
            asked: None,
            requests: 0,
            request: Vec::new(),
            answer: VecDeque::new(),
            frame: Frame::Chunked,
            counted: Vec::new(),
            end: None,
            idle: None,
            is_connected: false,
        };
        Self(HttpSource::new(Endpoint::new("a"), server))
    }
}

impl Server {
    /// Takes the next part of the answer from the playback, and sends it; false if the playback waits.
    fn serve(&mut self) -> bool {
        let (mut buf, mut cx) = ([0; 5000], Context::from_waker(Waker::noop()));
        match self.playback.poll_read(ReadContext { cx: &mut cx, now: self.now, max_wait: None }, &mut buf) {
            Poll::Ready(Incoming::Head { head, .. }) => self.begin(&head),
            Poll::Ready(Incoming::Data { len, .. }) => self.send(&buf[..len]),
            Poll::Ready(Incoming::End { .. }) => self.finish(0),
            Poll::Ready(Incoming::Failed { .. }) if self.answer.is_empty() && self.counted.is_empty() => {
                self.end = Some(Err(ErrorKind::ConnectionRefused));
            }
            Poll::Ready(Incoming::Failed { .. }) => {
                self.finish(1);
                self.end = Some(Err(ErrorKind::ConnectionReset));
            }
            Poll::Ready(Incoming::Idle { until }) => {
                self.idle = Some(until);
                return false;
            }
            Poll::Pending => panic!("a playback is never pending"),
        }
        true
    }

    fn begin(&mut self, head: &ResponseHead) {
        self.say(&format!("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 {} Some Reason\r\n", head.status));
        self.say(&format!("Audit-Id: {}\r\n", "x".repeat(300)));
        if let Some(content_type) = &head.content_type {
            self.say(&format!("Content-Type: {content_type}; x=y\r\n"));
        }
        if let Some(wait) = head.retry_after {
            self.say(&format!("Retry-After: {}\r\n", wait.as_secs()));
        }
        match self.frame {
            Frame::Counted => {}
            Frame::Chunked => self.say("Transfer-Encoding: chunked\r\n\r\n"),
            Frame::UntilClose => self.say("\r\n"),
        }
    }

    fn send(&mut self, data: &[u8]) {
        match self.frame {
            Frame::Counted => self.counted.extend_from_slice(data),
            Frame::Chunked => {
                self.say(&format!("{:X};x=y\r\n", data.len()));
                self.answer.extend(data);
                self.say("\r\n");
            }
            Frame::UntilClose => self.answer.extend(data),
        }
    }

    /// Ends the body, of which so many bytes are missing.
    fn finish(&mut self, missing: usize) {
        match self.frame {
            Frame::Counted => {
                let body = std::mem::take(&mut self.counted);
                self.say(&format!("Content-Length: {}\r\n\r\n", body.len() + missing));
                self.answer.extend(body);
            }
            Frame::Chunked if missing == 0 => self.say("0\r\nX: y\r\n\r\n"),
            Frame::Chunked => {}
            Frame::UntilClose => self.end = Some(Ok(())),
        }
    }

    fn say(&mut self, text: &str) {
        self.answer.extend(text.as_bytes());
    }
}

impl<const N: usize> Plays for Wired<N> {
    fn playback(&self) -> &Playback {
        &self.0.connection().playback
    }
}

impl<const N: usize> ListerWatcher for Wired<N> {
    fn open(&mut self, id: RequestId, request: &Request) {
        self.0.open(id, request);
        self.0.connection_mut().asked = Some((id, request.clone()));
    }

    fn poll_read(&mut self, context: ReadContext<'_, '_>, buf: &mut [u8]) -> Poll<Incoming> {
        let ReadContext { cx, now, max_wait } = context;
        self.0.connection_mut().now = now;
        loop {
            let read = self.0.poll_read(ReadContext { cx: &mut *cx, now, max_wait }, buf);
            match self.0.connection_mut().idle.take() {
                // A read is over when the playback waits, and the source has nothing else to do.
                Some(until) => return Poll::Ready(Incoming::Idle { until }),
                None if read == Poll::Ready(Incoming::Idle { until: Some(now) }) => {}
                None => return read,
            }
        }
    }

    fn abort(&mut self, id: RequestId) {
        self.0.connection_mut().playback.abort(id);
        self.0.abort(id);
    }
}

impl Connection for Server {
    fn connect(&mut self) -> Result<(), ErrorKind> {
        assert!(!self.is_connected, "it is connected");
        self.is_connected = true;
        Ok(())
    }

    fn close(&mut self) {
        self.is_connected = false;
        self.request.clear();
        self.answer.clear();
        self.counted.clear();
        self.end = None;
    }
}

impl ErrorType for Server {
    type Error = ErrorKind;
}

impl Read for Server {
    fn read(&mut self, buf: &mut [u8]) -> Result<usize, ErrorKind> {
        assert!(self.is_connected && self.asked.is_none(), "nothing is due");
        // A counted answer is sent once it is whole.
        while self.answer.is_empty() || (self.frame == Frame::Counted && !self.counted.is_empty()) {
            match self.end.take() {
                Some(end) => return end.map(|()| 0),
                None if self.serve() => {}
                None => return Err(ErrorKind::TimedOut),
            }
        }
        let len = buf.len().min(self.answer.len()).min(self.piece);
        buf.iter_mut().zip(self.answer.drain(..len)).for_each(|(place, byte)| *place = byte);
        Ok(len)
    }
}

impl Write for Server {
    fn write(&mut self, buf: &[u8]) -> Result<usize, ErrorKind> {
        let len = buf.len().min(self.piece);
        self.request.extend_from_slice(&buf[..len]);
        if self.request.ends_with(b"\r\n\r\n") {
            let sent = String::from_utf8(std::mem::take(&mut self.request)).unwrap();
            let target = sent.strip_prefix("GET ").and_then(|rest| rest.split(' ').next()).unwrap();
            let (id, request) = self.asked.take().expect("each request comes once");
            assert_eq!(Request::parse(target).to_string(), request.to_string());
            self.frame = (self.framing)(self.requests, request.query());
            self.requests += 1;
            self.playback.open(id, &request);
        }
        Ok(len)
    }

    fn flush(&mut self) -> Result<(), ErrorKind> {
        Ok(())
    }
}

/// Each in turn. A counted body comes at its end, too late for a watch that is played in its own time.
fn in_turn(number: usize, query: Query) -> Frame {
    match (number % 3, query) {
        (0, Query::List) => Frame::Counted,
        (1, _) => Frame::UntilClose,
        _ => Frame::Chunked,
    }
}

#[test]
fn each_capture_through_http_tells_what_client_go_told() {
    for (chunks, drain, speed) in
        [(Chunks::Recorded, Drain::EveryEvent, Speed::One), (Chunks::AtMost(61), Drain::WhenTheStreamWaits, Speed::Max)]
    {
        for capture in captures() {
            let case = Case { chunks, drain, speed, order: Order::Arrival };
            let through_http = |playback| Wired::<1>::new(playback, usize::MAX, in_turn);
            let small = play_through::<MetadataOnly, _>(&capture.path, case, through_http);
            let through_http = |playback| Wired::<512>::new(playback, usize::MAX, in_turn);
            let large = play_through::<MetadataOnly, _>(&capture.path, case, through_http);
            for played in [small, large] {
                assert_eq!(played.notifications, capture.notifications, "{} {case:?}", capture.name);
                assert_eq!(played.store, capture.store, "{} {case:?}", capture.name);
            }
        }
    }
}
