//! Cargo, started by a test.

use std::process::Command;

/// Cargo, as a shell starts it.
pub fn cargo() -> Command {
    let mut cargo = Command::new(env!("CARGO"));
    without_package(&mut cargo);
    cargo
}

/// Hides from a command the package that a running test is of. Where a build script asks for these variables, as ring's
/// does, cargo would run it again, and build all that depends on it.
pub fn without_package(command: &mut Command) {
    let of_package = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_CRATE_", "CARGO_BIN_", "CARGO_PRIMARY_"];
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    names.filter(|name| of_package.iter().any(|start| name.starts_with(start))).for_each(|name| {
        command.env_remove(name);
    });
}
