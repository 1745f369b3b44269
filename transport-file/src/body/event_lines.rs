use super::event;
use crate::error::CaptureError;
use crate::file::FileCursor;

/// A watch log with one event per line.
#[derive(Clone)]
pub(crate) struct EventLines {
    /// The line to read next.
    line: u64,
    skip_bad_lines: bool,
}

impl EventLines {
    pub(crate) fn new(skip_bad_lines: bool) -> Self {
        Self { line: 1, skip_bad_lines }
    }

    pub(crate) fn next(&mut self, cursor: &mut FileCursor) -> Result<Option<Vec<u8>>, CaptureError> {
        loop {
            let line = cursor.at(self.line)?.next();
            self.line += 1;
            let event = match line {
                Ok(None) => return Ok(None),
                Ok(Some((_, line))) if line.trim_ascii().is_empty() => continue,
                Ok(Some((number, line))) => match event::check(line) {
                    Ok(()) => return Ok(Some([line, b"\n"].concat())),
                    Err(flaw) => Err(CaptureError::new(cursor.path(), Some(number), flaw.fault)),
                },
                Err(error) => Err(error),
            };
            match event {
                Err(error) if self.skip_bad_lines && error.is_bad_line() => cursor.skip_bad_line(),
                event => return event,
            }
        }
    }
}
