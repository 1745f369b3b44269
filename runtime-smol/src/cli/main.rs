//! The `listwatch` command.

mod args;
mod complaint;
mod live;
mod plain;
mod printer;
mod progress;
mod reason;
mod replay;
mod source;
mod stop;
mod summary;
mod watch;

use args::Command;
use complaint::complain;
use replay::ReplayError;
use std::io::{ErrorKind, Write};
use std::process::ExitCode;
use watch::WatchError;

fn main() -> ExitCode {
    let command = match args::parse(lexopt::Parser::from_env()) {
        Ok(command) => command,
        Err(error) => {
            complain(format_args!("{error}; `listwatch --help` tells how to use it"));
            return ExitCode::from(2);
        }
    };
    match command {
        Command::Help => finish(print(args::HELP)),
        Command::Version => finish(print(concat!("listwatch ", env!("CARGO_PKG_VERSION"), "\n"))),
        Command::Replay(options) => finish(replay::replay(&options)),
        Command::Watch(options) => finish(watch::watch(&options)),
    }
}

fn print(text: &str) -> Result<(), ReplayError> {
    std::io::stdout().write_all(text.as_bytes()).map_err(ReplayError::Output)
}

/// What a command can end with.
trait Ending: std::fmt::Display {
    /// The trouble with standard output, if it is that.
    fn output(&self) -> Option<&std::io::Error>;
}

impl Ending for ReplayError {
    fn output(&self) -> Option<&std::io::Error> {
        if let Self::Output(error) = self { Some(error) } else { None }
    }
}

impl Ending for WatchError {
    fn output(&self) -> Option<&std::io::Error> {
        if let Self::Output(error) = self { Some(error) } else { None }
    }
}

fn finish(result: Result<(), impl Ending>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever read our output has seen enough.
        Err(error) if error.output().is_some_and(|error| error.kind() == ErrorKind::BrokenPipe) => ExitCode::SUCCESS,
        Err(error) => {
            complain(error);
            ExitCode::FAILURE
        }
    }
}
