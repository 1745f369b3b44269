//! The `listwatch` command.

mod args;
mod asking;
mod complaint;
mod error;
mod live;
mod needs;
mod outlet;
mod printer;
mod process;
mod reason;
mod replay;
mod resource;
mod source;
mod stop;
mod summary;
mod text;
mod undecodable;
mod watch;

use args::{Command, Print};
use complaint::{complain, complain_at_once, complain_of_panics};
use error::CommandError;
use std::io::{ErrorKind, Write};
use std::process::ExitCode;

/// The exit status of a program whose main thread panicked, as Rust gives it.
const PANICKED: u8 = 101;

fn main() -> ExitCode {
    if let Err(error) = needs::check() {
        complain_at_once(error);
        return ExitCode::FAILURE;
    }
    complain_of_panics();
    // What the panic hook says has to be passed on too.
    let status = std::panic::catch_unwind(listwatch).unwrap_or_else(|_| ExitCode::from(PANICKED));
    complaint::finish();
    status
}

fn listwatch() -> ExitCode {
    let command = match args::parse(lexopt::Parser::from_env()) {
        Ok(command) => command,
        Err(error) => {
            complain(format_args!("{error}; `listwatch --help` tells how to use it"));
            return ExitCode::from(2);
        }
    };
    let done = match command {
        _ if needs_output(&command) && process::stdout_is_closed() => Err(CommandError::Closed),
        Command::Help => print(args::HELP),
        Command::Version => print(concat!("listwatch ", env!("CARGO_PKG_VERSION"), "\n")),
        Command::Replay(options) => replay::replay(&options),
        Command::Watch(options) => watch::watch(&options),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever read our output has seen enough.
        Err(CommandError::Output(error)) if error.kind() == ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            let status = if error.is_wrong_usage() { ExitCode::from(2) } else { ExitCode::FAILURE };
            complain(error);
            status
        }
    }
}

/// Whether the command is worth nothing without its output. Of any other the exit status counts: a program that asks for
/// that alone may pass a `/dev/null` that is open for reading too, which looks like a closed output.
fn needs_output(command: &Command) -> bool {
    let print = match command {
        Command::Help | Command::Version => return false,
        Command::Replay(options) => options.print,
        Command::Watch(options) => options.print,
    };
    print != Print::Nothing
}

fn print(text: &str) -> Result<(), CommandError> {
    std::io::stdout().write_all(text.as_bytes()).map_err(CommandError::Output)
}
