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
//! | speak HTTP/1.1 on a device, without std and without a heap | [`exchange`] |
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
//!
//! # Features
//!
//! | feature | adds |
//! |---|---|
//! | `ureq` (default) | all but [`exchange`]; without it, the crate is `no_std` |
//! | `embedded-io` | [`exchange::Exchange`] over connections that block; [`exchange::HttpSource`], a transport of an informer |
//! | `embedded-io-async` | the same over connections that a task waits for; [`exchange::AsyncHttpSource`] |
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(not(any(test, feature = "ureq")), no_std)]
#![forbid(unsafe_code)]

pub mod exchange;

// The public API.
#[cfg(feature = "ureq")]
mod client;
#[cfg(feature = "ureq")]
mod cluster;
#[cfg(feature = "ureq")]
mod error;
#[cfg(feature = "ureq")]
mod options;
#[cfg(feature = "ureq")]
mod reactor;
#[cfg(feature = "ureq")]
mod transport;

// A server, and the requests to it.
#[cfg(feature = "ureq")]
mod limits;
#[cfg(feature = "ureq")]
mod permits;
#[cfg(feature = "ureq")]
mod request;
#[cfg(feature = "ureq")]
mod server;

// The parts of a server: its configuration, the way to it, credentials.
#[cfg(feature = "ureq")]
mod auth;
#[cfg(feature = "ureq")]
mod config;
#[cfg(feature = "ureq")]
mod connect;

// Tools.
#[cfg(feature = "ureq")]
mod cancel;
#[cfg(feature = "ureq")]
mod clock;
#[cfg(feature = "ureq")]
mod lock;
#[cfg(feature = "ureq")]
mod secret;

#[cfg(feature = "ureq")]
pub use client::HttpClient;
#[cfg(feature = "ureq")]
pub use cluster::Cluster;
#[cfg(feature = "ureq")]
pub use error::{ConfigError, ConfigWarning};
#[cfg(feature = "ureq")]
pub use options::ClusterOptions;
#[cfg(feature = "ureq")]
pub use reactor::{PollRead, Reactor};
#[cfg(feature = "ureq")]
pub use transport::HttpTransport;

#[cfg(all(test, feature = "ureq"))]
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
