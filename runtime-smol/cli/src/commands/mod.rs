//! One module for each command; `watch` and `record` share `follow`.

mod audit;
mod bundle;
mod follow;
mod input;
mod new;
mod record;
mod replay;
mod serve;
mod show;
mod watch;
mod yaml;

use crate::arguments::{Command, completions};
use crate::error::CommandError;
use crate::output;

/// Runs a command to its end.
///
/// # Errors
/// The command failed.
pub(crate) fn run(command: &Command) -> Result<(), CommandError> {
    match command {
        Command::Watch(options) => watch::watch(options),
        Command::Record(options) => record::record(options),
        Command::Replay(options) => replay::replay(options),
        Command::Show(options) => show::show(options),
        Command::Browse(options) => show::browse::browse(options),
        Command::Report(options) => show::report::report(options),
        Command::Diff(options) => show::diff::diff(options),
        Command::Audit(options) => audit::audit(options),
        Command::New(options) => new::new(options),
        Command::Serve(options) => serve::serve(options),
        Command::Completions(options) => output::print(&completions(options.shell)).map_err(CommandError::Output),
    }
}
