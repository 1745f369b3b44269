//! The simulated world, seed by seed, and under single conditions.

#![cfg_attr(not(loom), expect(clippy::unwrap_used, reason = "a test that cannot go on has failed"))]

mod api_server;
mod audits;
mod capture;
#[cfg(not(loom))]
mod controllers;
mod election;
mod fixed;
mod health;
mod herd;
#[cfg(not(loom))]
mod panics;
mod recorder;
mod recovery;
mod seeds;
mod server;
