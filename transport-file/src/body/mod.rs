//! A file that is the body of one answer, checked on its way out.

use crate::error::CaptureError;
use crate::event;
use crate::list::ListBody;
use crate::tape::Tape;
use crate::values::EventValues;
use listwatch_core::framing::CONCATENATED_JSON;
use serde::de::IgnoredAny;

pub(crate) const JSON: &str = "application/json";

/// What the file is.
pub(crate) enum Body {
    List(ListBody),
    EventLines(EventLines),
    EventValues(EventValues),
}

impl Body {
    pub(crate) fn list() -> Self {
        Self::List(ListBody::default())
    }

    /// A watch log. It has one event a line if the first line is one, and else events of any layout.
    pub(crate) fn watch_log(tape: &mut Tape, skip_bad_lines: bool) -> Result<Self, CaptureError> {
        Ok(if begins_with_a_line(tape)? {
            Self::EventLines(EventLines { line: 1, skip_bad_lines })
        } else {
            Self::EventValues(EventValues::new(tape.line_limit(), skip_bad_lines))
        })
    }

    pub(crate) fn content_type(&self) -> &'static str {
        match self {
            Self::List(_) | Self::EventLines(_) => JSON,
            Self::EventValues(_) => CONCATENATED_JSON,
        }
    }

    /// What comes next; `None` at the end.
    pub(crate) fn next(&mut self, tape: &mut Tape) -> Result<Option<Vec<u8>>, CaptureError> {
        match self {
            Self::List(list) => list.next(tape),
            Self::EventLines(lines) => lines.next(tape),
            Self::EventValues(values) => values.next(tape),
        }
    }
}

/// Whether the first line that is not blank is a JSON value by itself.
fn begins_with_a_line(tape: &mut Tape) -> Result<bool, CaptureError> {
    let lines = tape.at(1)?;
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

/// A watch log with one event a line.
pub(crate) struct EventLines {
    /// The line to read next.
    line: u64,
    skip_bad_lines: bool,
}

impl EventLines {
    fn next(&mut self, tape: &mut Tape) -> Result<Option<Vec<u8>>, CaptureError> {
        loop {
            let line = tape.at(self.line)?.next();
            self.line += 1;
            let event = match line {
                Ok(None) => return Ok(None),
                Ok(Some((_, line))) if line.trim_ascii().is_empty() => continue,
                Ok(Some((number, line))) => match event::check(line) {
                    Ok(()) => return Ok(Some([line, b"\n"].concat())),
                    Err(flaw) => Err(CaptureError::new(tape.path(), Some(number), flaw.fault)),
                },
                Err(error) => Err(error),
            };
            match event {
                Err(error) if self.skip_bad_lines && error.is_bad_line() => tape.pass_over(),
                event => return event,
            }
        }
    }
}
