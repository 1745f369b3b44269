//! SOCKS 5 (RFC 1928), with a password if the URL has one (RFC 1929). The proxy resolves the name.

use std::io::{self, Read, Write};
use std::net::IpAddr;
use ureq::{Error, Proxy};

const VERSION: u8 = 5;
const CONNECT: u8 = 1;
const NO_LOGIN: u8 = 0;
const PASSWORD: u8 = 2;

/// Lets the proxy connect to a host and a port.
pub(super) fn connect(wire: &mut (impl Read + Write), proxy: &Proxy, (host, port): (&str, u16)) -> Result<(), Error> {
    log_in(wire, proxy)?;
    ask(wire, host.trim_matches(['[', ']']), port)
}

/// Negotiates the authentication method, and authenticates.
fn log_in(wire: &mut (impl Read + Write), proxy: &Proxy) -> Result<(), Error> {
    let methods: &[u8] =
        if proxy.username().is_some() { &[VERSION, 2, PASSWORD, NO_LOGIN] } else { &[VERSION, 1, NO_LOGIN] };
    wire.write_all(methods)?;
    match (reply(wire, VERSION)?, proxy.username()) {
        (NO_LOGIN, _) => Ok(()),
        (PASSWORD, Some(name)) => {
            let mut login = vec![1];
            push_text(&mut login, name)?;
            push_text(&mut login, proxy.password().unwrap_or_default())?;
            wire.write_all(&login)?;
            if reply(wire, 1)? == 0 { Ok(()) } else { Err(refused("the name or the password is wrong")) }
        }
        (0xff, None) => Err(refused("it requires a name and a password")),
        _ => Err(refused("no common authentication method")),
    }
}

/// Requests a connection to a host.
fn ask(wire: &mut (impl Read + Write), host: &str, port: u16) -> Result<(), Error> {
    let mut request = vec![VERSION, CONNECT, 0];
    match host.parse() {
        Ok(IpAddr::V4(address)) => request.extend([&[1][..], &address.octets()].concat()),
        Ok(IpAddr::V6(address)) => request.extend([&[4][..], &address.octets()].concat()),
        Err(_) => {
            request.push(3);
            push_text(&mut request, host)?;
        }
    }
    request.extend(port.to_be_bytes());
    wire.write_all(&request)?;
    let status = reply(wire, VERSION)?;
    if status != 0 {
        return Err(refused(reason(status)));
    }
    // The address that the proxy connects from follows. It is not needed.
    let [_, kind] = take(wire)?;
    let len = match kind {
        1 => 4,
        3 => usize::from(take::<1>(wire)?[0]),
        4 => 16,
        _ => return Err(garbled()),
    };
    wire.read_exact(&mut vec![0; len + 2])?;
    Ok(())
}

/// Reads a reply of two bytes, version and status, and returns the status.
fn reply(wire: &mut impl Read, version: u8) -> Result<u8, Error> {
    let [its, status] = take(wire)?;
    if its == version { Ok(status) } else { Err(garbled()) }
}

fn take<const N: usize>(wire: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    wire.read_exact(&mut bytes).map(|()| bytes)
}

/// Appends a text after its length in one byte.
fn push_text(request: &mut Vec<u8>, text: &str) -> Result<(), Error> {
    let len = u8::try_from(text.len()).map_err(|_| refused("a name or a password is longer than 255 bytes"))?;
    request.push(len);
    request.extend(text.bytes());
    Ok(())
}

fn reason(status: u8) -> &'static str {
    match status {
        2 => "its rules deny the connection",
        3 => "network unreachable",
        4 => "host unreachable",
        5 => "connection refused",
        6 => "TTL expired",
        7 => "it does not support the CONNECT command",
        8 => "it does not support this type of address",
        _ => "general failure",
    }
}

fn refused(reason: &str) -> Error {
    Error::ConnectProxyFailed(reason.to_owned())
}

fn garbled() -> Error {
    Error::Io(io::Error::new(io::ErrorKind::InvalidData, "the proxy does not speak SOCKS 5"))
}
