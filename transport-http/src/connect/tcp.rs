//! TCP connections that detect a peer that vanished.

use super::buffers::ElasticBuffers;
use super::wire::{LastWire, Wire};
use crate::clock;
use socket2::{SockRef, TcpKeepalive};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Weak};
use std::time::Duration;
use ureq::unversioned::transport::time::{self, Instant};
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, Either, NextTimeout, ShutdownHandle, Transport,
};
use ureq::{Error, Timeout};

/// How many unanswered probes end a connection.
const PROBES: u32 = 3;
/// The most bytes that wait for a socket which must not block: answers of TLS to a peer that reads none of them.
const MAX_UNSENT: usize = 64 * 1024;

/// Opens TCP connections with keep-alive.
///
/// ureq's own connector does not hand out its sockets, and so cannot set keep-alive.
#[derive(Debug)]
pub(crate) struct TcpConnector {
    keep_alive: Option<Duration>,
    last: LastWire,
}

impl TcpConnector {
    /// Takes the limit on how long a peer may acknowledge nothing, and what is told of the socket that is written to.
    pub(crate) fn new(keep_alive: Option<Duration>, last: LastWire) -> Self {
        Self { keep_alive, last }
    }

    /// Connects to the first address that accepts. Each one gets half of the remaining time, the last one all of it.
    pub(super) fn dial(
        &self,
        addresses: &[SocketAddr],
        details: &ConnectionDetails<'_>,
    ) -> Result<TcpTransport, Error> {
        let mut last = Error::ConnectionFailed;
        for (place, address) in addresses.iter().enumerate() {
            let limit = limit(NextTimeout { after: left(details), ..details.timeout })?;
            let share = if place + 1 < addresses.len() { limit.map(|limit| limit / 2) } else { limit };
            match connect(address, share) {
                Ok(stream) => return self.transport(stream, details),
                Err(error) if is_of_address(&error) => last = error,
                Err(error) => return Err(error),
            }
        }
        Err(last)
    }

    fn transport(&self, stream: TcpStream, details: &ConnectionDetails<'_>) -> Result<TcpTransport, Error> {
        stream.set_nodelay(details.config.no_delay())?;
        if let Some(limit) = self.keep_alive {
            // If the system refuses it, a dead peer is detected later.
            let _ = keep_alive(&stream, limit);
        }
        let wire = Wire::new(stream);
        let handle: Weak<dyn ShutdownHandle> = Arc::<TcpStream>::downgrade(&wire.stream);
        (details.register_shutdown)(handle)?;
        Ok(TcpTransport::over(wire, self.last.clone(), details.config.output_buffer_size()))
    }
}

impl<In: Transport> Connector<In> for TcpConnector {
    type Out = Either<In, TcpTransport>;

    fn connect(&self, details: &ConnectionDetails<'_>, below: Option<In>) -> Result<Option<Self::Out>, Error> {
        match below {
            Some(below) => Ok(Some(Either::A(below))),
            None => self.dial(&details.addrs, details).map(Either::B).map(Some),
        }
    }
}

/// The remaining time to connect.
pub(super) fn left(details: &ConnectionDetails<'_>) -> time::Duration {
    match (details.timeout.after, details.now, (details.current_time)()) {
        (time::Duration::Exact(limit), Instant::Exact(began), Instant::Exact(now)) => {
            time::Duration::Exact(limit.saturating_sub(now.saturating_duration_since(began)))
        }
        (unlimited, ..) => unlimited,
    }
}

/// The time limit; `None` for no limit, an error if the time is over.
fn limit(timeout: NextTimeout) -> Result<Option<Duration>, Error> {
    match timeout.after {
        time::Duration::NotHappening => Ok(None),
        time::Duration::Exact(Duration::ZERO) => Err(Error::Timeout(timeout.reason)),
        time::Duration::Exact(limit) => Ok(Some(limit)),
    }
}

fn connect(address: &SocketAddr, limit: Option<Duration>) -> Result<TcpStream, Error> {
    let stream = match limit {
        Some(limit) => TcpStream::connect_timeout(address, limit),
        None => TcpStream::connect(address),
    };
    stream.map_err(|error| match error.kind() {
        ErrorKind::TimedOut | ErrorKind::WouldBlock => Error::Timeout(Timeout::Connect),
        _ => Error::Io(error),
    })
}

/// Whether an error concerns one address, so that another one of the host may accept.
fn is_of_address(error: &Error) -> bool {
    match error {
        Error::Timeout(_) => true,
        Error::Io(error) => {
            // Windows reports with WSAEACCES that a firewall blocks addresses of this kind.
            (cfg!(windows) && error.raw_os_error() == Some(10013))
                || matches!(
                    error.kind(),
                    ErrorKind::ConnectionRefused
                        | ErrorKind::HostUnreachable
                        | ErrorKind::NetworkUnreachable
                        | ErrorKind::AddrNotAvailable
                )
        }
        _ => false,
    }
}

/// Lets the system end a connection whose peer has acknowledged nothing for `limit`.
///
/// Probes check an idle connection. On Linux and Android a second limit holds for sent data.
fn keep_alive(stream: &TcpStream, limit: Duration) -> io::Result<()> {
    let socket = SockRef::from(stream);
    socket.set_tcp_keepalive(&probes(limit))?;
    #[cfg(any(target_os = "linux", target_os = "android"))]
    socket.set_tcp_user_timeout(Some(limit))?;
    Ok(())
}

/// The first probe follows after two fifths of the limit, the others a fifth apart, in whole seconds.
fn probes(limit: Duration) -> TcpKeepalive {
    let fifth = (limit / 5).max(Duration::from_secs(1));
    let probes = TcpKeepalive::new().with_time(limit.saturating_sub(PROBES * fifth).max(Duration::from_secs(1)));
    #[cfg(any(
        target_os = "linux",
        target_os = "android",
        target_os = "macos",
        target_os = "ios",
        target_os = "freebsd",
        target_os = "windows"
    ))]
    let probes = probes.with_interval(fifth).with_retries(PROBES);
    probes
}

/// A connection.
#[derive(Debug)]
pub(crate) struct TcpTransport {
    wire: Arc<Wire>,
    last: LastWire,
    buffers: ElasticBuffers,
    /// Output that a socket which must not block has not taken yet.
    unsent: Vec<u8>,
    /// The timeouts that the socket has now.
    read_limit: Option<Duration>,
    write_limit: Option<Duration>,
}

impl TcpTransport {
    fn over(wire: Wire, last: LastWire, output_size: usize) -> Self {
        let (wire, buffers) = (Arc::new(wire), ElasticBuffers::new(output_size));
        Self { wire, last, buffers, unsent: Vec::new(), read_limit: None, write_limit: None }
    }

    fn limit_reads(&mut self, limit: Option<Duration>) -> io::Result<()> {
        set_timeout(&mut self.read_limit, limit, || self.wire.stream.set_read_timeout(limit))
    }

    fn limit_writes(&mut self, limit: Option<Duration>) -> io::Result<()> {
        set_timeout(&mut self.write_limit, limit, || self.wire.stream.set_write_timeout(limit))
    }

    /// Whether the peer has sent nothing, neither data nor an end. An idle connection must be quiet to be reused.
    fn is_quiet(&self) -> io::Result<bool> {
        let stream = self.wire.poll()?;
        let is_quiet = matches!((&*stream).read(&mut [0]), Err(error) if error.kind() == ErrorKind::WouldBlock);
        self.wire.block()?;
        Ok(is_quiet && self.unsent.is_empty())
    }

    /// Reads what is there. An error of [`WouldBlock`](ErrorKind::WouldBlock) has changed nothing.
    fn poll_input(&mut self) -> Result<bool, Error> {
        self.send_unsent()?;
        loop {
            match (&*self.wire.stream).read(self.buffers.input_append_buf()) {
                Ok(len) => {
                    self.buffers.input_appended(len);
                    return Ok(len > 0);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    self.buffers.free_input();
                    return Err(Error::Io(lasting(error)));
                }
            }
        }
    }

    /// Sends what the socket takes now. The rest goes before the next read.
    fn poll_output(&mut self, amount: usize) -> Result<(), Error> {
        self.unsent.extend_from_slice(&self.buffers.output()[..amount]);
        self.buffers.free_output();
        self.send_unsent()
    }

    fn send_unsent(&mut self) -> Result<(), Error> {
        while !self.unsent.is_empty() {
            match (&*self.wire.stream).write(&self.unsent) {
                Ok(len) => drop(self.unsent.drain(..len)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock && self.unsent.len() <= MAX_UNSENT => return Ok(()),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    return Err(Error::Io(io::Error::new(ErrorKind::BrokenPipe, "the other side reads no answers")));
                }
                Err(error) => return Err(Error::Io(lasting(error))),
            }
        }
        self.unsent = Vec::new();
        Ok(())
    }
}

/// Sets a timeout of a socket, unless the socket has it already.
fn set_timeout(
    last: &mut Option<Duration>,
    limit: Option<Duration>,
    set: impl FnOnce() -> io::Result<()>,
) -> io::Result<()> {
    if limit == *last {
        return Ok(());
    }
    match set() {
        Ok(()) => *last = limit,
        // macOS reports it after the peer has closed. Its data can still be read.
        Err(error) if cfg!(target_os = "macos") && error.kind() == ErrorKind::InvalidInput => {}
        Err(error) => return Err(error),
    }
    Ok(())
}

impl Transport for TcpTransport {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        self.last.set(&self.wire);
        if self.wire.is_polled() {
            return self.poll_output(amount);
        }
        let timeout = timeout.for_write();
        self.limit_writes(limit(timeout)?)?;
        let output = &self.buffers.output()[..amount];
        (&*self.wire.stream).write_all(output).map_err(|error| failure(error, timeout))?;
        self.buffers.free_output();
        Ok(())
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        if self.wire.is_polled() {
            return self.poll_input();
        }
        let timeout = timeout.for_read();
        let limit = limit(timeout)?;
        let deadline = limit.and_then(|limit| clock::steady().checked_add(limit));
        self.limit_reads(limit)?;
        loop {
            match (&*self.wire.stream).read(self.buffers.input_append_buf()) {
                Ok(len) => {
                    self.buffers.input_appended(len);
                    return Ok(len > 0);
                }
                // Linux does not resume a read with a timeout after a signal.
                Err(error) if error.kind() == ErrorKind::Interrupted => {
                    let left = deadline.map(|deadline| deadline.saturating_duration_since(clock::steady()));
                    if left == Some(Duration::ZERO) {
                        return Err(Error::Timeout(timeout.reason));
                    }
                    self.limit_reads(left)?;
                }
                Err(error) => return Err(failure(error, timeout)),
            }
        }
    }

    fn is_open(&mut self) -> bool {
        self.is_quiet().unwrap_or(false)
    }
}

/// Tells our own timeouts from a vanished peer and from other errors of the socket.
fn failure(error: io::Error, timeout: NextTimeout) -> Error {
    match error.kind() {
        ErrorKind::WouldBlock => Error::Timeout(timeout.reason),
        ErrorKind::TimedOut if cfg!(windows) => Error::Timeout(timeout.reason),
        _ => Error::Io(lasting(error)),
    }
}

/// Tells a vanished peer from other errors of the socket.
fn lasting(error: io::Error) -> io::Error {
    match error.kind() {
        // After keep-alive failed, the system reports a timeout or the last ICMP error. ureq would take other kinds for
        // the end of a body without a length.
        ErrorKind::TimedOut | ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable | ErrorKind::NetworkDown => {
            io::Error::new(ErrorKind::BrokenPipe, format!("the other side no longer answers ({error})"))
        }
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn probes_come_in_time_to_notice_a_dead_peer_within_the_limit() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        for (limit, time, interval) in [(50, 20, 10), (5, 2, 1), (7, 2, 1), (1, 1, 1), (43_200, 17_280, 8_640)] {
            let stream = connect(&listener.local_addr().unwrap(), None).unwrap();
            let socket = SockRef::from(&stream);
            assert!(!socket.keepalive().unwrap());
            keep_alive(&stream, seconds(limit)).unwrap();
            assert!(socket.keepalive().unwrap());
            assert_eq!(socket.tcp_keepalive_time().unwrap(), seconds(time), "of {limit}");
            assert_eq!(socket.tcp_keepalive_interval().unwrap(), seconds(interval), "of {limit}");
            assert_eq!(socket.tcp_keepalive_retries().unwrap(), PROBES);
            assert_eq!(socket.tcp_user_timeout().unwrap(), Some(seconds(limit)));
        }
    }

    #[test]
    fn a_vanished_peer_is_told_from_a_time_limit() {
        let timeout = NextTimeout { reason: Timeout::PerRead, ..NextTimeout::default() };
        let kind = |kind: ErrorKind| failure(kind.into(), timeout);
        assert!(matches!(kind(ErrorKind::WouldBlock), Error::Timeout(Timeout::PerRead)));
        assert!(
            matches!(kind(ErrorKind::ConnectionReset), Error::Io(error) if error.kind() == ErrorKind::ConnectionReset)
        );
        let Error::Io(error) = kind(ErrorKind::HostUnreachable) else { panic!("an error of the socket's") };
        assert_eq!(error.kind(), ErrorKind::BrokenPipe);
        assert!(error.to_string().starts_with("the other side no longer answers ("), "{error}");
    }

    /// A connection that must not block, and its other side.
    fn polled() -> (TcpTransport, TcpStream) {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = connect(&listener.local_addr().unwrap(), None).unwrap();
        let transport = TcpTransport::over(Wire::new(stream), LastWire::default(), 4096);
        transport.wire.poll().unwrap();
        (transport, listener.accept().unwrap().0)
    }

    fn send(transport: &mut TcpTransport, byte: u8) -> Result<(), Error> {
        transport.buffers.output().fill(byte);
        transport.transmit_output(4096, NextTimeout::default())
    }

    #[test]
    fn output_that_a_full_socket_does_not_take_is_sent_later() {
        let ((mut transport, mut other), mut sent) = (polled(), Vec::new());
        while transport.unsent.is_empty() {
            let byte = (sent.len() / 4096 % 251) as u8;
            send(&mut transport, byte).unwrap();
            sent.extend([byte; 4096]);
            assert!(sent.len() < 64 << 20, "no socket takes so much");
        }
        let received = std::thread::spawn(move || {
            let mut received = Vec::new();
            other.read_to_end(&mut received).unwrap();
            received
        });
        while !transport.unsent.is_empty() {
            let read = transport.await_input(NextTimeout::default());
            assert!(matches!(read, Err(Error::Io(error)) if error.kind() == ErrorKind::WouldBlock));
            std::thread::yield_now();
        }
        assert!(transport.is_open(), "it may be used again");
        drop(transport);
        assert!(received.join().unwrap() == sent);
    }

    #[test]
    fn a_peer_that_reads_no_answers_costs_bounded_memory_and_its_connection_is_not_used_again() {
        let (mut transport, _other) = polled();
        let error = loop {
            if let Err(error) = send(&mut transport, 7) {
                break error;
            }
        };
        assert!(matches!(error, Error::Io(error) if error.kind() == ErrorKind::BrokenPipe));
        assert!(transport.unsent.len() <= MAX_UNSENT + 4096);
        assert!(!transport.is_open());
    }
}
