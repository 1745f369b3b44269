//! The simulated world, seed by seed, and under single conditions.

mod health;
mod herd;
mod seeds;
