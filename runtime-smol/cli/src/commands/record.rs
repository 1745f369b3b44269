//! `listwatch record`.

use super::follow::{Outputs, Recording, follow};
use crate::arguments::RecordOptions;
use crate::error::CommandError;
use crate::output::printer::Form;

/// Follows resources and records the traffic until the end is requested.
///
/// # Errors
/// A resource cannot be followed, recorded or printed.
pub(super) fn record(options: &RecordOptions) -> Result<(), CommandError> {
    let recording = Recording { file: &options.output, include_secrets: options.include_secrets };
    follow(
        &options.follow,
        Outputs { print: options.print, form: Form::Handlers(options.format), recording: Some(recording) },
    )
}
