//! The same over `embedded_io_async`, in a task of an executor.

use super::blocking::{answer, long};
use super::connection::server;
use embedded_io::ErrorKind;
use embedded_io_async::{ErrorType, Read, Write};
use listwatch_transport_http::exchange::{Endpoint, Exchange, Received};
use smol::io::{AsyncReadExt, AsyncWriteExt};
use smol::net::TcpStream;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// A socket that a task waits for.
struct Socket(TcpStream);

impl ErrorType for Socket {
    type Error = ErrorKind;
}

impl Read for Socket {
    async fn read(&mut self, buf: &mut [u8]) -> Result<usize, ErrorKind> {
        self.0.read(buf).await.map_err(|error| error.kind().into())
    }
}

impl Write for Socket {
    async fn write(&mut self, buf: &[u8]) -> Result<usize, ErrorKind> {
        self.0.write(buf).await.map_err(|error| error.kind().into())
    }

    async fn flush(&mut self) -> Result<(), ErrorKind> {
        self.0.flush().await.map_err(|error| error.kind().into())
    }
}

#[test]
fn a_task_reads_bodies_of_every_frame() {
    smol::block_on(async {
        let mut socket = Socket(TcpStream::connect(server(answer)).await.unwrap());
        let (mut exchange, mut buf) = (Exchange::<64>::new(), [0; 1000]);
        for target in ["/counted", "/chunked", "/close"] {
            exchange.open_async(&mut socket, &Endpoint::new("localhost").get(target, "x")).await.unwrap();
            let head = exchange.read_async(&mut socket, &mut buf).await.unwrap();
            assert!(matches!(head, Received::Head(head) if head.status() == 200));
            let mut body = Vec::new();
            while let Received::Data(len) = exchange.read_async(&mut socket, &mut buf).await.unwrap() {
                body.extend_from_slice(&buf[..len]);
            }
            assert!(body == long(), "{target}");
        }
    });
}

/// Brings a byte at every second poll.
struct Slow(&'static [u8], bool);

impl ErrorType for Slow {
    type Error = ErrorKind;
}

impl Read for Slow {
    async fn read(&mut self, buf: &mut [u8]) -> Result<usize, ErrorKind> {
        self.1 = !self.1;
        if self.1 {
            std::future::pending::<()>().await;
        }
        let Some((byte, rest)) = self.0.split_first() else { return Ok(0) };
        (buf[0], self.0) = (*byte, rest);
        Ok(1)
    }
}

#[test]
fn a_read_that_is_dropped_loses_nothing() {
    let answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n";
    let (mut slow, mut exchange, mut buf) = (Slow(answer, false), Exchange::<32>::new(), [0; 16]);
    let (mut body, mut dropped, mut cx) = (Vec::new(), 0, Context::from_waker(Waker::noop()));
    loop {
        let polled = pin!(exchange.read_async(&mut slow, &mut buf)).poll(&mut cx);
        match polled {
            Poll::Pending => dropped += 1,
            Poll::Ready(Ok(Received::Data(len))) => body.extend_from_slice(&buf[..len]),
            Poll::Ready(Ok(Received::Head(_))) => assert!(body.is_empty()),
            Poll::Ready(end) => {
                assert_eq!(end, Ok(Received::End));
                break;
            }
        }
    }
    assert_eq!((body.as_slice(), dropped), (&b"abc"[..], answer.len()));
}
