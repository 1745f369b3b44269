//! What a subscriber of the crate `tracing` is told, and what servers are told of reconciles.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod collector;
mod ids;
mod reconciles;
mod reflectors;
mod reports;
mod stage;
mod troubles;
