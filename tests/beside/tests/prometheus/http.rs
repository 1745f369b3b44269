//! As much HTTP as one GET needs.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

/// The status and body of an answer.
pub(crate) fn get(address: SocketAddr, target: &str, accept: &str) -> std::io::Result<(u16, String)> {
    let answer = exchange(address, target, accept)?;
    let text = String::from_utf8_lossy(&answer).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").ok_or(std::io::ErrorKind::UnexpectedEof)?;
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    Ok((status.ok_or(std::io::ErrorKind::InvalidData)?, body.to_owned()))
}

/// HTTP/1.0: the body comes as it is, and ends with the connection.
fn exchange(address: SocketAddr, target: &str, accept: &str) -> std::io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    write!(stream, "GET {target} HTTP/1.0\r\nHost: {address}\r\nAccept: {accept}\r\nConnection: close\r\n\r\n")?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    Ok(answer)
}

/// A server that asks the one at `address` for the older text format: this Prometheus cannot be told to do so.
pub(crate) fn classic(address: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let own = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(stream) = stream else { return };
            // One connection that is slow must not hold up the next scrape.
            std::thread::spawn(move || pass_on(stream, address));
        }
    });
    own
}

fn pass_on(mut stream: TcpStream, address: SocketAddr) {
    let (mut request, mut part) = (Vec::new(), [0; 4096]);
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        match stream.read(&mut part) {
            Ok(read @ 1..) => request.extend_from_slice(&part[..read]),
            _ => return,
        }
    }
    let accept = "text/plain;version=0.0.4";
    // A scrape without an answer fails, and `up` tells it.
    let _failed = exchange(address, "/metrics", accept).and_then(|answer| stream.write_all(&answer));
}
