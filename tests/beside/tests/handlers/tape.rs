//! Takes down what goes between an informer and its server.

use crate::handlers::exchange::{Asked, Ended, Exchange};
use listwatch_core::request::{Request, RequestId};
use listwatch_core::transport::{Incoming, ReadContext, TransportErrorKind};
use listwatch_core::{Instant, ListerWatcher, Resource};
use listwatch_tests::sim::{Ask, Wire};
use std::cell::RefCell;
use std::rc::Rc;
use std::task::Poll;

/// What was taken down so far; a clone takes down the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tape(Rc<RefCell<Vec<Asked>>>);

impl Tape {
    pub(crate) fn exchange(&self, resource: Resource, until: Instant) -> Exchange {
        Exchange { resource, asked: self.0.take(), until }
    }

    /// A request; whoever asked before and has no whole answer does not wait for it any more.
    fn ask(&self, now: Instant, request: &Request) {
        let mut asked = self.0.borrow_mut();
        if let Some(before) = asked.last_mut() {
            before.end.get_or_insert((now, Ended::GivenUp));
        }
        asked.push(Asked::new(request));
    }

    fn hear(&self, now: Instant, said: &Incoming, buf: &[u8]) {
        let mut asked = self.0.borrow_mut();
        let Some(asked) = asked.last_mut() else { return };
        match said {
            Incoming::Head { head, .. } => asked.head = Some((now, head.clone())),
            Incoming::Data { len, .. } => asked.pieces.push((now, buf[..*len].to_vec())),
            Incoming::End { .. } => asked.end = Some((now, Ended::Eof)),
            Incoming::Failed { error, .. } => asked.end = Some((now, Ended::Failed(error.kind))),
            Incoming::Idle { .. } => {}
        }
    }
}

impl Wire for Tape {
    fn open(&mut self, now: Instant, _: RequestId, request: &Request) -> Ask {
        self.ask(now, request);
        request.into()
    }

    fn bar(&mut self, now: Instant, _: RequestId, request: &Request, _: TransportErrorKind) {
        self.ask(now, request);
    }

    fn carry(&mut self, now: Instant, said: Incoming, buf: &mut [u8]) -> Incoming {
        self.hear(now, &said, buf);
        said
    }

    fn abort(&mut self, _: RequestId) {}

    fn close(&mut self) {}
}

/// A transport of which everything is taken down.
#[derive(Debug)]
pub(crate) struct Taped<L> {
    pub(crate) transport: L,
    tape: Tape,
    now: Instant,
}

impl<L> Taped<L> {
    pub(crate) fn new(transport: L, tape: Tape) -> Self {
        Self { transport, tape, now: Instant::ZERO }
    }
}

impl<L: ListerWatcher> ListerWatcher for Taped<L> {
    fn open(&mut self, id: RequestId, request: &Request) {
        self.tape.ask(self.now, request);
        self.transport.open(id, request);
    }

    fn poll_read(&mut self, turn: ReadContext<'_, '_>, buf: &mut [u8]) -> Poll<Incoming> {
        self.now = turn.now;
        let read = self.transport.poll_read(turn, buf);
        if let Poll::Ready(said) = &read {
            self.tape.hear(self.now, said, buf);
        }
        read
    }

    fn abort(&mut self, id: RequestId) {
        self.transport.abort(id);
    }
}
