//! A simulated API server behind a real socket: objects, lists and watches. Its parts serve others, too.

use super::api_server::ApiServer;
use super::feed::Feed;
use crate::unpark::unpark_this_thread;
use listwatch_core::api::{ApiRequest, ApiResponse, Method};
use listwatch_core::request::{Query, Request, RequestId};
use listwatch_core::transport::{Incoming, ReadContext};
use listwatch_core::{Instant, ListerWatcher};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::task::{Context, Poll};
use std::thread;
use std::time::Duration;

/// How long a thread rests before it looks whether its connection is still there.
const REST: Duration = Duration::from_millis(20);

/// Serves `server` on the loopback interface until the process ends, and returns its URL. The server's clock stands still.
///
/// # Panics
/// Where the system has no socket.
#[must_use]
pub fn serve(server: &ApiServer) -> String {
    let server = server.clone();
    listen(move |connection| while answer(connection, &server).is_some() {})
}

/// Listens on the loopback interface until the process ends, and returns its URL. Each connection has a thread, which ends
/// with it.
///
/// # Panics
/// Where the system has no socket.
#[must_use]
pub fn listen(talk: impl Fn(&TcpStream) + Clone + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap_or_else(|error| panic!("{error}"));
    let address = listener.local_addr().unwrap_or_else(|error| panic!("{error}"));
    thread::spawn(move || {
        for connection in listener.incoming().map_while(Result::ok) {
            let talk = talk.clone();
            thread::spawn(move || talk(&connection));
        }
    });
    format!("http://{address}")
}

/// Answers one request; `None` after the last one of the connection.
fn answer(connection: &TcpStream, server: &ApiServer) -> Option<()> {
    let (target, request) = read_request(connection)?;
    let asked = Request::parse(&target);
    if asked.query() != Query::List {
        return watch(connection, server, &asked).ok();
    }
    if server.with(|inside| inside.hangs) {
        await_close(connection);
        return None;
    }
    let response = server.with(|inside| {
        inside.trace.call(Instant::ZERO, RequestId::default(), &request);
        inside.store.handle(Instant::ZERO, &request)
    });
    respond(connection, &response).ok()
}

/// Answers a request.
///
/// # Errors
/// Those of the socket.
pub fn respond(mut connection: &TcpStream, response: &ApiResponse) -> io::Result<()> {
    let head = format!("HTTP/1.1 {} X\r\ncontent-length: {}\r\n\r\n", response.status, response.body.len());
    connection.write_all(&[head.as_bytes(), &response.body].concat())
}

/// Waits until the client has hung up.
pub fn await_close(connection: &TcpStream) {
    while !is_closed(connection) {}
}

/// The next request, and its target; `None` after the last one of the connection.
#[must_use]
pub fn read_request(connection: &TcpStream) -> Option<(String, ApiRequest)> {
    connection.set_read_timeout(None).ok()?;
    // One byte at a time: the rest of the connection belongs to the next request.
    let mut reader = BufReader::with_capacity(1, connection);
    let mut lines = reader.by_ref().lines().map_while(Result::ok).take_while(|line| !line.is_empty());
    let first = lines.next()?;
    let headers: Vec<String> = lines.map(|line| line.to_ascii_lowercase()).collect();
    let mut lengths = headers.iter().filter_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; lengths.next_back().unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    let (method, target) = first.split_once(' ')?;
    let methods = [Method::Get, Method::Post, Method::Put, Method::Patch, Method::Delete];
    let method = methods.into_iter().find(|known| known.name() == method)?;
    let target = target.split(' ').next()?;
    let mut request = ApiRequest::new(method, target.split('?').next()?);
    request.body = body;
    // The store makes no difference between the others.
    let applies = "application/apply-patch+yaml";
    request.content_type = headers.iter().any(|line| line.ends_with(applies)).then_some(applies);
    Some((target.to_owned(), request))
}

/// Answers a watch in chunks, until it is refused or its connection fails.
fn watch(mut connection: &TcpStream, server: &ApiServer, request: &Request) -> io::Result<()> {
    let (mut feed, waker) = (Feed::new(server), unpark_this_thread());
    // Late enough that every change has arrived. Since time does not pass, the watch has no end of its own.
    let now = Instant::ZERO + Duration::from_secs(1);
    feed.open(RequestId::default(), request);
    let mut space = [0; 4096];
    loop {
        let turn = ReadContext { cx: &mut Context::from_waker(&waker), now, max_wait: None };
        match feed.poll_read(turn, &mut space) {
            Poll::Ready(Incoming::Head { head, .. }) => {
                write!(connection, "HTTP/1.1 {} X\r\ntransfer-encoding: chunked\r\n\r\n", head.status)?;
            }
            Poll::Ready(Incoming::Data { len, .. }) => {
                let chunk = [format!("{len:x}\r\n").as_bytes(), &space[..len], b"\r\n"].concat();
                connection.write_all(&chunk)?;
            }
            Poll::Ready(Incoming::Idle { .. }) if is_closed(connection) => return Err(io::ErrorKind::BrokenPipe.into()),
            Poll::Ready(Incoming::Idle { .. }) => thread::park_timeout(REST),
            _ => return connection.write_all(b"0\r\n\r\n"),
        }
    }
}

/// Whether the client has hung up; it takes a millisecond to see that it has not.
fn is_closed(connection: &TcpStream) -> bool {
    let waits = connection.set_read_timeout(Some(Duration::from_millis(1)));
    let is_quiet = |error: &io::Error| matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut);
    waits.is_err() || !connection.peek(&mut [0]).is_err_and(|error| is_quiet(&error))
}
