//! The `listwatch` command.

mod args;
mod printer;
mod progress;
mod replay;
mod summary;

use args::Command;
use std::process::ExitCode;

fn main() -> ExitCode {
    let command = match args::parse(lexopt::Parser::from_env()) {
        Ok(command) => command,
        Err(error) => {
            eprintln!("listwatch: {error}; `listwatch --help` tells how to use it");
            return ExitCode::from(2);
        }
    };
    match command {
        Command::Help => {
            print!("{}", args::HELP);
            ExitCode::SUCCESS
        }
        Command::Version => {
            println!("listwatch {}", env!("CARGO_PKG_VERSION"));
            ExitCode::SUCCESS
        }
        Command::Replay(options) => finish(replay::replay(&options)),
    }
}

fn finish(result: Result<(), replay::ReplayError>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever read our output has seen enough.
        Err(replay::ReplayError::Output(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("listwatch: {error}");
            ExitCode::FAILURE
        }
    }
}
