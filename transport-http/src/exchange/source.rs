use super::buffered::{Exchange, Received};
use super::error::{ExchangeError, ProtocolError, UNWRITTEN};
use super::get::{Endpoint, Get};
use embedded_io::Error;
use listwatch_core::request::{Request, RequestId};
use listwatch_core::text::SharedText;
use listwatch_core::transport::{Incoming, TransportError, TransportErrorKind};

/// Lists and watches over a connection of the firmware that blocks: a transport of core's informer, with a heap and
/// without. [`AsyncHttpSource`](super::AsyncHttpSource) is the same in a task.
///
/// It keeps the connection for the next request if the server does. If the server has closed such a connection, it
/// repeats the request once, over a new one.
///
/// `N` bytes hold a part of the request, and of the answer's head. A longer request passes through them in pieces, whole.
///
/// # Deadlines
///
/// Each poll writes once or reads once, for as long as the informer has nothing else to do. So the informer's deadlines
/// hold for whole answers, however they arrive. [`answer_timeout`] is the limit from the request to the end of the head:
/// a server that sends a byte a minute does not move it. The limit for [connecting](super::Connection::connect) is the
/// connection's.
///
/// [`answer_timeout`]: listwatch_core::reflector::ReflectorConfig::answer_timeout
///
/// ```
/// # use core::convert::Infallible;
/// use core::task::{Context, Poll, Waker};
/// use embedded_io::{ErrorType, Read, Write};
/// use listwatch_core::informer::{DriverIn, EventOf, FixedInformer};
/// use listwatch_core::projection::Text;
/// use listwatch_core::{InformerConfig, Instant, Resource, projection};
/// use listwatch_transport_http::exchange::{Connection, Endpoint, HttpSource};
///
/// /// The firmware's socket. This one answers every request alike.
/// struct Socket(&'static [u8]);
///
/// impl Connection for Socket {
///     fn connect(&mut self) -> Result<(), Self::Error> {
///         # const ANSWER: &str = concat!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n",
///         #     "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"namespace\":\"a\",\"name\":\"web\",\"resourceVersion\":\"5\"},",
///         #     "\"spec\":{\"nodeName\":\"n1\"}}}\n{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":",
///         #     "{\"resourceVersion\":\"7\",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}}}}\n");
///         self.0 = ANSWER.as_bytes();
///         Ok(())
///     }
///
///     fn close(&mut self) {
///         self.0 = &[];
///     }
/// }
/// # impl ErrorType for Socket {
/// #     type Error = Infallible;
/// # }
/// # impl Read for Socket {
/// #     fn read(&mut self, buf: &mut [u8]) -> Result<usize, Infallible> { self.0.read(buf) }
/// # }
/// # impl Write for Socket {
/// #     fn write(&mut self, buf: &[u8]) -> Result<usize, Infallible> { Ok(buf.len()) }
/// #     fn flush(&mut self) -> Result<(), Infallible> { Ok(()) }
/// # }
///
/// projection! { struct Pod { node: Text<32> = "spec.nodeName" } }
///
/// // Nothing is allocated: 64 pods, and 512 bytes for requests and heads.
/// const PODS: Resource = Resource::constant("/api/v1/pods", "", "");
/// let endpoint = Endpoint::new("10.0.0.1:6443").with_token("eyJhbGciOi");
/// let source = HttpSource::<_, 512>::new(endpoint, Socket(&[]));
/// let informer = FixedInformer::<Pod, 64>::fixed(PODS, InformerConfig::default());
/// let mut driver = DriverIn::new(informer, source);
///
/// // Firmware passes the time of its timer, and loops for ever.
/// let (now, mut cx) = (Instant::ZERO, Context::from_waker(Waker::noop()));
/// driver.informer_mut().start(now);
/// while !driver.informer().has_synced() {
///     if let Poll::Ready(EventOf::Added { object, .. }) = driver.poll(now, &mut cx) {
///         assert_eq!((object.key(), object.value.node.as_str()), ("a/web", "n1"));
///     }
/// }
/// assert_eq!(driver.informer().cache().len(), 1);
/// ```
#[derive(Debug)]
pub struct HttpSource<'a, C, const N: usize> {
    endpoint: Endpoint<'a>,
    pub(super) exchange: Exchange<N>,
    pub(super) open: Option<OpenRequest<'a>>,
    pub(super) link: Link,
    pub(super) connection: C,
}

/// The request that is open.
#[derive(Debug)]
pub(super) struct OpenRequest<'a> {
    id: RequestId,
    /// With the endpoint that was set when it was opened: a request that is sent in pieces must not change.
    pub(super) get: Get<'a, Request>,
    pub(super) is_sent: bool,
}

/// A connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Link {
    Closed,
    New,
    /// It has carried an answer to its end. The server may have closed it since.
    Kept,
}

impl<'a, C, const N: usize> HttpSource<'a, C, N> {
    /// Requests of `endpoint` over this connection, which is not made yet.
    pub const fn new(endpoint: Endpoint<'a>, connection: C) -> Self {
        Self { endpoint, exchange: Exchange::new(), open: None, link: Link::Closed, connection }
    }

    /// Replaces what later requests say, such as a token that has changed.
    pub fn set_endpoint(&mut self, endpoint: Endpoint<'a>) {
        self.endpoint = endpoint;
    }

    /// The connection.
    pub fn connection(&self) -> &C {
        &self.connection
    }

    /// The connection, for its own settings.
    pub fn connection_mut(&mut self) -> &mut C {
        &mut self.connection
    }

    /// Makes this the open request. No other one is open.
    pub(super) fn on_open(&mut self, id: RequestId, request: &Request) {
        let get = self.endpoint.get(request.clone(), request.accept());
        self.open = Some(OpenRequest { id, get, is_sent: false });
        self.exchange.begin();
    }

    /// Gives the open request up; with an id, only this one. A connection that has carried a byte of it is of no more use.
    pub(super) fn on_abort(&mut self, id: Option<RequestId>) {
        let given_up = self.open.take_if(|open| id.is_none_or(|id| open.id == id));
        if given_up.is_some() && self.exchange.has_begun() {
            self.link = Link::Closed;
        }
    }

    /// What a step over the connection means to the reflector; `None` if it takes another step.
    ///
    /// If the server has closed a connection that it had kept, the request is sent once more over a new one.
    pub(super) fn on_step<E: Error>(
        &mut self,
        stepped: Result<Option<Received>, ExchangeError<E>>,
        explain: fn(&E) -> TransportError,
    ) -> Option<Incoming> {
        let id = self.open.as_ref()?.id;
        match stepped {
            Ok(received) => received.map(|received| self.brought(id, received)),
            Err(error) if self.link == Link::Kept && is_stale(&error, explain) => {
                self.open.iter_mut().for_each(|open| open.is_sent = false);
                self.exchange.begin();
                self.link = Link::Closed;
                None
            }
            Err(ExchangeError::Connection(error)) => Some(self.failed(id, explain(&error))),
            Err(ExchangeError::Protocol(error)) => Some(self.failed(id, error.into())),
            Err(ExchangeError::Unwritten) => {
                let text = SharedText::constant(UNWRITTEN);
                Some(self.failed(id, TransportError::new(TransportErrorKind::Reset, text)))
            }
        }
    }

    fn brought(&mut self, id: RequestId, received: Received) -> Incoming {
        match received {
            Received::Head(head) => {
                // From here on, the request cannot be repeated.
                self.link = Link::New;
                Incoming::Head { id, head: head.into() }
            }
            Received::Data(len) => Incoming::Data { id, len },
            Received::End => {
                self.open = None;
                self.link = if self.exchange.is_reusable() { Link::Kept } else { Link::Closed };
                Incoming::End { id }
            }
        }
    }

    fn failed(&mut self, id: RequestId, error: TransportError) -> Incoming {
        (self.open, self.link) = (None, Link::Closed);
        Incoming::Failed { id, error }
    }
}

/// Whether the server closed a connection that it had kept, instead of an answer.
fn is_stale<E: Error>(error: &ExchangeError<E>, explain: fn(&E) -> TransportError) -> bool {
    match error {
        ExchangeError::Protocol(error) => *error == ProtocolError::ClosedBeforeAnswer,
        ExchangeError::Connection(error) => explain(error).kind == TransportErrorKind::Reset,
        ExchangeError::Unwritten => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use embedded_io::ErrorKind;

    #[test]
    fn a_closed_connection_is_known_by_what_the_firmware_says_of_errors() {
        let closed = ExchangeError::Connection(ErrorKind::Other);
        assert!(is_stale(&closed, |_| TransportError::new(TransportErrorKind::Reset, "close_notify")));
        assert!(!is_stale(&closed, TransportError::of_connection));
    }
}
