//! Captures as the bytes of HTTP/1.1, through the exchange that firmware uses.

use crate::expected::captures;
use crate::play::{Case, Drain, Plays, Speed, play_through};
use core::task::{Context, Poll};
use embedded_io::{ErrorKind, ErrorType, Read, Write};
use listwatch_core::decode::MetadataOnly;
use listwatch_core::fifo::Order;
use listwatch_core::request::{Query, Request, RequestId};
use listwatch_core::transport::{Incoming, ReadContext, ResponseHead};
use listwatch_core::{Instant, ListerWatcher};
use listwatch_transport_file::{Chunks, Playback};
use listwatch_transport_http::exchange::{Endpoint, Exchange, ExchangeError, Received};

/// What ends a body.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Frame {
    Counted,
    Chunked,
    UntilClose,
}

/// Reads a playback through a connection in memory.
struct Wired<const N: usize> {
    playback: Playback,
    exchange: Exchange<N>,
    connection: Connection,
    open: Option<RequestId>,
    frame: Frame,
    /// What a counted body holds so far.
    counted: Vec<u8>,
    head: ResponseHead,
    /// How many requests were opened.
    opened: usize,
}

/// What one side has sent, and the other has not read.
#[derive(Default)]
struct Connection {
    request: Vec<u8>,
    answer: Vec<u8>,
    is_closed: bool,
}

impl<const N: usize> Wired<N> {
    fn new(playback: Playback) -> Self {
        Self {
            playback,
            exchange: Exchange::new(),
            connection: Connection::default(),
            open: None,
            frame: Frame::Chunked,
            counted: Vec::new(),
            head: ResponseHead::default(),
            opened: 0,
        }
    }

    /// Takes the next part of the answer from the playback, and sends it. Otherwise says what the playback said.
    fn serve(&mut self, now: Instant, cx: &mut Context<'_>) -> Result<(), Poll<Incoming>> {
        let mut buf = [0; 5000];
        match self.playback.poll_read(ReadContext { cx, now, max_wait: None }, &mut buf) {
            Poll::Ready(Incoming::Head { head, .. }) => self.begin(head),
            Poll::Ready(Incoming::Data { len, .. }) => self.send(&buf[..len]),
            Poll::Ready(Incoming::End { .. }) => self.end(),
            other => return Err(other),
        }
        Ok(())
    }

    fn begin(&mut self, head: ResponseHead) {
        self.head = head;
        self.say(&format!("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 {} Some Reason\r\n", self.head.status));
        self.say(&format!("Audit-Id: {}\r\n", "x".repeat(300)));
        if let Some(content_type) = self.head.content_type.clone() {
            self.say(&format!("Content-Type: {content_type}; x=y\r\n"));
        }
        if let Some(wait) = self.head.retry_after {
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
                self.connection.answer.extend_from_slice(data);
                self.say("\r\n");
            }
            Frame::UntilClose => self.connection.answer.extend_from_slice(data),
        }
    }

    fn end(&mut self) {
        match self.frame {
            Frame::Counted => {
                let body = std::mem::take(&mut self.counted);
                self.say(&format!("Content-Length: {}\r\n\r\n", body.len()));
                self.connection.answer.extend_from_slice(&body);
            }
            Frame::Chunked => self.say("0\r\nX: y\r\n\r\n"),
            Frame::UntilClose => self.connection.is_closed = true,
        }
    }

    fn say(&mut self, text: &str) {
        self.connection.answer.extend_from_slice(text.as_bytes());
    }
}

impl<const N: usize> Plays for Wired<N> {
    fn playback(&self) -> &Playback {
        &self.playback
    }
}

impl<const N: usize> ListerWatcher for Wired<N> {
    fn open(&mut self, id: RequestId, request: &Request) {
        if !self.exchange.is_reusable() {
            self.connection = Connection::default();
        }
        self.exchange.open(&mut self.connection, &Endpoint::new("a").get(request, request.accept())).unwrap();
        let sent = String::from_utf8(std::mem::take(&mut self.connection.request)).unwrap();
        let target = sent.strip_prefix("GET ").and_then(|rest| rest.split(' ').next()).unwrap();
        let served = Request::parse(target);
        assert_eq!(served.to_string(), request.to_string());
        // A counted body comes at its end, too late for a watch.
        self.frame = match (self.opened % 3, request.query()) {
            (0, Query::List) => Frame::Counted,
            (1, _) => Frame::UntilClose,
            _ => Frame::Chunked,
        };
        self.counted.clear();
        self.opened += 1;
        self.open = Some(id);
        self.playback.open(id, request);
    }

    fn poll_read(&mut self, context: ReadContext<'_, '_>, buf: &mut [u8]) -> Poll<Incoming> {
        let Some(id) = self.open else { return Poll::Ready(Incoming::Idle { until: None }) };
        loop {
            match self.exchange.read(&mut self.connection, buf) {
                Ok(Received::Head(head)) => {
                    let head = ResponseHead::from(head);
                    assert_eq!(head, self.head);
                    return Poll::Ready(Incoming::Head { id, head });
                }
                Ok(Received::Data(len)) => return Poll::Ready(Incoming::Data { id, len }),
                Ok(Received::End) => {
                    assert_eq!(self.exchange.is_reusable(), self.frame != Frame::UntilClose);
                    self.open = None;
                    return Poll::Ready(Incoming::End { id });
                }
                Err(ExchangeError::Connection(ErrorKind::TimedOut)) => {}
                Err(error) => panic!("{error}"),
            }
            if let Err(other) = self.serve(context.now, context.cx) {
                return other;
            }
        }
    }

    fn abort(&mut self, id: RequestId) {
        self.playback.abort(id);
        (self.open, self.connection.is_closed) = (None, true);
    }
}

impl ErrorType for Connection {
    type Error = ErrorKind;
}

impl Read for Connection {
    fn read(&mut self, buf: &mut [u8]) -> Result<usize, ErrorKind> {
        let len = buf.len().min(self.answer.len());
        if len == 0 && !self.is_closed {
            return Err(ErrorKind::TimedOut);
        }
        buf[..len].copy_from_slice(&self.answer[..len]);
        self.answer.drain(..len);
        Ok(len)
    }
}

impl Write for Connection {
    fn write(&mut self, buf: &[u8]) -> Result<usize, ErrorKind> {
        self.request.extend_from_slice(buf);
        Ok(buf.len())
    }

    fn flush(&mut self) -> Result<(), ErrorKind> {
        Ok(())
    }
}

#[test]
fn each_capture_through_http_tells_what_client_go_told() {
    for (chunks, drain, speed) in
        [(Chunks::Recorded, Drain::EveryEvent, Speed::One), (Chunks::AtMost(61), Drain::WhenTheStreamWaits, Speed::Max)]
    {
        for capture in captures() {
            let case = Case { chunks, drain, speed, order: Order::Arrival };
            let small = play_through::<MetadataOnly, _>(&capture.path, case, Wired::<1>::new);
            let large = play_through::<MetadataOnly, _>(&capture.path, case, Wired::<512>::new);
            for played in [small, large] {
                assert_eq!(played.notifications, capture.notifications, "{} {case:?}", capture.name);
                assert_eq!(played.store, capture.store, "{} {case:?}", capture.name);
            }
        }
    }
}
