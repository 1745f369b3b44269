//! Clients that mean harm.

use crate::endpoint::client::{asked, exchange, get};
use core::time::Duration;
use listwatch::endpoint::Endpoint;
use listwatch::metrics::Metrics;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpStream};

fn endpoint() -> Endpoint {
    Endpoint::builder(&Metrics::new()).start(0).unwrap()
}

#[test]
fn only_reads_are_answered() {
    let endpoint = endpoint();
    let address = endpoint.address();
    for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"] {
        let request = format!("{method} /metrics HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
        let refused = exchange(address, request.as_bytes());
        assert_eq!(refused.status, 405, "{method}");
        assert!(refused.head.contains("allow: get, head"), "{}", refused.head);
    }
    let head = format!("HEAD /healthz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    let answer = exchange(address, head.as_bytes());
    assert_eq!((answer.status, &*answer.body), (200, ""));
    assert!(answer.head.contains("content-length: 8"), "{}", answer.head);
}

#[test]
fn a_page_of_a_browser_reads_nothing() {
    let endpoint = endpoint();
    let rebound = "GET /metrics HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n";
    assert_eq!(exchange(endpoint.address(), rebound.as_bytes()).status, 403);
    assert_eq!(asked(endpoint.address(), "/metrics", "Origin: http://evil.example\r\n").status, 403);
    assert_eq!(asked(endpoint.address(), "/metrics", "Host: evil.example\r\n").status, 400);
}

/// `::ffff:127.0.0.1` is 127.0.0.1.
#[test]
fn a_page_of_a_browser_is_refused_at_a_mapped_loopback_address() {
    let mapped = Ipv4Addr::LOCALHOST.to_ipv6_mapped();
    let endpoint = Endpoint::builder(&Metrics::new()).address(IpAddr::from(mapped)).start(0).unwrap();
    let rebound = "GET /metrics HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n";
    assert_eq!(exchange(endpoint.address(), rebound.as_bytes()).status, 403);
    assert_eq!(get(endpoint.address(), "/healthz").status, 200);
}

#[test]
fn a_name_of_a_service_is_taken_where_the_endpoint_listens_for_others() {
    let others = Endpoint::builder(&Metrics::new()).address(IpAddr::from(Ipv4Addr::UNSPECIFIED)).start(0).unwrap();
    let address = (Ipv4Addr::LOCALHOST, others.address().port()).into();
    let named = "GET /healthz HTTP/1.1\r\nHost: web.prod.svc:8080\r\nConnection: close\r\n\r\n";
    assert_eq!(exchange(address, named.as_bytes()).status, 200);
    assert_eq!(asked(address, "/healthz", "Origin: http://evil.example\r\n").status, 403);
}

#[test]
fn a_head_without_end_is_refused() {
    let endpoint = endpoint();
    let long = format!("X-Long: {}\r\n", "a".repeat(64 * 1024));
    let mut stream = TcpStream::connect(endpoint.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    // The endpoint may close before it has all.
    _ = stream.write_all(format!("GET / HTTP/1.1\r\nHost: localhost\r\n{long}").as_bytes());
    let mut answer = [0; 12];
    match stream.read(&mut answer) {
        Ok(0) | Err(_) => {}
        Ok(_) => assert_eq!(&answer, b"HTTP/1.1 431"),
    }
    assert_eq!(get(endpoint.address(), "/healthz").status, 200);
}

#[test]
fn a_path_and_a_query_of_any_bytes_are_answered() {
    let endpoint = endpoint();
    for path in
        ["/%ff", "/metrics?%zz=1", "//metrics", "/debug/listwatch?format=%3Cscript%3E", "/debug/listwatch?format"]
    {
        assert!(get(endpoint.address(), path).status < 500, "{path}");
    }
    for request in [&b"\x16\x03\x01\x02\x00"[..], b"\r\n\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n"] {
        let mut stream = TcpStream::connect(endpoint.address()).unwrap();
        stream.write_all(request).unwrap();
    }
    assert_eq!(get(endpoint.address(), "/healthz").status, 200);
}

#[test]
fn silent_connections_leave_a_place_for_a_probe() {
    let endpoint = endpoint();
    let silent: Vec<_> = (0..200).map(|_| TcpStream::connect(endpoint.address()).unwrap()).collect();
    assert_eq!(get(endpoint.address(), "/healthz").status, 200);
    drop(silent);
}
