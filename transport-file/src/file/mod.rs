//! The file of a recording: its kind, its bytes and its lines.

mod cursor;
mod detect;
mod source;

pub(crate) use cursor::{FileCursor, LinePlace};
pub(crate) use detect::{BYTE_ORDER_MARK, FileKind, detect};
pub(crate) use source::Source;

/// The most bytes of a line of a capture or an event of a watch log, unless a playback sets another limit.
pub(crate) const LINE_LIMIT: usize = 64 * 1024 * 1024;
