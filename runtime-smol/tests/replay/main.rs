//! The command as a user runs it: arguments and a file in; standard output, standard error and an exit status out.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod captures;
mod command;
mod errors;
mod files;
mod memory;
mod notifications;
mod output;
mod pipes;
mod scratch;
