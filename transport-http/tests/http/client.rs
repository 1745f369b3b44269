//! Single requests.

use super::credentials::REFUSED;
use super::support::{EMPTY, KEPT, PATIENCE, SECRET, Scratch, Server, cluster, header, options, request_head, send};
use flate2::Compression;
use flate2::write::GzEncoder;
use listwatch_core::api::{
    Api, ApiClient, ApiError, ApiRequest, ApiResponse, ApiTransport, DeleteOptions, Discovery, Method, Patch,
    ReconcileId, Reply, TraceContext,
};
use listwatch_core::request::RequestId;
use listwatch_core::transport::{ReadContext, TransportErrorKind};
use listwatch_core::{Instant, Resource};
use listwatch_transport_http::HttpClient;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake};
use std::thread;
use std::time::Duration;

fn client(server: &Server) -> HttpClient {
    options(&[]).at(&server.url()).unwrap().client().unwrap()
}

fn pods() -> Api<Value> {
    Api::new(&Resource::new("/api/v1/namespaces/web/pods"))
}

/// The body of a request.
fn body(connection: &mut TcpStream, head: &str) -> String {
    let len = header(head, "content-length").map_or(0, |len| len.parse().unwrap());
    let mut body = vec![0; len];
    connection.read_exact(&mut body).unwrap();
    String::from_utf8(body).unwrap()
}

#[test]
fn each_method_arrives_with_its_type_and_its_body() {
    let (requests, asked) = mpsc::channel();
    let server = Server::of(move |mut connection, head| {
        let body = body(&mut connection, &head);
        requests.send((head, body)).unwrap();
        send(&mut connection, EMPTY);
    });
    let (client, object) = (client(&server), json!({ "a": 1 }));
    let pods = pods();
    let deletion = DeleteOptions::default().with_uid("u");
    let merge = "application/merge-patch+json";
    let line = |method: &str, rest: &str| format!("{method} /api/v1/namespaces/web/pods{rest} HTTP/1.1");
    pods.delete("a", &deletion).send(&client).unwrap();
    let (head, body) = asked.recv().unwrap();
    assert_eq!(head.lines().next().unwrap(), line("DELETE", "/a"));
    assert!(body.contains(r#""preconditions":{"uid":"u"}"#), "{body}");
    for (call, first, content_type) in [
        (pods.create(&object), line("POST", ""), "application/json"),
        (pods.status().replace("a", &object), line("PUT", "/a/status"), "application/json"),
        (pods.patch("a", &Patch::Merge(&object)).with_dry_run(), line("PATCH", "/a?dryRun=All"), merge),
    ] {
        assert_eq!(call.send(&client).unwrap(), json!({}));
        let (head, body) = asked.recv().unwrap();
        assert_eq!((head.lines().next().unwrap(), &*body), (&*first, r#"{"a":1}"#));
        assert_eq!(header(&head, "content-type"), Some(content_type));
    }
    pods.get("a").send(&client).unwrap();
    let (head, body) = asked.recv().unwrap();
    assert_eq!((head.lines().next().unwrap(), &*body, header(&head, "content-type")), (&*line("GET", "/a"), "", None));
}

#[test]
fn what_the_server_says_of_a_refusal_comes_back() {
    let status = r#"{"kind":"Status","reason":"Conflict","message":"the object has been modified","code":409}"#;
    let head = format!("HTTP/1.1 409 Conflict\r\nretry-after: 2\r\ncontent-length: {}\r\n\r\n", status.len());
    let client = client(&Server::saying(format!("{head}{status}")));
    let error = pods().replace("a", &json!({})).send(&client).unwrap_err();
    assert!(error.is_conflict());
    assert_eq!(
        error.to_string(),
        "PUT /api/v1/namespaces/web/pods/a: status 409 Conflict: the object has been modified"
    );
    assert_eq!(error.retry_after().unwrap().as_secs(), 2);
}

#[test]
fn what_a_server_warns_of_comes_with_its_answer_and_the_echo_of_a_token_does_not() {
    let warnings = "warning: 299 - \"unknown field \\\"spec.x\\\"\", 299 - \"old\"\r\nwarning: 299 - \"echo hunter2\"";
    for status in [200, 422] {
        let server = Server::saying(format!("HTTP/1.1 {status} X\r\n{warnings}\r\ncontent-length: 2\r\n\r\n{{}}"));
        let text = format!(
            "{{current-context: c, contexts: [{{name: c, context: {{cluster: c, user: u}}}}], \
             clusters: [{{name: c, cluster: {{server: '{}'}}}}], users: [{{name: u, user: {{token: hunter2}}}}]}}",
            server.url()
        );
        let mut client = options(&[]).kubeconfig_text(&text).unwrap().client().unwrap();
        let expected = [r#"unknown field "spec.x""#, "old", "echo [redacted]"];
        assert_eq!(client.send(&get("/pods")).unwrap().warnings, expected);
        client.open(RequestId(1), &get("/pods"));
        assert_eq!(polled(&mut client, 1).unwrap().warnings, expected);
    }
}

#[test]
fn a_page_of_html_is_an_error_and_no_object() {
    let client = client(&Server::saying("HTTP/1.1 200 OK\r\ncontent-length: 13\r\n\r\n<html></html>"));
    assert!(matches!(pods().get("a").send(&client), Err(ApiError::Unreadable(_))));
    assert!(matches!(Discovery::run(&client), Err(ApiError::Unreadable(_))));
}

#[test]
fn a_version_whose_server_is_down_is_told_by_discovery_and_not_left_out() {
    let list = json!({ "kind": "APIGroupDiscoveryList", "items": [
        { "metadata": { "name": "dead.io" }, "versions": [{ "version": "v1", "freshness": "Stale" }] },
        { "metadata": { "name": "live.io" }, "versions": [{ "version": "v1", "freshness": "Current",
            "resources": [{ "resource": "things", "responseKind": { "kind": "Thing" }, "scope": "Cluster" }] }] },
    ] });
    let body = list.to_string();
    let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len());
    let discovery = Discovery::run(&client(&Server::saying(answer))).unwrap();
    assert_eq!(discovery.unavailable()[0].0, "/apis/dead.io/v1");
    assert!(discovery.unavailable()[0].1.to_string().contains("stale"));
    assert!(discovery.find("things.live.io").is_some());
}

#[test]
fn credentials_are_not_carried_to_where_an_answer_points() {
    let (arrived, seen) = mpsc::channel();
    let elsewhere = Server::of(move |_, head| arrived.send(head).unwrap());
    let answer = format!("HTTP/1.1 307 Go\r\nlocation: {}/\r\ncontent-length: 0\r\n\r\n", elsewhere.url());
    let server = Server::saying(answer);
    let files = Scratch::new();
    let cluster = cluster(&files.kubeconfig(&format!("server: '{}'", server.url()), "token: hunter2"));
    let client = cluster.client().unwrap();
    let ApiError::Transport(error) = pods().get("a").send(&client).unwrap_err() else { panic!("no such error") };
    assert_eq!(error.kind, TransportErrorKind::Protocol);
    assert!(error.detail.contains("redirected (307)"), "{error}");
    let shown = format!("{error:?} {client:?}");
    assert!(seen.try_recv().is_err() && !shown.contains(SECRET), "{shown}");
}

#[test]
fn a_change_is_repeated_with_a_renewed_token() {
    let tokens = Arc::new(Mutex::new(Vec::new()));
    let (known, files) = (tokens.clone(), Scratch::new());
    let renewed = files.write("token", "old");
    let server = Server::of(move |mut connection, head| {
        let body = body(&mut connection, &head);
        let token = header(&head, "authorization").unwrap().to_owned();
        // By the time that it is refused, there is another.
        std::fs::write(&renewed, "newer").unwrap();
        let accepts = token == "Bearer newer";
        known.lock().unwrap().push((token, body));
        send(&mut connection, if accepts { EMPTY } else { REFUSED });
    });
    let cluster = cluster(&files.kubeconfig(&format!("server: '{}'", server.url()), "tokenFile: token"));
    pods().create(&json!({ "a": 1 })).send(&cluster.client().unwrap()).unwrap();
    let body = r#"{"a":1}"#.to_owned();
    assert_eq!(*tokens.lock().unwrap(), [("Bearer old".to_owned(), body.clone()), ("Bearer newer".to_owned(), body)]);
}

#[test]
fn the_reconcile_of_a_request_is_told_in_two_headers_also_when_it_is_repeated() {
    let (files, (requests, asked)) = (Scratch::new(), mpsc::channel());
    let renewed = files.write("token", "old");
    let server = Server::of(move |mut connection, head| {
        std::fs::write(&renewed, "newer").unwrap();
        let of = |name: &str| header(&head, name).map(str::to_owned);
        let is_first = of("authorization").unwrap() == "Bearer old";
        requests.send((of("audit-id"), of("traceparent"))).unwrap();
        send(&mut connection, if is_first { REFUSED } else { EMPTY });
    });
    let cluster = cluster(&files.kubeconfig(&format!("server: '{}'", server.url()), "tokenFile: token"));
    let client = cluster.client().unwrap();
    let trace = TraceContext::new(ReconcileId::new(0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c), 0xb7ad_6b71_6920_3331);
    client.send(&get("/version").with_trace(trace)).unwrap();
    let audit_id = "0af76519-16cd-83dd-8448-eb211c80319c-b7ad6b7169203331".to_owned();
    let traceparent = "00-0af7651916cd83dd8448eb211c80319c-b7ad6b7169203331-00".to_owned();
    for _ in 0..2 {
        assert_eq!(asked.recv().unwrap(), (Some(audit_id.clone()), Some(traceparent.clone())));
    }
    client.send(&get("/version")).unwrap();
    assert_eq!(asked.recv().unwrap(), (None, None), "a request of nobody's");
}

#[test]
fn an_answer_may_come_compressed_but_not_without_end() {
    let compressed = |count: usize| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(b"[").unwrap();
        for _ in 0..count {
            encoder.write_all(&[b' '; 1 << 20]).unwrap();
        }
        encoder.write_all(b"]").unwrap();
        let body = encoder.finish().unwrap();
        let head = format!("HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: {}\r\n\r\n", body.len());
        Server::saying([head.into_bytes(), body].concat())
    };
    assert_eq!(pods().get("a").send(&client(&compressed(1))).unwrap(), json!([]));
    let small = options(&[]).max_response(1 << 20).at(&compressed(2).url()).unwrap().client().unwrap();
    let ApiError::Transport(error) = pods().get("a").send(&small).unwrap_err() else { panic!("no such error") };
    assert!(error.detail.contains("longer than 1048576 bytes"), "{error}");
}

#[test]
fn an_answer_to_a_write_is_read_up_to_16_mib() {
    const LEN: usize = (16 << 20) + 1;
    let server = Server::of(|mut connection, head| {
        body(&mut connection, &head);
        let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {LEN}\r\n\r\n{}", " ".repeat(LEN));
        let _closed = connection.write_all(answer.as_bytes());
    });
    let text = "the response is longer than 16777216 bytes: that to a write is one object";
    for method in [Method::Post, Method::Put, Method::Patch, Method::Get, Method::Delete] {
        let (mut request, mut client) = (ApiRequest::new(method, "/pods"), client(&server));
        if method != Method::Get {
            request.body = b"{}".to_vec();
        }
        let blocking = client.send(&request).map(|response| response.body.len()).map_err(|error| error.detail);
        client.open(RequestId(1), &request);
        let polled = polled(&mut client, 1).map(|response| response.body.len());
        let expected = match method {
            // They may list objects.
            Method::Get | Method::Delete => (Ok(LEN), Ok(LEN)),
            _ => (Err(text.into()), Err(TransportErrorKind::Protocol)),
        };
        assert_eq!((blocking, polled), expected, "{method:?}");
    }
}

/// A server that keeps its connections, and how many there were.
fn counted() -> (Server, Arc<AtomicUsize>) {
    let connections = Arc::new(AtomicUsize::new(0));
    let counted = connections.clone();
    let server = Server::raw(move |mut connection| {
        counted.fetch_add(1, Ordering::Relaxed);
        while request_head(&mut connection).is_some() {
            send(&mut connection, KEPT);
        }
    });
    (server, connections)
}

#[test]
fn many_threads_share_a_few_connections() {
    let (server, connections) = counted();
    let client = client(&server);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..50 {
                    assert_eq!(client.send(&ApiRequest::new(Method::Get, "/version")).unwrap().status, 200);
                }
            });
        }
    });
    let connections = connections.load(Ordering::Relaxed);
    assert!(connections <= 8, "{connections}");
}

#[test]
fn who_hangs_up_ends_what_is_waited_for_and_lets_nothing_begin() {
    let (asked, was_asked) = mpsc::channel();
    let server = Server::of(move |connection, _| asked.send(connection).unwrap());
    let client = client(&server);
    let waiting = client.clone();
    let answer = thread::spawn(move || pods().get("a").send(&waiting));
    let _open = was_asked.recv_timeout(PATIENCE).unwrap();
    client.close();
    assert!(answer.join().unwrap().is_err_and(|error| matches!(error, ApiError::Transport(_))));
    assert!(pods().get("a").send(&client).is_err());
    assert!(was_asked.try_recv().is_err(), "nothing more was asked");
}

/// Unparks a thread that polls.
struct Unpark(thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Polls a request once.
fn poll_once(client: &mut HttpClient, id: u64) -> Poll<Reply> {
    let waker = Arc::new(Unpark(thread::current())).into();
    let mut cx = Context::from_waker(&waker);
    client.poll_response(RequestId(id), ReadContext { cx: &mut cx, now: Instant::ZERO, max_wait: None })
}

/// Polls a request until it is over.
fn polled(client: &mut HttpClient, id: u64) -> Result<ApiResponse, TransportErrorKind> {
    loop {
        match poll_once(client, id) {
            Poll::Ready(Reply::Answered(response)) => return Ok(response),
            Poll::Ready(Reply::Failed(error)) => return Err(error.kind),
            Poll::Ready(Reply::Idle { until }) => panic!("idle until {until:?}"),
            Poll::Pending => thread::park(),
        }
    }
}

fn get(path: &str) -> ApiRequest {
    ApiRequest::new(Method::Get, path)
}

#[test]
fn requests_that_are_polled_are_open_at_once_and_are_answered_as_they_come() {
    let (release, released) = mpsc::channel::<()>();
    let released = Mutex::new(released);
    let server = Server::of(move |mut connection, head| {
        if head.starts_with("GET /slow ") {
            released.lock().unwrap().recv().unwrap();
        }
        let body = body(&mut connection, &head);
        let answer = format!("HTTP/1.1 201 Created\r\nretry-after: 2\r\ncontent-length: {}\r\n\r\n", body.len());
        send(&mut connection, &(answer + &body));
    });
    let mut client = client(&server);
    client.open(RequestId(1), &get("/slow"));
    let large = "x".repeat(100_000);
    let mut create = ApiRequest::new(Method::Post, "/large");
    create.body = large.clone().into_bytes();
    client.open(RequestId(2), &create);
    let response = polled(&mut client, 2).unwrap();
    assert_eq!((response.status, response.retry_after.unwrap().as_secs()), (201, 2));
    assert!(response.body == large.as_bytes());
    assert_eq!(poll_once(&mut client, 1), Poll::Pending);
    release.send(()).unwrap();
    assert_eq!(polled(&mut client, 1).unwrap().body, b"");
}

/// A server that tells of each connection when a request came, and again when it was closed.
fn watched() -> (Server, mpsc::Receiver<&'static str>) {
    let (tell, told) = mpsc::channel();
    let server = Server::of(move |mut connection, _| {
        tell.send("asked").unwrap();
        // Nothing more comes before the end, however the other side ends it.
        let _end = connection.read(&mut [0; 1]);
        tell.send("closed").unwrap();
    });
    (server, told)
}

#[test]
fn a_request_that_is_given_up_closes_its_connection_and_no_other() {
    let (server, told) = watched();
    let mut client = client(&server);
    for id in [1, 2] {
        client.open(RequestId(id), &get("/pods"));
        assert_eq!(told.recv_timeout(PATIENCE).unwrap(), "asked");
    }
    client.abort(RequestId(1));
    assert_eq!(told.recv_timeout(PATIENCE).unwrap(), "closed");
    assert_eq!(poll_once(&mut client, 2), Poll::Pending);
    assert!(told.try_recv().is_err(), "the other one is open");
    drop(client);
    assert_eq!(told.recv_timeout(PATIENCE).unwrap(), "closed", "what is open ends with its client");
}

#[test]
fn who_hangs_up_ends_what_is_polled_by_its_clones_too() {
    let (server, told) = watched();
    let mut client = client(&server);
    let other = client.clone();
    client.open(RequestId(1), &get("/pods"));
    assert_eq!(told.recv_timeout(PATIENCE).unwrap(), "asked");
    other.close();
    assert!(polled(&mut client, 1).is_err());
    client.open(RequestId(2), &get("/pods"));
    assert_eq!(polled(&mut client, 2), Err(TransportErrorKind::Reset));
}

#[test]
fn requests_that_are_polled_one_after_the_other_share_a_connection() {
    let (server, connections) = counted();
    let mut client = client(&server);
    for id in 0..20 {
        client.open(RequestId(id), &get("/version"));
        assert_eq!(polled(&mut client, id).unwrap().body, b"{}");
        assert_eq!(client.send(&get("/version")).unwrap().body, b"{}");
    }
    assert_eq!(connections.load(Ordering::Relaxed), 1);
}

#[test]
fn requests_that_are_polled_have_the_limits_of_their_cluster() {
    let (server, told) = watched();
    let mut client =
        options(&[]).max_requests(1).wait_timeout(Duration::from_secs(1)).at(&server.url()).unwrap().client().unwrap();
    client.open(RequestId(1), &get("/pods"));
    assert_eq!(told.recv_timeout(PATIENCE).unwrap(), "asked");
    client.open(RequestId(2), &get("/pods"));
    assert_eq!(client.waits_for(RequestId(1)), None);
    let waits_for = client.waits_for(RequestId(2)).unwrap();
    assert_eq!(&*waits_for, "1 other requests are open, which ClusterOptions::max_requests limits");
    assert_eq!(polled(&mut client, 2), Err(TransportErrorKind::Exhausted));
    client.open(RequestId(3), &get("/pods"));
    client.abort(RequestId(1));
    assert_eq!(told.recv_timeout(PATIENCE).unwrap(), "closed");
    assert_eq!(told.recv_timeout(PATIENCE).unwrap(), "asked", "another one that waited");

    let long = Server::saying(format!("HTTP/1.1 200 OK\r\ncontent-length: 20000\r\n\r\n{}", " ".repeat(20_000)));
    let limited = |bytes| options(&[]).max_response(bytes).at(&long.url()).unwrap().client().unwrap();
    let asked = |mut client: HttpClient| {
        client.open(RequestId(1), &get("/pods"));
        polled(&mut client, 1).map(|response| response.body.len())
    };
    assert_eq!(asked(limited(19_999)), Err(TransportErrorKind::Protocol));
    assert_eq!(asked(limited(20_000)), Ok(20_000));

    let away = Server::saying("HTTP/1.1 307 Go\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n");
    let client = options(&[]).at(&away.url()).unwrap().client().unwrap();
    assert_eq!(asked(client), Err(TransportErrorKind::Protocol), "a redirect is not followed");
}

#[test]
fn a_client_redacts_the_token_that_a_page_for_people_echoes() {
    let server = Server::of(|mut connection, head| {
        let page = format!("<html>you sent {}</html>", header(&head, "authorization").unwrap());
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close";
        send(&mut connection, &format!("{head}\r\ncontent-length: {}\r\n\r\n{page}", page.len()));
    });
    let files = Scratch::new();
    let config = files.kubeconfig(&format!("server: '{}'", server.url()), &format!("token: {SECRET}"));
    let mut client = cluster(&config).client().unwrap();
    let blocking = client.send(&get("/version")).unwrap();
    client.open(RequestId(1), &get("/version"));
    let polled = polled(&mut client, 1).unwrap();
    for response in [blocking, polled] {
        assert_eq!(String::from_utf8_lossy(&response.body), "<html>you sent Bearer [redacted]</html>");
    }
}
