//! Whether a request is meant for this server.

use hyper::Uri;
use hyper::header::{HOST, HeaderMap, ORIGIN};
use std::net::{IpAddr, SocketAddr};

/// Whether a request names this server by an address, or as `localhost`. A page that turns its own name to this address
/// (DNS rebinding) does not, and other pages send `Origin`.
#[must_use]
pub fn is_for_this_server(headers: &HeaderMap, uri: &Uri) -> bool {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).or_else(|| uri.host());
    host.is_some_and(is_own_name) && !headers.contains_key(ORIGIN)
}

fn is_own_name(host: &str) -> bool {
    let without_port = host.rsplit_once(':').map_or(host, |(name, port)| match port.parse::<u16>() {
        Ok(_) => name,
        Err(_) => host,
    });
    let address = without_port.trim_start_matches('[').trim_end_matches(']');
    without_port.eq_ignore_ascii_case("localhost")
        || host.parse::<SocketAddr>().is_ok()
        || address.parse::<IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_named_by_an_address_or_as_localhost() {
        for host in ["127.0.0.1", "127.0.0.1:8001", "localhost", "LocalHost:80", "[::1]", "[::1]:8001", "10.0.0.7:80"] {
            assert!(is_own_name(host), "{host}");
        }
        for host in ["", "example.com", "example.com:8001", "127.0.0.1.example.com", "localhost.example.com:1"] {
            assert!(!is_own_name(host), "{host}");
        }
    }

    #[test]
    fn a_page_of_a_browser_is_refused() {
        let mut headers = HeaderMap::new();
        let uri = Uri::from_static("/api");
        assert!(!is_for_this_server(&headers, &uri), "without a host");
        headers.insert(HOST, hyper::header::HeaderValue::from_static("127.0.0.1:8001"));
        assert!(is_for_this_server(&headers, &uri));
        headers.insert(ORIGIN, hyper::header::HeaderValue::from_static("http://example.com"));
        assert!(!is_for_this_server(&headers, &uri));
    }
}
