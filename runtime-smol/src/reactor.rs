//! async-io's reactor, by which the task of an informer reads a watch over HTTP. Its thread wakes a task of any executor.

use core::pin::Pin;
use core::task::{Context, Poll, ready};
use core::time::Duration;
use listwatch_transport_http::{PollRead, Reactor};
use smol::{Async, Timer};
use std::io::{self, ErrorKind};
use std::net::TcpStream;
use std::sync::Arc;

/// The reactor whose timers this crate uses too. A [`World`](crate::World) of a cluster has it.
///
/// ```no_run
/// # fn main() -> Result<(), listwatch_transport_http::ConfigError> {
/// use listwatch::http::Cluster;
/// use listwatch::reactor::AsyncIo;
/// use std::sync::Arc;
///
/// let transport = Cluster::infer()?.transport()?.with_reactor(Arc::new(AsyncIo));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct AsyncIo;

impl Reactor for AsyncIo {
    fn register(&self, socket: Arc<TcpStream>) -> io::Result<Box<dyn PollRead>> {
        Ok(Box::new(Socket { socket: Async::new(socket)?, is_waiting: false }))
    }

    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + Sync>> {
        Box::pin(async move { _ = Timer::after(duration).await })
    }
}

struct Socket {
    socket: Async<Arc<TcpStream>>,
    /// The last read would have blocked, and the socket was not readable since.
    is_waiting: bool,
}

impl PollRead for Socket {
    fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        read: &mut dyn FnMut() -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        loop {
            if self.is_waiting {
                ready!(self.socket.poll_readable(cx))?;
            }
            let result = read();
            self.is_waiting = result.as_ref().is_err_and(|error| error.kind() == ErrorKind::WouldBlock);
            if !self.is_waiting {
                return Poll::Ready(result);
            }
        }
    }
}
