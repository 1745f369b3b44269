//! `listwatch watch` and `listwatch record` as a user runs them, against servers on the loopback interface.

mod captures;
mod discovery;
mod disks;
mod ends;
mod errors;
mod following;
mod hostile;
#[cfg(unix)]
mod limits;
mod people;
mod readers;
mod secrets;
mod server;
mod several;
#[cfg(unix)]
mod stderr;
mod tables;
#[cfg(unix)]
pub(crate) mod terminal;
