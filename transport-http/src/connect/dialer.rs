//! The way to a server: a socket with keep-alive, through a proxy if there is one, and TLS.

use super::input::Input;
use super::veil::{BUFFER, Link, Veil, VeiledTransport};
use super::wire::{Socket, Stream, Wire, limited};
use super::{socks, tunnel};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use socket2::{SockRef, TcpKeepalive};
use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Weak};
use std::time::Duration;
use ureq::http::Uri;
use ureq::unversioned::transport::time::{self, Instant};
use ureq::unversioned::transport::{ConnectionDetails, Connector, NextTimeout, ShutdownHandle};
use ureq::{Error, Proxy, ProxyProtocol, Timeout};

/// How many unanswered probes end a connection.
const PROBES: u32 = 3;

/// Connects to a server for ureq.
///
/// ureq's own connectors set no keep-alive, do not hand out their sockets, log all bytes at the level `trace`, and
/// expect the host of the URL in the certificate.
#[derive(Debug)]
pub(crate) struct Dialer {
    /// How long a peer may acknowledge nothing.
    pub(crate) keep_alive: Option<Duration>,
    pub(crate) tls: Option<Arc<ClientConfig>>,
    /// The name to expect in the server's certificate, if not the host of its URL.
    pub(crate) server_name: Option<ServerName<'static>>,
    /// TLS with a proxy, which gets neither the certificate nor the name for the server.
    pub(crate) proxy_tls: Option<Arc<ClientConfig>>,
    pub(crate) veil: Veil,
}

/// An error of TLS with the proxy.
#[derive(Debug)]
pub(crate) struct OfProxy(pub(crate) io::Error);

impl fmt::Display for OfProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the proxy: {}", self.0)
    }
}

impl std::error::Error for OfProxy {}

impl Connector for Dialer {
    type Out = VeiledTransport;

    fn connect(&self, details: &ConnectionDetails<'_>, _: Option<()>) -> Result<Option<VeiledTransport>, Error> {
        let (wire, mut stream) = match details.config.proxy() {
            None => self.dial(&details.addrs, details)?,
            Some(proxy) => self.dial_through(proxy, details)?,
        };
        if details.needs_tls() {
            stream = shake_hands(stream, self.tls.as_ref(), self.server_name.clone(), details.uri)?;
        }
        let link = Link { wire, stream, is_tls: details.needs_tls(), input: Input::default() };
        Ok(Some(VeiledTransport::over(link, self.veil.clone())))
    }
}

impl Dialer {
    /// Connects to the first address that accepts. Each one gets half of the remaining time, the last one all of it.
    fn dial(&self, addresses: &[SocketAddr], details: &ConnectionDetails<'_>) -> Result<(Arc<Wire>, Stream), Error> {
        let mut last = Error::ConnectionFailed;
        for (place, address) in addresses.iter().enumerate() {
            let limit = limited(left(details))?;
            let share = if place + 1 < addresses.len() { limit.map(|limit| limit / 2) } else { limit };
            match connect(address, share) {
                Ok(stream) => return self.begin(stream, details),
                Err(error) if is_of_address(&error) => last = error,
                Err(error) => return Err(error),
            }
        }
        Err(last)
    }

    /// Prepares a socket for the handshakes, which have the remaining time.
    fn begin(&self, stream: TcpStream, details: &ConnectionDetails<'_>) -> Result<(Arc<Wire>, Stream), Error> {
        stream.set_nodelay(details.config.no_delay())?;
        if let Some(limit) = self.keep_alive {
            // If the system refuses it, a dead peer is detected later.
            let _ = keep_alive(&stream, limit);
        }
        let wire = Wire::new(stream);
        let handle: Weak<dyn ShutdownHandle> = Arc::<TcpStream>::downgrade(&wire.stream);
        (details.register_shutdown)(handle)?;
        wire.limit(left(details));
        Ok((wire.clone(), Box::new(Socket(wire))))
    }

    fn dial_through(&self, proxy: &Proxy, details: &ConnectionDetails<'_>) -> Result<(Arc<Wire>, Stream), Error> {
        let addresses = details.resolver.resolve(proxy.uri(), details.config, left(details))?;
        let (wire, mut stream) = self.dial(&addresses, details)?;
        if proxy.protocol() == ProxyProtocol::Https {
            stream = shake_hands(stream, self.proxy_tls.as_ref(), None, proxy.uri()).map_err(of_proxy)?;
        }
        let host = details.uri.host().unwrap_or_default();
        let usual = if details.needs_tls() { 443 } else { 80 };
        let target = (host, details.uri.port_u16().unwrap_or(usual));
        match proxy.protocol() {
            ProxyProtocol::Socks5h => socks::connect(&mut stream, proxy, target)?,
            _ => tunnel::connect(&mut stream, proxy, target)?,
        }
        Ok((wire, stream))
    }
}

/// Begins TLS. Without a name, the host of the URL is expected in the certificate.
fn shake_hands(
    stream: Stream,
    config: Option<&Arc<ClientConfig>>,
    name: Option<ServerName<'static>>,
    uri: &Uri,
) -> Result<Stream, Error> {
    let of_host = || {
        let host = uri.host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
        ServerName::try_from(host).map_err(|_| Error::Tls("the host is neither a name nor an address"))
    };
    let config = config.cloned().ok_or(Error::TlsRequired)?;
    let mut connection = ClientConnection::new(config, name.map_or_else(of_host, Ok)?).map_err(io::Error::other)?;
    connection.set_buffer_limit(Some(BUFFER));
    let mut stream = StreamOwned::new(connection, ReadAhead { stream, input: Input::default() });
    stream.conn.complete_io(&mut stream.sock)?;
    Ok(Box::new(stream))
}

fn of_proxy(error: Error) -> Error {
    match error {
        Error::Io(error) if error.get_ref().is_some_and(|inner| inner.is::<rustls::Error>()) => {
            Error::Io(io::Error::new(error.kind(), OfProxy(error)))
        }
        error => error,
    }
}

/// Reads for TLS, which asks for 4 KB at once.
struct ReadAhead {
    stream: Stream,
    input: Input,
}

impl Read for ReadAhead {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if self.input.unread().is_empty() {
            self.input.fill(&mut self.stream)?;
        }
        let len = self.input.unread().read(buf)?;
        self.input.consume(len);
        Ok(len)
    }
}

impl Write for ReadAhead {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.stream.write(buf)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

/// The remaining time to connect.
fn left(details: &ConnectionDetails<'_>) -> NextTimeout {
    let after = match (details.timeout.after, details.now, (details.current_time)()) {
        (time::Duration::Exact(limit), Instant::Exact(began), Instant::Exact(now)) => {
            time::Duration::Exact(limit.saturating_sub(now.saturating_duration_since(began)))
        }
        (unlimited, ..) => unlimited,
    };
    NextTimeout { after, ..details.timeout }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn probes_come_in_time_to_notice_a_dead_peer_within_the_limit() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        for (limit, time, interval) in [(50, 20, 10), (5, 2, 1), (7, 2, 1), (1, 1, 1), (43_200, 17_280, 8_640)] {
            let stream = connect(&listener.local_addr().unwrap(), None).unwrap();
            let (socket, seconds) = (SockRef::from(&stream), Duration::from_secs);
            assert!(!socket.keepalive().unwrap());
            keep_alive(&stream, seconds(limit)).unwrap();
            assert!(socket.keepalive().unwrap());
            assert_eq!(socket.tcp_keepalive_time().unwrap(), seconds(time), "of {limit}");
            assert_eq!(socket.tcp_keepalive_interval().unwrap(), seconds(interval), "of {limit}");
            assert_eq!(socket.tcp_keepalive_retries().unwrap(), PROBES);
            assert_eq!(socket.tcp_user_timeout().unwrap(), Some(seconds(limit)));
        }
    }
}
