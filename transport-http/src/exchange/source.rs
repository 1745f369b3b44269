use super::buffered::{Exchange, Piece, Received};
use super::endpoint::Endpoint;
use super::error::{ExchangeError, ProtocolError};
use super::head::Head;
use core::time::Duration;
use embedded_io::{Error, ErrorType, Read, Write};
use listwatch_core::request::Request;
use listwatch_core::transport::{BlockingSource, ResponseHead, TransportError, TransportErrorKind};

/// A connection that firmware can make again: a socket, with or without TLS.
pub trait Connection: Read + Write {
    /// Connects to the server. The connection is closed, or was never made.
    fn connect(&mut self) -> Result<(), Self::Error>;

    /// Closes the connection, if there is one.
    fn close(&mut self);

    /// Sets the time limit of later reads; `None` for no limit. A read that reaches it fails with
    /// [`TimedOut`](embedded_io::ErrorKind::TimedOut), and loses no byte. A connection that cannot set one needs a limit of its own.
    fn set_max_wait(&mut self, _max_wait: Option<Duration>) {}
}

/// Lists and watches over a connection of the firmware: a source for `listwatch_core::transport::Blocking`.
///
/// It keeps the connection for the next request if the server does. If the server has closed such a connection, it
/// repeats the request once, over a new one.
///
/// ```no_run
/// # use listwatch_transport_http::exchange::Connection;
/// # fn start(socket: impl Connection) {
/// use listwatch_core::decode::MetadataOnly;
/// use listwatch_core::transport::Blocking;
/// use listwatch_core::{Driver, Informer, InformerConfig, Resource};
/// use listwatch_transport_http::exchange::{Endpoint, HttpSource};
///
/// let endpoint = Endpoint::new("10.0.0.1:6443").with_token("eyJhbGciOi");
/// let source = HttpSource::<_, 512>::new(endpoint, socket);
/// let informer = Informer::<MetadataOnly>::new(Resource::new("/api/v1/pods"), InformerConfig::default());
/// let driver = Driver::new(informer, Blocking::new(source));
/// # }
/// ```
#[derive(Debug)]
pub struct HttpSource<'a, C, const N: usize> {
    endpoint: Endpoint<'a>,
    connection: C,
    exchange: Exchange<N>,
    is_connected: bool,
    head_timeout: Option<Duration>,
}

impl<'a, C: Connection, const N: usize> HttpSource<'a, C, N> {
    /// Requests of `endpoint` over this connection, which is not made yet. The head of an answer may take a minute.
    pub fn new(endpoint: Endpoint<'a>, connection: C) -> Self {
        let head_timeout = Some(Duration::from_secs(60));
        Self { endpoint, connection, exchange: Exchange::new(), is_connected: false, head_timeout }
    }

    /// The same with another time limit for the head of an answer; `None` for no limit.
    #[must_use]
    pub fn head_timeout(mut self, timeout: Option<Duration>) -> Self {
        self.head_timeout = timeout;
        self
    }

    /// Replaces what later requests say, such as a token that has changed.
    pub fn set_endpoint(&mut self, endpoint: Endpoint<'a>) {
        self.endpoint = endpoint;
    }

    /// The connection.
    #[must_use]
    pub fn connection(&self) -> &C {
        &self.connection
    }

    /// Sends the request, and reads the head.
    fn ask(&mut self, request: &Request) -> Result<Head, ExchangeError<C::Error>> {
        if !self.is_connected {
            self.connection.connect().map_err(ExchangeError::Connection)?;
            self.is_connected = true;
        }
        self.connection.set_max_wait(self.head_timeout);
        self.exchange.open(&mut self.connection, &self.endpoint.get(request, request.accept()))?;
        loop {
            // The first part is the head.
            if let Piece::Head(head) = self.exchange.receive(&mut self.connection)? {
                return Ok(head);
            }
        }
    }

    fn disconnect(&mut self) {
        self.connection.close();
        self.is_connected = false;
    }
}

impl<C: Connection, const N: usize> BlockingSource for HttpSource<'_, C, N> {
    fn request(&mut self, request: &Request) -> Result<ResponseHead, TransportError> {
        let was_connected = self.is_connected;
        let answer = match self.ask(request) {
            Err(error) if was_connected && is_stale(&error) => {
                self.disconnect();
                self.ask(request)
            }
            answer => answer,
        };
        answer.map(ResponseHead::from).map_err(|error| {
            self.disconnect();
            TransportError::new(kind_of(&error), alloc::format!("{error}"))
        })
    }

    fn close(&mut self) {
        if !self.exchange.is_reusable() {
            self.disconnect();
        }
    }

    fn set_max_wait(&mut self, max_wait: Option<Duration>) {
        self.connection.set_max_wait(max_wait);
    }
}

impl<C: Connection, const N: usize> ErrorType for HttpSource<'_, C, N> {
    type Error = ExchangeError<C::Error>;
}

impl<C: Connection, const N: usize> Read for HttpSource<'_, C, N> {
    fn read(&mut self, buf: &mut [u8]) -> Result<usize, Self::Error> {
        match self.exchange.read(&mut self.connection, buf)? {
            Received::Data(len) => Ok(len),
            Received::Head(_) | Received::End => Ok(0),
        }
    }
}

/// Whether the server closed a connection that it had kept, instead of an answer.
fn is_stale<E: Error>(error: &ExchangeError<E>) -> bool {
    match error {
        ExchangeError::Protocol(error) => *error == ProtocolError::ClosedBeforeAnswer,
        ExchangeError::Connection(error) => TransportErrorKind::from(error.kind()) == TransportErrorKind::Reset,
        ExchangeError::Unwritten => true,
    }
}

fn kind_of<E: Error>(error: &ExchangeError<E>) -> TransportErrorKind {
    match error {
        ExchangeError::Protocol(ProtocolError::Unsendable(_)) => TransportErrorKind::Unsendable,
        error => error.kind().into(),
    }
}
