//! What a program's logger hears of requests, with every level on: no credential, and nothing of an object.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![expect(dead_code, reason = "the suite's helpers serve other modules too")]

#[path = "http/certificates.rs"]
mod certificates;
/// The reactor of the runtime. Its source is included, because the runtime depends on this crate.
#[expect(unreachable_pub, reason = "it is public in the runtime")]
#[path = "../../runtime-smol/src/reactor.rs"]
mod reactor;
#[path = "exchange/connection.rs"]
mod socket;
#[path = "http/support.rs"]
mod support;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use certificates::Authority;
use embedded_io::ErrorKind;
use listwatch_core::Instant;
use listwatch_core::api::{ApiClient, ApiRequest, ApiTransport, Method, Reply};
use listwatch_core::request::RequestId;
use listwatch_core::transport::ReadContext;
use listwatch_transport_http::exchange::{Connection, Endpoint, Exchange, ExchangeError, Received};
use listwatch_transport_http::{Cluster, HttpTransport};
use rustls::{ServerConnection, StreamOwned};
use smol::future::{block_on, poll_fn};
use socket::Socket;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use support::{Client, Scratch, Server, cluster, header, request_head, send};

/// The transport of a [`Client`] as it is.
fn read(transport: HttpTransport) -> HttpTransport {
    transport
}

/// All that was logged, with its targets.
struct Records(Mutex<String>);

static RECORDS: Records = Records(Mutex::new(String::new()));

impl log::Log for Records {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        *self.0.lock().unwrap() += &format!("{}: {}\n", record.target(), record.args());
    }

    fn flush(&self) {}
}

const TOKEN: &str = "eyJhbGciOiJSUzI1NiIsImtpZCI6Ijh0.c1dRa2pXb0tLbG9nZ2Vk";
const PASSWORD: &str = "correct-horse/battery:staple+9";
const PROXY_PASSWORD: &str = "tr0mbone-and-pe4nuts-in-7he-rain";
/// A value in a Secret that is read, and one in a Secret that is written.
const STORED: &str = "UGxhaW4gdmFsdWVzIGluIGEgU2VjcmV0IG9mIGEgY2x1c3Rlcg==";
const WRITTEN: &str = "QSB2YWx1ZSB0aGF0IGEgY29udHJvbGxlciBoYXMganVzdCBtYWRl";

/// The texts by which a log would show six bytes of a secret: as they are, in hexadecimal, in decimal and in base64.
fn shown(secret: &str) -> Vec<String> {
    let bytes = secret.as_bytes();
    let windows = bytes.windows(6).flat_map(|part| {
        let hex: String = part.iter().map(|byte| format!("{byte:02x}")).collect();
        let decimal: Vec<String> = part.iter().map(u8::to_string).collect();
        [String::from_utf8(part.into()).unwrap(), hex, decimal.join(",")]
    });
    let packed = (0..3).map(|start| BASE64_STANDARD.encode(&bytes[start..]));
    let packed = packed.flat_map(|text| {
        let parts: Vec<String> =
            text.as_bytes().chunks_exact(8).map(|part| str::from_utf8(part).unwrap().into()).collect();
        parts
    });
    windows.chain(packed).collect()
}

/// Answers every request of a connection with a Secret, framed by what the request is, and echoes its credential.
fn answer(mut stream: impl Read + Write) {
    while let Some(head) = request_head(&mut stream) {
        let echo = header(&head, "authorization").unwrap_or("none").to_owned();
        let length = header(&head, "content-length").map_or(0, |length| length.parse().unwrap());
        stream.read_exact(&mut vec![0; length]).unwrap();
        let object = format!("{{\"kind\":\"Secret\",\"data\":{{\"a\":\"{STORED}\"}}}}");
        let answer = match head.split(' ').nth(1).unwrap() {
            "/moved" => format!("302 Found\r\nlocation: https://other/?{echo}\r\ncontent-length: 0\r\n\r\n"),
            "/refused" => format!("403 {echo}\r\nx-you: {echo}\r\ncontent-length: {}\r\n\r\n{echo}", echo.len()),
            target if target.contains("watch=1") => {
                let chunks = [&object[..5], &object[5..]].map(|chunk| format!("{:x}\r\n{chunk}\r\n", chunk.len()));
                format!("200 OK\r\ntransfer-encoding: chunked\r\nx-you: {echo}\r\n\r\n{}0\r\n\r\n", chunks.concat())
            }
            _ => format!("200 OK\r\ncontent-length: {}\r\nx-you: {echo}\r\n\r\n{object}", object.len()),
        };
        send(&mut stream, &format!("HTTP/1.1 {answer}"));
    }
}

/// Sends requests by each transport and each client.
fn ask(cluster: &Cluster) {
    let transports: [fn(HttpTransport) -> HttpTransport; 2] =
        [|transport| transport, |transport| transport.with_reactor(Arc::new(reactor::AsyncIo))];
    for choose in transports {
        let mut client = Client::over(choose(cluster.transport().unwrap()));
        for target in ["/api/v1/secrets", "/api/v1/secrets?watch=1"] {
            client.open(target);
            let (status, body, end) = client.drain();
            assert_eq!((status, body.contains(STORED), end), (200, true, Ok(())), "{target}");
        }
    }
    let mut client = cluster.client().unwrap();
    let mut polled = |request: &ApiRequest| {
        client.open(RequestId(1), request);
        let reply = block_on(poll_fn(|cx| {
            client.poll_response(RequestId(1), ReadContext { cx, now: Instant::ZERO, max_wait: None })
        }));
        let Reply::Answered(response) = reply else { return 0 };
        response.status
    };
    let blocking = cluster.client().unwrap();
    for (method, target, status) in [
        (Method::Put, "/api/v1/namespaces/a/secrets/b", 200),
        (Method::Get, "/refused", 403),
        (Method::Get, "/moved", 0),
        (Method::Post, "/api/v1/namespaces/a/secrets", 200),
    ] {
        let mut request = ApiRequest::new(method, target);
        if method != Method::Get {
            request.content_type = Some("application/json");
            request.body = format!("{{\"data\":{{\"a\":\"{WRITTEN}\"}}}}").into();
        }
        assert_eq!(blocking.send(&request).map_or(0, |response| response.status), status);
        assert_eq!(polled(&request), status);
    }
}

fn ask_as_firmware(server: &Server) {
    let mut socket = Socket::new(server.address.parse().unwrap());
    socket.connect().unwrap();
    let (mut exchange, mut buf) = (Exchange::<64>::new(), [0; 300]);
    let endpoint = Endpoint::new("localhost").with_token(TOKEN);
    exchange.open(&mut socket, &endpoint.get("/api/v1/secrets", "application/json")).unwrap();
    loop {
        let received: Result<Received, ExchangeError<ErrorKind>> = exchange.read(&mut socket, &mut buf);
        log::trace!("{received:?} {exchange:?} {endpoint:?}");
        if received.unwrap() == Received::End {
            return;
        }
    }
}

/// Lets a client through that has the password, and answers for the server.
fn proxy(mut connection: TcpStream) {
    let head = request_head(&mut connection).unwrap();
    let pair = header(&head, "proxy-authorization").and_then(|value| value.strip_prefix("Basic ")).unwrap();
    assert_eq!(BASE64_STANDARD.decode(pair).unwrap(), format!("me:{PROXY_PASSWORD}").into_bytes());
    send(&mut connection, "HTTP/1.1 200 Connected\r\n\r\n");
    answer(connection);
}

// One test: a process has one logger.
#[test]
fn a_logger_at_trace_hears_no_credential_and_nothing_of_an_object() {
    log::set_logger(&RECORDS).unwrap();
    log::set_max_level(log::LevelFilter::Trace);
    let (files, authority) = (Scratch::new(), Authority::new());
    let plain = Server::raw(answer);
    let identity = authority.issue(&["127.0.0.1"]);
    let config = Arc::new(identity.config(Some(&authority)));
    let tls = Server::raw(move |connection| {
        answer(StreamOwned::new(ServerConnection::new(config.clone()).unwrap(), connection));
    });
    files.write("ca.crt", &authority.pem);
    files.write("client.crt", &identity.certificate);
    files.write("client.key", &identity.key);
    let proxy = Server::raw(proxy);
    let certificate = "client-certificate: client.crt, client-key: client.key";
    let trusted = format!("server: 'https://{}', certificate-authority: ca.crt", tls.address);
    let proxied = format!("server: 'http://api.invalid', proxy-url: 'http://me:{PROXY_PASSWORD}@{}'", proxy.address);
    for (server, user) in [
        (format!("server: '{}'", plain.url()), format!("token: '{TOKEN}'")),
        (trusted.clone(), format!("token: '{TOKEN}', {certificate}")),
        (trusted, format!("username: me, password: '{PASSWORD}', {certificate}")),
        (proxied, format!("token: '{TOKEN}'")),
    ] {
        ask(&cluster(&files.kubeconfig(&server, &user)));
    }
    ask_as_firmware(&plain);

    let logged = RECORDS.0.lock().unwrap().clone();
    assert!(logged.contains("ureq"), "it logs, so that this test looks at something");
    let packed: String = logged.split_whitespace().collect();
    let key: String = identity.key.lines().filter(|line| !line.starts_with("--")).collect();
    for secret in [TOKEN, PASSWORD, PROXY_PASSWORD, STORED, WRITTEN, &key] {
        let found = shown(secret).into_iter().find(|text| logged.contains(text) || packed.contains(text));
        assert_eq!(found, None, "of {secret}");
    }
}
