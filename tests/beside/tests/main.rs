//! listwatch beside a real kube-apiserver, client-go, kube-rs, kubectl and Prometheus.
//!
//! A test that lacks its program says so on standard error, and fails where the variable `CI` is set.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "../../../runtime-smol/cli/tests/command.rs"]
#[expect(dead_code, reason = "the suite of the command uses the rest")]
mod command;
#[path = "../../../runtime-smol/webhooks/tests/foos.rs"]
#[expect(dead_code, reason = "the suite of webhooks uses the rest")]
mod foos;
mod handlers;
#[cfg(unix)]
mod kubeconfigs;
mod kubectl;
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

use listwatch_tests::cargo::cargo;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The command, built once, in the profile of these tests; or the one that `LISTWATCH_PROGRAM` names.
fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        if let Some(program) = std::env::var_os("LISTWATCH_PROGRAM") {
            return program.into();
        }
        let test = std::env::current_exe().unwrap();
        let folder = test.ancestors().nth(2).unwrap().file_name().unwrap().to_str().unwrap();
        // The profile `dev` has another name as a folder.
        let profile = if folder == "debug" { "dev" } else { folder };
        let mut cargo = cargo();
        cargo.args(["build", "--quiet", "--locked", "--package", "listwatch-cli", "--profile", profile]);
        cargo.arg("--target-dir").arg(target_folder()).current_dir(checkout());
        assert!(cargo.status().unwrap().success(), "the command cannot be built");
        target_folder().join(folder).join("listwatch")
    })
}

/// The folder that cargo builds these tests in.
fn target_folder() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap()
}

/// How the workspace builds the tests.
#[cfg(unix)]
fn profile() -> String {
    let manifest = std::fs::read_to_string(checkout().join("Cargo.toml")).unwrap();
    let from = manifest.find("[profile.dev]").unwrap();
    let to = manifest.find("[profile.release]").unwrap();
    manifest[from..to].to_owned()
}

/// The root of the workspace.
fn checkout() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap()
}
