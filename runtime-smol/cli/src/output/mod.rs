//! Standard output and standard error.

pub(crate) mod age;
pub(crate) mod background;
pub(crate) mod changes;
pub(crate) mod messages;
pub(crate) mod printer;
pub(crate) mod progress;
pub(crate) mod screen;
pub(crate) mod seconds;
pub(crate) mod secrets;
pub(crate) mod shown;
pub(crate) mod text;

mod date;
mod table;
mod yaml;

use std::io::{self, Write};

/// Prints a text and waits until the reader has taken it.
pub(crate) fn print(text: &[u8]) -> io::Result<()> {
    io::stdout().write_all(text)
}
