//! Webhooks over sockets, and in a simulated cluster.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![expect(clippy::disallowed_methods, reason = "the sockets and the certificates of these tests take real time")]

mod answers;
#[cfg(unix)]
mod certificates;
mod client;
mod foos;
mod hostile;
mod program;
mod simulated;
