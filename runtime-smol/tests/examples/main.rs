//! The examples, as they stand in their folder: what each does in a simulated world, and how its binary ends.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod edge_agent;
mod inside_tokio;
mod process;
mod stage;
mod workqueue;
