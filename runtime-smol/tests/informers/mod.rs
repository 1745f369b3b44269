//! Shared informers, by the same code against a simulated server, a recording, and a server on the loopback interface.

mod ends;
mod loopback;
mod namespaces;
mod recording;
mod runners;
mod sharing;
mod single;
mod support;
mod troubles;
mod turns;
