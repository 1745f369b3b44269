//! `listwatch replay` as a user runs it: arguments and a file in; standard output, standard error and an exit status out.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod against;
mod arguments;
mod capacities;
mod captures;
#[path = "../support/command.rs"]
mod command;
mod errors;
mod files;
mod hostile;
#[path = "../support/hostile.rs"]
mod inert;
#[path = "../support/maps.rs"]
mod maps;
mod memory;
#[path = "../support/notifications.rs"]
mod notifications;
mod output;
mod pipes;
mod resources;
#[path = "../support/scratch.rs"]
mod scratch;
mod zipped;
