use crate::error::ConfigError;
use std::net::IpAddr;
use ureq::Proxy;
use ureq::http::Uri;

/// Chooses the proxy to a server.
pub(crate) struct ProxyRule<'a> {
    /// `proxy-url` and its place. It precedes the environment, and `NO_PROXY` does not apply to it.
    pub(crate) configured: Option<&'a (String, String)>,
    /// Looks up an environment variable.
    pub(crate) env: &'a dyn Fn(&str) -> Option<String>,
}

impl ProxyRule<'_> {
    /// The proxy to this server; `None` for a direct connection.
    pub(crate) fn choose(&self, server: &Uri) -> Result<Option<Proxy>, ConfigError> {
        if let Some((url, place)) = self.configured {
            return proxy(url, &format!("{place}: `proxy-url`")).map(Some);
        }
        let name = if server.scheme_str() == Some("https") { "HTTPS_PROXY" } else { "HTTP_PROXY" };
        let Some(url) = self.variable(name).filter(|_| self.is_proxied(server)) else { return Ok(None) };
        proxy(&url, &format!("${name}")).map(Some)
    }

    fn variable(&self, name: &str) -> Option<String> {
        let set = |name: &str| (self.env)(name).filter(|value| !value.is_empty());
        set(name).or_else(|| set(&name.to_ascii_lowercase()))
    }

    /// As in Go, neither this machine nor the hosts in `NO_PROXY` are behind a proxy.
    fn is_proxied(&self, server: &Uri) -> bool {
        let host = server.host().unwrap_or_default().trim_matches(['[', ']']).to_ascii_lowercase();
        let usual = if server.scheme_str() == Some("https") { 443 } else { 80 };
        let port = server.port_u16().unwrap_or(usual);
        let address: Option<IpAddr> = host.parse().ok();
        if is_loopback(&host) {
            return false;
        }
        let exceptions = self.variable("NO_PROXY").unwrap_or_default().to_ascii_lowercase();
        !exceptions.split(',').map(str::trim).any(|exception| excepts(exception, &host, address, port))
    }
}

/// Whether a host, in brackets or not, is `localhost` or a loopback address.
pub(crate) fn is_loopback(host: &str) -> bool {
    let host = host.trim_matches(['[', ']']);
    host.eq_ignore_ascii_case("localhost") || host.parse().is_ok_and(|address: IpAddr| address.is_loopback())
}

/// Matches an entry of `NO_PROXY`: `*`, a name, `.name` for its subdomains, an address or a range. A port may follow.
fn excepts(exception: &str, host: &str, address: Option<IpAddr>, port: u16) -> bool {
    if exception == "*" {
        return true;
    }
    if let (Some((network, bits)), Some(address)) = (exception.split_once('/'), address) {
        return is_in(address, network, bits).unwrap_or(false);
    }
    let (name, is_its_port) = match exception.rsplit_once(':') {
        // The colons of a bare IPv6 address separate no port.
        Some((name, its_port)) if !name.contains(':') || name.ends_with(']') => (name, its_port.parse() == Ok(port)),
        _ => (exception, true),
    };
    if !is_its_port {
        return false;
    }
    let name = name.trim_matches(['[', ']']);
    if let Ok(excepted) = name.parse::<IpAddr>() {
        return address == Some(excepted);
    }
    let suffix = name.trim_start_matches('*').trim_start_matches('.');
    let is_below = || host.strip_suffix(suffix).is_some_and(|above| above.ends_with('.'));
    // The parts of an address are no names.
    address.is_none() && !suffix.is_empty() && ((host == suffix && name == suffix) || is_below())
}

fn is_in(address: IpAddr, network: &str, bits: &str) -> Option<bool> {
    let (network, bits) = (network.parse::<IpAddr>().ok()?, bits.parse::<u32>().ok()?);
    let (left, right, width) = match (address, network) {
        (IpAddr::V4(left), IpAddr::V4(right)) => (u32::from(left).into(), u32::from(right).into(), 32),
        (IpAddr::V6(left), IpAddr::V6(right)) => (u128::from(left), u128::from(right), 128),
        _ => return Some(false),
    };
    let ignored = u32::checked_sub(width, bits)?;
    Some(left.checked_shr(ignored).unwrap_or(0) == right.checked_shr(ignored).unwrap_or(0))
}

/// Parses the URL of a proxy. Errors do not quote it, because it may contain a password.
fn proxy(url: &str, place: &str) -> Result<Proxy, ConfigError> {
    let (scheme, rest) = url.split_once("://").unwrap_or(("http", url));
    let scheme = match &*scheme.to_ascii_lowercase() {
        scheme @ ("http" | "https") => Some(scheme.to_owned()),
        // As in Go, the proxy resolves names for both schemes.
        "socks5" | "socks5h" => Some("socks5h".to_owned()),
        _ => None,
    };
    scheme.and_then(|scheme| Proxy::new(&format!("{scheme}://{rest}")).ok()).ok_or_else(|| {
        ConfigError::new(format!("{place} is no URL of a proxy: give http://, https:// or socks5://HOST:PORT"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(server: &str, env: &[(&str, &str)]) -> Option<String> {
        let env = |name: &str| env.iter().find(|(set, _)| *set == name).map(|(_, value)| (*value).to_owned());
        let proxy = ProxyRule { configured: None, env: &env }.choose(&server.parse().unwrap()).unwrap();
        proxy.map(|proxy| proxy.host().to_owned())
    }

    fn goes_through(server: &str, no_proxy: &str) -> bool {
        chosen(server, &[("HTTPS_PROXY", "http://p:1"), ("NO_PROXY", no_proxy)]).is_some()
    }

    #[test]
    fn each_scheme_has_its_variable_in_both_cases() {
        let env = [("HTTPS_PROXY", "http://s:1"), ("http_proxy", "socks5://p:1")];
        assert_eq!(chosen("https://api", &env).as_deref(), Some("s"));
        assert_eq!(chosen("http://api", &env).as_deref(), Some("p"));
        assert_eq!(chosen("https://api", &[("https_proxy", "")]), None);
    }

    #[test]
    fn this_machine_is_never_behind_a_proxy() {
        for server in ["https://localhost:6443", "https://127.0.0.1", "https://[::1]:6443"] {
            assert!(!goes_through(server, ""), "{server}");
        }
    }

    #[test]
    fn exceptions_are_names_and_addresses_and_ranges() {
        for (server, exception) in [
            ("https://api.example.com", "example.com"),
            ("https://API.example.com", "x, .EXAMPLE.com"),
            ("https://api.example.com", "*.example.com"),
            ("https://api.example.com:6443", "api.example.com:6443"),
            ("https://api.example.com", "*"),
            ("https://10.1.2.3", "10.0.0.0/8"),
            ("https://10.1.2.3", "10.1.2.3"),
            ("https://10.1.2.3", "0.0.0.0/0"),
            ("https://[fd00::1]:6443", "fd00::/16"),
            ("https://[fd00::1]:6443", "[fd00::1]:6443"),
            ("https://[fd00::1]:6443", "fd00::1"),
        ] {
            assert!(!goes_through(server, exception), "{server} {exception}");
        }
        for (server, exception) in [
            ("https://example.com", ".example.com"),
            ("https://example.com", "*.example.com"),
            ("https://notexample.com", "example.com"),
            ("https://api.example.com", "api.example.com:443x,api.example.com:6443"),
            ("https://11.1.2.3", "10.0.0.0/8"),
            ("https://10.1.2.3", "10.0.0.0/99"),
            ("https://10.1.2.3", "fd00::/16"),
            ("https://api", ", ,"),
            ("https://10.1.2.3", ".3"),
            ("https://10.1.2.3", "2.3"),
            ("https://10.1.2.3", "*.2.3"),
        ] {
            assert!(goes_through(server, exception), "{server} {exception}");
        }
    }

    #[test]
    fn the_scheme_of_a_proxy_may_be_in_capitals() {
        for url in ["HTTP://p:1", "Https://p:1", "SOCKS5://p:1"] {
            assert_eq!(chosen("https://api", &[("HTTPS_PROXY", url)]).as_deref(), Some("p"), "{url}");
        }
    }

    #[test]
    fn an_address_that_is_none_is_not_quoted() {
        for url in ["http://user:hunter2@ x", "ftp://user:hunter2@x", "://hunter2"] {
            let configured = (url.to_owned(), "config:3".to_owned());
            let rule = ProxyRule { configured: Some(&configured), env: &|_| None };
            let error = rule.choose(&"https://api".parse().unwrap()).unwrap_err().to_string();
            assert!(error.starts_with("config:3: `proxy-url`") && !error.contains("hunter2"), "{error}");
        }
    }
}
