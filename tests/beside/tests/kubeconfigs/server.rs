//! A server and a proxy on loopback ports, for one row. The proxy answers itself what it is asked to connect to.

use crate::kubeconfigs::certificates::{Identity, certificates};
use crate::kubeconfigs::seen::{Log, Request};
use listwatch_tests::wait::wait_until;
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{
    DigitallySignedStruct, DistinguishedName, Error, ServerConfig, ServerConnection, SignatureScheme, StreamOwned,
    SupportedProtocolVersion,
};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// How a proxy answers.
#[derive(Clone, Copy)]
pub(super) enum Proxy {
    Open,
    /// Over TLS, with the certificate of the server of this name.
    Tls(&'static str),
    /// It refuses every tunnel.
    Refusing,
}

/// What the server of a row is.
#[derive(Clone, Copy)]
pub(super) struct Role {
    /// The name of its certificate; `None` for plain HTTP.
    pub(super) certificate: Option<&'static str>,
    pub(super) versions: &'static [&'static SupportedProtocolVersion],
    pub(super) proxy: Proxy,
}

/// Listens until it is dropped.
pub(super) struct Ports {
    server: TcpListener,
    proxy: TcpListener,
}

impl Ports {
    pub(super) fn bind() -> Self {
        let bind = || TcpListener::bind("127.0.0.1:0").unwrap();
        Self { server: bind(), proxy: bind() }
    }

    pub(super) fn server(&self) -> u16 {
        self.server.local_addr().unwrap().port()
    }

    pub(super) fn proxy(&self) -> u16 {
        self.proxy.local_addr().unwrap().port()
    }

    /// Waits until every connection so far has ended. Their clients have.
    pub(super) fn settle(&self, log: &Log) {
        for listener in [&self.server, &self.proxy] {
            // Connections are accepted in order. This one is closed at once, because nothing is sent.
            let mut last = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            last.shutdown(Shutdown::Write).unwrap();
            let _is_closed = last.read(&mut [0]);
        }
        wait_until(|| log.note().open == 0);
    }

    /// Serves while `work` runs.
    pub(super) fn serve<R>(&self, role: Role, log: &Arc<Log>, work: impl FnOnce() -> R) -> R {
        let tls = role.certificate.map(|name| config(certificates().server(name), role.versions));
        let outer = match role.proxy {
            Proxy::Tls(name) => Some(config(certificates().server(name), rustls::ALL_VERSIONS)),
            Proxy::Open | Proxy::Refusing => None,
        };
        let refuses = matches!(role.proxy, Proxy::Refusing);
        let end = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                accept(&self.server, &end, log, |mut stream| {
                    let (log, tls) = (log.clone(), tls.clone());
                    move || connection(&mut stream, tls, &log)
                });
            });
            scope.spawn(|| {
                accept(&self.proxy, &end, log, |mut stream| {
                    let (log, tls, outer) = (log.clone(), tls.clone(), outer.clone());
                    move || match outer {
                        Some(outer) => {
                            let mut stream = StreamOwned::new(ServerConnection::new(outer).unwrap(), stream);
                            proxied(&mut stream, tls, refuses, &log);
                        }
                        None => proxied(&mut stream, tls, refuses, &log),
                    }
                });
            });
            let result = work();
            end.store(true, Ordering::Release);
            for listener in [&self.server, &self.proxy] {
                drop(TcpStream::connect(listener.local_addr().unwrap()));
            }
            result
        })
    }
}

fn accept<W: FnOnce() + Send + 'static>(
    listener: &TcpListener,
    end: &AtomicBool,
    log: &Arc<Log>,
    work: impl Fn(TcpStream) -> W,
) {
    for stream in listener.incoming() {
        if end.load(Ordering::Acquire) {
            return;
        }
        let stream = stream.unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let (log, says_something) = (log.clone(), stream.try_clone().unwrap());
        let work = work(stream);
        log.note().open += 1;
        thread::spawn(move || {
            if says_something.peek(&mut [0]).is_ok_and(|len| len > 0) {
                work();
            }
            // The connection has ended before it is counted.
            drop(says_something);
            log.note().open -= 1;
        });
    }
}

/// A connection to a proxy: HTTP or SOCKS.
fn proxied(stream: &mut (impl Read + Write), tls: Option<Arc<ServerConfig>>, refuses: bool, log: &Log) {
    let mut first = [0];
    if stream.read_exact(&mut first).is_err() {
        log.note().broken += 1;
        return;
    }
    let asked = if first == [5] { socks(stream) } else { tunnel(stream, first[0], refuses, log) };
    if let Some(asked) = asked {
        log.note().asked.insert(asked);
        connection(stream, tls, log);
    }
}

/// Answers CONNECT, or a request through the proxy itself.
fn tunnel(stream: &mut (impl Read + Write), first: u8, refuses: bool, log: &Log) -> Option<String> {
    let lines = head(stream, first)?;
    let mut words = lines[0].split(' ');
    let (method, target) = (words.next()?, words.next()?);
    let login = header(&lines, "proxy-authorization").map(|login| format!(" as {login}")).unwrap_or_default();
    if method != "CONNECT" {
        let whole = target.strip_prefix("http://").and_then(|rest| rest.split_once('/'));
        let (host, path) = whole.unwrap_or(("", target));
        log.note().asked.insert(format!("{method} {host}{login}"));
        answer(stream, &lines, &format!("/{path}"), "", "", log);
        return None;
    }
    let asked = format!("CONNECT {target}{login}");
    if refuses {
        let mut noted = log.note();
        noted.asked.insert(asked);
        noted.broken += 1;
        drop(noted);
        let _client_is_gone = stream.write_all(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n");
        return None;
    }
    stream.write_all(b"HTTP/1.1 200 Connected\r\n\r\n").ok()?;
    Some(asked)
}

/// Answers SOCKS 5: where the client wants to go, and as whom.
fn socks(stream: &mut (impl Read + Write)) -> Option<String> {
    let take = |stream: &mut dyn Read, len: usize| {
        let mut bytes = vec![0; len];
        stream.read_exact(&mut bytes).ok().map(|()| bytes)
    };
    let methods = take(stream, 1)?[0];
    let mut login = String::new();
    if take(stream, methods.into())?.contains(&2) {
        stream.write_all(&[5, 2]).ok()?;
        let len = take(stream, 2)?[1];
        let name = take(stream, len.into())?;
        let len = take(stream, 1)?[0];
        let password = take(stream, len.into())?;
        stream.write_all(&[1, 0]).ok()?;
        login = format!(" as {}:{}", String::from_utf8_lossy(&name), String::from_utf8_lossy(&password));
    } else {
        stream.write_all(&[5, 0]).ok()?;
    }
    let host = match take(stream, 4)?[3] {
        1 => std::net::Ipv4Addr::from(<[u8; 4]>::try_from(take(stream, 4)?).ok()?).to_string(),
        3 => {
            let len = take(stream, 1)?[0];
            String::from_utf8(take(stream, len.into())?).ok()?
        }
        _ => format!("[{}]", std::net::Ipv6Addr::from(<[u8; 16]>::try_from(take(stream, 16)?).ok()?)),
    };
    let port = u16::from_be_bytes(take(stream, 2)?.try_into().ok()?);
    stream.write_all(&[5, 0, 0, 1, 127, 0, 0, 1, 0, 80]).ok()?;
    Some(format!("SOCKS {host}:{port}{login}"))
}

/// A connection to the server.
fn connection(stream: &mut (impl Read + Write), tls: Option<Arc<ServerConfig>>, log: &Log) {
    let served = match tls {
        None => requests(stream, "", "", log),
        Some(config) => {
            let mut stream = StreamOwned::new(ServerConnection::new(config).unwrap(), stream);
            if stream.conn.complete_io(&mut stream.sock).is_err() {
                log.note().broken += 1;
                return;
            }
            let name = stream.conn.server_name().unwrap_or_default().to_owned();
            let shown = whose(stream.conn.peer_certificates().and_then(<[_]>::first));
            requests(&mut stream, shown, &name, log)
        }
    };
    if !served {
        log.note().broken += 1;
    }
}

/// Whose client certificate this is.
fn whose(shown: Option<&CertificateDer<'_>>) -> &'static str {
    let Some(shown) = shown else { return "" };
    let is = |pem: &str| CertificateDer::from_pem_slice(pem.as_bytes()).is_ok_and(|known| known == *shown);
    let known = certificates();
    match () {
        () if is(&known.client.certificate) => "of the user",
        () if is(&known.plugin.certificate) => "of the plugin",
        () => "of somebody",
    }
}

/// Answers each request of a connection. Returns whether there was one.
fn requests(stream: &mut (impl Read + Write), shown: &'static str, name: &str, log: &Log) -> bool {
    let mut count = 0;
    loop {
        let mut first = [0];
        // The first byte of a TLS handshake is no letter.
        if stream.read_exact(&mut first).is_err() || first[0] == 0x16 {
            return count > 0;
        }
        let Some(lines) = head(stream, first[0]) else { return count > 0 };
        let target = lines[0].split(' ').nth(1).unwrap_or_default().to_owned();
        answer(stream, &lines, &target, shown, name, log);
        count += 1;
    }
}

/// The lines of a head whose first byte was read.
fn head(stream: &mut impl Read, first: u8) -> Option<Vec<String>> {
    // One byte at a time: what follows a head is for somebody else.
    let mut bytes = vec![first];
    while !bytes.ends_with(b"\r\n\r\n") && bytes.len() < 1 << 16 {
        let mut next = [0];
        stream.read_exact(&mut next).ok()?;
        bytes.push(next[0]);
    }
    let lines = BufReader::new(&*bytes).lines().map_while(Result::ok).filter(|line| !line.is_empty()).collect();
    Some(lines)
}

fn header<'a>(lines: &'a [String], name: &str) -> Option<&'a str> {
    let headers = lines[1..].iter().filter_map(|line| line.split_once(':'));
    headers.filter(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim()).next()
}

fn answer(stream: &mut impl Write, lines: &[String], target: &str, shown: &'static str, name: &str, log: &Log) {
    let path = target.split('?').next().unwrap_or_default();
    let headers = lines[1..].iter().filter_map(|line| line.split_once(':'));
    let headers = headers.map(|(key, value)| (key.to_ascii_lowercase(), value.trim()));
    let mut names: Vec<String> = headers
        .filter(|(key, _)| key.starts_with("impersonate-"))
        .map(|(key, value)| format!("{key}: {value}"))
        .collect();
    names.sort_unstable();
    log.note().requests.push(Request {
        path: path.to_owned(),
        authorization: header(lines, "authorization").unwrap_or_default().to_owned(),
        impersonation: names.join(", "),
        certificate: shown,
        name: name.to_owned(),
    });
    let (status, body) = match path {
        _ if path.ends_with("/configmaps") => ("200 OK", CONFIG_MAPS),
        _ if path.ends_with("/api") => ("200 OK", r#"{"kind":"APIVersions","versions":["v1"]}"#),
        _ if path.ends_with("/apis") => ("200 OK", r#"{"kind":"APIGroupList","apiVersion":"v1","groups":[]}"#),
        _ if path.ends_with("/api/v1") => ("200 OK", RESOURCES),
        _ => ("404 Not Found", r#"{"kind":"Status","apiVersion":"v1","status":"Failure","code":404}"#),
    };
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n");
    let _client_is_gone = stream.write_all(format!("{head}{body}").as_bytes()).and_then(|()| stream.flush());
}

const CONFIG_MAPS: &str = r#"{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}"#;

const RESOURCES: &str = r#"{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"v1","resources":[{"name":"configmaps","singularName":"configmap","namespaced":true,"kind":"ConfigMap","verbs":["get","list","watch"]}]}"#;

fn config(identity: &Identity, versions: &[&'static SupportedProtocolVersion]) -> Arc<ServerConfig> {
    let provider = Arc::new(ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider.clone()).with_protocol_versions(versions).unwrap();
    let chain = CertificateDer::pem_slice_iter(identity.certificate.as_bytes()).collect::<Result<_, _>>().unwrap();
    let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes()).unwrap();
    let builder = builder.with_client_cert_verifier(Arc::new(Anyone(provider)));
    Arc::new(builder.with_single_cert(chain, key).unwrap())
}

/// Asks for a client certificate, and takes any.
#[derive(Debug)]
struct Anyone(Arc<CryptoProvider>);

impl ClientCertVerifier for Anyone {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn verify_client_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
