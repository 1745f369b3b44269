use crate::reactor::Reactor;
use crate::request::{Connection, OutgoingRequest, Pending, Piece, PolledBody, UnreadBody, stream};
use crate::server::Server;
use listwatch_core::ListerWatcher;
use listwatch_core::request::{Query, Request, RequestId};
use listwatch_core::text::SharedText;
use listwatch_core::transport::{Incoming, ReadContext};
use std::sync::Arc;
use std::task::{Poll, ready};

/// A [`ListerWatcher`] over HTTP/1.1, with or without TLS. [`Cluster::transport`](crate::Cluster::transport) makes one.
///
/// ```no_run
/// use core::task::{Context, Poll, Waker};
/// use listwatch_core::request::{Request, RequestId};
/// use listwatch_core::transport::{Incoming, ReadContext};
/// use listwatch_core::{Instant, ListerWatcher};
/// use listwatch_transport_http::HttpTransport;
///
/// # struct Unpark(std::thread::Thread);
/// # impl std::task::Wake for Unpark {
/// #     fn wake(self: std::sync::Arc<Self>) { self.0.unpark() }
/// # }
/// # fn main() -> Result<(), listwatch_transport_http::ConfigError> {
/// let mut transport = HttpTransport::new("http://127.0.0.1:8001")?; // of `kubectl proxy`
/// transport.open(RequestId(1), &Request::parse("/api/v1/pods?limit=500"));
/// // Without an executor: a waker that unparks this thread.
/// let waker = Waker::from(std::sync::Arc::new(Unpark(std::thread::current())));
/// let (mut cx, mut buf) = (Context::from_waker(&waker), [0; 4096]);
/// loop {
///     match transport.poll_read(ReadContext { cx: &mut cx, now: Instant::ZERO, max_wait: None }, &mut buf) {
///         Poll::Pending => std::thread::park(),
///         Poll::Ready(Incoming::Head { head, .. }) => println!("status {}", head.status),
///         Poll::Ready(Incoming::Data { len, .. }) => println!("{len} bytes"),
///         Poll::Ready(_) => break,
///     }
/// }
/// # Ok(())
/// # }
/// ```
///
/// # Threads and back-pressure
///
/// [`poll_read`](ListerWatcher::poll_read) never blocks: it registers the waker and returns [`Poll::Pending`]. It
/// ignores `context.now` and `context.max_wait`.
///
/// Each request has its own thread, which reads less than 256 KiB ahead of the caller. With a [`Reactor`], the thread
/// of a watch ends with the head of the response, and [`poll_read`](ListerWatcher::poll_read) reads the socket. If the
/// caller does not poll, nothing reads the socket, and TCP slows the server down. The buffers grow while a response is
/// busy, and shrink while it is quiet. Consecutive requests use one connection.
///
/// # Cancellation
///
/// An abort, the next request, and dropping the transport shut an unfinished connection down at once. They also kill
/// the exec plugin of the request, if no other request waits for it. Name resolution and connecting end in the
/// background, within their time limits.
///
/// # Dead peers
///
/// TCP keep-alive detects a peer that vanished, within
/// [`ClusterOptions::keep_alive`](crate::ClusterOptions::keep_alive), as client-go's HTTP/2 pings do. The request fails
/// with [`TransportErrorKind::Reset`](listwatch_core::transport::TransportErrorKind). Behind a proxy, the peer is the
/// proxy. If a proxy hides a dead server, the deadline of
/// [`ReflectorConfig::watch_timeout`](listwatch_core::reflector::ReflectorConfig) ends the watch.
///
/// # Responses
///
/// Lists are requested with gzip, watches without. A redirect is an error, because it would carry the credential to
/// another server. A body with neither a length nor chunks (HTTP/1.0) ends with its connection. Without TLS, such a
/// body that broke off looks complete.
pub struct HttpTransport {
    server: Arc<Server>,
    connection: Arc<Connection>,
    open: Option<(RequestId, Reader)>,
    reactor: Option<Arc<dyn Reactor>>,
}

/// Who reads the response.
enum Reader {
    /// A thread, which sends the request too. Until the head has come, it may wait for its turn or for a credential.
    Thread(Pending<Option<UnreadBody>>),
    /// The task.
    Task(Box<PolledBody>),
}

impl HttpTransport {
    pub(crate) fn over(server: Arc<Server>) -> Self {
        Self { server, connection: Arc::default(), open: None, reactor: None }
    }

    /// Lets the task read the watches by this reactor, instead of a thread for each.
    ///
    /// A short-lived thread still connects, sends the request and reads the head of the response. Lists, bodies that are
    /// compressed, and responses with an error status keep their thread.
    #[must_use]
    pub fn with_reactor(mut self, reactor: Arc<dyn Reactor>) -> Self {
        self.reactor = Some(reactor);
        self
    }

    /// Aborts the open request, and closes its connection.
    fn close(&mut self) {
        if self.open.take().is_some() {
            std::mem::take(&mut self.connection).close(&self.server);
        }
    }
}

impl ListerWatcher for HttpTransport {
    fn open(&mut self, id: RequestId, request: &Request) {
        // Closes the old connection before it opens a new one.
        self.close();
        let outgoing = OutgoingRequest::stream(request, &self.server.limits);
        let (permits, reactor) = match request.query() {
            Query::List => (&self.server.requests, None),
            Query::Watch | Query::WatchList => (&self.server.watches, self.reactor.clone()),
        };
        let thread = stream(&self.server, &self.connection, permits, outgoing, reactor);
        self.open = Some((id, Reader::Thread(thread)));
    }

    fn poll_read(&mut self, context: ReadContext<'_, '_>, buf: &mut [u8]) -> Poll<Incoming> {
        let Some((id, reader)) = &mut self.open else { return Poll::Ready(Incoming::Idle { until: None }) };
        let id = *id;
        let end = loop {
            match reader {
                Reader::Task(body) => match ready!(body.poll(context.cx, buf)) {
                    Ok(0) => break Ok(()),
                    Ok(len) => return Poll::Ready(Incoming::Data { id, len }),
                    Err(error) => break Err(error),
                },
                Reader::Thread(thread) => match ready!(thread.poll(context.cx, buf)) {
                    Piece::Head(head, warnings) => {
                        let server = &self.server;
                        server.on_warning.iter().for_each(|warn| warnings.iter().for_each(|text| warn(text)));
                        return Poll::Ready(Incoming::Head { id, head });
                    }
                    Piece::Data(len) => return Poll::Ready(Incoming::Data { id, len }),
                    Piece::End(end) => match end.and_then(|unread| unread.map(UnreadBody::register).transpose()) {
                        Ok(Some(body)) => *reader = Reader::Task(Box::new(body)),
                        end => break end.map(drop),
                    },
                },
            }
        };
        if end.is_err() {
            self.close();
        }
        self.open = None;
        Poll::Ready(end.map_or_else(|error| Incoming::Failed { id, error }, |()| Incoming::End { id }))
    }

    fn abort(&mut self, id: RequestId) {
        if self.open.as_ref().is_some_and(|(open, _)| *open == id) {
            self.close();
        }
    }

    fn waits_for(&self) -> Option<SharedText> {
        match &self.open.as_ref()?.1 {
            Reader::Thread(thread) => thread.waits_for(&self.server).map(SharedText::from),
            Reader::Task(_) => None,
        }
    }
}

impl Drop for HttpTransport {
    fn drop(&mut self) {
        self.close();
    }
}

listwatch_core::summary!("HttpTransport" for HttpTransport, |it| { server: it.server });
