//! Wrong arguments, reported in one line.

use super::credentials::has_credential;
use clap::Command;
use clap::error::{ContextKind, Error, ErrorKind};
use listwatch::text::Printable;
use std::error::Error as _;
use std::ffi::OsString;

/// The characters of an argument that a message shows at the most. A token is longer.
const SHOWN: usize = 48;

/// The error, the word that may be meant, and the command that prints the help.
pub(super) fn message(error: &Error, program: &Command, arguments: &[OsString]) -> String {
    let command = arguments.get(1).and_then(|name| program.find_subcommand(name));
    let help = match command {
        Some(command) => format!("`listwatch {} --help`", command.get_name()),
        None => "`listwatch --help`".to_owned(),
    };
    let hint = hint(error, command).map(|hint| format!(" ({hint})")).unwrap_or_default();
    format!("{}{hint}; see {help}", problem(error))
}

/// The error alone.
fn problem(error: &Error) -> String {
    let (argument, value) = (text(error, ContextKind::InvalidArg), shown(error, ContextKind::InvalidValue));
    match error.kind() {
        ErrorKind::UnknownArgument => format!("unexpected argument `{}`", shown(error, ContextKind::InvalidArg)),
        ErrorKind::InvalidSubcommand => format!("unknown command `{}`", shown(error, ContextKind::InvalidSubcommand)),
        ErrorKind::MissingRequiredArgument => format!("missing argument: {argument}"),
        ErrorKind::InvalidValue if value.is_empty() => format!("`{argument}` needs a value"),
        ErrorKind::InvalidValue => {
            let values = text(error, ContextKind::ValidValue);
            format!("invalid value `{value}` for `{argument}`: give one of {values}")
        }
        ErrorKind::ValueValidation => {
            let reason = error.source().map(ToString::to_string).unwrap_or_default();
            format!("invalid value `{value}` for `{argument}`: {reason}")
        }
        ErrorKind::TooManyValues => format!("`{argument}` takes no value"),
        ErrorKind::ArgumentConflict => {
            format!("`{argument}` cannot be used with `{}`", text(error, ContextKind::PriorArg))
        }
        kind => kind.to_string(),
    }
}

/// The word that may be meant.
fn hint(error: &Error, command: Option<&Command>) -> Option<String> {
    let is_replay = command.is_some_and(|command| command.get_name() == "replay");
    if is_replay && error.kind() == ErrorKind::UnknownArgument && !text(error, ContextKind::InvalidArg).starts_with('-')
    {
        return Some("for one of the recorded resources, give --resource NAME".to_owned());
    }
    let suggested = [ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand, ContextKind::SuggestedValue];
    let suggested = suggested.into_iter().map(|kind| text(error, kind)).find(|name| !name.is_empty());
    suggested.map(|name| format!("did you mean `{name}`?"))
}

/// A part of the error that holds names of ours alone.
fn text(error: &Error, kind: ContextKind) -> String {
    error.get(kind).map(ToString::to_string).unwrap_or_default()
}

/// A part of the error that the user typed. A text with a credential is left out.
fn shown(error: &Error, kind: ContextKind) -> String {
    let typed = text(error, kind);
    match has_credential(&typed) {
        true => "[redacted]".to_owned(),
        false => Printable::new(typed).at_most(SHOWN).to_string(),
    }
}
