//! The simulated world, seed by seed, and under single conditions.

mod api_server;
mod capture;
#[cfg(not(loom))]
mod controllers;
mod health;
mod herd;
#[cfg(not(loom))]
mod panics;
mod recovery;
mod seeds;
mod server;
