//! The simulated world, seed by seed, and under single conditions.

mod capture;
mod health;
mod herd;
mod recovery;
mod seeds;
mod server;
