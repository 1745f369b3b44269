//! Plain requests, against a server that a test writes out byte by byte.

use super::support::{CHUNKED, Client, EMPTY, ID, PATIENCE, Server, header, send};
use listwatch_core::api::Api;
use listwatch_core::reflector::Failure;
use listwatch_core::request::{Request, RequestId, Verb};
use listwatch_core::transport::{Incoming, ResponseHead, TransportErrorKind};
use listwatch_core::{ListerWatcher, Resource};
use listwatch_transport_http::ClusterOptions;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpListener;
use std::sync::Mutex;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::task::Poll;
use std::time::Duration;

#[test]
fn a_request_asks_for_what_it_says_and_for_nothing_else() {
    let (heads, asked) = mpsc::channel();
    let server = Server::of(move |mut connection, head| {
        heads.send(head).unwrap();
        send(&mut connection, EMPTY);
    });
    let mut client = Client::at(&server.url());
    client.open("/api/v1/pods?watch=1&resourceVersion=5");
    assert_eq!(client.drain(), (200, "{}".to_owned(), Ok(())));
    let head = asked.recv().unwrap().to_ascii_lowercase();
    let mut lines: Vec<&str> = head.lines().collect();
    lines.sort_unstable();
    let host = format!("host: {}", server.address);
    let agent = concat!("user-agent: listwatch/", env!("CARGO_PKG_VERSION"));
    let target = "get /api/v1/pods?watch=1&allowwatchbookmarks=true&resourceversion=5 http/1.1";
    assert_eq!(lines, ["", "accept-encoding: identity", "accept: application/json", target, &host, agent]);
}

#[test]
fn a_program_names_itself_to_the_server() {
    let (heads, asked) = mpsc::channel();
    let server = Server::of(move |mut connection, head| {
        heads.send(head).unwrap();
        send(&mut connection, EMPTY);
    });
    let cluster = ClusterOptions::new().user_agent("my-operator/1.2 (x)").at(&server.url()).unwrap();
    let _answer = Api::<serde_json::Value>::new(&Resource::new("/api/v1/pods")).list().send(&cluster.client().unwrap());
    assert_eq!(header(&asked.recv().unwrap(), "user-agent"), Some("my-operator/1.2 (x)"));
    for name in ["", "ü", "a\r\nx: y"] {
        let error = ClusterOptions::new().user_agent(name).at(&server.url()).unwrap_err().to_string();
        assert!(error.contains("the user agent has to be printable ASCII"), "{error}");
    }
}

#[test]
fn a_request_for_metadata_accepts_only_metadata() {
    let (heads, asked) = mpsc::channel();
    let server = Server::of(move |mut connection, head| {
        heads.send(head).unwrap();
        send(&mut connection, EMPTY);
    });
    let request = Request {
        resource: Resource::new("/api/v1/pods").metadata_only(),
        verb: Verb::List { limit: None, continue_token: None, resource_version: None },
    };
    let mut client = Client::at(&server.url());
    client.transport.open(ID, &request);
    assert_eq!(client.drain().0, 200);
    assert_eq!(header(&asked.recv().unwrap(), "accept"), Some(request.accept()));
}

#[test]
fn an_event_arrives_when_its_bytes_do() {
    let (go_on, told) = mpsc::channel();
    let told = Mutex::new(told);
    let mut client = Client::of(move |mut connection, _| {
        send(&mut connection, CHUNKED);
        for event in ["5\r\nfirst\r\n", "6\r\nsec", "ond\r\n", "0\r\n\r\n"] {
            told.lock().unwrap().recv().unwrap();
            send(&mut connection, event);
        }
    });
    client.open("/api/v1/pods?watch=1");
    assert!(matches!(client.next(), Incoming::Head { head: ResponseHead { status: 200, .. }, .. }));
    for event in ["first", "sec", "ond"] {
        go_on.send(()).unwrap();
        assert_eq!(client.next(), Incoming::Data { id: ID, len: event.len() });
        assert_eq!(&client.buf[..event.len()], event.as_bytes());
    }
    go_on.send(()).unwrap();
    assert_eq!(client.next(), Incoming::End { id: ID });
    assert_eq!(client.next(), Incoming::Idle { until: None });
}

#[test]
fn a_refusal_comes_with_its_body_and_its_wait() {
    let mut client = Client::of(|mut connection, _| {
        let head = "HTTP/1.1 429 Too Many Requests\r\nretry-after: 3\r\ncontent-type: Application/JSON;q=1\r\n";
        send(&mut connection, &format!("{head}content-length: 17\r\n\r\n{{\"kind\":\"Status\"}}"));
    });
    client.open("/api/v1/pods");
    let head = ResponseHead {
        status: 429,
        retry_after: Some(Duration::from_secs(3)),
        content_type: Some("application/json".into()),
    };
    assert_eq!(client.next(), Incoming::Head { id: ID, head });
    assert_eq!(client.next(), Incoming::Data { id: ID, len: 17 });
    assert_eq!(client.next(), Incoming::End { id: ID });
}

#[test]
fn a_wait_until_a_date_counts_from_the_date_of_the_answer() {
    let mut client = Client::of(|mut connection, _| {
        let dates = "date: Fri, 20 Nov 2026 10:43:37 GMT\r\nretry-after: Fri, 20 Nov 2026 10:44:37 GMT\r\n";
        send(&mut connection, &format!("HTTP/1.1 503 Busy\r\n{dates}content-length: 0\r\n\r\n"));
    });
    client.open("/api/v1/pods");
    let Incoming::Head { head, .. } = client.next() else { panic!("no head") };
    assert_eq!((head.status, head.retry_after), (503, Some(Duration::from_secs(60))));
    assert_eq!(client.next(), Incoming::End { id: ID });
}

#[test]
fn a_redirect_is_an_error_that_says_where_to() {
    let mut client = Client::of(|mut connection, _| {
        send(
            &mut connection,
            "HTTP/1.1 302 Found\r\nlocation: https://user:hunter2@elsewhere/login?token=hunter2\r\ncontent-length: 0\r\n\r\n",
        );
    });
    client.open("/api/v1/pods");
    let error = client.error();
    assert_eq!(error.kind, TransportErrorKind::Protocol);
    assert!(error.detail.contains("redirected (302) to https://elsewhere/login,"), "{error}");
    assert_eq!(client.next(), Incoming::Idle { until: None });
}

#[test]
fn a_server_that_is_not_there_refuses_and_is_named() {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let mut client = Client::at(&format!("http://{address}"));
    client.open("/api/v1/pods");
    let error = client.error();
    assert_eq!(error.kind, TransportErrorKind::Refused);
    assert!(error.to_string().starts_with(&format!("connection refused: {address} (nothing listens")), "{error}");
}

#[test]
fn a_server_that_hangs_up_without_an_answer_breaks_the_connection() {
    let mut client = Client::of(|connection, _| drop(connection));
    client.open("/api/v1/pods");
    assert_eq!(client.failure(), TransportErrorKind::Reset);
}

#[test]
fn a_name_that_leads_nowhere_is_told_apart() {
    let mut client = Client::at("http://no..such..name");
    client.open("/api/v1/pods");
    assert_eq!(client.failure(), TransportErrorKind::Dns);
}

#[test]
fn a_request_that_makes_no_address_needs_somebody_to_mend_it() {
    for target in ["/api/v1/a b", "/api/v1/a\r\nb", &format!("/api/{}", "x".repeat(70_000))] {
        let mut client = Client::of(|mut connection, _| send(&mut connection, EMPTY));
        client.open(target);
        let error = client.error();
        assert_eq!(error.kind, TransportErrorKind::Unsendable, "{error}");
        assert!(Failure::Transport(error).class().requires_intervention());
    }
}

#[test]
fn what_is_not_http_is_a_protocol_error() {
    let mut client = Client::of(|mut connection, _| send(&mut connection, "SSH-2.0-OpenSSH_9.2\r\n\r\n"));
    client.open("/api/v1/pods");
    assert_eq!(client.failure(), TransportErrorKind::Protocol);
}

#[test]
fn a_body_that_broke_off_fails_and_does_not_end() {
    let bodies = [
        ("transfer-encoding: chunked", "5\r\nfirst\r\n"),
        ("transfer-encoding: chunked", "9\r\nfirst"),
        ("content-length: 9", "first"),
    ];
    for (framing, body) in bodies {
        let mut client = Client::of(move |mut connection, _| {
            send(&mut connection, &format!("HTTP/1.1 200 OK\r\n{framing}\r\n\r\n{body}"));
        });
        client.open("/api/v1/pods");
        assert_eq!(client.drain(), (200, "first".to_owned(), Err(TransportErrorKind::Reset)), "{framing}, {body}");
        assert_eq!(client.next(), Incoming::Idle { until: None });
    }
}

/// Three ways to be rid of a watch that says nothing.
#[test]
fn the_server_sees_that_a_request_was_given_up() {
    let give_up: [fn(&mut Option<Client>); 3] = [
        |client| client.as_mut().unwrap().transport.abort(ID),
        |client| {
            client.as_mut().unwrap().open("/api/v1/nodes");
        },
        |client| *client = None,
    ];
    for give_up in give_up {
        let (closed, seen) = mpsc::channel();
        let mut client = Client::of(move |mut connection, _| {
            send(&mut connection, CHUNKED);
            assert!(matches!(connection.read(&mut [0; 1]), Ok(0) | Err(_)));
            closed.send(()).unwrap();
        });
        client.open("/api/v1/pods?watch=1");
        client.next();
        assert_eq!(client.poll(), Poll::Pending);
        client.transport.abort(RequestId(6));
        assert_eq!(seen.recv_timeout(Duration::from_millis(50)), Err(RecvTimeoutError::Timeout));
        let mut client = Some(client);
        give_up(&mut client);
        assert_eq!(seen.recv_timeout(PATIENCE), Ok(()));
    }
}

#[test]
fn nothing_comes_of_an_aborted_request() {
    let mut client = Client::of(|mut connection, _| send(&mut connection, CHUNKED));
    client.open("/api/v1/pods?watch=1");
    client.transport.abort(ID);
    assert_eq!(client.next(), Incoming::Idle { until: None });
}

#[test]
fn a_server_is_held_back_while_nobody_polls() {
    const TOTAL: usize = 64 << 20;
    let (progress, sent) = mpsc::channel();
    let mut client = Client::of(move |mut connection, _| {
        send(&mut connection, &format!("HTTP/1.1 200 OK\r\ncontent-length: {TOTAL}\r\n\r\n"));
        connection.set_write_timeout(Some(Duration::from_millis(200))).unwrap();
        let (zeros, mut total) = (vec![b'x'; 64 << 10], 0);
        while total < TOTAL {
            match connection.write(&zeros[..zeros.len().min(TOTAL - total)]) {
                Ok(len) => total += len,
                Err(error) if error.kind() == ErrorKind::WouldBlock => progress.send(total).unwrap(),
                Err(error) => panic!("{error}"),
            }
        }
    });
    client.open("/api/v1/pods");
    client.next();
    let held_back_at = sent.recv_timeout(PATIENCE).unwrap();
    assert!(held_back_at < TOTAL / 2, "{held_back_at} bytes went nowhere");
    let mut total = 0;
    while let Incoming::Data { len, .. } = client.next() {
        total += len;
    }
    assert_eq!(total, TOTAL);
}
