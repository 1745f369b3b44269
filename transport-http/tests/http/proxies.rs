//! Proxies by HTTP CONNECT and by SOCKS.

use crate::support::{Client, EMPTY, SECRET, Scratch, Server, cluster, options, request_head, send};
use listwatch_core::TransportErrorKind;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::mpsc::{self, Receiver};

/// A proxy that answers by itself, and tells what it was asked for.
fn connect_proxy() -> (Server, Receiver<String>) {
    let (heads, asked) = mpsc::channel();
    let proxy = Server::of(move |mut connection, head| {
        heads.send(head).unwrap();
        send(&mut connection, "HTTP/1.1 200 Connected\r\n\r\n");
        heads.send(request_head(&mut connection).unwrap()).unwrap();
        send(&mut connection, EMPTY);
    });
    (proxy, asked)
}

fn socks_proxy() -> (Server, Receiver<String>) {
    let (heads, asked) = mpsc::channel();
    let proxy = Server::raw(move |mut connection| {
        let [_, methods] = take(&mut connection);
        drop(take_many(&mut connection, methods.into()));
        connection.write_all(&[5, 0]).unwrap();
        let [_, _, _, kind, len] = take(&mut connection);
        assert_eq!(kind, 3, "a name, which the proxy resolves");
        let name = take_many(&mut connection, len.into());
        let port = u16::from_be_bytes(take(&mut connection));
        heads.send(format!("{}:{port}", String::from_utf8(name).unwrap())).unwrap();
        connection.write_all(&[5, 0, 0, 1, 127, 0, 0, 1, 0, 80]).unwrap();
        heads.send(request_head(&mut connection).unwrap()).unwrap();
        send(&mut connection, EMPTY);
    });
    (proxy, asked)
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
    let (proxy, asked) = connect_proxy();
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
    let (proxy, asked) = socks_proxy();
    let files = Scratch::new();
    let entries = format!("server: 'http://api.invalid:6443', proxy-url: 'socks5://{}'", proxy.address);
    assert_eq!(Client::to(&cluster(&files.kubeconfig(&entries, ""))).list(), 200);
    assert_eq!(asked.recv().unwrap(), "api.invalid:6443");
}

#[test]
fn a_proxy_of_the_environment_is_used_for_what_it_is_not_told_to_leave_alone() {
    let (proxy, asked) = connect_proxy();
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
