//! A connection as the server has it: plain or with TLS, and the ways to be rid of it.

use crate::sockets::LIMIT;
use crate::sockets::server::Open;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;

/// A connection, open until it is dropped.
pub(crate) struct Connection {
    stream: Stream,
    open: Open,
}

enum Stream {
    Plain(TcpStream),
    Tls(Box<StreamOwned<ServerConnection, TcpStream>>),
}

/// The other end of a connection that waits for its next request, as far as closing it goes.
#[derive(Debug)]
pub(crate) struct Waiting(TcpStream);

impl Connection {
    /// With TLS where there is something to show.
    pub(crate) fn new(tcp: TcpStream, shown: Option<Arc<ServerConfig>>, open: Open) -> Self {
        // Small writes are not to wait for each other.
        tcp.set_nodelay(true).unwrap();
        tcp.set_write_timeout(Some(LIMIT)).unwrap();
        let stream = match shown {
            None => Stream::Plain(tcp),
            Some(shown) => Stream::Tls(Box::new(StreamOwned::new(ServerConnection::new(shown).unwrap(), tcp))),
        };
        Self { stream, open }
    }

    pub(crate) fn is_tls(&self) -> bool {
        matches!(self.stream, Stream::Tls(_))
    }

    /// The head of the next request; `None` if the connection is closed first, or TLS does not come about.
    pub(crate) fn request(&mut self) -> Option<String> {
        let (mut head, mut buf) = (Vec::new(), [0; 4096]);
        while !head.ends_with(b"\r\n\r\n") {
            let len = self.read(&mut buf).ok().filter(|len| *len > 0)?;
            head.extend_from_slice(&buf[..len]);
        }
        String::from_utf8(head).ok()
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.open.count(bytes.len());
        match &mut self.stream {
            Stream::Plain(tcp) => tcp.write_all(bytes),
            Stream::Tls(tls) => tls.write_all(bytes).and_then(|()| tls.flush()),
        }
        .expect("the client takes what it asked for");
    }

    /// Waits until the client has closed it; false if it does not, or says something.
    pub(crate) fn is_left(&mut self) -> bool {
        self.tcp().set_read_timeout(Some(LIMIT)).unwrap();
        match self.read(&mut [0]) {
            Ok(len) => len == 0,
            Err(error) => !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
        }
    }

    pub(crate) fn waiting(&self) -> Waiting {
        Waiting(self.tcp().try_clone().unwrap())
    }

    /// Closes it in good order: with TLS, by saying so.
    pub(crate) fn end(mut self) {
        if let Stream::Tls(tls) = &mut self.stream {
            tls.conn.send_close_notify();
            tls.flush().expect("the client takes the end");
        }
    }

    /// Breaks it, so that the other end gets an error instead of an end.
    pub(crate) fn reset(self) {
        #[cfg(unix)]
        rustix::net::sockopt::set_socket_linger(self.tcp(), Some(std::time::Duration::ZERO)).unwrap();
    }

    fn tcp(&self) -> &TcpStream {
        match &self.stream {
            Stream::Plain(tcp) => tcp,
            Stream::Tls(tls) => &tls.sock,
        }
    }

    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match &mut self.stream {
            Stream::Plain(tcp) => tcp.read(buf),
            Stream::Tls(tls) => tls.read(buf),
        }
    }
}

impl Waiting {
    /// Closes the connection, without a word.
    pub(crate) fn hang_up(self) {
        // The client may have been first.
        let _ = self.0.shutdown(Shutdown::Both);
    }
}
