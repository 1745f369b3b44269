//! A socket that waits for its peer as long as a request may, or not at all.

use crate::clock;
use crate::lock::Lock;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};
use ureq::Error;
use ureq::unversioned::transport::{NextTimeout, time};

/// The most bytes that wait for a socket which must not block: answers of TLS to a peer that reads none of them.
const MAX_UNSENT: usize = 64 * 1024;

/// By so much a socket may miss its limit, which saves calls of the system.
const INEXACT: Duration = Duration::from_millis(10);

/// The socket of a connection.
#[derive(Debug)]
pub(crate) struct Wire {
    /// Shared with the handle that shuts it down from another thread, and with a reactor.
    pub(super) stream: Arc<TcpStream>,
    state: Lock<State>,
}

#[derive(Debug)]
struct State {
    /// No read and no write blocks.
    is_polled: bool,
    /// The limit of reads and writes that block, and when it began.
    limit: NextTimeout,
    began: Instant,
    /// The timeouts that the socket has now.
    read_limit: Option<Duration>,
    write_limit: Option<Duration>,
    /// Output that a socket which must not block has not taken yet.
    unsent: Vec<u8>,
}

impl Wire {
    pub(super) fn new(stream: TcpStream) -> Arc<Self> {
        let (limit, began, unsent) = (NextTimeout::default(), clock::steady(), Vec::new());
        let state = State { is_polled: false, limit, began, read_limit: None, write_limit: None, unsent };
        Arc::new(Self { stream: Arc::new(stream), state: Lock::new(state) })
    }

    /// Lets no read and no write block any more, until the next response. A read that would block fails with
    /// [`WouldBlock`](ErrorKind::WouldBlock), and may be repeated.
    pub(crate) fn poll(&self) -> io::Result<Arc<TcpStream>> {
        self.stream.set_nonblocking(true)?;
        self.state.lock().is_polled = true;
        Ok(self.stream.clone())
    }

    /// Limits the reads and writes that follow, all together.
    pub(super) fn limit(&self, limit: NextTimeout) {
        let mut state = self.state.lock();
        (state.limit, state.began) = (limit, clock::steady());
    }

    /// Lets reads and writes block. Whether the peer has sent nothing, neither data nor an end: an idle connection must
    /// be quiet to be reused.
    pub(super) fn is_quiet(&self) -> io::Result<bool> {
        let stream = self.poll()?;
        let is_quiet = matches!((&*stream).read(&mut [0]), Err(error) if error.kind() == ErrorKind::WouldBlock);
        stream.set_nonblocking(false)?;
        let mut state = self.state.lock();
        state.is_polled = false;
        Ok(is_quiet && state.unsent.is_empty())
    }
}

impl State {
    fn left(&self) -> NextTimeout {
        let mut left = self.limit;
        if let time::Duration::Exact(limit) = left.after {
            left.after = time::Duration::Exact(limit.saturating_sub(clock::steady() - self.began));
        }
        left
    }

    fn limit_reads(&mut self, stream: &TcpStream) -> Result<NextTimeout, Error> {
        let left = self.left().for_read();
        set_timeout(&mut self.read_limit, left, |limit| stream.set_read_timeout(limit)).map(|()| left)
    }

    fn limit_writes(&mut self, stream: &TcpStream) -> Result<NextTimeout, Error> {
        let left = self.left().for_write();
        set_timeout(&mut self.write_limit, left, |limit| stream.set_write_timeout(limit)).map(|()| left)
    }

    /// Sends what the socket takes now. The rest goes before the next read.
    fn send_unsent(&mut self, mut stream: &TcpStream) -> io::Result<()> {
        while !self.unsent.is_empty() {
            match stream.write(&self.unsent) {
                Ok(len) => drop(self.unsent.drain(..len)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock && self.unsent.len() <= MAX_UNSENT => return Ok(()),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    return Err(io::Error::new(ErrorKind::BrokenPipe, "the other side reads no answers"));
                }
                Err(error) => return Err(lasting(error)),
            }
        }
        self.unsent = Vec::new();
        Ok(())
    }
}

/// The remaining time; `None` for no limit, an error if the time is over.
pub(super) fn limited(timeout: NextTimeout) -> Result<Option<Duration>, Error> {
    match timeout.after {
        time::Duration::NotHappening => Ok(None),
        time::Duration::Exact(Duration::ZERO) => Err(Error::Timeout(timeout.reason)),
        time::Duration::Exact(limit) => Ok(Some(limit)),
    }
}

/// Sets a timeout of a socket, unless the socket has about the same.
fn set_timeout(
    last: &mut Option<Duration>,
    timeout: NextTimeout,
    set: impl FnOnce(Option<Duration>) -> io::Result<()>,
) -> Result<(), Error> {
    let limit = limited(timeout)?;
    let is_set = match (*last, limit) {
        (Some(last), Some(limit)) => limit.abs_diff(last) < INEXACT,
        (last, limit) => last == limit,
    };
    if is_set {
        return Ok(());
    }
    match set(limit) {
        Ok(()) => *last = limit,
        // macOS reports it after the peer has closed. Its data can still be read.
        Err(error) if cfg!(target_os = "macos") && error.kind() == ErrorKind::InvalidInput => {}
        Err(error) => return Err(error.into()),
    }
    Ok(())
}

/// A connection, as bytes.
pub(super) type Stream = Box<dyn ReadWrite>;

pub(super) trait ReadWrite: Read + Write + Send {}

impl<T: Read + Write + Send> ReadWrite for T {}

/// Reads and writes a socket.
pub(super) struct Socket(pub(super) Arc<Wire>);

impl Read for Socket {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let (mut stream, mut state) = (&*self.0.stream, self.0.state.lock());
        if state.is_polled {
            state.send_unsent(stream)?;
        }
        loop {
            // Linux does not resume a read with a timeout after a signal.
            let timeout = if state.is_polled { None } else { Some(state.limit_reads(stream).map_err(Error::into_io)?) };
            match stream.read(buf) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                read => return read.map_err(|error| failure(error, timeout)),
            }
        }
    }
}

impl Write for Socket {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let (mut stream, mut state) = (&*self.0.stream, self.0.state.lock());
        if state.is_polled {
            state.unsent.extend_from_slice(buf);
            return state.send_unsent(stream).map(|()| buf.len());
        }
        let timeout = state.limit_writes(stream).map_err(Error::into_io)?;
        stream.write(buf).map_err(|error| failure(error, Some(timeout)))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Tells our own timeouts from a vanished peer and from other errors of the socket. One that is polled has no timeout.
fn failure(error: io::Error, timeout: Option<NextTimeout>) -> io::Error {
    match (error.kind(), timeout) {
        (ErrorKind::WouldBlock, Some(timeout)) => Error::Timeout(timeout.reason).into_io(),
        (ErrorKind::TimedOut, Some(timeout)) if cfg!(windows) => Error::Timeout(timeout.reason).into_io(),
        _ => lasting(error),
    }
}

/// Tells a vanished peer from other errors of the socket.
fn lasting(error: io::Error) -> io::Error {
    match error.kind() {
        // After keep-alive failed, the system reports a timeout or the last ICMP error.
        ErrorKind::TimedOut | ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable | ErrorKind::NetworkDown => {
            io::Error::new(ErrorKind::BrokenPipe, format!("the other side no longer answers ({error})"))
        }
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use ureq::Timeout;

    #[test]
    fn a_vanished_peer_is_told_from_a_time_limit() {
        let timeout = NextTimeout { reason: Timeout::PerRead, ..NextTimeout::default() };
        let failed = |kind: ErrorKind| failure(kind.into(), Some(timeout));
        assert!(matches!(failed(ErrorKind::WouldBlock).into(), Error::Timeout(Timeout::PerRead)));
        assert_eq!(failed(ErrorKind::ConnectionReset).kind(), ErrorKind::ConnectionReset);
        let error = failed(ErrorKind::HostUnreachable);
        assert_eq!(error.kind(), ErrorKind::BrokenPipe);
        assert!(error.to_string().starts_with("the other side no longer answers ("), "{error}");
    }

    #[test]
    fn a_limit_holds_for_all_reads_together() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut socket = Socket(Wire::new(TcpStream::connect(listener.local_addr().unwrap()).unwrap()));
        let (mut other, _) = listener.accept().unwrap();
        let after = time::Duration::Exact(Duration::from_millis(200));
        socket.0.limit(NextTimeout { after, reason: Timeout::Connect, ..NextTimeout::default() });
        let began = clock::steady();
        let error = loop {
            other.write_all(b"a").unwrap();
            std::thread::park_timeout(Duration::from_millis(20));
            match socket.read(&mut [0; 64]) {
                Ok(len) => assert!(len > 0 && clock::steady() - began < Duration::from_secs(60), "{len}"),
                Err(error) => break error,
            }
        };
        assert!(matches!(error.into(), Error::Timeout(Timeout::Connect)));
    }

    /// A connection that must not block, and its other side.
    fn polled() -> (Socket, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let wire = Wire::new(TcpStream::connect(listener.local_addr().unwrap()).unwrap());
        wire.poll().unwrap();
        (Socket(wire), listener.accept().unwrap().0)
    }

    fn unsent(socket: &Socket) -> usize {
        socket.0.state.lock().unsent.len()
    }

    #[test]
    fn output_that_a_full_socket_does_not_take_is_sent_later() {
        let ((mut socket, mut other), mut sent) = (polled(), Vec::new());
        while unsent(&socket) == 0 {
            let bytes = [(sent.len() / 4096 % 251) as u8; 4096];
            socket.write_all(&bytes).unwrap();
            sent.extend(bytes);
            assert!(sent.len() < 64 << 20, "no socket takes so much");
        }
        let received = std::thread::spawn(move || {
            let mut received = Vec::new();
            other.read_to_end(&mut received).unwrap();
            received
        });
        while unsent(&socket) > 0 {
            assert!(socket.read(&mut [0]).is_err_and(|error| error.kind() == ErrorKind::WouldBlock));
            std::thread::yield_now();
        }
        assert!(socket.0.is_quiet().unwrap(), "it may be used again");
        drop(socket);
        assert!(received.join().unwrap() == sent);
    }

    #[test]
    fn a_peer_that_reads_no_answers_costs_bounded_memory_and_its_connection_is_not_used_again() {
        let (mut socket, _other) = polled();
        let error = loop {
            if let Err(error) = socket.write_all(&[7; 4096]) {
                break error;
            }
        };
        assert_eq!(error.kind(), ErrorKind::BrokenPipe);
        assert!(unsent(&socket) <= MAX_UNSENT + 4096);
        assert!(!socket.0.is_quiet().unwrap());
    }
}
