//! Lines on standard error.

use listwatch_runtime_smol::Printable;
use std::fmt::Display;
use std::io::Write;

/// How many characters a line has at most. Its parts are cut before, so that its end is told too.
const LONG: usize = 4096;

/// Says it, where anybody listens: standard error may be a pipe that was closed.
pub(crate) fn complain(what: impl Display) {
    let line = Printable::new(what).at_most(LONG);
    let _nobody_listens = writeln!(std::io::stderr(), "listwatch: {line}");
}
