//! Metrics, probes and a status page over HTTP, for operators.
//!
//! | path | answer |
//! |---|---|
//! | `/metrics` | [`Metrics`] as OpenMetrics 1.0, or as the older text of Prometheus, by `Accept` |
//! | `/healthz` | 200 while every [health check](EndpointBuilder::health_check) passes; else 503, and why |
//! | `/readyz` | 200 once every store has synced and every [ready check](EndpointBuilder::ready_check) passes; else 503, and why |
//! | `/debug/listwatch` | streams with their last [audit](crate::audit), queues, keys and elections: a page, or JSON by `Accept` or `?format=json` |
//! | `/debug/listwatch/dump` | a `POST` dumps the [flight recorders](crate::World::flight_recorder); the answer names the files, of which there is one in ten seconds |
//!
//! The endpoint has a thread of its own: a reconcile that blocks the executor does not block it, and no client delays a
//! reconcile. Checks run on threads that may wait, each once at a time. It keeps no controller and no informer alive. What
//! has ended is not shown any more.
//!
//! There is no authentication. It listens on 127.0.0.1 unless [told otherwise](EndpointBuilder::address). There it
//! refuses a `Host` that is neither an address nor `localhost` (DNS rebinding), and anywhere a request with `Origin`. An
//! answer names streams, keys, leases and the server's last refusals. It has no object, no credential, and no message of
//! a panic.
//!
//! All answers, with their checks, are computed at most once a second, whatever clients do. So a probe's answer may be
//! a second old, and any other two. Other requests are `GET` or `HEAD`, with a head of 16 KiB at most; 64 connections are open at
//! a time.
//!
//! ```no_run
//! use listwatch::controller::{Controller, Outcome};
//! use listwatch::decode::MetadataOnly;
//! use listwatch::endpoint::Endpoint;
//! use listwatch::http::Cluster;
//! use listwatch::metrics::Metrics;
//! use std::net::Ipv4Addr;
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let controller = Controller::new("pods", Cluster::infer()?);
//!     let pods = controller.informer_of::<MetadataOnly>("v1/pods");
//!     let running = controller.reconciles(&pods).calls(async |_cx, key| {
//!         println!("{key}");
//!         Ok(Outcome::Done)
//!     });
//!     let metrics = Metrics::new();
//!     metrics.add(&running);
//!     // All addresses of the pod, as the probes of a kubelet need it. The drop stops it.
//!     let _endpoint = Endpoint::builder(&metrics).address(Ipv4Addr::UNSPECIFIED).start(8080)?;
//!     Ok(running.run()?)
//! }
//! ```
//!
//! [`Metrics`]: crate::metrics::Metrics

mod page;
mod probes;
mod server;
mod site;
mod snapshot;

pub use server::{Endpoint, EndpointBuilder};

/// What an answer tells of a panic. Its message may have what no answer has.
const PANICKED: &str = "the program's own code panicked; its standard error says where";
