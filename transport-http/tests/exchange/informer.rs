//! An informer over a connection of the firmware.

use super::connection::{Socket, request, server};
use core::task::{Context, Poll, Waker};
use listwatch_core::decode::MetadataOnly;
use listwatch_core::request::{Request, RequestId};
use listwatch_core::transport::{Incoming, ReadContext, TransportErrorKind};
use listwatch_core::{Driver, Event, Informer, InformerConfig, Instant, ListerWatcher, Resource};
use listwatch_transport_http::exchange::{Endpoint, HttpSource};
use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc::{self, Sender};
use std::time::Duration;

const LIST: &str = r#"{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"5"},"items":[{"metadata":{"name":"a","resourceVersion":"4"}}]}"#;
const MODIFIED: &str = r#"{"type":"MODIFIED","object":{"metadata":{"name":"a","resourceVersion":"6"}}}"#;
const DELETED: &str = r#"{"type":"DELETED","object":{"metadata":{"name":"a","resourceVersion":"7"}}}"#;

fn chunked(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{body}\n\r\n", body.len() + 1)
}

/// Sends each of these answers to the next request of a connection, and notes the requests.
fn answers(mut connection: &TcpStream, asked: &Sender<String>, answers: &[String]) {
    for answer in answers {
        asked.send(request(connection)).unwrap();
        connection.write_all(answer.as_bytes()).unwrap();
    }
}

fn source(address: SocketAddr) -> HttpSource<'static, Socket, 64> {
    HttpSource::new(Endpoint::new("localhost").with_token("abc"), Socket::new(address))
}

/// The next event. No time passes but that for which nothing is left to do.
fn next<L: ListerWatcher>(driver: &mut Driver<MetadataOnly, L>, now: &mut Instant) -> String {
    let mut cx = Context::from_waker(Waker::noop());
    for _ in 0..100 {
        if let Poll::Ready(event) = driver.poll(*now, &mut cx) {
            return match &event {
                Event::Added { object, .. } => format!("{} is there", object.key()),
                Event::Updated { new, .. } => format!("{} is {}", new.key(), new.meta().resource_version()),
                Event::Deleted { object, .. } => format!("{} is gone", object.key()),
                event => format!("{event:?}"),
            };
        }
        *now = driver.poll_timeout().unwrap().max(*now);
    }
    panic!("nothing happens")
}

#[test]
fn an_informer_keeps_its_connection_and_makes_a_new_one_when_the_server_has_closed_it() {
    let (asked, requests) = mpsc::channel();
    let mut connections = 0;
    let address = server(move |connection| {
        connections += 1;
        if connections == 1 {
            let list = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{LIST}", LIST.len());
            // The server ends the watch, and then closes the connection, which it does not announce.
            answers(&connection, &asked, &[list, format!("{}0\r\n\r\n", chunked(MODIFIED))]);
        } else {
            answers(&connection, &asked, &[chunked(DELETED)]);
            drop(request(&connection));
        }
    });
    let mut config = InformerConfig::default();
    config.reflector.watch_list = false;
    let informer = Informer::<MetadataOnly>::new(Resource::new("/api/v1/pods"), config);
    let (mut driver, mut now) = (Driver::new(informer, source(address)), Instant::ZERO);
    driver.informer_mut().start(now);
    for expected in ["a is there", "Synced", "a is 6", "a is gone"] {
        assert_eq!(next(&mut driver, &mut now), expected);
    }
    let requests: Vec<String> = requests.try_iter().filter(|request| !request.is_empty()).collect();
    for (request, target) in requests.iter().zip(["?limit=500", "?watch=1", "?watch=1"]) {
        assert!(request.starts_with(&format!("GET /api/v1/pods{target}")), "{request}");
        assert!(request.contains("\r\nAuthorization: Bearer abc\r\n"), "{request}");
    }
    assert_eq!(requests.len(), 3);
}

/// The next input of a source.
fn read(source: &mut HttpSource<'_, Socket, 64>, buf: &mut [u8]) -> Incoming {
    let mut cx = Context::from_waker(Waker::noop());
    for _ in 0..100 {
        let max_wait = Some(Duration::from_millis(500));
        match source.poll_read(ReadContext { cx: &mut cx, now: Instant::ZERO, max_wait }, buf) {
            Poll::Ready(Incoming::Idle { until: Some(Instant::ZERO) }) => {}
            Poll::Ready(incoming) => return incoming,
            Poll::Pending => panic!("a connection that blocks wakes nobody"),
        }
    }
    panic!("nothing arrives")
}

/// The head of the answer, or why there is none.
fn asked(address: SocketAddr, target: &str) -> Result<u16, TransportErrorKind> {
    let mut source = source(address);
    source.open(RequestId(1), &Request::parse(target));
    match read(&mut source, &mut [0; 8]) {
        Incoming::Head { head, .. } => Ok(head.status),
        Incoming::Failed { error, .. } => {
            assert!(!error.to_string().contains("abc"), "{error}");
            Err(error.kind)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_failure_is_told_by_its_kind() {
    let said = |answer: &'static str| {
        server(move |mut connection| {
            drop(request(&connection));
            connection.write_all(answer.as_bytes()).unwrap();
        })
    };
    assert_eq!(asked(said("HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n"), "/x"), Ok(410));
    assert_eq!(asked(said("220 mail\r\n"), "/x"), Err(TransportErrorKind::Protocol));
    assert_eq!(asked(said("HTTP/1.1 200 OK\r\n"), "/x"), Err(TransportErrorKind::Reset));
    assert_eq!(asked(said(""), "/x"), Err(TransportErrorKind::Reset));
    assert_eq!(asked(said(""), "x"), Err(TransportErrorKind::Unsendable));
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    assert_eq!(asked(closed, "/x"), Err(TransportErrorKind::Refused));
}

#[test]
fn an_answer_that_is_given_up_closes_its_connection_and_one_that_ended_keeps_it() {
    let address = server(|mut connection| {
        while !request(&connection).is_empty() {
            connection.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabcd").unwrap();
        }
    });
    let (mut source, mut buf) = (source(address), [0; 8]);
    for (number, reads, connected) in [(1, 0, 1), (2, 2, 2), (3, 2, 2), (4, 1, 2), (5, 0, 3)] {
        let id = RequestId(number);
        source.open(id, &Request::parse("/x"));
        assert!(matches!(read(&mut source, &mut buf), Incoming::Head { .. }));
        let parts: Vec<Incoming> = (0..reads).map(|_| read(&mut source, &mut buf)).collect();
        assert_eq!(parts, [Incoming::Data { id, len: 4 }, Incoming::End { id }][..reads]);
        source.abort(id);
        assert_eq!(source.connection().connected, connected);
    }
}
