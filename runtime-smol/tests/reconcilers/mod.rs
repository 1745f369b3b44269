//! Controllers against a simulated server: under a simulated clock, and with real threads.

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
