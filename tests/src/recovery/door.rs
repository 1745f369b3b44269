//! A client's way to its server, which counts the requests and answers.

use crate::sim::{Ask, Wire};
use listwatch_core::Instant;
use listwatch_core::request::{Query, Request, RequestId};
use listwatch_core::transport::{Incoming, TransportErrorKind};
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

/// Everything arrives as it is, but for the time that a refusal asks to wait.
#[derive(Clone, Debug, Default)]
pub(super) struct Door {
    retry_after: Option<Duration>,
    seen: Rc<RefCell<Seen>>,
}

/// What went through.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// When the server answered a request, whatever it said.
    pub(super) accepted: Vec<Instant>,
    /// When it answered a watch with a stream.
    pub(super) watches: Vec<Instant>,
    /// How many connections it refused.
    pub(super) refused: u64,
    /// Whether the request that is open is a watch.
    is_watch: bool,
}

impl Door {
    /// A way to a server that asks, where it refuses something, to be left alone for so long.
    pub(super) fn new(retry_after: Option<Duration>) -> Self {
        Self { retry_after, seen: Rc::default() }
    }

    /// What went through since this was asked last.
    pub(super) fn take(&self) -> Seen {
        self.seen.take()
    }
}

impl Wire for Door {
    fn open(&mut self, _: Instant, _: RequestId, request: &Request) -> Ask {
        self.seen.borrow_mut().is_watch = request.query() != Query::List;
        request.into()
    }

    fn bar(&mut self, _: Instant, _: RequestId, _: &Request, _: TransportErrorKind) {
        self.seen.borrow_mut().refused += 1;
    }

    fn carry(&mut self, now: Instant, mut said: Incoming, _: &mut [u8]) -> Incoming {
        if let Incoming::Head { head, .. } = &mut said {
            let mut seen = self.seen.borrow_mut();
            seen.accepted.push(now);
            if head.status != 200 {
                head.retry_after = self.retry_after;
            } else if seen.is_watch {
                seen.watches.push(now);
            }
        }
        said
    }

    fn abort(&mut self, _: RequestId) {}

    fn close(&mut self) {}
}
