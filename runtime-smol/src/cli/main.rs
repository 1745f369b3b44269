//! The `listwatch` command.

mod args;
mod complaint;
mod plain;
mod printer;
mod progress;
mod reason;
mod replay;
mod summary;

use args::Command;
use complaint::complain;
use replay::ReplayError;
use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    let command = match args::parse(lexopt::Parser::from_env()) {
        Ok(command) => command,
        Err(error) => {
            complain(format_args!("{error}; `listwatch --help` tells how to use it"));
            return ExitCode::from(2);
        }
    };
    finish(match command {
        Command::Help => print(args::HELP),
        Command::Version => print(concat!("listwatch ", env!("CARGO_PKG_VERSION"), "\n")),
        Command::Replay(options) => replay::replay(&options),
    })
}

fn print(text: &str) -> Result<(), ReplayError> {
    std::io::stdout().write_all(text.as_bytes()).map_err(ReplayError::Output)
}

fn finish(result: Result<(), ReplayError>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever read our output has seen enough.
        Err(ReplayError::Output(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            complain(error);
            ExitCode::FAILURE
        }
    }
}
