use crate::capture::format::Line;
use crate::capture::{LineCheck, Note};
use crate::error::CaptureError;
use crate::file::{FileCursor, Place};
use core::fmt;
use core::time::Duration;
use memchr::memmem::Finder;

/// The notes of a capture, each with its time since the recording began. [`Playback::notes`](crate::Playback::notes)
/// makes it.
///
/// One line of the file is in memory. An error is the last item, unless bad lines are skipped.
pub struct Notes {
    /// `None` behind the last note.
    cursor: Option<FileCursor>,
    line: u64,
    skip_bad_lines: bool,
    field: Finder<'static>,
    check: LineCheck,
}

impl Notes {
    pub(crate) fn new(cursor: Option<FileCursor>, skip_bad_lines: bool) -> Self {
        // Few bodies have this name of a field, so that most of them need no parser.
        let field = Finder::new(b"\"reconcile\":");
        Self { cursor, line: 0, skip_bad_lines, field, check: LineCheck::default() }
    }

    /// The next note of the file.
    fn read(&mut self) -> Result<Option<(Duration, Note)>, CaptureError> {
        let Some(cursor) = &mut self.cursor else { return Ok(None) };
        let path = cursor.path().clone();
        loop {
            self.line += 1;
            let Some((number, line)) = cursor.line(Place::from_start(self.line))? else { return Ok(None) };
            let checked = match (line.trim_ascii().is_empty(), self.skip_bad_lines) {
                (true, _) => continue,
                (_, true) => self.check.whole(line),
                (_, false) => self.check.next(line),
            };
            if checked.is_ok() && self.field.find(line).is_none() {
                continue;
            }
            match checked.and_then(|()| Line::parse(line)) {
                Ok(Line::Note(t, _, note)) => return Ok(Some((Duration::from_millis(t), note))),
                Ok(_) => {}
                Err(fault) => return Err(CaptureError::new(&path, Some(number), fault)),
            }
        }
    }
}

impl Iterator for Notes {
    type Item = Result<(Duration, Note), CaptureError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.read() {
                Ok(Some(note)) => return Some(Ok(note)),
                Ok(None) => self.cursor = None,
                Err(error) if self.skip_bad_lines && error.is_bad_line() => continue,
                Err(error) => {
                    self.cursor = None;
                    return Some(Err(error));
                }
            }
            return None;
        }
    }
}

impl fmt::Debug for Notes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Notes").field("line", &self.line).finish_non_exhaustive()
    }
}
