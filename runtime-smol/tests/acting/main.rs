//! What a reconcile does to objects, against a simulated server under a simulated clock.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod adopting;
mod applying;
mod changing;
mod conditions;
mod controllers;
mod creating;
mod deleting;
mod ensuring;
mod finalizing;
mod refused;
mod stage;
mod worlds;
