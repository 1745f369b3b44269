//! The client's end: the transport, and a wait for what comes out of it, or arrives at the server.

use crate::sockets::LIMIT;
use crate::sockets::server::{Asked, Signal};
use listwatch_core::transport::{Incoming, ReadContext};
use listwatch_core::{Instant, ListerWatcher};
use listwatch_transport_http::HttpTransport;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

/// A transport, until it is closed.
pub(crate) struct Near {
    transport: Option<HttpTransport>,
    waker: Waker,
    signals: Receiver<Signal>,
}

/// What happened next.
pub(crate) enum Next {
    Arrived(Incoming),
    Asked(Asked),
}

struct Bell(Sender<Signal>);

impl Near {
    pub(crate) fn new(transport: HttpTransport, bell: Sender<Signal>, signals: Receiver<Signal>) -> Self {
        Self { transport: Some(transport), waker: Waker::from(Arc::new(Bell(bell))), signals }
    }

    pub(crate) fn transport(&mut self) -> &mut HttpTransport {
        self.transport.as_mut().expect("nothing is sent after the end")
    }

    /// The transport is dropped.
    pub(crate) fn close(&mut self) {
        self.transport = None;
    }

    /// Waits for something; bytes come to the front of `buf`.
    pub(crate) fn next(&mut self, now: Instant, buf: &mut [u8]) -> Next {
        loop {
            if let Poll::Ready(incoming) = self.poll(now, buf) {
                return Next::Arrived(incoming);
            }
            if let Signal::Asked(asked) = self.signal() {
                return Next::Asked(asked);
            }
        }
    }

    /// Waits for what comes out of the transport, while nobody asks for anything.
    pub(crate) fn arrival(&mut self, now: Instant, buf: &mut [u8]) -> Incoming {
        match self.next(now, buf) {
            Next::Arrived(incoming) => incoming,
            Next::Asked(asked) => panic!("nobody wanted this request: {}", asked.head),
        }
    }

    /// Waits until `is_so`, which closing a connection may bring about.
    pub(crate) fn wait_until(&self, is_so: impl Fn() -> bool) {
        while !is_so() {
            if let Signal::Asked(asked) = self.signal() {
                panic!("nobody wanted this request: {}", asked.head);
            }
        }
    }

    /// Nothing is left to be told.
    pub(crate) fn is_idle(&mut self, now: Instant) -> bool {
        matches!(self.poll(now, &mut [0]), Poll::Ready(Incoming::Idle { .. }))
    }

    fn poll(&mut self, now: Instant, buf: &mut [u8]) -> Poll<Incoming> {
        let mut cx = Context::from_waker(&self.waker);
        let turn = ReadContext { cx: &mut cx, now, max_wait: Some(Duration::ZERO) };
        self.transport.as_mut().expect("nothing is read after the end").poll_read(turn, buf)
    }

    fn signal(&self) -> Signal {
        self.signals.recv_timeout(LIMIT).unwrap_or_else(|_| panic!("nothing happened for {LIMIT:?}"))
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        // Once the run is over, nobody listens.
        let _ = self.0.send(Signal::Woken);
    }
}
