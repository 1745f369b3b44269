//! An exchange and a source over a connection that blocks.

use super::buffered::{Exchange, Received};
use super::error::ExchangeError;
use super::get::Get;
use super::source::{HttpSource, Link};
use core::fmt::Display;
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

impl<C: Connection, const N: usize> HttpSource<'_, C, N> {
    /// Connects, writes once, or reads once.
    fn step(
        &mut self,
        max_wait: Option<Duration>,
        buf: &mut [u8],
    ) -> Result<Option<Received>, ExchangeError<C::Error>> {
        let Self { exchange, open, link, connection, .. } = self;
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
        if self.link == Link::Closed {
            self.connection.close();
        }
    }
}

impl<C: Connection, const N: usize> ListerWatcher for HttpSource<'_, C, N> {
    fn open(&mut self, id: RequestId, request: &Request) {
        self.on_abort(None);
        self.tidy();
        self.on_open(id, request);
    }

    fn poll_read(&mut self, context: ReadContext<'_, '_>, buf: &mut [u8]) -> Poll<Incoming> {
        if self.open.is_none() {
            return Poll::Ready(Incoming::Idle { until: None });
        }
        let stepped = self.step(context.max_wait, buf);
        let incoming = self.on_step(stepped, C::explain);
        self.tidy();
        Poll::Ready(incoming.unwrap_or(Incoming::Idle { until: Some(context.now) }))
    }

    fn abort(&mut self, id: RequestId) {
        self.on_abort(Some(id));
        self.tidy();
    }
}

/// Whether the same read or write may succeed later.
fn is_passing(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::TimedOut | ErrorKind::Interrupted)
}

impl<const N: usize> Exchange<N> {
    /// Sends a request. The connection is new, or the exchange before says that it is
    /// [reusable](Exchange::is_reusable). After an error, it is of no more use.
    pub fn open<W: Write, T: Display>(
        &mut self,
        connection: &mut W,
        request: &Get<'_, T>,
    ) -> Result<(), ExchangeError<W::Error>> {
        self.begin();
        while !self.send(connection, request)? {}
        Ok(())
    }

    /// Reads the next part of the answer; data goes to the front of `buf`. It waits as long as the connection does. After
    /// an error of the connection, such as a time limit, a read goes on where it was. If `buf` is empty, nothing is read.
    pub fn read<R: Read>(&mut self, connection: &mut R, buf: &mut [u8]) -> Result<Received, ExchangeError<R::Error>> {
        loop {
            if let Some(received) = self.read_once(connection, buf)? {
                return Ok(received);
            }
        }
    }

    /// Writes once. Returns whether the whole request was sent; if not, the next call goes on.
    fn send<W: Write, T: Display>(
        &mut self,
        connection: &mut W,
        request: &Get<'_, T>,
    ) -> Result<bool, ExchangeError<W::Error>> {
        let unsent = self.unsent(request)?;
        let (most, mut len) = (unsent.len(), 0);
        if most > 0 {
            len = connection.write(unsent).map_err(ExchangeError::Connection)?;
        }
        if !self.handle_sent(len, most)? {
            return Ok(false);
        }
        connection.flush().map_err(ExchangeError::Connection)?;
        self.wipe();
        Ok(true)
    }

    /// Reads once at most. `None` if the bytes that arrived complete no part of the answer.
    fn read_once<R: Read>(
        &mut self,
        connection: &mut R,
        buf: &mut [u8],
    ) -> Result<Option<Received>, ExchangeError<R::Error>> {
        if let Some(received) = self.try_received(buf)? {
            return Ok(Some(received));
        }
        let len = connection.read(self.space(buf)).map_err(ExchangeError::Connection)?;
        Ok(self.handle_received(buf, len)?)
    }
}
