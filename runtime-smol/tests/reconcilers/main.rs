//! Controllers against a simulated server: under a simulated clock, and with real threads.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod added;
mod behind;
mod ends;
mod hanging;
mod keys;
mod many;
mod owners;
mod readings;
mod starts;
mod support;
mod threads;
mod trouble;
mod writes;
