//! The examples, as they stand in their folder: what each does in a simulated world, and how its binary ends.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod edge_agent;
mod finalizer;
mod inside_tokio;
mod manifests;
mod process;
mod restart;
mod sample_controller;
#[path = "../support/scratch.rs"]
#[expect(dead_code, reason = "other suites use more of it")]
mod scratch;
mod stage;
mod workqueue;
