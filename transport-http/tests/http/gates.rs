//! Writes that may leave only during a term.

use super::certificates::Authority;
use super::credentials::REFUSED;
use super::support::{EMPTY, KEPT, PATIENCE, Scratch, Server, cluster, header, options, relay, request_head, send};
use listwatch_core::Instant;
use listwatch_core::api::{ApiClient, ApiRequest, ApiResponse, ApiTransport, Method, Reply, SendGate};
use listwatch_core::request::RequestId;
use listwatch_core::transport::{ReadContext, TransportError, TransportErrorKind};
use listwatch_transport_http::HttpClient;
use std::io::{self, Read};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

const OVER: &str = "not sent: the term is over";

/// A term, which the test ends.
#[derive(Clone)]
struct Term(Arc<AtomicBool>);

impl Term {
    fn new() -> Self {
        Self(Arc::new(AtomicBool::new(true)))
    }

    fn end(&self) {
        self.0.store(false, Ordering::SeqCst);
    }

    /// A write of this term.
    fn write(&self, body: &[u8]) -> ApiRequest {
        let (goes_on, mut request) = (Arc::clone(&self.0), ApiRequest::new(Method::Post, "/write"));
        request.body = body.to_vec();
        request.behind(SendGate::new(move || match goes_on.load(Ordering::SeqCst) {
            true => Ok(()),
            false => Err(TransportError::new(TransportErrorKind::Other, OVER)),
        }))
    }
}

fn is_over<T: std::fmt::Debug>(sent: &Result<T, TransportError>) -> bool {
    sent.as_ref().is_err_and(|error| &*error.detail == OVER && error.kind == TransportErrorKind::Other)
}

/// Holds something up: it tells that it has come, and waits until it may go on.
fn lock() -> (impl Fn() + Send + Sync + 'static, Receiver<()>, Sender<()>) {
    let ((come, has_come), (go, may_go)) = (mpsc::channel(), mpsc::channel());
    let may_go = Mutex::new(may_go);
    let wait = move || {
        let _told = come.send(());
        let _dropped = may_go.lock().unwrap().recv();
    };
    (wait, has_come, go)
}

/// Ends the term while a write is held up, and returns what became of the write.
fn ended_meanwhile(client: &HttpClient, held: &Receiver<()>, go: &Sender<()>) -> Result<ApiResponse, TransportError> {
    let term = Term::new();
    let (write, writer) = (term.write(b"{}"), client.clone());
    let sent = thread::spawn(move || writer.send(&write));
    held.recv_timeout(PATIENCE).unwrap();
    term.end();
    go.send(()).unwrap();
    sent.join().unwrap()
}

/// The first request that arrived, after another one was sent.
fn first_after(client: &HttpClient, heads: &Receiver<String>) -> String {
    assert_eq!(client.send(&ApiRequest::new(Method::Get, "/later")).unwrap().status, 200);
    heads.recv_timeout(PATIENCE).unwrap().lines().next().unwrap().to_owned()
}

#[test]
fn a_write_whose_term_ends_during_the_tls_handshake_is_not_sent() {
    let (authority, files, (heads, asked)) = (Authority::new(), Scratch::new(), mpsc::channel());
    let server = authority.issue(&["127.0.0.1"]).serve(None, move |mut stream, head| {
        heads.send(head).unwrap();
        send(&mut stream, EMPTY);
    });
    let (hold, held, go) = lock();
    let address = server.address;
    let slow = Server::raw(move |connection| {
        hold();
        relay(connection, TcpStream::connect(&address).unwrap());
    });
    files.write("ca.crt", &authority.pem);
    let entries = format!("server: 'https://{}', certificate-authority: ca.crt", slow.address);
    let client = cluster(&files.kubeconfig(&entries, "")).client().unwrap();
    let sent = ended_meanwhile(&client, &held, &go);
    assert!(is_over(&sent), "{sent:?}");
    drop(go);
    assert_eq!(first_after(&client, &asked), "GET /later HTTP/1.1");
}

#[test]
fn a_write_whose_term_ends_while_a_proxy_connects_is_not_sent() {
    let ((hold, held, go), (heads, asked)) = (lock(), mpsc::channel());
    let proxy = Server::raw(move |mut connection| {
        request_head(&mut connection).unwrap();
        hold();
        send(&mut connection, "HTTP/1.1 200 Connected\r\n\r\n");
        if let Some(head) = request_head(&mut connection) {
            heads.send(head).unwrap();
            send(&mut connection, EMPTY);
        }
    });
    let files = Scratch::new();
    let entries = format!("server: 'http://api.invalid', proxy-url: '{}'", proxy.url());
    let client = cluster(&files.kubeconfig(&entries, "")).client().unwrap();
    let sent = ended_meanwhile(&client, &held, &go);
    assert!(is_over(&sent), "{sent:?}");
    drop(go);
    assert_eq!(first_after(&client, &asked), "GET /later HTTP/1.1");
}

#[cfg(unix)]
#[test]
fn a_write_whose_term_ends_while_a_plugin_runs_is_not_sent() {
    use super::support::wait_until;
    let (files, (heads, asked)) = (Scratch::new(), mpsc::channel());
    let server = Server::of(move |mut connection, head| {
        heads.send(head).unwrap();
        send(&mut connection, EMPTY);
    });
    let version = "client.authentication.k8s.io/v1";
    let answer = format!(r#"{{"apiVersion":"{version}","kind":"ExecCredential","status":{{"token":"t"}}}}"#);
    let waits = "touch \"$0.runs\"; while ! [ -e \"$0.go\" ]; do sleep 0.01; done";
    files.script("plugin", &format!("{waits}\nprintf '%s' '{answer}'"));
    let exec = format!("exec: {{apiVersion: {version}, command: ./plugin, interactiveMode: Never}}");
    let config = files.kubeconfig(&format!("server: '{}'", server.url()), &exec);
    let client = options(&[]).exec_timeout(PATIENCE).kubeconfig(config).unwrap().client().unwrap();
    let term = Term::new();
    let (write, writer) = (term.write(b"{}"), client.clone());
    let sent = thread::spawn(move || writer.send(&write));
    wait_until(|| files.path("plugin.runs").exists());
    term.end();
    files.write("plugin.go", "");
    let sent = sent.join().unwrap();
    assert!(is_over(&sent), "{sent:?}");
    assert_eq!(first_after(&client, &asked), "GET /later HTTP/1.1");
}

#[test]
fn a_write_refused_for_its_credential_is_not_repeated_after_its_term() {
    let (files, (heads, asked), term) = (Scratch::new(), mpsc::channel(), Term::new());
    let (renewed, ending) = (files.write("token", "old"), term.clone());
    let server = Server::of(move |mut connection, head| {
        let is_old = header(&head, "authorization") == Some("Bearer old");
        std::fs::write(&renewed, "newer").unwrap();
        ending.end();
        heads.send(head).unwrap();
        send(&mut connection, if is_old { REFUSED } else { EMPTY });
    });
    let config = files.kubeconfig(&format!("server: '{}'", server.url()), "tokenFile: token");
    let client = cluster(&config).client().unwrap();
    let sent = client.send(&term.write(b""));
    assert!(is_over(&sent), "{sent:?}");
    assert_eq!(asked.recv_timeout(PATIENCE).unwrap().lines().next(), Some("POST /write HTTP/1.1"));
    assert_eq!(first_after(&client, &asked), "GET /later HTTP/1.1", "it was not sent again");
}

#[test]
fn a_long_write_stops_at_the_end_of_its_term() {
    const LEN: usize = 64 << 20;
    let ((hold, held, go), (read, was_read)) = (lock(), mpsc::channel());
    let server = Server::of(move |mut connection, _| {
        hold();
        read.send(io::copy(&mut connection, &mut io::sink()).unwrap_or(0)).unwrap();
    });
    let client = options(&[]).at(&server.url()).unwrap().client().unwrap();
    let term = Term::new();
    let write = term.write(&vec![b' '; LEN]);
    let sent = thread::spawn(move || client.send(&write));
    held.recv_timeout(PATIENCE).unwrap();
    term.end();
    go.send(()).unwrap();
    assert!(is_over(&sent.join().unwrap()));
    let read = was_read.recv_timeout(PATIENCE).unwrap();
    assert!(read < LEN as u64, "the server has no whole request");
}

#[test]
fn a_connection_that_is_kept_asks_the_gate_of_each_request() {
    let server = Server::raw(|mut connection| {
        while let Some(head) = request_head(&mut connection) {
            let len = header(&head, "content-length").map_or(0, |len| len.parse().unwrap());
            connection.read_exact(&mut vec![0; len]).unwrap();
            send(&mut connection, KEPT);
        }
    });
    let client = options(&[]).at(&server.url()).unwrap().client().unwrap();
    let term = Term::new();
    assert_eq!(client.send(&term.write(b"{}")).unwrap().status, 200);
    term.end();
    assert!(is_over(&client.send(&term.write(b"{}"))));
    assert_eq!(client.send(&Term::new().write(b"{}")).unwrap().status, 200);
    assert_eq!(client.send(&ApiRequest::new(Method::Get, "/")).unwrap().status, 200);
}

/// Polls a request until it is over.
fn polled(client: &mut HttpClient, id: RequestId, request: &ApiRequest) -> Result<ApiResponse, TransportError> {
    client.open(id, request);
    loop {
        let mut cx = Context::from_waker(Waker::noop());
        let turn = ReadContext { cx: &mut cx, now: Instant::ZERO, max_wait: None };
        match client.poll_response(id, turn) {
            Poll::Ready(Reply::Answered(response)) => return Ok(response),
            Poll::Ready(Reply::Failed(error)) => return Err(error),
            _ => thread::park_timeout(Duration::from_millis(1)),
        }
    }
}

#[test]
fn a_write_that_is_polled_asks_its_gate_too() {
    let mut client = options(&[]).at(&Server::saying(EMPTY).url()).unwrap().client().unwrap();
    let term = Term::new();
    assert_eq!(polled(&mut client, RequestId(1), &term.write(b"{}")).unwrap().status, 200);
    term.end();
    assert!(is_over(&polled(&mut client, RequestId(2), &term.write(b"{}"))));
}

#[test]
fn requests_that_hang_leave_room_for_a_client_with_its_own_limit() {
    let server = Server::of(|mut connection, head| {
        if head.starts_with("GET /hangs") {
            drop(connection.read(&mut [0]));
        } else {
            send(&mut connection, EMPTY);
        }
    });
    let cluster = options(&[]).max_requests(2).wait_timeout(Duration::ZERO).at(&server.url()).unwrap();
    let (mut busy, mut own) = (cluster.client().unwrap(), cluster.client().unwrap().with_own_limit());
    (1..=2).for_each(|id| busy.open(RequestId(id), &ApiRequest::new(Method::Get, "/hangs")));
    let get = ApiRequest::new(Method::Get, "/");
    let refused = polled(&mut busy, RequestId(3), &get).unwrap_err();
    assert_eq!(refused.kind, TransportErrorKind::Exhausted);
    assert_eq!(polled(&mut own, RequestId(1), &get).unwrap().status, 200);
    (2..=3).for_each(|id| own.open(RequestId(id), &ApiRequest::new(Method::Get, "/hangs")));
    let refused = polled(&mut own.clone(), RequestId(1), &get).unwrap_err();
    assert!(refused.detail.contains("2 requests are open, and 0 wait"), "{refused}");
}
