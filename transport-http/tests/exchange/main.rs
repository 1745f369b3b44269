//! The exchange of firmware over sockets and over connections that fail: blocking, in a task, and under an informer.
#![expect(clippy::unwrap_used, reason = "a step that fails fails the test")]

mod blocking;
mod connection;
mod hostile;
mod informer;
mod tasks;
mod wire;
