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
#![forbid(unsafe_code)]

mod cluster;
mod config_error;
mod config_warning;
mod options;
pub use cluster::Cluster;
pub use config_error::ConfigError;
pub use config_warning::ConfigWarning;
pub use options::ClusterOptions;

mod client;
mod transport;
pub use client::HttpClient;
pub use transport::HttpTransport;

mod auth;
mod awaited;
mod caller;
mod clock;
mod connection;
mod in_cluster;
mod kubeconfig;
mod reloaded;
mod secret;
mod server;
mod settings;
