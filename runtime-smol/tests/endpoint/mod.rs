//! The endpoint for operators, as clients on a socket have it.

mod audits;
mod checks;
pub(crate) mod client;
mod hostile;
mod pages;
mod program;
