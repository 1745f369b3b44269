//! listwatch beside a real kube-apiserver, client-go, kube-rs, kubectl and Prometheus, and with the types of others.
//!
//! A test that lacks its program says so loudly, and fails where the variable `CI` is set.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod command;
mod handlers;
mod kinds;
#[cfg(unix)]
mod no_std;
#[cfg(unix)]
#[path = "../../../runtime-smol/cli/tests/notifications.rs"]
mod notifications;
mod prometheus;
#[cfg(unix)]
mod readme;
mod real_server;
#[cfg(unix)]
mod serve;
#[cfg(unix)]
mod watch;
