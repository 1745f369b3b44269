//! Files that are the body of one response: watch logs and lists. They are checked while they are delivered.

mod event;
mod event_lines;
mod event_values;
mod list;

use crate::error::CaptureError;
use crate::file::FileCursor;
use event_lines::EventLines;
use event_values::EventValues;
use list::ListBody;
use serde::de::IgnoredAny;

pub(crate) const JSON: &str = "application/json";

/// The layout of the file.
#[derive(Clone)]
pub(crate) enum Body {
    List(ListBody),
    EventLines(EventLines),
    EventValues(EventValues),
}

impl Body {
    pub(crate) fn list() -> Self {
        Self::List(ListBody::default())
    }

    /// A watch log: one event per line if the first line is a JSON value, else events of any layout.
    pub(crate) fn watch_log(cursor: &mut FileCursor, skip_bad_lines: bool) -> Result<Self, CaptureError> {
        Ok(if begins_with_a_line(cursor)? {
            Self::EventLines(EventLines::new(skip_bad_lines))
        } else {
            Self::EventValues(EventValues::new(cursor.line_limit(), skip_bad_lines))
        })
    }

    /// The next bytes of the body; `None` at the end.
    pub(crate) fn next(&mut self, cursor: &mut FileCursor) -> Result<Option<Vec<u8>>, CaptureError> {
        match self {
            Self::List(list) => list.next(cursor),
            Self::EventLines(lines) => lines.next(cursor),
            Self::EventValues(values) => values.next(cursor),
        }
    }
}

/// Whether the first non-blank line is a whole JSON value.
fn begins_with_a_line(cursor: &mut FileCursor) -> Result<bool, CaptureError> {
    let lines = cursor.at(1)?;
    loop {
        match lines.next() {
            Ok(Some((_, line))) if line.trim_ascii().is_empty() => {}
            Ok(Some((_, line))) => return Ok(serde_json::from_slice::<IgnoredAny>(line).is_ok()),
            Ok(None) => return Ok(false),
            Err(error) if error.is_bad_line() => return Ok(false),
            Err(error) => return Err(error),
        }
    }
}
