//! `listwatch watch` and `listwatch record` as a user runs them, against servers on the loopback interface.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod captures;
#[path = "../support/command.rs"]
mod command;
mod discovery;
mod disks;
mod ends;
mod errors;
mod following;
mod hostile;
#[path = "../support/hostile.rs"]
mod inert;
#[cfg(unix)]
mod limits;
#[path = "../support/notifications.rs"]
mod notifications;
mod people;
mod played;
mod readers;
#[path = "../support/scratch.rs"]
mod scratch;
mod secrets;
mod server;
mod several;
#[cfg(unix)]
mod stderr;
mod tables;
#[cfg(unix)]
mod terminal;
