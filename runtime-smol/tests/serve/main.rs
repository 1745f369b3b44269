//! `listwatch serve` as a user runs it: followed by client-go, kube-rs, kubectl and listwatch itself.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod child;
#[expect(dead_code, reason = "other suites use the rest")]
#[path = "../support/command.rs"]
mod command;
mod crowd;
mod followers;
mod hostile;
mod kubectl;
#[expect(dead_code, reason = "other suites use the rest")]
#[path = "../support/notifications.rs"]
mod notifications;
mod requests;
#[path = "../support/scratch.rs"]
mod scratch;
mod serving;
#[path = "../replay/zipped.rs"]
mod zipped;
