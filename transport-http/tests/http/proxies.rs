//! Proxies by HTTP CONNECT and by SOCKS.

use super::certificates::{Authority, Identity};
use super::support::{
    Client, EMPTY, SECRET, Scratch, Server, cluster, measured, measured_in, options, request_head, send,
};
use listwatch_core::transport::TransportErrorKind;
use rustls::{ServerConnection, StreamOwned};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
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

/// A proxy over TLS, with a server behind it that shows its own certificate. The first lines of what both were asked.
fn over_tls(proxy: &Identity, clients: Option<&Authority>, server: Option<&Identity>) -> (Server, Receiver<String>) {
    let (lines, asked) = mpsc::channel();
    let server = server.map(|server| Arc::new(server.config(None)));
    let proxy = proxy.serve(clients, move |mut stream, head| {
        let answer = |stream: &mut dyn ReadWrite| {
            let head = request_head(&mut &mut *stream).unwrap_or_default();
            lines.send(head.lines().next().unwrap_or_default().to_owned()).unwrap();
            send(&mut &mut *stream, EMPTY);
        };
        lines.send(head.lines().next().unwrap_or_default().to_owned()).unwrap();
        send(&mut stream, "HTTP/1.1 200 Connected\r\n\r\n");
        match &server {
            None => answer(&mut stream),
            Some(config) => answer(&mut StreamOwned::new(ServerConnection::new(config.clone()).unwrap(), stream)),
        }
    });
    (proxy, asked)
}

trait ReadWrite: Read + Write {}
impl<T: Read + Write> ReadWrite for T {}

/// A client with a certificate, of a server in the network behind the proxy.
fn behind(files: &Scratch, proxy: &Server, authority: &Authority) -> Client {
    let me = authority.issue(&["me"]);
    files.write("ca.crt", &authority.pem);
    files.write("me.crt", &me.certificate);
    files.write("me.key", &me.key);
    let entries = format!(
        "server: 'https://10.1.1.1:6443', tls-server-name: kube.invalid, certificate-authority: ca.crt, \
         proxy-url: 'https://{}'",
        proxy.address
    );
    Client::to(&cluster(&files.kubeconfig(&entries, "client-certificate: me.crt, client-key: me.key")))
}

#[test]
fn a_proxy_over_tls_is_not_shown_the_client_certificate() {
    let (authority, files) = (Authority::new(), Scratch::new());
    let (its, server) = (authority.issue(&["127.0.0.1"]), authority.issue(&["kube.invalid"]));
    let (proxy, asked) = over_tls(&its, None, Some(&server));
    assert_eq!(behind(&files, &proxy, &authority).list(), 200);
    assert_eq!(asked.recv().unwrap(), "CONNECT 10.1.1.1:6443 HTTP/1.1");
    assert_eq!(asked.recv().unwrap(), "GET /api/v1/pods HTTP/1.1");

    let (curious, asked) = over_tls(&its, Some(&authority), Some(&server));
    let mut client = behind(&files, &curious, &authority);
    client.open("/api/v1/pods");
    let failure = client.failure();
    assert!(matches!(failure, TransportErrorKind::Tls | TransportErrorKind::Reset), "{failure:?}");
    assert!(asked.try_recv().is_err());
}

/// By the cluster's authority alone, as with kubectl, one for a server without TLS could not be used.
#[test]
fn a_proxy_over_tls_is_trusted_by_the_systems_authorities_too() {
    const NAME: &str = "proxies::a_proxy_over_tls_is_trusted_by_the_systems_authorities_too";
    let (ours, theirs, files) = (Authority::new(), Authority::new(), Scratch::new());
    // The child's system trusts what its parent has made for it.
    let Some(folder) = measured() else {
        let its = theirs.issue(&["127.0.0.1"]);
        files.write("proxy.crt", its.certificate);
        files.write("proxy.key", its.key);
        let system = format!("SSL_CERT_FILE={}", files.write("system.crt", &theirs.pem).display());
        measured_in(&["env", &system], NAME, files.path(""));
        return;
    };
    let read = |name: &str| std::fs::read_to_string(std::path::Path::new(&folder).join(name)).unwrap();
    let its = Identity { certificate: read("proxy.crt"), key: read("proxy.key") };
    let (proxy, asked) = over_tls(&its, None, Some(&ours.issue(&["kube.invalid"])));
    assert_eq!(behind(&files, &proxy, &ours).list(), 200);
    assert_eq!(asked.iter().take(2).count(), 2);

    let (proxy, asked) = over_tls(&its, None, None);
    let plain = format!("server: 'http://10.1.1.1:8080', proxy-url: 'https://{}'", proxy.address);
    assert_eq!(Client::to(&cluster(&files.kubeconfig(&plain, ""))).list(), 200);
    assert_eq!(asked.iter().take(2).count(), 2);

    let (proxy, _asked) = over_tls(&its, None, Some(&theirs.issue(&["kube.invalid"])));
    let mut client = behind(&files, &proxy, &ours);
    client.open("/api/v1/pods");
    let error = client.error();
    assert!(error.detail.contains("the configured certificate authority did not issue the server's"), "{error}");
}

#[test]
fn a_proxy_over_tls_that_is_untrusted_is_told_from_the_server() {
    let (authority, other, files) = (Authority::new(), Authority::new(), Scratch::new());
    let (proxy, asked) = over_tls(&other.issue(&["127.0.0.1"]), None, None);
    let mut client = behind(&files, &proxy, &authority);
    client.open("/api/v1/pods");
    let error = client.error();
    assert_eq!(error.kind, TransportErrorKind::Tls);
    assert!(error.detail.starts_with("the proxy: ") && asked.try_recv().is_err(), "{error}");
}
