//! Proxies by HTTP CONNECT and by SOCKS.

use super::support::{Client, EMPTY, SECRET, Scratch, Server, cluster, options, request_head, send};
use listwatch_core::transport::TransportErrorKind;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::mpsc::{self, Receiver};

/// A proxy that answers by itself, and reports the requests.
fn answering(greet: fn(&mut TcpStream) -> String) -> (Server, Receiver<String>) {
    let (heads, asked) = mpsc::channel();
    let proxy = Server::raw(move |mut connection| {
        heads.send(greet(&mut connection)).unwrap();
        heads.send(request_head(&mut connection).unwrap()).unwrap();
        send(&mut connection, EMPTY);
    });
    (proxy, asked)
}

/// Lets a client through; the head of its request.
pub(crate) fn greet_connect(connection: &mut TcpStream) -> String {
    let head = request_head(connection).unwrap();
    send(connection, "HTTP/1.1 200 Connected\r\n\r\n");
    head
}

/// Lets a client through; where it wants to go, and as whom.
pub(crate) fn greet_socks(connection: &mut TcpStream) -> String {
    let [_, methods] = take(connection);
    let mut login = String::new();
    if take_many(connection, methods.into()).contains(&2) {
        connection.write_all(&[5, 2]).unwrap();
        let [_, len] = take(connection);
        let name = take_many(connection, len.into());
        let [len] = take(connection);
        let password = take_many(connection, len.into());
        connection.write_all(&[1, 0]).unwrap();
        login = String::from_utf8([&name[..], b":", &password, b"@"].concat()).unwrap();
    } else {
        connection.write_all(&[5, 0]).unwrap();
    }
    let [_, _, _, kind] = take(connection);
    let host = match kind {
        1 => std::net::Ipv4Addr::from(take::<4>(connection)).to_string(),
        3 => {
            let [len] = take(connection);
            String::from_utf8(take_many(connection, len.into())).unwrap()
        }
        _ => format!("[{}]", std::net::Ipv6Addr::from(take::<16>(connection))),
    };
    let port = u16::from_be_bytes(take(connection));
    connection.write_all(&[5, 0, 0, 1, 127, 0, 0, 1, 0, 80]).unwrap();
    format!("{login}{host}:{port}")
}

fn take<const N: usize>(connection: &mut TcpStream) -> [u8; N] {
    take_many(connection, N).try_into().unwrap()
}

fn take_many(connection: &mut TcpStream, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    connection.read_exact(&mut bytes).unwrap();
    bytes
}

#[test]
fn a_proxy_of_the_configuration_is_asked_to_connect() {
    let (proxy, asked) = answering(greet_connect);
    let files = Scratch::new();
    let entries = format!("server: 'http://api.invalid:6443', proxy-url: 'http://me:{SECRET}@{}'", proxy.address);
    let mut client = Client::to(&cluster(&files.kubeconfig(&entries, "")));
    assert_eq!(client.list(), 200);
    let head = asked.recv().unwrap();
    assert!(head.starts_with("CONNECT api.invalid:6443 HTTP/1.1\r\n"), "{head}");
    assert!(head.contains("Proxy-Authorization: Basic "), "{head}");
    assert!(asked.recv().unwrap().starts_with("GET /api/v1/pods HTTP/1.1\r\n"));
    let shown = format!("{:?} {:?}", client.transport, cluster(&files.path("config")));
    assert!(!shown.contains(SECRET), "{shown}");
}

#[test]
fn a_socks_proxy_resolves_the_name() {
    let (proxy, asked) = answering(greet_socks);
    let files = Scratch::new();
    for (login, server, expected) in [
        ("", "api.invalid:6443", "api.invalid:6443"),
        ("me:hunter2@", "api.invalid", "me:hunter2@api.invalid:80"),
        ("", "192.0.2.1:1", "192.0.2.1:1"),
        ("", "[2001:db8::1]:1", "[2001:db8::1]:1"),
    ] {
        let entries = format!("server: 'http://{server}', proxy-url: 'socks5://{login}{}'", proxy.address);
        assert_eq!(Client::to(&cluster(&files.kubeconfig(&entries, ""))).list(), 200);
        assert_eq!(asked.recv().unwrap(), expected);
        asked.recv().unwrap();
    }
}

#[test]
fn a_socks_proxy_that_refuses_says_why() {
    const REFUSALS: &[(&[&[u8]], &str)] = &[
        (&[&[5, 0xff]], "it requires a name and a password"),
        (&[&[5, 0], &[5, 2]], "its rules deny the connection"),
        (&[&[5, 0], &[5, 5]], "connection refused"),
        (&[&[5, 0], &[5, 77]], "general failure"),
        (&[&[4, 0]], "the proxy does not speak SOCKS 5"),
        (&[&[5, 0], &[5, 0, 0, 2]], "the proxy does not speak SOCKS 5"),
        (&[&[5, 0], &[5, 0, 0, 3, 255]], ""),
    ];
    let files = Scratch::new();
    for &(replies, expected) in REFUSALS {
        let proxy = Server::raw(move |mut connection| {
            for reply in replies {
                drop(connection.read(&mut [0; 64]));
                connection.write_all(reply).unwrap();
            }
        });
        let entries = format!("server: 'http://api.invalid', proxy-url: 'socks5://{}'", proxy.address);
        let mut client = Client::to(&cluster(&files.kubeconfig(&entries, "")));
        client.open("/api/v1/pods");
        let error = client.error();
        assert!(error.detail.contains(expected), "{error}");
    }
}

#[test]
fn a_proxy_of_the_environment_is_used_for_what_it_is_not_told_to_leave_alone() {
    let (proxy, asked) = answering(greet_connect);
    let (url, direct) = (proxy.url(), Server::saying(EMPTY));
    let env = move |name: &str| match name {
        "HTTP_PROXY" => Some(url.clone()),
        "no_proxy" => Some(".internal".to_owned()),
        _ => None,
    };
    let options = options(&[]).env(env);
    assert_eq!(Client::to(&options.at("http://api.invalid").unwrap()).list(), 200);
    assert!(asked.recv().unwrap().starts_with("CONNECT api.invalid:80 "));
    asked.recv().unwrap();
    assert_eq!(Client::to(&options.at(&direct.url()).unwrap()).list(), 200);
    let mut excepted = Client::to(&options.at("http://api.internal").unwrap());
    excepted.open("/api/v1/pods");
    assert_eq!(excepted.failure(), TransportErrorKind::Dns);
    assert!(asked.try_recv().is_err());
}

#[test]
fn a_proxy_that_refuses_is_told_apart_from_the_server() {
    let proxy = Server::saying("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n");
    let files = Scratch::new();
    let entries = format!("server: 'http://api.invalid', proxy-url: 'http://me:{SECRET}@{}'", proxy.address);
    let mut client = Client::to(&cluster(&files.kubeconfig(&entries, "")));
    client.open("/api/v1/pods");
    let error = client.error();
    assert!(error.detail.contains("proxy") && error.detail.contains("407"), "{error}");
}
