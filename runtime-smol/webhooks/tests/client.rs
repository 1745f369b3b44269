//! A client that speaks TLS, as an API server does.

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde_json::Value;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

/// An open connection.
pub(crate) struct Connection(StreamOwned<ClientConnection, TcpStream>);

/// The answer to a request.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn response(&self) -> Value {
        assert_eq!(self.status, 200, "{self:?}");
        serde_json::from_str::<Value>(&self.body).unwrap()["response"].clone()
    }
}

impl Connection {
    /// A connection whose peer has a certificate of these authorities.
    pub(crate) fn open(address: SocketAddr, authorities: &str) -> io::Result<Self> {
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(authorities.as_bytes()) {
            roots.add(certificate.map_err(io::Error::other)?).map_err(io::Error::other)?;
        }
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let config = config.with_safe_default_protocol_versions().map_err(io::Error::other)?;
        let config = config.with_root_certificates(roots).with_no_client_auth();
        let tls = ClientConnection::new(Arc::new(config), ServerName::from(address.ip())).map_err(io::Error::other)?;
        let mut stream = StreamOwned::new(tls, connect(address)?);
        stream.conn.complete_io(&mut stream.sock)?;
        Ok(Self(stream))
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)?;
        self.0.flush()
    }

    pub(crate) fn post(&mut self, path: &str, body: &str) -> io::Result<Answer> {
        self.send(&posted(path, "application/json", body))?;
        self.answer()
    }

    /// The next answer, whose body has a length.
    pub(crate) fn answer(&mut self) -> io::Result<Answer> {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            self.0.read_exact(&mut byte)?;
            head.extend(byte);
        }
        let head = String::from_utf8(head).map_err(io::Error::other)?.to_ascii_lowercase();
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
        let mut body = vec![0; length.unwrap_or(0)];
        self.0.read_exact(&mut body)?;
        Ok(Answer { status, body: String::from_utf8(body).map_err(io::Error::other)? })
    }

    /// Whether the peer closes the connection.
    pub(crate) fn ends(&mut self) -> bool {
        let mut rest = Vec::new();
        match self.0.read_to_end(&mut rest) {
            Ok(_) => true,
            Err(error) => !matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut),
        }
    }
}

pub(crate) fn connect(address: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    Ok(stream)
}

pub(crate) fn posted(path: &str, content_type: &str, body: &str) -> Vec<u8> {
    let head =
        format!("POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: {content_type}\r\nContent-Length: {}", body.len());
    format!("{head}\r\n\r\n{body}").into_bytes()
}
