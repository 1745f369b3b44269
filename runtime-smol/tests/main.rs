//! Controllers, informers and workers as programs use them: on simulated clusters, on recordings and over sockets.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod acting;
mod audit;
mod controller;
mod defining;
mod election;
mod endpoint;
#[cfg(unix)]
mod examples;
mod faults;
#[path = "../examples/finalizer.rs"]
#[expect(dead_code, reason = "its `main` reads the arguments of the process")]
mod finalizer;
mod fleet;
mod flight;
mod foo;
mod informers;
mod metrics;
mod ports;
#[cfg(unix)]
mod readme;
mod reconcilers;
mod recorded;
mod recorder;
mod replayed;
mod runtimes;
#[path = "../examples/sample-controller.rs"]
#[expect(dead_code, reason = "its `main` reads the arguments of the process")]
mod sample_controller;
mod saved;
mod shards;
mod simulated_cluster;
#[cfg(unix)]
mod termination;
