//! `listwatch show`.

#[cfg(unix)]
mod browse;
mod captures;
mod hostile;
mod incident;
mod narrowed;
pub(crate) mod recorded;
mod report;
mod summary;
#[cfg(unix)]
mod terminal;

use crate::command::{Run, command, run};
use std::path::Path;

/// `listwatch show FILE`, with options that are separated by blanks.
fn show(file: impl AsRef<Path>, options: &str) -> Run {
    let mut command = command(["show"]);
    command.arg(file.as_ref()).args(options.split_whitespace());
    run(command)
}
