//! Connections through a proxy of HTTP (`CONNECT`).

use super::veil::{MAX_HEAD, USER_AGENT, parsed};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use std::io::{self, ErrorKind, Read, Write};
use ureq::{Error, Proxy};

/// Lets the proxy connect to a host and a port.
pub(super) fn connect(stream: &mut (impl Read + Write), proxy: &Proxy, (host, port): (&str, u16)) -> Result<(), Error> {
    let login = credentials(proxy).map(|pair| format!("Proxy-Authorization: Basic {pair}\r\n")).unwrap_or_default();
    let target = format!("{host}:{port}");
    let head = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\nUser-Agent: {USER_AGENT}\r\n");
    stream.write_all(format!("{head}Proxy-Connection: Keep-Alive\r\n{login}\r\n").as_bytes())?;
    stream.flush()?;
    match status(stream)? {
        200 => Ok(()),
        status => Err(Error::ConnectProxyFailed(format!("proxy server responded {status}"))),
    }
}

/// The name and the password for a proxy, as a header has them.
pub(crate) fn credentials(proxy: &Proxy) -> Option<String> {
    proxy.username().or_else(|| proxy.password())?;
    let (name, password) = (proxy.username().unwrap_or_default(), proxy.password().unwrap_or_default());
    Some(BASE64_STANDARD.encode(format!("{name}:{password}")))
}

/// Reads the head of the answer, and no byte behind it. Interim answers are passed over.
fn status(stream: &mut impl Read) -> Result<u16, Error> {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while head.len() < MAX_HEAD {
        stream.read_exact(&mut byte).map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => Error::ConnectProxyFailed("proxy server did not respond".to_owned()),
            _ => Error::from(error),
        })?;
        head.push(byte[0]);
        if !head.ends_with(b"\n\r\n") && !head.ends_with(b"\n\n") {
            continue;
        }
        match parsed(&head)? {
            Some((_, head)) if !head.status().is_informational() => return Ok(head.status().as_u16()),
            _ => head.clear(),
        }
    }
    Err(Error::Io(io::Error::new(ErrorKind::InvalidData, "the head of the proxy's answer is too long")))
}
