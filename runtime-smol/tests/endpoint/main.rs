//! The endpoint for operators, as clients on a socket have it.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod audits;
mod checks;
mod client;
mod hostile;
mod pages;
mod program;
