//! Lines on standard error.

use crate::plain::plain;
use std::fmt::Display;
use std::io::Write;

/// Says it, where anybody listens: standard error may be a pipe that was closed.
pub(crate) fn complain(what: impl Display) {
    let what = what.to_string();
    let _nobody_listens = writeln!(std::io::stderr(), "listwatch: {}", plain(&what));
}
