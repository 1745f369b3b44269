use super::buffered::Received;
use super::endpoint::Endpoint;
use super::error::ExchangeError;
use super::session::{Link, Session};
use core::task::Poll;
use core::time::Duration;
use embedded_io::{Error, ErrorKind, Read, Write};
use listwatch_core::ListerWatcher;
use listwatch_core::request::{Request, RequestId};
use listwatch_core::transport::{Incoming, ReadContext, TransportError};

/// A connection that firmware can make again: a socket, with or without TLS.
pub trait Connection: Read + Write {
    /// Connects to the server. The connection is closed, or was never made. It needs a time limit of its own.
    fn connect(&mut self) -> Result<(), Self::Error>;

    /// Closes the connection, if there is one.
    fn close(&mut self);

    /// Sets the time limit of later reads and writes; `None` for no limit. One that reaches it fails with
    /// [`TimedOut`](ErrorKind::TimedOut), and loses no byte. A connection that cannot set one needs a limit of its own:
    /// a second, for instance. Deadlines are late by that much.
    fn set_max_wait(&mut self, _max_wait: Option<Duration>) {}

    /// The failure that the informer reports for an error. A connection with TLS, or one that resolves names, tells these
    /// failures from others here.
    fn explain(error: &Self::Error) -> TransportError
    where
        Self: Sized,
    {
        TransportError::of_connection(error)
    }
}

/// Lists and watches over a connection of the firmware that blocks: a transport of core's informer, with a heap and
/// without.
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
/// a server that sends a byte a minute does not move it. The limit for [connecting](Connection::connect) is the
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
    session: Session<'a, N>,
    connection: C,
}

impl<'a, C: Connection, const N: usize> HttpSource<'a, C, N> {
    /// Requests of `endpoint` over this connection, which is not made yet.
    pub const fn new(endpoint: Endpoint<'a>, connection: C) -> Self {
        Self { session: Session::new(endpoint), connection }
    }

    /// Replaces what later requests say, such as a token that has changed.
    pub fn set_endpoint(&mut self, endpoint: Endpoint<'a>) {
        self.session.endpoint = endpoint;
    }

    /// The connection.
    #[must_use]
    pub fn connection(&self) -> &C {
        &self.connection
    }

    /// The connection, for its own settings.
    pub fn connection_mut(&mut self) -> &mut C {
        &mut self.connection
    }

    /// Connects, writes once, or reads once.
    fn step(
        &mut self,
        max_wait: Option<Duration>,
        buf: &mut [u8],
    ) -> Result<Option<Received>, ExchangeError<C::Error>> {
        let Self { session: Session { exchange, open, link, .. }, connection } = self;
        if *link == Link::Closed {
            connection.connect().map_err(ExchangeError::Connection)?;
            *link = Link::New;
        }
        connection.set_max_wait(max_wait);
        let stepped = match open {
            Some(open) if !open.is_sent => exchange.send(connection, &open.get).map(|is_sent| {
                open.is_sent = is_sent;
                None
            }),
            _ => exchange.read_once(connection, buf),
        };
        match stepped {
            Err(ExchangeError::Connection(error)) if is_passing(error.kind()) => Ok(None),
            stepped => stepped,
        }
    }

    /// Closes the connection where it is of no more use.
    fn tidy(&mut self) {
        if self.session.link == Link::Closed {
            self.connection.close();
        }
    }
}

impl<C: Connection, const N: usize> ListerWatcher for HttpSource<'_, C, N> {
    fn open(&mut self, id: RequestId, request: &Request) {
        self.session.give_up();
        self.tidy();
        self.session.open(id, request);
    }

    fn poll_read(&mut self, context: ReadContext<'_, '_>, buf: &mut [u8]) -> Poll<Incoming> {
        if self.session.open.is_none() {
            return Poll::Ready(Incoming::Idle { until: None });
        }
        let stepped = self.step(context.max_wait, buf);
        let incoming = self.session.handle(stepped, C::explain);
        self.tidy();
        Poll::Ready(incoming.unwrap_or(Incoming::Idle { until: Some(context.now) }))
    }

    fn abort(&mut self, id: RequestId) {
        if self.session.is_open(id) {
            self.session.give_up();
            self.tidy();
        }
    }
}

/// Whether the same read or write may succeed later.
fn is_passing(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::TimedOut | ErrorKind::Interrupted)
}
