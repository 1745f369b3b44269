//! The exchange of firmware over sockets and over connections that fail: blocking, in a task, and under an informer.

mod blocking;
mod connection;
mod hostile;
mod informer;
mod tasks;
mod wire;
