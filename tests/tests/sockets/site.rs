//! What the runs of a test share: who is trusted, and how much was seen.

use crate::sockets::certificates::Authority;
use crate::sockets::cluster::Files;
use crate::sockets::server::Shown;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// A place for servers and their clients.
pub(crate) struct Site {
    pub(crate) files: Files,
    /// What clients trust; nothing over plain HTTP.
    pub(crate) shown: Shown,
    /// What they do not trust.
    pub(crate) untrusted: Shown,
    pub(crate) seen: Seen,
}

/// How much went over the wire.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) connections: AtomicU64,
    /// Requests that were sent again, because a connection may have been an old one.
    pub(crate) again: AtomicU64,
    /// Bytes of heads and bodies, before TLS.
    pub(crate) bytes: AtomicU64,
}

impl Site {
    pub(crate) fn new(tls: bool) -> Self {
        let (authority, stranger) = (Authority::new(), Authority::new());
        let shown = |authority: &Authority| tls.then(|| authority.servers());
        let files = Files::new(&authority);
        Self { files, shown: shown(&authority), untrusted: shown(&stranger), seen: Seen::default() }
    }

    pub(crate) fn scheme(&self) -> &'static str {
        if self.shown.is_some() { "https" } else { "http" }
    }
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [connections, again, bytes] =
            [&self.connections, &self.again, &self.bytes].map(|n| n.load(Ordering::Relaxed));
        write!(f, "{connections} connections, {again} requests sent again, {bytes} bytes of answers")
    }
}
