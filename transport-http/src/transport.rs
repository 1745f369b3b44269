//! The transport itself.

use crate::request::{Connection, Exchange, OutgoingRequest, Piece};
use crate::server::Server;
use listwatch_core::ListerWatcher;
use listwatch_core::request::{Request, RequestId};
use listwatch_core::transport::{Incoming, ReadContext};
use std::sync::Arc;
use std::task::{Poll, ready};

/// A [`ListerWatcher`] over HTTP/1.1, with or without TLS. [`Cluster::transport`](crate::Cluster::transport) makes one.
///
/// It is asynchronous: [`poll_read`](ListerWatcher::poll_read) never waits, it registers the waker and returns
/// [`Poll::Pending`]; `turn.now` and `turn.max_wait` are not looked at. A loop without an executor brings a waker that
/// unparks its thread.
///
/// Each request has a thread of its own. The thread reads at most 32 KiB ahead of what was polled; when nobody polls, it
/// reads nothing from the socket, and TCP holds the server back. One request after the other uses the same connection.
/// Aborting a request, opening the next one before it is over, and dropping the transport shut the connection down at
/// once, and end the exec plugin that the request waits for, if no other request waits for it; only the resolution of a
/// name, and connecting within its time limit, are finished in the background.
///
/// A peer that is gone without a word is noticed by TCP keep-alive, after 50 s unless
/// [`ClusterOptions::keep_alive`](crate::ClusterOptions::keep_alive) says otherwise: the request fails with
/// [`TransportErrorKind::Reset`](listwatch_core::transport::TransportErrorKind). client-go has HTTP/2 pings for it. Behind a proxy the
/// peer is the proxy; where that stays silent, the time limit that
/// [`ReflectorConfig::watch_timeout`](listwatch_core::reflector::ReflectorConfig) gives a watch ends it.
///
/// Lists come compressed if the server likes, watches as they are. Redirects are errors: credentials are not carried
/// to where an answer points. A body without a length and without chunks, as HTTP/1.0 has it, ends with its connection:
/// there a broken one looks like a whole one, unless TLS tells them apart.
#[derive(Debug)]
pub struct HttpTransport {
    server: Arc<Server>,
    line: Arc<Connection>,
    open: Option<(RequestId, Exchange)>,
}

impl HttpTransport {
    pub(crate) fn over(server: Arc<Server>) -> Self {
        Self { server, line: line(), open: None }
    }

    /// Ends what is open, and its connection with it.
    fn cut(&mut self) {
        if self.open.take().is_some() {
            std::mem::replace(&mut self.line, line()).cut(&self.server);
        }
    }
}

fn line() -> Arc<Connection> {
    Arc::new(Connection::new(1))
}

impl ListerWatcher for HttpTransport {
    fn open(&mut self, id: RequestId, request: &Request) {
        // The old connection goes before the new one comes.
        self.cut();
        let asked = OutgoingRequest::stream(request, self.server.limits());
        self.open = Some((id, Exchange::start(&self.server, &self.line, asked)));
    }

    fn poll_read(&mut self, turn: ReadContext<'_, '_>, buf: &mut [u8]) -> Poll<Incoming> {
        let Some((id, exchange)) = &mut self.open else { return Poll::Ready(Incoming::Idle { until: None }) };
        let id = *id;
        let end = match ready!(exchange.poll(turn.cx, buf)) {
            Piece::Head(head) => return Poll::Ready(Incoming::Head { id, head }),
            Piece::Data(len) => return Poll::Ready(Incoming::Data { id, len }),
            Piece::End(end) => end,
        };
        if end.is_err() {
            self.cut();
        }
        self.open = None;
        Poll::Ready(end.map_or_else(|error| Incoming::Failed { id, error }, |()| Incoming::End { id }))
    }

    fn abort(&mut self, id: RequestId) {
        if self.open.as_ref().is_some_and(|(open, _)| *open == id) {
            self.cut();
        }
    }
}

impl Drop for HttpTransport {
    fn drop(&mut self) {
        self.cut();
    }
}
