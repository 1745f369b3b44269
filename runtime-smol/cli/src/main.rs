//! The `listwatch` command.
//!
//! Modules import downwards in this list, never upwards:
//!
//! | module | content |
//! |---|---|
//! | `main` | start, exit status, end |
//! | `commands` | one module a command: `watch`, `record`, `replay`, `show`, `browse`, `report`, `diff`, `serve`, `audit`, `new`, `completions` |
//! | `error` | the errors that end a command |
//! | `resource` | from the name of a resource to its path, by discovery |
//! | `report` | failures in few words, counts, summaries |
//! | `output` | standard output and standard error: events, messages, the progress line |
//! | `arguments` | the arguments, their help, and messages about wrong ones |
//! | `system` | signals, threads, file descriptors, memory |

mod arguments;
mod commands;
mod error;
mod output;
mod report;
mod resource;
mod system;

use arguments::NoCommand;
use error::CommandError;
use output::messages;
use std::process::ExitCode;

/// The exit status of wrong arguments.
const USAGE: u8 = 2;
/// The exit status of a comparison that found differences.
const DIFFERENT: u8 = 3;
/// The exit status that Rust gives to a panic of the main thread.
const PANICKED: u8 = 101;

fn main() -> ExitCode {
    if let Err(shortage) = system::requirements::check() {
        messages::print_blocking(shortage);
        return ExitCode::FAILURE;
    }
    messages::print_panics();
    // The message of the panic hook is flushed below too.
    let status = std::panic::catch_unwind(listwatch).unwrap_or_else(|_| ExitCode::from(PANICKED));
    messages::finish();
    status
}

fn listwatch() -> ExitCode {
    let done = match arguments::parse(std::env::args_os()) {
        Ok(command) => commands::run(&command),
        Err(NoCommand::Help(text) | NoCommand::Version(text)) => {
            output::print(text.as_bytes()).map_err(CommandError::Output)
        }
        Err(NoCommand::Usage(message)) => {
            messages::print(message);
            return ExitCode::from(USAGE);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.is_closed_pipe() => ExitCode::SUCCESS,
        Err(error) => {
            let status = match &error {
                CommandError::WritesDiffer | CommandError::RecordingsDiffer | CommandError::Differs(_) => {
                    ExitCode::from(DIFFERENT)
                }
                error if error.is_wrong_usage() => ExitCode::from(USAGE),
                _ => ExitCode::FAILURE,
            };
            messages::print(error);
            status
        }
    }
}
