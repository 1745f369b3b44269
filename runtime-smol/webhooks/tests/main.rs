//! Webhooks over sockets, and in a simulated cluster.

mod answers;
mod certificates;
mod client;
mod foos;
mod hostile;
mod program;
mod simulated;
