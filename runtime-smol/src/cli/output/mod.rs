//! Standard output and standard error.

pub(crate) mod background;
pub(crate) mod messages;
pub(crate) mod printer;
pub(crate) mod progress;
pub(crate) mod text;

use std::io::{self, Write};

/// Prints a text and waits until the reader has taken it.
pub(crate) fn print(text: &[u8]) -> io::Result<()> {
    io::stdout().write_all(text)
}
