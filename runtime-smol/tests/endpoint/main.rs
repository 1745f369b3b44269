//! The endpoint for operators, as clients on a socket have it.

mod hostile;
mod memory;
mod pages;
mod serving;
