//! An exchange and a source over a connection in a task.

use super::buffered::{Exchange, Received};
use super::error::ExchangeError;
use super::get::Get;
use super::source::{HttpSource, Link};
use core::fmt::Display;
use embedded_io_async::{Read, Write};
use listwatch_core::request::{Request, RequestId};
use listwatch_core::transport::{Incoming, TransportError};

/// A connection that firmware can make again, in a task: a socket, with or without TLS.
#[expect(async_fn_in_trait, reason = "firmware's executors run on one thread, as `embedded_io_async` has it")]
pub trait AsyncConnection: Read + Write {
    /// Connects to the server. The connection is closed, or was never made.
    async fn connect(&mut self) -> Result<(), Self::Error>;

    /// Closes the connection, if there is one, or what a dropped [`connect`](Self::connect) has begun.
    fn close(&mut self);

    /// The failure that the informer reports for an error. A connection with TLS, or one that resolves names, tells these
    /// failures from others here.
    fn explain(error: &Self::Error) -> TransportError
    where
        Self: Sized,
    {
        TransportError::of_connection(error)
    }
}

/// Lists and watches over a connection of the firmware, in a task. Otherwise as [`HttpSource`].
///
/// The task passes it what the informer wants, and the informer what it [reads](Self::read). The timer runs beside:
/// if it is due first, the task drops the future of the read. So the informer's deadlines hold for whole answers, however
/// they arrive, and for connecting too. A server that sends a byte a minute does not move them.
///
/// A dropped read loses nothing, if a dropped read and a dropped write of the connection have moved no byte. Connecting and
/// flushing begin again. Each error of the connection ends its request: a time limit of its own does, too.
///
/// ```no_run
/// # use listwatch_transport_http::exchange::AsyncConnection;
/// # fn now() -> listwatch_core::Instant { listwatch_core::Instant::ZERO }
/// # async fn sleep_until(_: Option<listwatch_core::Instant>) {}
/// # async fn run(socket: impl AsyncConnection) {
/// use listwatch_core::informer::{EventOf, FixedInformer};
/// use listwatch_core::projection::Text;
/// use listwatch_core::reflector::Action;
/// use listwatch_core::{InformerConfig, Resource, projection};
/// use listwatch_transport_http::exchange::{AsyncHttpSource, Endpoint};
/// # use smol::future::or; // as `embassy_futures::select::select`
///
/// projection! { struct Pod { node: Text<32> = "spec.nodeName" } }
///
/// const PODS: Resource = Resource::constant("/api/v1/pods", "", "");
/// let mut pods = FixedInformer::<Pod, 64>::fixed(PODS, InformerConfig::default());
/// let mut source = AsyncHttpSource::<_, 512>::new(Endpoint::new("10.0.0.1:6443"), socket);
/// pods.start(now());
/// loop {
///     while let Some(action) = pods.poll_action() {
///         match action {
///             Action::Open(id, request) => source.open(id, &request),
///             Action::Abort(id) => source.abort(id),
///         }
///     }
///     let sleep = sleep_until(pods.poll_timeout());
///     let incoming = or(async { Some(source.read(pods.space()).await) }, async { sleep.await; None });
///     match incoming.await {
///         Some(incoming) => pods.handle(now(), incoming),
///         None => pods.handle_timeout(now()),
///     }
///     while let Some(event) = pods.poll_event() {
///         if let EventOf::Added { object, .. } = event {
///             println!("{} is on {}", object.key(), object.value.node.as_str());
///         }
///     }
/// }
/// # }
/// ```
pub type AsyncHttpSource<'a, C, const N: usize> = HttpSource<'a, C, N>;

impl<C: AsyncConnection, const N: usize> HttpSource<'_, C, N> {
    /// Starts a request. The one before is given up. [`read`](Self::read) sends it, and reports its failure.
    pub fn open(&mut self, id: RequestId, request: &Request) {
        self.on_abort(None);
        self.tidy_async();
        self.on_open(id, request);
    }

    /// Gives a request up, if it is open.
    pub fn abort(&mut self, id: RequestId) {
        self.on_abort(Some(id));
        self.tidy_async();
    }

    /// The next part of the answer; data goes to the front of `buf`, which is not empty. It is pending for ever while no
    /// request is open.
    pub async fn read(&mut self, buf: &mut [u8]) -> Incoming {
        while self.open.is_some() {
            let stepped = self.step_async(buf).await;
            let incoming = self.on_step(stepped, C::explain);
            self.tidy_async();
            if let Some(incoming) = incoming {
                return incoming;
            }
        }
        core::future::pending().await
    }

    /// Connects, writes once, or reads once.
    async fn step_async(&mut self, buf: &mut [u8]) -> Result<Option<Received>, ExchangeError<C::Error>> {
        let Self { exchange, open, link, connection, .. } = self;
        if *link == Link::Closed {
            connection.close();
            connection.connect().await.map_err(ExchangeError::Connection)?;
            *link = Link::New;
        }
        match open {
            Some(open) if !open.is_sent => {
                open.is_sent = exchange.send_async(connection, &open.get).await?;
                Ok(None)
            }
            _ => exchange.read_once_async(connection, buf).await,
        }
    }

    /// Closes the connection where it is of no more use.
    fn tidy_async(&mut self) {
        if self.link == Link::Closed {
            self.connection.close();
        }
    }
}

impl<const N: usize> Exchange<N> {
    /// Sends a request. The connection is new, or the exchange before says that it is
    /// [reusable](Exchange::is_reusable). After an error, and after a drop of the future, it is of no more use.
    pub async fn open_async<W: Write, T: Display>(
        &mut self,
        connection: &mut W,
        request: &Get<'_, T>,
    ) -> Result<(), ExchangeError<W::Error>> {
        self.begin();
        while !self.send_async(connection, request).await? {}
        Ok(())
    }

    /// Reads the next part of the answer; data goes to the front of `buf`. If the future is dropped, and the connection
    /// loses no byte by that, the next read goes on where it was. If `buf` is empty, nothing is read.
    pub async fn read_async<R: Read>(
        &mut self,
        connection: &mut R,
        buf: &mut [u8],
    ) -> Result<Received, ExchangeError<R::Error>> {
        loop {
            if let Some(received) = self.read_once_async(connection, buf).await? {
                return Ok(received);
            }
        }
    }

    /// Writes once. Returns whether the whole request was sent; if not, the next call goes on.
    async fn send_async<W: Write, T: Display>(
        &mut self,
        connection: &mut W,
        request: &Get<'_, T>,
    ) -> Result<bool, ExchangeError<W::Error>> {
        let unsent = self.unsent(request)?;
        let (most, mut len) = (unsent.len(), 0);
        if most > 0 {
            len = connection.write(unsent).await.map_err(ExchangeError::Connection)?;
        }
        if !self.handle_sent(len, most)? {
            return Ok(false);
        }
        connection.flush().await.map_err(ExchangeError::Connection)?;
        self.wipe();
        Ok(true)
    }

    /// Reads once at most. `None` if the bytes that arrived complete no part of the answer.
    async fn read_once_async<R: Read>(
        &mut self,
        connection: &mut R,
        buf: &mut [u8],
    ) -> Result<Option<Received>, ExchangeError<R::Error>> {
        if let Some(received) = self.try_received(buf)? {
            return Ok(Some(received));
        }
        let len = connection.read(self.space(buf)).await.map_err(ExchangeError::Connection)?;
        Ok(self.handle_received(buf, len)?)
    }
}
