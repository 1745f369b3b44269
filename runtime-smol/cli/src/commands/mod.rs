//! One module for each command; `watch` and `record` share `follow`.

mod follow;
mod record;
mod replay;
mod serve;
mod watch;

use crate::arguments::{Command, completions};
use crate::error::CommandError;
use crate::{output, system};

/// Runs a command to its end.
///
/// # Errors
/// The command failed.
pub(crate) fn run(command: &Command) -> Result<(), CommandError> {
    match command {
        _ if needs_output(command) && system::process::stdout_is_closed() => Err(CommandError::Closed),
        Command::Watch(options) => watch::watch(options),
        Command::Record(options) => record::record(options),
        Command::Replay(options) => replay::replay(options),
        Command::Serve(options) => serve::serve(options),
        Command::Completions(options) => output::print(&completions(options.shell)).map_err(CommandError::Output),
    }
}

/// Whether the command is worth nothing without its output.
///
/// For the others the exit status counts. A caller that wants the status alone may pass a `/dev/null` that is open for
/// reading too, which looks like a closed output.
fn needs_output(command: &Command) -> bool {
    match command {
        Command::Watch(_) => true,
        Command::Record(options) => options.print.is_some(),
        Command::Replay(options) => options.print().is_some(),
        Command::Serve(_) => false,
        Command::Completions(_) => true,
    }
}
