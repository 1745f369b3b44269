//! Watches that the task reads.

use super::certificates::Authority;
use super::support::{CHUNKED, Client, ID, Scratch, Server, cluster, options, request_head, send};
use listwatch_core::transport::{Incoming, TransportErrorKind};
use std::io::{Read, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

const WATCH: &str = "/api/v1/pods?watch=1";

#[cfg(target_os = "linux")]
#[test]
fn fifty_quiet_watches_take_two_threads_at_most() {
    let (bytes, threads) = super::load::cost::plain();
    assert!(bytes <= 35_000, "{bytes}");
    assert!(threads <= 2, "{threads}");
}

#[cfg(target_os = "linux")]
#[test]
fn fifty_quiet_watches_over_tls_take_two_threads_at_most() {
    let (bytes, threads) = super::load::cost::tls();
    assert!(bytes <= 60_000, "{bytes}");
    assert!(threads <= 2, "{threads}");
}

/// The body that a watch reads from now on, and how it ends. Each time that nothing is there, `starve` lets more come, or
/// ends the body.
fn starved(client: &mut Client, mut starve: impl FnMut()) -> (Vec<u8>, Result<(), TransportErrorKind>) {
    let mut body = Vec::new();
    loop {
        match client.poll() {
            Poll::Ready(Incoming::Data { len, .. }) => body.extend_from_slice(&client.buf[..len]),
            Poll::Ready(Incoming::End { id: ID }) => return (body, Ok(())),
            Poll::Ready(Incoming::Failed { error, .. }) => return (body, Err(error.kind)),
            Poll::Ready(other) => panic!("{other:?}"),
            Poll::Pending => {
                starve();
                client.wait();
            }
        }
    }
}

/// A writer that writes each byte alone, once it may.
struct Dripping<S> {
    stream: S,
    may: Arc<Mutex<Receiver<()>>>,
}

impl<S: Write> Write for Dripping<S> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        // The test that has ended lets the rest go.
        _ = self.may.lock().unwrap().recv();
        self.stream.write_all(&bytes[..1])?;
        Ok(1)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.stream.flush()
    }
}

fn dripping() -> (Sender<()>, Arc<Mutex<Receiver<()>>>) {
    let (drip, may) = mpsc::channel();
    (drip, Arc::new(Mutex::new(may)))
}

const PIECES: &str = "5\r\nfirst\r\nA;ext=1\r\nsecond one\r\n0\r\n\r\n";

#[test]
fn a_body_is_whole_when_a_read_finds_half_of_a_chunk() {
    let (drip, may) = dripping();
    let mut client = Client::of(move |mut stream, _| {
        send(&mut stream, CHUNKED);
        stream.set_nodelay(true).unwrap();
        send(&mut Dripping { stream, may: may.clone() }, PIECES);
    });
    client.open(WATCH);
    assert!(matches!(client.next(), Incoming::Head { .. }));
    let mut starved_times = 0;
    let (body, end) = starved(&mut client, || {
        starved_times += 1;
        drip.send(()).unwrap();
    });
    assert_eq!((String::from_utf8(body).unwrap().as_str(), end), ("firstsecond one", Ok(())));
    assert!(starved_times >= PIECES.len(), "{starved_times}");
}

/// A proxy that goes through to a server, and hands its bytes on one by one from the time that the test says.
fn dripping_proxy(server: &Server, may: Arc<Mutex<Receiver<()>>>, starts: Arc<AtomicUsize>) -> Server {
    let address = server.address.clone();
    Server::raw(move |client| {
        let mut upstream = std::net::TcpStream::connect(&address).unwrap();
        let (mut requests, mut to_server) = (client.try_clone().unwrap(), upstream.try_clone().unwrap());
        std::thread::spawn(move || std::io::copy(&mut requests, &mut to_server));
        client.set_nodelay(true).unwrap();
        let (mut dripping, mut bytes) = (Dripping { stream: &client, may: may.clone() }, [0; 4096]);
        while let Ok(len @ 1..) = upstream.read(&mut bytes) {
            match starts.load(Ordering::SeqCst) {
                0 => (&client).write_all(&bytes[..len]).unwrap(),
                _ => drop(dripping.write_all(&bytes[..len])),
            }
        }
        _ = client.shutdown(std::net::Shutdown::Both);
    })
}

#[test]
fn a_tls_body_is_whole_when_a_read_finds_half_a_record() {
    let (authority, files, (drip, may)) = (Authority::new(), Scratch::new(), dripping());
    let (go_on, told) = mpsc::channel::<()>();
    let (starts, told) = (Arc::<AtomicUsize>::default(), Mutex::new(told));
    let server = authority.issue(&["127.0.0.1"]).serve(None, move |mut stream, _| {
        send(&mut stream, CHUNKED);
        told.lock().unwrap().recv().unwrap();
        // A request for new keys, which the client has to answer, between two records.
        send(&mut stream, "5\r\nfirst\r\n");
        stream.conn.refresh_traffic_keys().unwrap();
        send(&mut stream, "6\r\nsecond\r\n0\r\n\r\n");
        // The next request shows that the answer was sent whole.
        request_head(&mut stream).unwrap();
        send(&mut stream, "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}");
    });
    let proxy = dripping_proxy(&server, may, starts.clone());
    files.write("ca.crt", &authority.pem);
    let entries = format!("server: 'https://{}', certificate-authority: ca.crt", proxy.address);
    let mut client = Client::to(&cluster(&files.kubeconfig(&entries, "")));
    client.open(WATCH);
    assert!(matches!(client.next(), Incoming::Head { .. }));
    assert_eq!(client.poll(), Poll::Pending);
    starts.store(1, Ordering::SeqCst);
    go_on.send(()).unwrap();
    let (body, end) = starved(&mut client, || drip.send(()).unwrap());
    assert_eq!((String::from_utf8(body).unwrap().as_str(), end), ("firstsecond", Ok(())));
    starts.store(0, Ordering::SeqCst);
    drop(drip);
    assert_eq!(client.list(), 200);
}

#[test]
fn a_watch_that_has_ended_leaves_its_connection_to_the_next_request() {
    let connections = Arc::<AtomicUsize>::default();
    let counted = connections.clone();
    let server = Server::raw(move |mut stream| {
        counted.fetch_add(1, Ordering::SeqCst);
        while let Some(head) = request_head(&mut stream) {
            if head.contains("watch=1") {
                send(&mut stream, CHUNKED);
                send(&mut stream, "2\r\n{}\r\n0\r\n\r\n");
            } else {
                send(&mut stream, super::support::KEPT);
            }
        }
    });
    let mut client = Client::at(&server.url());
    for _ in 0..10 {
        client.open(WATCH);
        assert_eq!(client.drain(), (200, "{}".to_owned(), Ok(())));
        assert_eq!(client.list(), 200);
    }
    assert_eq!(connections.load(Ordering::SeqCst), 1);
}

#[test]
fn a_watch_whose_server_is_silent_times_out() {
    let server = Server::of(|mut stream, _| {
        send(&mut stream, CHUNKED);
        send(&mut stream, "5\r\nfirst\r\n");
        drop(stream.read(&mut [0]));
    });
    let cluster = options(&[]).idle_timeout(Some(Duration::from_millis(50))).at(&server.url()).unwrap();
    let mut client = Client::to(&cluster);
    client.open("/api/v1/pods?watch=1&timeoutSeconds=1");
    assert_eq!(client.failure(), TransportErrorKind::Timeout);
}

#[test]
fn a_watch_that_is_given_up_between_its_head_and_its_body_closes_its_connection() {
    let (close, closed) = mpsc::channel();
    let server = Server::of(move |mut stream, _| {
        send(&mut stream, CHUNKED);
        _ = stream.read(&mut [0]);
        close.send(()).unwrap();
    });
    let cluster = options(&[]).max_watches(1).at(&server.url()).unwrap();
    for polls in [0, 1] {
        let mut client = Client::to(&cluster);
        client.open(WATCH);
        assert!(matches!(client.next(), Incoming::Head { .. }));
        (0..polls).for_each(|_| assert_eq!(client.poll(), Poll::Pending));
        drop(client);
        closed.recv_timeout(Duration::from_secs(20)).expect("the server sees the end");
    }
}
