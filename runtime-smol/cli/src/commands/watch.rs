//! `listwatch watch`.

use super::follow::{Outputs, follow};
use crate::arguments::{Format, Output, WatchOptions};
use crate::error::CommandError;
use crate::output::printer::Form;
use std::io::IsTerminal;

/// Follows resources until the end is requested.
///
/// # Errors
/// A resource cannot be followed or printed.
pub(super) fn watch(options: &WatchOptions) -> Result<(), CommandError> {
    follow(&options.follow, Outputs { print: Some(options.print), form: form(options), recording: None })
}

/// On a terminal a table for people, elsewhere the events for programs, unless the options say otherwise.
fn form(options: &WatchOptions) -> Form {
    let objects = |output| Form::Objects { output, secrets: options.show_secrets, labels: options.show_labels };
    match (options.output, options.format) {
        (Some(output), _) => objects(output),
        (None, Some(format)) => Form::Handlers(format),
        (None, None) if options.show_labels => objects(Output::Table),
        (None, None) if std::io::stdout().is_terminal() => objects(Output::Table),
        (None, None) => Form::Handlers(Format::Table),
    }
}
