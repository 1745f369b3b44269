use std::fmt;
use std::io;
use std::net::TcpStream;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

/// The reactor of an async runtime: by it, a task waits for a socket, and for time to pass.
///
/// [`HttpTransport::with_reactor`](crate::HttpTransport::with_reactor) takes one. `listwatch` hands in
/// async-io's, which works under any executor. One for tokio wraps the socket in its `AsyncFd`.
pub trait Reactor: fmt::Debug + Send + Sync + 'static {
    /// Registers a socket, which is non-blocking. The task that reads from it calls this, inside of its runtime.
    ///
    /// Once the returned value is dropped, the socket must not be registered any more.
    ///
    /// # Errors
    /// If the socket cannot be registered. Then the request fails.
    fn register(&self, socket: Arc<TcpStream>) -> io::Result<Box<dyn PollRead>>;

    /// Returns a future that is ready once this much time has passed.
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + Sync>>;
}

/// A registered socket.
pub trait PollRead: Send + Sync {
    /// Calls `read` until it returns anything else than an error of [`WouldBlock`](io::ErrorKind::WouldBlock), which is
    /// then returned. After such an error it waits until the socket is readable before it calls `read` again.
    ///
    /// The first call of `read`, and the one after each that has returned something else, does not wait: the bytes of
    /// `read` may come from a buffer.
    ///
    /// # Errors
    /// Those of `read`, and of the reactor.
    fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        read: &mut dyn FnMut() -> io::Result<usize>,
    ) -> Poll<io::Result<usize>>;
}
