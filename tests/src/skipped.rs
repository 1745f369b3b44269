//! What a run leaves out, because the machine lacks a program or the run is too short.

use std::fmt::Display;
use std::io::Write;

/// Tells that `test` is not run, because the machine lacks something.
///
/// # Panics
/// Where the variable `CI` is set: nothing is skipped there.
pub fn skip(test: impl Display, lack: impl Display) {
    assert!(std::env::var_os("CI").is_none(), "{test}: {lack}");
    tell(format_args!("SKIPPED: {test}: {lack}"));
}

/// Writes a line to standard error itself. A test's own output is shown only if the test fails.
pub fn tell(line: impl Display) {
    let _standard_error_is_closed = std::io::stderr().write_all(format!("\n*** {line} ***\n").as_bytes());
}
