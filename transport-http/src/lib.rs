//! List, watch and single requests over HTTP/1.1, with [`ureq`]: clusters as kubectl knows them, credentials that expire, TLS, proxies.
//!
//! ```no_run
//! # fn main() -> Result<(), listwatch_transport_http::ConfigError> {
//! use listwatch_core::request::{Request, RequestId};
//! use listwatch_core::ListerWatcher;
//! use listwatch_transport_http::Cluster;
//!
//! let cluster = Cluster::infer()?; // $KUBECONFIG, ~/.kube/config, or the pod this runs in
//! let mut transport = cluster.transport()?; // one for each reflector
//! transport.open(RequestId(1), &Request::parse("/api/v1/pods?limit=500"));
//! # Ok(())
//! # }
//! ```
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

mod client;
mod cluster;
mod error;
mod options;
mod shorthands;
mod transport;
mod warning;

mod auth;
mod cancel;
mod clock;
mod config;
mod connect;
mod limits;
mod reloaded;
mod request;
mod secret;
mod server;

pub use client::HttpClient;
pub use cluster::Cluster;
pub use error::ConfigError;
pub use options::ClusterOptions;
pub use transport::HttpTransport;
pub use warning::ConfigWarning;
