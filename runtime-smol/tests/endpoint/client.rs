use core::time::Duration;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

/// An answer of the endpoint.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

/// Sends these bytes, and reads until the endpoint closes.
pub(crate) fn exchange(address: SocketAddr, request: &[u8]) -> Answer {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream.write_all(request).unwrap();
    let mut text = Vec::new();
    stream.read_to_end(&mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no head: {text:?}"));
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Answer { status, head: head.to_ascii_lowercase(), body: body.to_owned() }
}

/// A `GET` with these further lines of its head.
pub(crate) fn asked(address: SocketAddr, path: &str, lines: &str) -> Answer {
    let head = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{lines}\r\n");
    exchange(address, head.as_bytes())
}

pub(crate) fn get(address: SocketAddr, path: &str) -> Answer {
    asked(address, path, "")
}
