//! Answers of every frame over a socket.

use super::connection::{Socket, request, server};
use embedded_io::{ErrorKind, ErrorType, Read, Write};
use listwatch_transport_http::exchange::{Connection, Endpoint, Exchange, ExchangeError, ProtocolError, Received};
use std::io::Write as _;
use std::net::TcpStream;

/// A body of several reads.
pub(crate) fn long() -> Vec<u8> {
    (0..100_000_u32).map(|at| b'a' + (at % 23) as u8).collect()
}

/// Answers by the target: `/counted`, `/chunked`, `/close`; each a whole request.
pub(crate) fn answer(mut connection: TcpStream) {
    loop {
        let head = request(&connection);
        let body = String::from_utf8(long()).unwrap();
        let chunks = body.as_bytes().chunks(777).map(|chunk| str::from_utf8(chunk).unwrap());
        let framed = chunks.map(|chunk| format!("{:x};n=1\r\n{chunk}\r\n", chunk.len()));
        let text = match head.split(' ').nth(1) {
            Some("/counted") => format!("Content-Length: {}\r\n\r\n{body}", body.len()),
            Some("/chunked") => {
                format!("Transfer-Encoding: chunked\r\n\r\n{}0\r\nX: y\r\n\r\n", framed.collect::<String>())
            }
            Some("/close") => format!("\r\n{body}"),
            _ => return,
        };
        connection.write_all(format!("HTTP/1.1 200 OK\r\n{text}").as_bytes()).unwrap();
        if head.starts_with("GET /close") {
            return;
        }
    }
}

fn read_through<const N: usize>(socket: &mut Socket, target: &str, room: usize) -> (Vec<u8>, bool) {
    let (mut exchange, mut body, mut buf) = (Exchange::<N>::new(), Vec::new(), vec![0; room]);
    exchange.open(socket, &Endpoint::new("localhost").get(target, "application/json")).unwrap();
    let Received::Head(head) = exchange.read(socket, &mut buf).unwrap() else { panic!("no head") };
    assert_eq!(head.status(), 200);
    loop {
        match exchange.read(socket, &mut buf).unwrap() {
            Received::Data(len) => body.extend_from_slice(&buf[..len]),
            Received::End => return (body, exchange.is_reusable()),
            Received::Head(head) => panic!("a second head: {head:?}"),
        }
    }
}

#[test]
fn bodies_of_every_frame_come_whole_through_buffers_of_any_size() {
    let mut socket = Socket::new(server(answer));
    socket.connect().unwrap();
    for room in [1, 7, 300, 4096] {
        for target in ["/counted", "/chunked"] {
            assert!(read_through::<1>(&mut socket, target, room) == (long(), true), "{target} {room}");
            assert!(read_through::<512>(&mut socket, target, room) == (long(), true), "{target} {room}");
        }
    }
    assert_eq!(socket.connected, 1);
    assert!(read_through::<64>(&mut socket, "/close", 4096) == (long(), false));
}

/// Plays reads from a script, and takes at most so many bytes by a write.
pub(crate) struct Script {
    pub(crate) reads: Vec<Result<&'static [u8], ErrorKind>>,
    pub(crate) room: usize,
    pub(crate) sent: Vec<u8>,
}

impl ErrorType for Script {
    type Error = ErrorKind;
}

impl Read for Script {
    fn read(&mut self, buf: &mut [u8]) -> Result<usize, ErrorKind> {
        if self.reads.is_empty() {
            return Ok(0);
        }
        let mut bytes = self.reads.remove(0)?;
        let len = bytes.read(buf).unwrap();
        if !bytes.is_empty() {
            self.reads.insert(0, Ok(bytes));
        }
        Ok(len)
    }
}

impl Write for Script {
    fn write(&mut self, buf: &[u8]) -> Result<usize, ErrorKind> {
        let len = buf.len().min(self.room);
        self.sent.extend_from_slice(&buf[..len]);
        Ok(len)
    }

    fn flush(&mut self) -> Result<(), ErrorKind> {
        Ok(())
    }
}

pub(crate) fn script(reads: &[Result<&'static [u8], ErrorKind>]) -> Script {
    Script { reads: reads.to_vec(), room: 7, sent: Vec::new() }
}

#[test]
fn a_read_goes_on_after_each_time_limit() {
    let late = Err(ErrorKind::TimedOut);
    let reads = [late, Ok(&b"HTTP/1.1 200 OK\r\nTransfer-Enc"[..]), late, Ok(b"oding: chunked\r\n\r\n2\r\na"), late];
    let rest = [Ok(&b"b\r"[..]), late, Ok(b"\n1\r\nc\r\n0\r\n\r"), late, Ok(b"\n")];
    let mut connection = script(&[&reads[..], &rest[..]].concat());
    let (mut exchange, mut buf, mut body, mut limits) = (Exchange::<16>::new(), [0; 8], Vec::new(), 0);
    let get = Endpoint::new("a").get("/", "x");
    exchange.open(&mut connection, &get).unwrap();
    let mut whole = [0; 512];
    let len = get.try_write(0, &mut whole).unwrap();
    assert_eq!(connection.sent, whole[..len]);
    loop {
        match exchange.read(&mut connection, &mut buf) {
            Ok(Received::Data(len)) => body.extend_from_slice(&buf[..len]),
            Ok(Received::Head(_)) => assert!(body.is_empty()),
            Ok(Received::End) => break,
            Err(error) => {
                assert_eq!(error, ExchangeError::Connection(ErrorKind::TimedOut));
                limits += 1;
            }
        }
    }
    assert_eq!((body.as_slice(), limits, exchange.is_reusable()), (&b"abc"[..], 5, true));
}

#[test]
fn data_before_a_broken_chunk_comes_first() {
    let answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let mut connection = script(&[Ok(answer), Ok(b"2\r\nab\r\n1\r\nc\r\nx\r\n")]);
    let (mut exchange, mut buf) = (Exchange::<64>::new(), [0; 64]);
    exchange.open(&mut connection, &Endpoint::new("a").get("/", "x")).unwrap();
    assert!(matches!(exchange.read(&mut connection, &mut buf), Ok(Received::Head(_))));
    assert_eq!(exchange.read(&mut connection, &mut buf), Ok(Received::Data(3)));
    assert_eq!(&buf[..3], b"abc");
    for _ in 0..2 {
        let error = exchange.read(&mut connection, &mut buf).unwrap_err();
        assert_eq!(error, ExchangeError::Protocol(ProtocolError::ChunkSize));
    }
    assert!(!exchange.is_reusable());
}

#[test]
fn a_connection_that_takes_nothing_is_an_error_and_not_a_panic() {
    let mut connection = Script { room: 0, ..script(&[]) };
    let sent = Exchange::<64>::new().open(&mut connection, &Endpoint::new("a").get("/", "x"));
    assert_eq!(sent, Err(ExchangeError::Unwritten));
}

#[test]
fn an_empty_buffer_reads_nothing() {
    let mut connection = script(&[Err(ErrorKind::Other)]);
    assert_eq!(Exchange::<64>::new().read(&mut connection, &mut []), Ok(Received::Data(0)));
}
