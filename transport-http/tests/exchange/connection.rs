//! A socket as firmware would have one, and a server that says what the test wants.

use embedded_io::{ErrorKind, ErrorType, Read, Write};
use listwatch_transport_http::exchange::Connection;
use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

/// How long anything is waited for. It only ends what would never end.
const LIMIT: Duration = Duration::from_secs(60);

pub(crate) struct Socket {
    server: SocketAddr,
    stream: Option<TcpStream>,
    /// How often it was connected.
    pub(crate) connected: usize,
}

impl Socket {
    pub(crate) fn new(server: SocketAddr) -> Self {
        Self { server, stream: None, connected: 0 }
    }

    fn stream(&self) -> Result<&TcpStream, ErrorKind> {
        self.stream.as_ref().ok_or(ErrorKind::NotConnected)
    }
}

impl Connection for Socket {
    fn connect(&mut self) -> Result<(), ErrorKind> {
        self.stream = Some(TcpStream::connect(self.server).map_err(|error| ErrorKind::from(error.kind()))?);
        self.connected += 1;
        Ok(())
    }

    fn close(&mut self) {
        self.stream = None;
    }

    fn set_max_wait(&mut self, max_wait: Option<Duration>) {
        let wait = max_wait.unwrap_or(LIMIT).max(Duration::from_millis(1));
        self.stream.as_ref().unwrap().set_read_timeout(Some(wait)).unwrap();
    }
}

impl ErrorType for Socket {
    type Error = ErrorKind;
}

impl Read for Socket {
    fn read(&mut self, buf: &mut [u8]) -> Result<usize, ErrorKind> {
        std::io::Read::read(&mut self.stream()?, buf).map_err(|error| match error.kind() {
            std::io::ErrorKind::WouldBlock => ErrorKind::TimedOut,
            kind => kind.into(),
        })
    }
}

impl Write for Socket {
    fn write(&mut self, buf: &[u8]) -> Result<usize, ErrorKind> {
        std::io::Write::write(&mut self.stream()?, buf).map_err(|error| error.kind().into())
    }

    fn flush(&mut self) -> Result<(), ErrorKind> {
        Ok(())
    }
}

/// Serves each connection by `serve`, one after the other, until the process ends.
pub(crate) fn server(mut serve: impl FnMut(TcpStream) + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            serve(connection.unwrap());
        }
    });
    address
}

/// The head of the next request on a connection; empty if the client has closed it.
pub(crate) fn request(connection: &TcpStream) -> String {
    let (mut head, mut reader) = (String::new(), BufReader::with_capacity(1, connection));
    while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head).is_ok_and(|len| len > 0) {}
    head
}
