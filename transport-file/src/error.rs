use serde_json::error::Category;
use std::fmt;
use std::path::{Path, PathBuf};

/// A fault of a recording, with its place and a remedy. The message is one line, `FILE:LINE: fault; remedy`.
#[derive(Clone, PartialEq, Eq)]
pub struct CaptureError {
    path: PathBuf,
    line: Option<u64>,
    kind: CaptureErrorKind,
    message: Box<str>,
    remedy: Remedy,
}

/// What its reader can do about a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Remedy {
    /// The message says it.
    Told,
    /// Correct the line, or skip it.
    SkipLine,
    /// Correct the line. None can be skipped.
    CorrectLine,
}

/// The kinds of faults of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CaptureErrorKind {
    /// The file cannot be opened, read or written.
    Io,
    /// The compressed data is damaged or truncated.
    Compression,
    /// The file is empty.
    Empty,
    /// The file is neither a capture, nor a watch log, nor a list.
    Unrecognized,
    /// The capture has an unknown version of the format.
    Version,
    /// A line is truncated or no JSON, or the file ends within an event or a list.
    Garbled,
    /// A line of a capture is not as it was recorded, by its checksum.
    Damaged,
    /// A line, or an event of a watch log, is longer than the limit.
    TooLong,
    /// A line is JSON, but not a record of a capture or not an event of a watch log.
    Record,
    /// A record is in the wrong place, such as a response without a request, or lines are missing or out of order.
    Order,
    /// The capture contains neither lists nor watches, or the list has other kinds than the one that is requested.
    NothingToPlay,
    /// Whole objects are requested, and metadata alone was recorded.
    MetadataOnly,
    /// The recording would contain Secrets, which
    /// [`RecorderConfig::include_secrets`](crate::RecorderConfig::include_secrets) must allow.
    Secrets,
}

impl CaptureError {
    pub(crate) fn new(path: &Path, line: Option<u64>, fault: Fault) -> Self {
        Self { path: path.into(), line, kind: fault.kind, message: fault.message.into(), remedy: fault.remedy }
    }

    /// The same, for a reader that skips no lines.
    pub(crate) fn without_skipping(self) -> Self {
        let remedy = if self.remedy == Remedy::SkipLine { Remedy::CorrectLine } else { self.remedy };
        Self { remedy, ..self }
    }

    /// Returns the same error, of a file with another name.
    #[must_use]
    pub fn of_file(self, path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), ..self }
    }

    /// Returns the path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the line, from one; `None` for a fault of the whole file.
    #[must_use]
    pub fn line(&self) -> Option<u64> {
        self.line
    }

    /// Returns the fault, without its place.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns the kind of the fault.
    #[must_use]
    pub fn kind(&self) -> CaptureErrorKind {
        self.kind
    }

    /// Whether only the line is bad, so that the next lines may be good.
    pub(crate) fn is_bad_line(&self) -> bool {
        use CaptureErrorKind::{Damaged, Garbled, Order, Record, TooLong};
        matches!(self.kind, Garbled | Damaged | TooLong | Record | Order)
    }
}

impl fmt::Display for CaptureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.path.display())?;
        if let Some(line) = self.line {
            write!(f, "{line}:")?;
        }
        write!(f, " {}", self.message)?;
        match self.remedy {
            Remedy::Told => Ok(()),
            Remedy::SkipLine => f.write_str("; correct or delete the line, or skip bad lines"),
            Remedy::CorrectLine => f.write_str("; correct or delete the line"),
        }
    }
}

/// As [`Display`](fmt::Display): a `main` that returns the error prints this.
impl fmt::Debug for CaptureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for CaptureError {}

/// A fault whose file and line are not known yet.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) kind: CaptureErrorKind,
    pub(crate) message: String,
    remedy: Remedy,
}

impl Fault {
    pub(crate) fn new(kind: CaptureErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), remedy: Remedy::Told }
    }

    /// A fault of one line, with the remedy for all such faults.
    pub(crate) fn of_line(kind: CaptureErrorKind, message: impl fmt::Display) -> Self {
        Self { kind, message: message.to_string(), remedy: Remedy::SkipLine }
    }

    /// The fault of JSON that is not `expected`. The line number of `error` is left out.
    pub(crate) fn of_json(error: &serde_json::Error, expected: &str) -> Self {
        let message = error.to_string();
        let what = message.rsplit_once(" at line ").map_or(message.as_str(), |(what, _)| what);
        let place = match error.column() {
            0 => "the end of the line".to_owned(),
            column => format!("column {column}"),
        };
        let garbled = |message| Self::of_line(CaptureErrorKind::Garbled, message);
        match error.classify() {
            Category::Data => Self::of_line(CaptureErrorKind::Record, format_args!("not {expected}: {what}")),
            Category::Eof => Self::breaks_off(place),
            Category::Syntax | Category::Io => garbled(format_args!("not JSON at {place}: {what}")),
        }
    }

    /// The fault of a capture that has nothing to play, by what was found; with the place where its data breaks off.
    pub(crate) fn nothing_to_play(found: impl fmt::Display, cut: Option<&CaptureError>) -> Self {
        let message = match cut {
            Some(cut) => format!("{found} before {}", cut.message),
            None => format!("{found}; record a program that lists or watches"),
        };
        Self::new(CaptureErrorKind::NothingToPlay, message)
    }

    /// The fault of a list that is not whole.
    pub(crate) fn page() -> Self {
        let message = "this is one page of a list, whose `continue` leads to the next one; save all of it by `kubectl get -o \
                       json`, or by a request without `limit`, or add the other pages to the file";
        Self::new(CaptureErrorKind::Unrecognized, message)
    }

    /// The fault of a line without an end.
    pub(crate) fn breaks_off(place: impl fmt::Display) -> Self {
        Self::of_line(CaptureErrorKind::Garbled, format_args!("the line breaks off at {place}"))
    }

    /// The fault of a line or an event that exceeds the limit.
    pub(crate) fn too_long(what: &str, limit: usize) -> Self {
        Self::of_line(CaptureErrorKind::TooLong, format_args!("the {what} is longer than the limit of {limit} bytes"))
    }
}

#[cfg(test)]
mod tests {
    use crate::Playback;

    #[test]
    fn a_main_that_returns_the_error_prints_its_message() {
        let error = Playback::from_file("/no/such/file").map(drop).unwrap_err();
        assert_eq!(format!("{error:?}"), error.to_string());
    }
}
