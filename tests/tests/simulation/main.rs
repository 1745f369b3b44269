//! The simulated world, seed by seed, and under single conditions.

mod api_server;
mod capture;
mod health;
mod herd;
#[cfg(not(loom))]
mod panics;
mod recovery;
mod seeds;
mod server;
