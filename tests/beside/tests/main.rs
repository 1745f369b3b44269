//! listwatch beside a real kube-apiserver, client-go, kube-rs, kubectl and Prometheus, and with the types of others.
//!
//! A test that lacks its program says so loudly, and fails where the variable `CI` is set.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "../../../runtime-smol/cli/tests/command.rs"]
#[expect(dead_code, reason = "the suite of the command uses the rest")]
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

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The command, built once, as these tests are.
fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--quiet", "--package", "listwatch-cli"]).current_dir(checkout());
        assert!(cargo.env("CARGO_NET_OFFLINE", "true").status().unwrap().success(), "the command cannot be built");
        std::env::current_exe().unwrap().parent().unwrap().with_file_name("listwatch")
    })
}

/// The root of the workspace.
fn checkout() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap()
}
