//! What can be wrong with a recording.

use serde_json::error::Category;
use std::fmt;
use std::path::{Path, PathBuf};

/// What is wrong with a recording, where, and what to do about it: one line, `FILE:LINE: what is wrong; what to do`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaptureError {
    path: PathBuf,
    line: Option<u64>,
    kind: CaptureErrorKind,
    message: Box<str>,
}

/// The kinds of trouble with a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CaptureErrorKind {
    /// The file cannot be opened, read or written.
    Io,
    /// The gzip data is damaged or breaks off.
    Gzip,
    /// There is nothing in the file.
    Empty,
    /// The file is neither a capture, nor a watch log, nor a list.
    Unrecognized,
    /// A capture in a version of the format that is not known here.
    Version,
    /// A line breaks off or is not JSON, or the file ends within an event or a list.
    Garbled,
    /// A line, or an event of a watch log, is longer than the limit.
    TooLong,
    /// A line is JSON, but not a record of a capture or not an event of a watch log.
    Record,
    /// A record that its place in the capture does not allow, such as one for a request that was never made.
    Order,
    /// A capture in which nothing was listed or watched.
    NothingToPlay,
    /// Metadata alone was recorded, and whole objects are asked for.
    MetadataOnly,
    /// A recording of Secrets that was not asked for as one.
    Secrets,
}

impl CaptureError {
    pub(crate) fn new(path: &Path, line: Option<u64>, fault: Fault) -> Self {
        Self { path: path.into(), line, kind: fault.kind, message: fault.message.into() }
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The line, counted from one; `None` where the trouble is with the file as a whole.
    #[must_use]
    pub fn line(&self) -> Option<u64> {
        self.line
    }

    /// What kind of trouble this is.
    #[must_use]
    pub fn kind(&self) -> CaptureErrorKind {
        self.kind
    }

    /// Whether going on behind the line could help: it is the line that is bad, not the file.
    pub(crate) fn is_bad_line(&self) -> bool {
        use CaptureErrorKind::{Garbled, Order, Record, TooLong};
        matches!(self.kind, Garbled | TooLong | Record | Order)
    }
}

impl fmt::Display for CaptureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.path.display())?;
        if let Some(line) = self.line {
            write!(f, "{line}:")?;
        }
        write!(f, " {}", self.message)
    }
}

impl std::error::Error for CaptureError {}

/// What is wrong, before it is known in which file and line.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) kind: CaptureErrorKind,
    pub(crate) message: String,
}

impl Fault {
    pub(crate) fn new(kind: CaptureErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    /// A fault of one line, with the advice that fits all of them.
    pub(crate) fn of_line(kind: CaptureErrorKind, message: impl fmt::Display) -> Self {
        Self::new(kind, format!("{message}; mend or delete the line, or skip bad lines"))
    }

    /// JSON that `expected` cannot be read from; the line that `error` counts is told elsewhere.
    pub(crate) fn of_json(error: &serde_json::Error, expected: &str) -> Self {
        let message = error.to_string();
        let what = message.rsplit_once(" at line ").map_or(message.as_str(), |(what, _)| what);
        let place = match error.column() {
            0 => "the end of the line".into(),
            column => format!("column {column}"),
        };
        let garbled = |message| Self::of_line(CaptureErrorKind::Garbled, message);
        match error.classify() {
            Category::Data => Self::of_line(CaptureErrorKind::Record, format_args!("not {expected}: {what}")),
            Category::Eof => garbled(format_args!("the line breaks off at {place}")),
            Category::Syntax | Category::Io => garbled(format_args!("not JSON at {place}: {what}")),
        }
    }

    /// What is longer than the limit.
    pub(crate) fn too_long(what: &str, limit: usize) -> Self {
        Self::of_line(CaptureErrorKind::TooLong, format_args!("the {what} is longer than the limit of {limit} bytes"))
    }
}
