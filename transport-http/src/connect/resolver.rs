//! The addresses of servers and proxies.

use std::io;
use ureq::Error;
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::NextTimeout;

/// The system's resolver. Its errors are [`Unresolved`].
#[derive(Debug, Default)]
pub(crate) struct SystemResolver(DefaultResolver);

/// An error of the system while it resolved a name: std has no kind for these.
#[derive(Debug)]
pub(crate) struct Unresolved(pub(crate) io::Error);

impl Resolver for SystemResolver {
    fn resolve(&self, uri: &Uri, config: &Config, timeout: NextTimeout) -> Result<ResolvedSocketAddrs, Error> {
        self.0.resolve(uri, config, timeout).map_err(|error| match error {
            Error::Io(error) => Error::Io(io::Error::other(Unresolved(error))),
            other => other,
        })
    }
}

impl std::fmt::Display for Unresolved {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Unresolved {}
