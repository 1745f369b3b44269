//! TLS: trusted servers, client certificates, and the errors of both.

use super::certificates::{self, Authority, Identity, TlsStream};
use super::support::{CHUNKED, Client, EMPTY, ID, PATIENCE, Scratch, Server, cluster, options, refusal, send};
use listwatch_core::ListerWatcher;
use listwatch_core::transport::{Incoming, TransportErrorKind};
use rcgen::{CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, KeyUsagePurpose, date_time_ymd};
use std::fs;
use std::io::{Read, Write};
use std::sync::mpsc;
use std::time::Duration;

const NO_CLIENTS: Option<&Authority> = None;

fn empty(mut stream: TlsStream, _: String) {
    send(&mut stream, EMPTY);
}

/// A client of a server, with these entries besides the address.
fn client(files: &Scratch, server: &Server, entries: &str, user: &str) -> Client {
    Client::to(&cluster(&files.kubeconfig(&format!("server: 'https://{}', {entries}", server.address), user)))
}

fn error(files: &Scratch, server: &Server, entries: &str, user: &str) -> (TransportErrorKind, String) {
    let mut client = client(files, server, entries, user);
    client.open("/api/v1/pods");
    let error = client.error();
    (error.kind, error.detail.to_string())
}

#[test]
fn a_server_is_trusted_by_its_address_and_its_authority() {
    let (authority, files) = (Authority::new(), Scratch::new());
    let server = authority.issue(&["127.0.0.1"]).serve(NO_CLIENTS, empty);
    files.write("pki/ca.crt", &authority.pem);
    assert_eq!(client(&files, &server, "certificate-authority: pki/ca.crt", "").list(), 200);
}

#[test]
fn an_event_arrives_over_tls_when_its_bytes_do_and_a_silent_watch_can_be_given_up() {
    let (authority, files) = (Authority::new(), Scratch::new());
    let ((go_on, told), (closed, seen)) = (mpsc::channel::<()>(), mpsc::channel());
    let told = std::sync::Mutex::new(told);
    let server = authority.issue(&["127.0.0.1"]).serve(NO_CLIENTS, move |mut stream, _| {
        send(&mut stream, CHUNKED);
        for event in ["5\r\nfirst\r\n", "6\r\nsecond\r\n"] {
            told.lock().unwrap().recv().unwrap();
            send(&mut stream, event);
        }
        assert!(matches!(stream.read(&mut [0]), Ok(0) | Err(_)));
        closed.send(()).unwrap();
    });
    files.write("ca.crt", &authority.pem);
    let mut client = client(&files, &server, "certificate-authority: ca.crt", "");
    client.open("/api/v1/pods?watch=1");
    assert!(matches!(client.next(), Incoming::Head { .. }));
    for event in ["first", "second"] {
        go_on.send(()).unwrap();
        assert_eq!(client.next(), Incoming::Data { id: ID, len: event.len() });
    }
    assert!(client.poll().is_pending());
    client.transport.abort(ID);
    assert_eq!(seen.recv_timeout(PATIENCE), Ok(()));
}

/// Without a length and without chunks, only TLS tells the end of a body from a connection that broke.
#[test]
fn a_body_without_its_own_end_fails_when_tls_breaks_off() {
    let (authority, files) = (Authority::new(), Scratch::new());
    for (is_whole, end) in [(true, Ok(())), (false, Err(TransportErrorKind::Reset))] {
        let server = authority.issue(&["127.0.0.1"]).serve(NO_CLIENTS, move |mut stream, _| {
            send(&mut stream, "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nfirst");
            if is_whole {
                stream.conn.send_close_notify();
                stream.flush().unwrap();
            }
        });
        files.write("ca.crt", &authority.pem);
        let mut client = client(&files, &server, "certificate-authority: ca.crt", "");
        client.open("/api/v1/pods");
        assert_eq!(client.drain(), (200, "first".to_owned(), end));
    }
}

#[test]
fn a_server_of_another_authority_is_not_trusted() {
    let (authority, other, files) = (Authority::new(), Authority::new(), Scratch::new());
    let server = authority.issue(&["127.0.0.1"]).serve(NO_CLIENTS, empty);
    files.write("ca.crt", &other.pem);
    let (kind, detail) = error(&files, &server, "certificate-authority: ca.crt", "");
    assert_eq!(kind, TransportErrorKind::Tls);
    assert!(detail.contains("the configured certificate authority did not issue"), "{detail}");
    assert_eq!(client(&files, &server, "insecure-skip-tls-verify: true", "").list(), 200);
    let entries = format!("server: 'https://{}', certificate-authority: ca.crt", server.address);
    let insecure = options(&[]).insecure_skip_tls_verify(true);
    assert_eq!(Client::to(&insecure.kubeconfig(files.kubeconfig(&entries, "")).unwrap()).list(), 200);
}

#[test]
fn a_server_that_is_its_own_authority_is_trusted_by_its_name_within_its_time() {
    let files = Scratch::new();
    for (name, years, configured, expected) in [
        ("127.0.0.1", [2000, 2900], true, None),
        ("127.0.0.2", [2000, 2900], true, Some("not valid for name")),
        ("127.0.0.1", [2000, 2001], true, Some("expired")),
        ("127.0.0.1", [2000, 2900], false, Some("CaUsedAsEndEntity")),
    ] {
        let identity = Authority::of_itself(&[name], years);
        let other = Authority::of_itself(&[name], years);
        files.write("ca.crt", if configured { &identity.certificate } else { &other.certificate });
        let server = identity.serve(NO_CLIENTS, empty);
        let trust = "certificate-authority: ca.crt";
        match expected {
            None => assert_eq!(client(&files, &server, trust, "").list(), 200),
            Some(expected) => {
                let (kind, detail) = error(&files, &server, trust, "");
                assert_eq!(kind, TransportErrorKind::Tls);
                assert!(detail.contains(expected), "{detail}");
            }
        }
    }
}

/// What a client of a server says that shows `identity`, and trusts these certificates alone; nothing if it is let in.
fn verdict(files: &Scratch, trusted: &str, identity: &Identity) -> String {
    let server = identity.serve(NO_CLIENTS, empty);
    files.write("ca.crt", trusted);
    let mut client = client(files, &server, "certificate-authority: ca.crt", "");
    client.open("/api/v1/pods");
    loop {
        match client.next() {
            Incoming::Failed { error, .. } => {
                assert_eq!(error.kind, TransportErrorKind::Tls, "{error}");
                return error.detail.to_string();
            }
            Incoming::End { .. } => return String::new(),
            _ => {}
        }
    }
}

type Change = fn(&mut CertificateParams);

#[test]
fn an_authority_is_one_within_its_time_and_if_it_says_so() {
    let files = Scratch::new();
    let cases: [(Change, &str); 8] = [
        (|_| {}, ""),
        (|it| it.not_after = date_time_ymd(2001, 1, 1), "has expired"),
        (|it| it.not_before = date_time_ymd(2900, 1, 1), "is not valid yet"),
        (|it| it.is_ca = IsCa::ExplicitNoCa, "may not sign"),
        (|it| it.is_ca = IsCa::NoCa, "may not sign"),
        (|it| it.key_usages = vec![KeyUsagePurpose::DigitalSignature], "may not sign"),
        (|it| it.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign], ""),
        (|it| it.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth], "may not sign"),
    ];
    for (place, (change, expected)) in cases.into_iter().enumerate() {
        let authority = Authority::of(change);
        let said = verdict(&files, &authority.pem, &authority.issue(&["127.0.0.1"]));
        assert_eq!((said.contains(expected), said.is_empty()), (true, expected.is_empty()), "{place}: {said}");
        // Another authority of the same name is found.
        let good = Authority::new();
        let both = format!("{}{}", authority.pem, good.pem);
        assert_eq!(verdict(&files, &both, &good.issue(&["127.0.0.1"])), "", "{place}");
    }
    let (identity, root) = certificates::issued_by_version_1();
    assert_eq!(verdict(&files, root, &identity), "");
}

#[test]
fn an_authority_between_is_one_within_its_time_and_if_it_says_so() {
    let (files, root) = (Scratch::new(), Authority::new());
    let cases: [(Change, &str); 4] = [
        (|it| it.distinguished_name.push(DnType::CommonName, "between"), ""),
        (|it| it.not_after = date_time_ymd(2001, 1, 1), "expired"),
        (|it| it.not_before = date_time_ymd(2900, 1, 1), "not valid yet"),
        (|it| it.is_ca = IsCa::ExplicitNoCa, "EndEntityUsedAsCa"),
    ];
    for (change, expected) in cases {
        let between = root.intermediate(|params| {
            params.distinguished_name.push(DnType::CommonName, "between");
            change(params);
        });
        let mut identity = between.issue(&["127.0.0.1"]);
        identity.certificate += &between.pem;
        let said = verdict(&files, &root.pem, &identity);
        assert_eq!((said.contains(expected), said.is_empty()), (true, expected.is_empty()), "{said}");
        // It is trusted alone, too.
        assert_eq!(verdict(&files, &between.pem, &identity).is_empty(), expected.is_empty());
    }
}

#[test]
fn a_server_certificate_that_is_configured_is_trusted_for_itself_alone() {
    let (files, authority) = (Scratch::new(), Authority::new());
    let cases: [(&str, Change, &str); 5] = [
        ("127.0.0.1", |_| {}, ""),
        ("127.0.0.1", |it| it.extended_key_usages.clear(), ""),
        ("127.0.0.2", |_| {}, "not valid for name"),
        ("127.0.0.1", |it| it.not_after = date_time_ymd(2001, 1, 1), "has expired"),
        ("127.0.0.1", |it| it.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth], "not one of a server"),
    ];
    for (name, change, expected) in cases {
        let (identity, signer) = authority.issue_and_sign(&[name], change);
        let said = verdict(&files, &identity.certificate, &identity);
        assert_eq!((said.contains(expected), said.is_empty()), (true, expected.is_empty()), "{name}: {said}");
        assert_ne!(verdict(&files, &identity.certificate, &signer.issue(&["127.0.0.1"])), "");
        assert_ne!(verdict(&files, &identity.certificate, &authority.issue(&["127.0.0.1"])), "");
    }
}

#[test]
fn an_algorithm_that_is_not_supported_is_named() {
    let files = Scratch::new();
    let (issued, root) = certificates::issued_by_p521();
    let said = verdict(&files, &root.certificate, &issued);
    assert!(said.contains("ECDSA with SHA-512") && !said.contains('['), "{said}");
    files.write("me.crt", &root.certificate);
    files.write("me.key", &root.key);
    let server = "server: 'https://127.0.0.1:1', insecure-skip-tls-verify: true";
    let message = refusal(&files.kubeconfig(server, "client-certificate: me.crt, client-key: me.key"));
    assert!(message.contains("me.key") && message.contains("elliptic curve P-521"), "{message}");
}

#[test]
fn an_authority_that_nobody_configured_is_not_blamed() {
    let server = Authority::new().issue(&["127.0.0.1"]).serve(NO_CLIENTS, empty);
    let mut client = Client::at(&format!("https://{}", server.address));
    client.open("/api/v1/pods");
    let error = client.error();
    assert!(error.detail.contains("no certificate authority of this system issued"), "{error}");
}

#[test]
fn a_server_of_another_name_is_trusted_by_the_name_that_is_configured() {
    let (authority, files) = (Authority::new(), Scratch::new());
    let server = authority.issue(&["kube.example"]).serve(NO_CLIENTS, empty);
    files.write("ca.crt", &authority.pem);
    let (kind, detail) = error(&files, &server, "certificate-authority: ca.crt", "");
    assert_eq!(kind, TransportErrorKind::Tls);
    assert!(detail.contains("tls-server-name"), "{detail}");
    let named = "certificate-authority: ca.crt, tls-server-name: kube.example";
    assert_eq!(client(&files, &server, named, "").list(), 200);
    let (kind, _) = error(&files, &server, "certificate-authority: ca.crt, tls-server-name: other.example", "");
    assert_eq!(kind, TransportErrorKind::Tls);
}

#[test]
fn a_client_shows_its_certificate_from_a_file_or_from_data() {
    let (authority, files) = (Authority::new(), Scratch::new());
    let server = authority.issue(&["127.0.0.1"]).serve(Some(&authority), empty);
    files.write("ca.crt", &authority.pem);
    let me = authority.issue(&["me"]);
    files.write("me.crt", &me.certificate);
    files.write("me.key", &me.key);
    let trust = "certificate-authority: ca.crt";
    assert_eq!(client(&files, &server, trust, "client-certificate: me.crt, client-key: me.key").list(), 200);
    let data = format!(
        "client-certificate-data: {}, client-key-data: {}",
        super::configuration::base64(&me.certificate),
        super::configuration::base64(&me.key)
    );
    assert_eq!(client(&files, &server, trust, &data).list(), 200);

    let (kind, detail) = error(&files, &server, trust, "");
    assert_eq!(kind, TransportErrorKind::Tls, "{detail}");
    assert!(detail.contains("client certificate"), "{detail}");
}

#[test]
fn a_key_that_does_not_fit_its_certificate_is_an_error_that_names_both_files() {
    let (authority, files) = (Authority::new(), Scratch::new());
    files.write("ca.crt", &authority.pem);
    let Identity { certificate, .. } = authority.issue(&["me"]);
    files.write("me.crt", certificate);
    files.write("other.key", authority.issue(&["other"]).key);
    let entries = "server: 'https://127.0.0.1:1', certificate-authority: ca.crt";
    let message = refusal(&files.kubeconfig(entries, "client-certificate: me.crt, client-key: other.key"));
    assert!(message.contains("me.crt") && message.contains("other.key") && message.contains("fit"), "{message}");
}

#[test]
fn files_that_hold_something_else_are_named() {
    let (authority, files) = (Authority::new(), Scratch::new());
    files.write("ca.crt", &authority.pem);
    files.write("empty", "");
    files.write("garbage", "-----BEGIN CERTIFICATE-----\nhunter2\n");
    let me = authority.issue(&["me"]);
    files.write("me.crt", &me.certificate);
    files.write("me.key", &me.key);
    let server = "server: 'https://127.0.0.1:1'";
    let pair = "client-certificate: me.crt, client-key: me.key";
    for (trust, user, expected) in [
        ("missing", pair, "certificate authority"),
        ("empty", pair, "empty: there is no certificate in PEM"),
        ("garbage", pair, "garbage: "),
        ("me.key", pair, "me.key: there is no certificate in PEM"),
        ("ca.crt", "client-certificate: me.crt, client-key: missing.key", "client key"),
        ("ca.crt", "client-certificate: me.crt, client-key: me.crt", "me.crt: there is no private key in PEM"),
        ("ca.crt", "client-certificate: empty, client-key: me.key", "empty: there is no certificate in PEM"),
    ] {
        let message = refusal(&files.kubeconfig(&format!("{server}, certificate-authority: {trust}"), user));
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn an_authority_that_is_replaced_is_read_again() {
    let (old, new, files) = (Authority::new(), Authority::new(), Scratch::new());
    let server = new.issue(&["127.0.0.1"]).serve(NO_CLIENTS, empty);
    let path = files.write("ca.crt", &old.pem);
    let mut client = client(&files, &server, "certificate-authority: ca.crt", "");
    client.open("/api/v1/pods");
    assert_eq!(client.failure(), TransportErrorKind::Tls);
    // Of another length, so that it shows even where files have coarse times.
    fs::write(path, format!("{}\n\n", new.pem)).unwrap();
    assert_eq!(client.list(), 200);
}

#[test]
fn a_server_that_stalls_in_the_handshake_is_given_up() {
    let server = Server::raw(|mut connection| drop(connection.read_to_end(&mut Vec::new())));
    let cluster = options(&[]).connect_timeout(Duration::from_millis(100)).at(&format!("https://{}", server.address));
    let mut client = Client::to(&cluster.unwrap());
    client.open("/api/v1/pods");
    let error = client.error();
    assert_eq!((error.kind, &*error.detail), (TransportErrorKind::Timeout, "connecting took too long"));
}

#[test]
fn a_handshake_can_be_given_up() {
    let (closed, seen) = mpsc::channel();
    let server = Server::raw(move |mut connection| {
        let mut hello = [0; 5];
        connection.read_exact(&mut hello).unwrap();
        closed.send(()).unwrap();
        drop(connection.read_to_end(&mut Vec::new()));
        closed.send(()).unwrap();
    });
    let mut client = Client::at(&format!("https://{}", server.address));
    client.open("/api/v1/pods");
    assert_eq!(seen.recv_timeout(PATIENCE), Ok(()));
    client.transport.abort(ID);
    assert_eq!(seen.recv_timeout(PATIENCE), Ok(()));
}

#[test]
fn a_plain_server_under_an_https_address_is_recognised() {
    let server = Server::raw(|mut connection| {
        send(&mut connection, "HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n");
        drop(connection.read_to_end(&mut Vec::new()));
    });
    let mut client = Client::at(&format!("https://{}", server.address));
    client.open("/api/v1/pods");
    let error = client.error();
    assert_eq!(error.kind, TransportErrorKind::Tls);
    assert!(error.detail.contains("is this an https address?"), "{error}");
}

/// An alert, as a record of TLS 1.1.
fn alert(description: u8) -> Vec<u8> {
    vec![0x15, 3, 2, 0, 2, 2, description]
}

/// A ServerHello that settles on TLS 1.1.
fn old_hello() -> Vec<u8> {
    let body = [&[3, 2][..], &[7; 32], &[0, 0x00, 0x2f, 0]].concat();
    [&[0x16, 3, 2, 0, body.len() as u8 + 4, 2, 0, 0, body.len() as u8][..], &body].concat()
}

#[test]
fn each_alert_of_a_handshake_is_told_by_its_own_cause() {
    for (answer, expected, not) in [
        (alert(70), "neither TLS 1.2 nor TLS 1.3", "certificate"),
        (old_hello(), "neither TLS 1.2 nor TLS 1.3", "certificate"),
        (alert(40), "shares no cipher with this client, or requires a client certificate", "TLS 1."),
        (alert(112), "`tls-server-name`", "certificate"),
        (alert(80), "InternalError", "; "),
        (alert(42), "rejected the client certificate", "TLS 1."),
        (alert(116), "rejected the client certificate, or requires one", "TLS 1."),
    ] {
        let server = Server::raw(move |mut connection| {
            drop(connection.read(&mut [0; 4096]));
            connection.write_all(&answer).unwrap();
            drop(connection.read_to_end(&mut Vec::new()));
        });
        let mut client = Client::at(&format!("https://{}", server.address));
        client.open("/api/v1/pods");
        let error = client.error();
        assert_eq!(error.kind, TransportErrorKind::Tls);
        assert!(error.detail.contains(expected) && !error.detail.contains(not), "{error}");
    }
}

#[test]
fn a_short_rsa_key_is_told_by_its_length() {
    let files = Scratch::new();
    let (identity, authority) = certificates::issued_by_weak_authority();
    let server = identity.serve(NO_CLIENTS, empty);
    files.write("ca.crt", authority);
    let (kind, detail) = error(&files, &server, "certificate-authority: ca.crt", "");
    assert_eq!(kind, TransportErrorKind::Tls);
    assert!(detail.starts_with("the RSA key of the certificate authority has 1024 bits"), "{detail}");

    let (server, authority) = certificates::weak_server();
    files.write("ca.crt", authority);
    let (kind, detail) = error(&files, &server, "certificate-authority: ca.crt", "");
    assert_eq!(kind, TransportErrorKind::Tls);
    assert!(detail.starts_with("the RSA key of the server's certificate has 1024 bits"), "{detail}");
}
