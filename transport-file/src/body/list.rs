use super::event::line_ends;
use super::scanner::ValueScanner;
use crate::error::{CaptureError, CaptureErrorKind, Fault};
use crate::file::FileCursor;
use std::io::BufRead;

/// A file that is a list. It is delivered buffer by buffer, and no item is kept.
#[derive(Clone, Default)]
pub(crate) struct ListBody {
    outline: ValueScanner,
    /// The number of line ends up to here.
    lines: u64,
    /// Whether a line has begun and not ended.
    within_line: bool,
}

impl ListBody {
    /// The next bytes; `None` at the end.
    pub(crate) fn next(&mut self, cursor: &mut FileCursor) -> Result<Option<Vec<u8>>, CaptureError> {
        let source = cursor.at(1)?.source();
        let bytes = match source.fill_buf() {
            Ok(bytes) => bytes,
            Err(error) => return Err(source.error(None, &error)),
        };
        let len = self.outline.follow(bytes);
        if len == 0 {
            let ended = bytes.is_empty();
            return if ended && self.outline.is_closed() { Ok(None) } else { Err(self.error(cursor, ended)) };
        }
        let bytes = bytes[..len].to_vec();
        source.consume(len);
        self.lines += line_ends(&bytes);
        self.within_line = bytes.last() != Some(&b'\n');
        Ok(Some(bytes))
    }

    fn error(&self, cursor: &FileCursor, ended: bool) -> CaptureError {
        let message = if ended {
            "the file ends within the list; save it again"
        } else {
            "there is more text behind the list; delete it"
        };
        let line = self.lines + u64::from(self.within_line || !ended);
        CaptureError::new(cursor.path(), Some(line), Fault::new(CaptureErrorKind::Garbled, message))
    }
}
