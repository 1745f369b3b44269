//! Servers that violate the protocol: each gives one clear error, in bounded memory.

use super::support::{
    CHUNKED, Client, ID, KEPT, Server, measured, measured_alone, most_memory, options, resident, send, wait_until,
};
use flate2::Compression;
use flate2::write::GzEncoder;
use listwatch_core::transport::{Incoming, TransportErrorKind};
use std::io::{Read, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

pub(crate) fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

fn compressed(body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

#[test]
fn a_list_may_come_compressed() {
    let (heads, asked) = mpsc::channel();
    let answer = compressed(&gzip(b"{\"items\":[]}"));
    let mut client = Client::of(move |mut connection, head| {
        heads.send(head).unwrap();
        connection.write_all(&answer).unwrap();
    });
    client.open("/api/v1/pods");
    assert_eq!(client.drain(), (200, "{\"items\":[]}".to_owned(), Ok(())));
    assert!(asked.recv().unwrap().contains("accept-encoding: gzip\r\n"));
}

#[test]
fn interim_answers_without_an_end_are_an_error() {
    let mut client =
        Client::of(
            |mut connection, _| {
                while connection.write_all(b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n").is_ok() {}
            },
        );
    client.open("/api/v1/pods");
    let error = client.error();
    assert!(error.to_string().contains("head"), "{error}");
}

/// A server, or a proxy before it, that compresses each event by itself writes such a watch.
#[test]
fn events_in_gzip_members_of_their_own_are_told_as_their_bytes_come() {
    const EVENTS: [&str; 3] = ["first", "second", "third"];
    let (go_on, told) = mpsc::channel::<()>();
    let told = Mutex::new(told);
    let mut client = Client::of(move |mut connection, _| {
        send(&mut connection, "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ntransfer-encoding: chunked\r\n\r\n");
        for event in EVENTS {
            told.lock().unwrap().recv().unwrap();
            let member = gzip(event.as_bytes());
            send(&mut connection, &format!("{:x}\r\n", member.len()));
            connection.write_all(&member).unwrap();
            send(&mut connection, "\r\n");
        }
        told.lock().unwrap().recv().unwrap();
        send(&mut connection, "0\r\n\r\n");
    });
    client.open("/api/v1/pods?watch=1");
    assert!(matches!(client.next(), Incoming::Head { .. }));
    for event in EVENTS {
        go_on.send(()).unwrap();
        assert_eq!(client.next(), Incoming::Data { id: ID, len: event.len() });
        assert_eq!(&client.buf[..event.len()], event.as_bytes());
    }
    go_on.send(()).unwrap();
    assert_eq!(client.next(), Incoming::End { id: ID });
}

#[test]
fn the_rest_of_a_compressed_piece_does_not_wait_for_the_next() {
    let (piece, (ended, end)) = ("x".repeat(60 << 10), mpsc::channel::<()>());
    let (body, end) = (piece.clone(), Mutex::new(end));
    let mut client = Client::of(move |mut connection, _| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(body.as_bytes()).and_then(|()| encoder.flush()).unwrap();
        send(&mut connection, "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\n\r\n");
        connection.write_all(encoder.get_ref()).unwrap();
        // Until the client has everything.
        let _ = end.lock().unwrap().recv();
    });
    client.open("/api/v1/pods");
    assert!(matches!(client.next(), Incoming::Head { .. }));
    let mut len = 0;
    while len < piece.len() {
        let Incoming::Data { len: more, .. } = client.next() else { panic!("it broke off") };
        len += more;
    }
    drop(ended);
}

#[test]
fn what_is_compressed_badly_fails() {
    let whole = gzip(&[b'x'; 1000]);
    let cases = [
        (compressed(b"this is no gzip at all"), TransportErrorKind::Protocol),
        (compressed(&whole[..whole.len() - 6]), TransportErrorKind::Reset),
        (
            b"HTTP/1.1 200 OK\r\ncontent-encoding: br\r\ncontent-length: 1\r\n\r\nx".to_vec(),
            TransportErrorKind::Protocol,
        ),
    ];
    for (answer, kind) in cases {
        let mut client = Client::at(&Server::saying(answer).url());
        client.open("/api/v1/pods");
        assert_eq!(client.failure(), kind);
    }
}

#[test]
fn a_gzip_bomb_is_streamed_and_not_stored() {
    const TOTAL: usize = 512 << 20;
    if measured().is_none() {
        measured_alone("bad_answers::a_gzip_bomb_is_streamed_and_not_stored", "");
        return;
    }
    let mut bomb = GzEncoder::new(Vec::new(), Compression::best());
    for _ in 0..TOTAL >> 20 {
        bomb.write_all(&[b' '; 1 << 20]).unwrap();
    }
    let mut client = Client::at(&Server::saying(compressed(&bomb.finish().unwrap())).url());
    let (most, total) = streamed(&mut client, "/api/v1/pods", TOTAL);
    assert_eq!((total, client.next()), (TOTAL, Incoming::End { id: ID }));
    assert!(most < 4 << 20, "{most} bytes more");
}

/// The first call of a function brings up to megabytes of its file, as if a bomb had exploded.
#[cfg(target_os = "linux")]
#[test]
fn the_pages_of_the_program_are_no_memory_of_an_answer() {
    if measured().is_none() {
        measured_alone("bad_answers::the_pages_of_the_program_are_no_memory_of_an_answer", "");
        return;
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let bytes = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.split_whitespace().next().unwrap().parse::<usize>().unwrap() * 1024
    };
    let (own, file, counted) = (bytes("RssAnon:"), bytes("RssFile:"), resident());
    assert!(file > 1 << 20, "{file} bytes: nothing to tell apart");
    assert!(counted < own + file / 2, "{counted} bytes, of which {own} are memory");
}

/// Reads this much of an answer; how much memory that took, and how much came.
fn streamed(client: &mut Client, target: &str, enough: usize) -> (usize, usize) {
    client.buf = vec![0; 64 << 10];
    client.open(target);
    assert!(matches!(client.next(), Incoming::Head { .. }));
    let mut total = 0;
    let most = most_memory(|sample| {
        while total < enough {
            let Incoming::Data { len, .. } = client.next() else { panic!("it broke off") };
            if (total + len) >> 20 > total >> 20 {
                sample();
            }
            total += len;
        }
    });
    (most, total)
}

#[test]
fn a_page_of_html_is_delivered_with_its_status_and_type() {
    let page = "<html>please log in</html>";
    let answer =
        format!("HTTP/1.1 503 Busy\r\ncontent-type: text/html\r\ncontent-length: {}\r\n\r\n{page}", page.len());
    let mut client = Client::at(&Server::saying(answer).url());
    client.open("/api/v1/pods");
    let Incoming::Head { head, .. } = client.next() else { panic!("no head") };
    assert_eq!((head.status, head.content_type.as_deref()), (503, Some("text/html")));
    assert_eq!(client.drain(), (0, page.to_owned(), Ok(())));
}

#[test]
fn headers_without_end_are_cut_short() {
    let mut client = Client::of(|mut connection, _| {
        send(&mut connection, "HTTP/1.1 200 OK\r\n");
        while connection.write_all(b"x-more: and more\r\n").is_ok() {}
    });
    client.open("/api/v1/pods");
    let error = client.error();
    assert_eq!(error.kind, TransportErrorKind::Protocol, "{error}");
}

#[test]
fn one_header_without_end_is_cut_short() {
    let mut client = Client::of(|mut connection, _| {
        send(&mut connection, "HTTP/1.1 200 OK\r\nx-more: ");
        while connection.write_all(&[b'x'; 1024]).is_ok() {}
    });
    client.open("/api/v1/pods");
    let error = client.error();
    assert_eq!(error.kind, TransportErrorKind::Protocol);
    assert_eq!(&*error.detail, "the head of the response is longer than 16383 bytes");
}

#[test]
fn a_chunk_without_a_proper_length_is_a_protocol_error() {
    for chunk in ["zz\r\n", "ffffffffffffffffff\r\n", &"1".repeat(100_000)] {
        let chunk = chunk.to_owned();
        let mut client = Client::of(move |mut connection, _| {
            send(&mut connection, CHUNKED);
            drop(connection.write_all(chunk.as_bytes()));
        });
        client.open("/api/v1/pods?watch=1");
        assert_eq!(client.failure(), TransportErrorKind::Protocol);
    }
}

/// It is for the framer to find that a line is too long; here it passes through.
#[test]
fn a_line_without_end_passes_through_in_pieces() {
    if measured().is_none() {
        measured_alone("bad_answers::a_line_without_end_passes_through_in_pieces", "");
        return;
    }
    let mut client = Client::of(|mut connection, _| {
        send(&mut connection, CHUNKED);
        let chunk = format!("4000\r\n{}\r\n", "x".repeat(0x4000));
        while connection.write_all(chunk.as_bytes()).is_ok() {}
    });
    let (most, _) = streamed(&mut client, "/api/v1/pods?watch=1", 64 << 20);
    assert!(most < 4 << 20, "{most} bytes more");
}

#[test]
fn a_server_that_never_answers_is_given_up() {
    let server = Server::raw(|mut connection| drop(connection.read_to_end(&mut Vec::new())));
    let cluster = options(&[]).idle_timeout(Some(Duration::from_millis(100))).at(&server.url()).unwrap();
    let mut client = Client::to(&cluster);
    client.open("/api/v1/pods");
    assert_eq!(client.failure(), TransportErrorKind::Timeout);
}

#[test]
fn a_list_that_stops_half_way_is_given_up_and_a_watch_is_not() {
    let server = Server::of(|mut connection, _| {
        send(&mut connection, &format!("{CHUNKED}5\r\nfirst\r\n"));
        drop(connection.read_to_end(&mut Vec::new()));
    });
    let cluster = options(&[]).idle_timeout(Some(Duration::from_millis(100))).at(&server.url()).unwrap();
    let begin = |client: &mut Client, target| {
        // A server whose thread gets no processor in time is asked again.
        wait_until(|| {
            client.open(target);
            matches!(client.next(), Incoming::Head { .. }) && client.next() == Incoming::Data { id: ID, len: 5 }
        });
    };
    let mut list = Client::to(&cluster);
    begin(&mut list, "/api/v1/pods");
    let error = list.error();
    assert_eq!((error.kind, &*error.detail), (TransportErrorKind::Timeout, "the server sent nothing"));

    let mut watch = Client::to(&cluster);
    begin(&mut watch, "/api/v1/pods?watch=1&timeoutSeconds=300");
    list.open("/api/v1/pods");
    list.error();
    assert!(watch.poll().is_pending());
}

#[test]
fn one_request_after_the_other_uses_the_same_connection() {
    let connections = Arc::new(AtomicUsize::new(0));
    let counted = connections.clone();
    let server = Server::raw(move |mut connection| {
        counted.fetch_add(1, Ordering::Relaxed);
        while super::support::request_head(&mut connection).is_some() {
            send(&mut connection, KEPT);
        }
    });
    let mut client = Client::at(&server.url());
    for _ in 0..5 {
        assert_eq!(client.list(), 200);
    }
    assert_eq!(connections.load(Ordering::Relaxed), 1);
}

#[test]
fn a_connection_that_the_server_closed_meanwhile_is_replaced() {
    let server = Server::saying(KEPT);
    let mut client = Client::at(&server.url());
    for _ in 0..20 {
        assert_eq!(client.list(), 200);
    }
}
