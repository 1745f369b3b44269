//! What is tested without a real server: machines beside their models, the simulated world, captures, sockets, and the
//! shape of the workspace.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod captures;
mod layering;
mod models;
mod mutations;
mod protocol;
mod simulation;
mod sockets;
mod traces;

use std::path::Path;

/// The root of the workspace.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}
