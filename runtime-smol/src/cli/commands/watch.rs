//! `listwatch watch`.

use super::follow::{Outputs, follow};
use crate::arguments::WatchOptions;
use crate::error::CommandError;

/// Follows resources until the end is requested.
///
/// # Errors
/// A resource cannot be followed or printed.
pub(super) fn watch(options: &WatchOptions) -> Result<(), CommandError> {
    follow(&options.follow, Outputs { print: Some(options.print), recording: None })
}
