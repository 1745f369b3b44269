//! Kubernetes lists, watches and single requests over HTTP/1.1, with the configuration and the credentials of kubectl.
//!
//! | to | use |
//! |---|---|
//! | find a cluster by kubeconfig, in a pod, or by address | [`Cluster::infer`], [`Cluster::from_kubeconfig`], [`Cluster::at`] |
//! | choose context, user, time limits and environment | [`ClusterOptions`] |
//! | list and watch for one reflector | [`Cluster::transport`], which makes an [`HttpTransport`] |
//! | read, create, change, delete and discover | [`Cluster::client`], which makes an [`HttpClient`] |
//! | read watches by tasks instead of threads | [`HttpTransport::with_reactor`], with a [`Reactor`] |
//! | report an unusable configuration | [`ConfigError`] |
//! | report a risky configuration | [`Cluster::warnings`], a list of [`ConfigWarning`] |
//!
//! The smallest program opens a list. An informer of `listwatch-core` does so by itself.
//!
//! ```no_run
//! # fn main() -> Result<(), listwatch_transport_http::ConfigError> {
//! use listwatch_core::request::{Request, RequestId};
//! use listwatch_core::ListerWatcher;
//! use listwatch_transport_http::Cluster;
//!
//! let cluster = Cluster::infer()?; // $KUBECONFIG, ~/.kube/config, or the service account of a pod
//! let mut transport = cluster.transport()?; // one transport for each reflector
//! transport.open(RequestId(1), &Request::parse("/api/v1/pods?limit=500"));
//! # Ok(())
//! # }
//! ```
//!
//! The crate reads kubeconfigs, runs exec plugins, reloads rotated tokens and certificates, and goes through HTTP and
//! SOCKS proxies. [`ureq`] speaks HTTP and rustls speaks TLS; neither shows in a public signature.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

// The public API.
mod client;
mod cluster;
mod error;
mod options;
mod reactor;
mod shorthands;
mod transport;
mod warning;

// A server, and the requests to it.
mod limits;
mod request;
mod server;

// The parts of a server: its configuration, the way to it, credentials.
mod auth;
mod config;
mod connect;

// Tools.
mod cancel;
mod clock;
mod reloaded;
mod secret;

pub use client::HttpClient;
pub use cluster::Cluster;
pub use error::ConfigError;
pub use options::ClusterOptions;
pub use reactor::{PollRead, Reactor};
pub use transport::HttpTransport;
pub use warning::ConfigWarning;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn public_types_cross_threads() {
        fn error<T: std::error::Error + Send + Sync + 'static>() {}
        fn shared<T: Send + Sync + 'static>() {}
        error::<ConfigError>();
        shared::<(Cluster, ClusterOptions, HttpClient, HttpTransport, ConfigWarning)>();
    }
}
