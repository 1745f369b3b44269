//! The arguments of the command.

mod audit;
mod completions;
mod credentials;
mod custom_columns;
mod diff;
mod field_path;
mod follow;
mod new;
mod replay;
mod serve;
mod show;
mod usage;
mod values;

pub(crate) use audit::{Against, AuditOptions};
pub(crate) use completions::CompletionsOptions;
pub(crate) use credentials::hide_credentials;
pub(crate) use diff::DiffOptions;
pub(crate) use field_path::FieldPath;
pub(crate) use follow::{FollowOptions, RecordOptions, Scope, ServerOptions, WatchOptions};
pub(crate) use new::NewOptions;
pub(crate) use replay::{IndexBy, Program, ReplayOptions, Speed};
pub(crate) use serve::{Moment, ServeOptions, moment};
pub(crate) use show::{BrowseOptions, ReportOptions, SelectionOptions, ShowOptions, What};
pub(crate) use values::{Format, Kind, Output, Print};

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::Shell;
use std::ffi::OsString;

/// The columns that the help takes at the most.
const WIDTH: usize = 100;

const EXAMPLES: &str = "\
Examples:
  listwatch watch pods                            # print each change of each pod
  listwatch record pods -o pods.jsonl.zst         # write the traffic to a file
  listwatch replay pods.jsonl.zst --print events  # print what a controller saw
  listwatch show pods.jsonl.zst web/a             # what happened to one pod, and whose doing it was
  listwatch browse pods.jsonl.zst                 # the same on a terminal, with a cursor
  listwatch report pods.jsonl.zst -o pods.html    # plots and lanes in one page
  listwatch diff old.jsonl.zst new.jsonl.zst      # what differs between two recordings
  listwatch serve pods.jsonl.zst                  # be a cluster for kubectl
  listwatch new my-operator                       # make an operator with tests, image and manifests

`listwatch help COMMAND` has the options and more examples of each command.

Exit status:
  0  the recording was played to its end, or the watch ended as requested
  1  the command failed, or its output was not read
  2  the arguments are wrong
  3  what `diff`, `replay --against` or `audit` compared differs";

/// Kubernetes informers: watch resources of a cluster, record the watches, show, replay or serve the recording
#[derive(Parser)]
#[command(
    name = "listwatch",
    bin_name = "listwatch",
    version,
    after_help = EXAMPLES,
    arg_required_else_help = true,
    max_term_width = WIDTH,
    args_override_self = true,
)]
struct Listwatch {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    Watch(WatchOptions),
    Record(RecordOptions),
    Replay(ReplayOptions),
    Show(ShowOptions),
    Browse(BrowseOptions),
    Report(ReportOptions),
    Diff(DiffOptions),
    Serve(ServeOptions),
    Audit(AuditOptions),
    New(NewOptions),
    Completions(CompletionsOptions),
}

/// The reason for not running a command.
#[derive(Debug)]
pub(crate) enum NoCommand {
    Help(String),
    Version(String),
    /// The arguments are wrong: the reason in one line.
    Usage(String),
}

/// Reads the arguments, of which the first is the program's name.
///
/// # Errors
/// The arguments are wrong, or ask for a text.
pub(crate) fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Command, NoCommand> {
    let arguments = Vec::from_iter(arguments);
    Listwatch::try_parse_from(&arguments).map(|parsed| parsed.command).map_err(|error| match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            NoCommand::Help(error.to_string())
        }
        ErrorKind::DisplayVersion => NoCommand::Version(error.to_string()),
        _ => NoCommand::Usage(usage::message(&error, &Listwatch::command(), &arguments)),
    })
}

/// The script that completes the arguments in this shell.
pub(crate) fn completions(shell: Shell) -> Vec<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Listwatch::command(), "listwatch", &mut script);
    script
}

#[cfg(test)]
mod tests;
