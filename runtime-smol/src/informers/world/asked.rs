//! What the clients of a world have asked its server, for metrics.

use super::World;
use crate::client::Requests;
use std::sync::Arc;

/// The requests to a server. Clones of a world share them.
pub(crate) struct Asked {
    /// Empty if it is no server.
    pub(crate) host: String,
    pub(crate) requests: Arc<Requests>,
}

impl World {
    /// The requests that were sent so far, and where to.
    pub(crate) fn asked(&self) -> Asked {
        let host = self.server.as_deref().map(host_of).unwrap_or_default().to_owned();
        Asked { host, requests: Arc::clone(self.client.requests()) }
    }
}

/// The host and port of a URL, without the password that an operator may have written before them.
fn host_of(server: &str) -> &str {
    let rest = server.split_once("://").map_or(server, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    authority.rsplit('@').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_has_no_credential_and_no_path() {
        for (server, host) in [
            ("https://10.0.0.1:6443", "10.0.0.1:6443"),
            ("https://a:b@example.com/k8s/clusters/c-1?token=x", "example.com"),
            ("http://[::1]:8080/", "[::1]:8080"),
            ("example.com", "example.com"),
            ("", ""),
        ] {
            assert_eq!(host_of(server), host);
        }
    }
}
