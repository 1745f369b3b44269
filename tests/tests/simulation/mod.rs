//! The simulated world, seed by seed, and under single conditions.

mod api_server;
mod audits;
mod capture;
mod controllers;
mod election;
mod fixed;
mod health;
mod herd;
mod panics;
mod recorder;
mod recovery;
mod seeds;
mod server;
