//! The transport itself.

use crate::exchange::Exchange;
use crate::pipe::Piece;
use crate::server::Server;
use listwatch_core::{Incoming, ListerWatcher, Request, RequestId, Turn};
use std::task::{Poll, ready};

/// A [`ListerWatcher`] over HTTP/1.1.
///
/// It is asynchronous: [`poll_read`](ListerWatcher::poll_read) never waits, it registers the waker and returns
/// [`Poll::Pending`]; `turn.now` and `turn.max_wait` are not looked at. A loop without an executor brings a waker that
/// unparks its thread.
///
/// Each request has a thread and a connection of its own. The thread reads at most 16 KiB ahead of what was polled;
/// when nobody polls, it reads nothing from the socket, and TCP holds the server back. Aborting a request, opening the
/// next one, and dropping the transport shut the connection down at once.
///
/// Redirects are reported, not followed; no proxy is used; nothing but connecting has a time limit. A body without a
/// length and without chunks, as HTTP/1.0 has it, ends with its connection: there a broken one looks like a whole one.
#[derive(Debug)]
pub struct HttpTransport {
    server: Server,
    open: Option<(RequestId, Exchange)>,
}

impl HttpTransport {
    /// Talks to the API server at `base_url`, such as `http://127.0.0.1:8001`. It may have a path, which then precedes
    /// that of every request.
    #[must_use]
    pub fn new(base_url: &str) -> Self {
        Self { server: Server::new(base_url), open: None }
    }
}

impl ListerWatcher for HttpTransport {
    fn open(&mut self, id: RequestId, request: &Request) {
        // The old connection goes before the new one comes.
        self.open = None;
        self.open = Some((id, Exchange::start(self.server.agent(), self.server.url(request))));
    }

    fn poll_read(&mut self, turn: Turn<'_, '_>, buf: &mut [u8]) -> Poll<Incoming> {
        let Some((id, exchange)) = &mut self.open else { return Poll::Ready(Incoming::Idle { until: None }) };
        let id = *id;
        let end = match ready!(exchange.poll(turn.cx, buf)) {
            Piece::Head(head) => return Poll::Ready(Incoming::Head { id, head }),
            Piece::Data(len) => return Poll::Ready(Incoming::Data { id, len }),
            Piece::End(end) => end,
        };
        self.open = None;
        Poll::Ready(end.map_or_else(|error| Incoming::Failed { id, error }, |()| Incoming::End { id }))
    }

    fn abort(&mut self, id: RequestId) {
        self.open.take_if(|(open, _)| *open == id);
    }
}
