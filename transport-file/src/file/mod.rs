//! The file of a recording: its kind, its bytes and its lines.

mod counted;
mod cursor;
mod detect;
mod lines;
mod lookback;
mod members;
mod source;

pub(crate) use cursor::FileCursor;
pub(crate) use detect::{FileKind, detect};
pub(crate) use lines::{Lines, Place};
pub(crate) use source::Source;
