//! The `listwatch` command.

mod arguments;
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

use arguments::{Command, NoCommand};
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
    let command = match arguments::parse(std::env::args_os()) {
        Ok(command) => command,
        Err(NoCommand::Text(text)) => return status(print(text.as_bytes())),
        Err(NoCommand::Usage(message)) => {
            complain(message);
            return ExitCode::from(2);
        }
    };
    status(match command {
        _ if needs_output(&command) && process::stdout_is_closed() => Err(CommandError::Closed),
        Command::Watch(options) => watch::watch(&options),
        Command::Record(options) => watch::record(&options),
        Command::Replay(options) => replay::replay(&options),
        Command::Completions(options) => print(&arguments::completions(options.shell)),
    })
}

fn status(done: Result<(), CommandError>) -> ExitCode {
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
    match command {
        Command::Watch(_) => true,
        Command::Record(options) => options.print.is_some(),
        Command::Replay(options) => options.print.is_some(),
        Command::Completions(_) => false,
    }
}

fn print(text: &[u8]) -> Result<(), CommandError> {
    std::io::stdout().write_all(text).map_err(CommandError::Output)
}
