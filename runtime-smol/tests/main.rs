//! Controllers, informers and workers as programs use them: on simulated clusters, on recordings and over sockets.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod acting;
mod audit;
mod controller;
mod election;
mod endpoint;
#[cfg(unix)]
mod examples;
mod informers;
mod metrics;
#[cfg(unix)]
mod readme;
mod reconcilers;
mod recorded;
mod recorder;
mod replayed;
mod runtimes;
mod saved;
mod simulated_cluster;
#[cfg(unix)]
mod termination;
