//! Watches whose peer has vanished.

use super::certificates::Authority;
use super::support::{
    CHUNKED, Client, Scratch, Server, cluster, measured, measured_in, options, relay, send, wait_until,
};
use listwatch_core::transport::{Incoming, TransportErrorKind};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

const WATCH: &str = "/api/v1/pods?watch=1";

/// The ports of a connection: the client's, and that of its other side. One port alone can be part of several connections.
type Ports = (u16, u16);

fn ports(socket: &TcpStream) -> Ports {
    (socket.peer_addr().unwrap().port(), socket.local_addr().unwrap().port())
}

/// Begins a watch and stays silent; tells the ports of its connection.
fn silent(opened: &Sender<Ports>, socket: &TcpStream, mut stream: impl Read + Write) {
    send(&mut stream, CHUNKED);
    opened.send(ports(socket)).unwrap();
    drop(stream.read(&mut [0]));
}

fn silent_server() -> (Server, Receiver<Ports>) {
    let (opens, opened) = mpsc::channel();
    (Server::of(move |connection, _| silent(&opens, &connection, &connection)), opened)
}

/// A proxy that goes through to a server, whatever it is asked for, and tells the ports of its connection.
fn through(server: &Server, greet: fn(&mut TcpStream)) -> (Server, Receiver<Ports>) {
    let (opens, opened) = mpsc::channel();
    let address = server.address.clone();
    let proxy = Server::raw(move |mut connection| {
        greet(&mut connection);
        opens.send(ports(&connection)).unwrap();
        relay(connection, TcpStream::connect(&address).unwrap());
    });
    (proxy, opened)
}

/// When the client's socket of this connection is going to send a probe, in seconds; as the system says.
fn probe_in((client, other): Ports) -> Option<f64> {
    let sockets = fs::read_to_string("/proc/net/tcp").unwrap();
    let (local, remote) = (format!(":{client:04X}"), format!(":{other:04X}"));
    let socket = sockets.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let socket = socket.into_iter().find(|fields| fields[1].ends_with(&local) && fields[2].ends_with(&remote));
    let socket = socket.expect("a socket of this connection");
    let (kind, hundredths) = socket[5].split_once(':').unwrap();
    (kind == "02").then(|| f64::from(u32::from_str_radix(hundredths, 16).unwrap()) / 100.0)
}

fn assert_probes(client: &mut Client, opened: &Receiver<Ports>) {
    client.open(WATCH);
    assert!(matches!(client.next(), Incoming::Head { .. }));
    let ports = opened.recv().unwrap();
    // Another timer runs until the peer has acknowledged all data.
    let mut left = None;
    wait_until(|| {
        left = probe_in(ports);
        left.is_some()
    });
    assert!(left.is_some_and(|left| left <= 20.0), "the next probe of a watch is due in {left:?}");
}

#[test]
fn a_silent_watch_sends_probes() {
    let files = Scratch::new();
    let (server, opened) = silent_server();
    assert_probes(&mut Client::at(&server.url()), &opened);

    let (opens, opened) = mpsc::channel();
    let authority = Authority::new();
    let tls = authority.issue(&["127.0.0.1"]).serve(None, move |stream, _| {
        let socket = stream.sock.try_clone().unwrap();
        silent(&opens, &socket, stream);
    });
    files.write("ca.crt", &authority.pem);
    let entries = format!("server: 'https://{}', certificate-authority: ca.crt", tls.address);
    assert_probes(&mut Client::to(&cluster(&files.kubeconfig(&entries, ""))), &opened);
}

#[test]
fn a_silent_watch_through_a_proxy_sends_probes() {
    let files = Scratch::new();
    let (server, _opened) = silent_server();
    let socks: fn(&mut TcpStream) = |connection| drop(super::proxies::greet_socks(connection));
    let connect: fn(&mut TcpStream) = |connection| drop(super::proxies::greet_connect(connection));
    for (scheme, greet) in [("http", connect), ("socks5", socks)] {
        let (proxy, opened) = through(&server, greet);
        let entries = format!("server: 'http://api.invalid', proxy-url: '{scheme}://{}'", proxy.address);
        assert_probes(&mut Client::to(&cluster(&files.kubeconfig(&entries, ""))), &opened);
    }
}

#[test]
fn keep_alive_can_be_left_to_the_system() {
    let (server, opened) = silent_server();
    let mut client = Client::to(&options(&[]).keep_alive(None).at(&server.url()).unwrap());
    client.open(WATCH);
    assert!(matches!(client.next(), Incoming::Head { .. }));
    assert_eq!(probe_in(opened.recv().unwrap()), None);
}

/// In a network of its own, whose one interface goes down under an open watch: no packet arrives any more.
#[test]
fn a_half_open_watch_is_noticed_within_a_minute() {
    const NAME: &str = "keep_alive::a_half_open_watch_is_noticed_within_a_minute";
    if measured().is_none() {
        return half_open_alone(NAME);
    }
    interface("up");
    let (server, _opened) = silent_server();
    let cluster = options(&[]).keep_alive(Some(Duration::from_secs(5))).at(&server.url()).unwrap();
    let mut client = Client::to(&cluster);
    client.open("/api/v1/pods?watch=1&timeoutSeconds=300");
    assert!(matches!(client.next(), Incoming::Head { .. }));
    interface("down");
    // It waits for a minute.
    let error = client.error();
    assert_eq!(error.kind, TransportErrorKind::Reset, "{error}");
    assert!(error.detail.starts_with("the other side no longer answers"), "{error}");
}

/// Left out, and loudly so, where this process may not make a network.
///
/// # Panics
/// In CI where it may, and only `ip` is missing.
fn half_open_alone(name: &str) {
    let unshare = ["unshare", "--net", "--map-root-user"];
    let works = |program: &[&str]| {
        let tried = Command::new(unshare[0]).args(&unshare[1..]).args(program).output();
        tried.is_ok_and(|output| output.status.success())
    };
    if works(&["ip", "link", "set", "lo", "up"]) {
        measured_in(&unshare, name, "");
        return;
    }
    let in_ci = std::env::var_os("CI").is_some();
    assert!(!(in_ci && works(&["true"])), "a network can be made, but there is no `ip` to set it up: install iproute2");
    // The test's own output is shown only when it fails.
    std::io::stderr().write_all(b"SKIPPED: no half-open watch, because no network can be made here\n").unwrap();
}

fn interface(state: &str) {
    assert!(Command::new("ip").args(["link", "set", "lo", state]).status().unwrap().success());
}
