use super::event::{EventFault, check, is_beginning, line_ends};
use crate::error::{CaptureError, CaptureErrorKind, Fault};
use crate::file::FileCursor;
use listwatch_core::framing::{Frame, Framer, Framing};
use memchr::memchr;
use std::io::BufRead;

/// The length in bytes from which an unfinished event is checked, each time that it doubles. A truncated event would
/// otherwise swallow those behind it.
const PROBE: usize = 64 * 1024;

/// A watch log of concatenated JSON in any layout. It holds at most one event that is read and not delivered.
#[derive(Clone)]
pub(crate) struct EventValues {
    bytes: Vec<u8>,
    /// The offset of the next event in `bytes`.
    start: usize,
    /// The line of that offset, from one.
    line: u64,
    limit: usize,
    skip_bad_lines: bool,
}

impl EventValues {
    pub(crate) fn new(limit: usize, skip_bad_lines: bool) -> Self {
        Self { bytes: Vec::new(), start: 0, line: 1, limit, skip_bad_lines }
    }

    /// The next event; `None` at the end.
    pub(crate) fn next(&mut self, cursor: &mut FileCursor) -> Result<Option<Vec<u8>>, CaptureError> {
        while self.skip_space(cursor)? {
            let whole = self.find_end(cursor)?;
            let rest = self.rest();
            let text = whole.map_or(rest, |len| &rest[..len]);
            let EventFault { lines_before, fault } = match self.judge(text, whole.is_some()) {
                Ok(()) => {
                    let event = [text, b"\n"].concat();
                    self.advance(event.len() - 1);
                    return Ok(Some(event));
                }
                Err(flaw) => flaw,
            };
            if !self.skip_bad_lines {
                return Err(CaptureError::new(cursor.path(), Some(self.line + lines_before), fault));
            }
            cursor.skip_bad_line();
            match whole {
                Some(len) if fault.kind != CaptureErrorKind::Garbled => self.advance(len),
                _ => self.skip_to_event(cursor)?,
            }
        }
        Ok(None)
    }

    /// Checks an event, or the beginning of one that does not end.
    fn judge(&self, text: &[u8], whole: bool) -> Result<(), EventFault> {
        let too_long = text.len() > self.limit;
        if !whole && !too_long && is_beginning(text) {
            let what = format!("the file ends within the event that begins in line {}", self.line);
            let fault = Fault::new(CaptureErrorKind::Garbled, what + "; correct or delete it, or skip bad lines");
            return Err(EventFault { lines_before: line_ends(&text[..text.len() - 1]), fault });
        }
        if too_long && (whole || is_beginning(text)) {
            return Err(EventFault { lines_before: 0, fault: Fault::too_long("event", self.limit) });
        }
        check(text)
    }

    /// The length of the next event; `None` if it is garbled or too long, or if the file ends before it.
    fn find_end(&mut self, cursor: &mut FileCursor) -> Result<Option<usize>, CaptureError> {
        let (mut framer, mut probe) = (Framer::new(Framing::Values, usize::MAX), PROBE);
        loop {
            let len = self.rest().len();
            if let Some(Frame::Value(value)) = framer.next_frame(self.rest()) {
                return Ok(Some(value.len()));
            }
            if len > self.limit || (len > probe && !is_beginning(self.rest())) {
                return Ok(None);
            }
            if len > probe {
                probe = len * 2;
            }
            if !self.fill(cursor)? {
                return Ok(None);
            }
        }
    }

    /// Skips white space; `false` at the end of the file.
    fn skip_space(&mut self, cursor: &mut FileCursor) -> Result<bool, CaptureError> {
        loop {
            let blank = self.rest().iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            self.advance(blank);
            if !self.rest().is_empty() {
                return Ok(true);
            }
            if !self.fill(cursor)? {
                return Ok(false);
            }
        }
    }

    /// Skips to the next line that begins with an unindented `{`. Lines within an event are indented.
    fn skip_to_event(&mut self, cursor: &mut FileCursor) -> Result<(), CaptureError> {
        loop {
            self.skip_line(cursor)?;
            if self.rest().is_empty() && !self.fill(cursor)? {
                return Ok(());
            }
            if self.rest().first() == Some(&b'{') {
                return Ok(());
            }
        }
    }

    fn skip_line(&mut self, cursor: &mut FileCursor) -> Result<(), CaptureError> {
        loop {
            if let Some(end) = memchr(b'\n', self.rest()) {
                self.advance(end + 1);
                return Ok(());
            }
            self.advance(self.rest().len());
            if !self.fill(cursor)? {
                return Ok(());
            }
        }
    }

    fn rest(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    fn advance(&mut self, len: usize) {
        self.line += line_ends(&self.rest()[..len]);
        self.start += len;
    }

    /// Reads more; `false` at the end of the file.
    fn fill(&mut self, cursor: &mut FileCursor) -> Result<bool, CaptureError> {
        self.bytes.drain(..self.start);
        self.start = 0;
        let source = cursor.at(1)?.source();
        let read = match source.fill_buf() {
            Ok(bytes) => bytes,
            Err(error) => return Err(source.error(Some(self.line), &error)),
        };
        self.bytes.extend_from_slice(read);
        let len = read.len();
        source.consume(len);
        Ok(len > 0)
    }
}
