//! A Kubernetes cluster in memory, for tests of controllers and for recordings that are served.
//!
//! A test fills a [`SimulatedCluster`] with objects, runs a controller on it, and compares its [`ClientRequest`]s and its
//! objects. A [`Fault`] lets a request fail. Over a wire, [`SimulatedCluster::handle`] takes a [`Call`] and returns an
//! [`Answer`]. Programs have this crate as `listwatch::testing`, by the feature `testing` of `listwatch`.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod admission;
mod applied;
mod apply;
mod built_in;
mod cache;
mod client;
mod cluster;
mod collector;
mod config_data;
mod conversion;
mod custom;
mod decoding;
mod definition;
mod events;
mod fault;
mod field_path;
mod field_set;
mod form;
mod kinds;
mod limits;
mod line;
mod list;
mod metadata;
mod names;
mod network;
mod options;
mod patch;
mod permissions;
mod place;
mod refusal;
mod requests;
mod rules;
mod schema;
mod selector;
mod server;
mod shard;
mod shared;
mod store;
mod target;
#[cfg(test)]
mod tests;
mod transport;
mod typed;
mod watch;
mod write;

pub use admission::{AdmissionRequest, Denial};
pub use cache::Lag;
pub use client::ClusterClient;
pub use cluster::SimulatedCluster;
pub use fault::Fault;
pub use kinds::ServedKind;
pub use network::{Commit, LAG, Network, Passage, Sent};
pub use requests::{ClientOutcome, ClientRequest};
pub use server::Call;
pub use shared::{Answer, WatchStream};
pub use transport::ClusterTransport;
pub use watch::WatchProgress;
