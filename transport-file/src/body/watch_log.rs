//! Watch logs: one event per line, or concatenated JSON in any layout.

use crate::error::{CaptureError, CaptureErrorKind, Fault};
use crate::file::FileCursor;
use listwatch_core::framing::{Frame, Framer, Framing};
use memchr::{memchr, memchr_iter, memmem, memrchr};
use serde::Deserialize;
use serde::de::{Error, IgnoredAny};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::BufRead;

/// A watch log that is read forward. Each event is checked, and one at a time is in memory.
#[derive(Clone)]
pub(crate) struct WatchLog {
    /// Whether an event ends with its line, and not with its last bracket.
    by_lines: bool,
    skip_bad_lines: bool,
    limit: usize,
    /// Bytes of the file. At most one event of them is not delivered.
    bytes: Vec<u8>,
    /// The offset of the next event in `bytes`, and its line, from one.
    start: usize,
    line: u64,
    /// What comes next, if it was looked at.
    ahead: Option<Result<Vec<u8>, CaptureError>>,
    /// How many events were taken.
    events: u64,
}

/// An event of a watch.
#[derive(Deserialize)]
pub(crate) struct WatchEvent<'a> {
    #[serde(borrow)]
    pub(crate) r#type: Cow<'a, str>,
    #[serde(borrow)]
    pub(crate) object: &'a RawValue,
}

/// The fault of an event.
#[derive(Debug)]
struct EventFault {
    /// The lines of the event before the bad one.
    lines_before: u64,
    fault: Fault,
}

/// The length in bytes from which an unfinished event is checked, each time that it doubles. A truncated event would
/// otherwise swallow those behind it.
const PROBE: usize = 64 * 1024;

impl WatchLog {
    /// Of one event per line, if the first line is a JSON value; else events of any layout.
    pub(crate) fn new(cursor: &mut FileCursor, skip_bad_lines: bool) -> Result<Self, CaptureError> {
        let (by_lines, limit) = (begins_with_a_line(cursor)?, cursor.line_limit());
        Ok(Self { by_lines, skip_bad_lines, limit, bytes: Vec::new(), start: 0, line: 1, ahead: None, events: 0 })
    }

    /// How many events were taken.
    pub(crate) fn events(&self) -> u64 {
        self.events
    }

    /// Whether something follows: an event, or a fault.
    pub(crate) fn has_more(&mut self, cursor: &mut FileCursor) -> bool {
        if self.ahead.is_none() {
            self.ahead = self.read(cursor).transpose();
        }
        self.ahead.is_some()
    }

    /// Takes the next event, with a line end; `None` at the end.
    pub(crate) fn next(&mut self, cursor: &mut FileCursor) -> Result<Option<Vec<u8>>, CaptureError> {
        let event = self.ahead.take().map_or_else(|| self.read(cursor), |ahead| ahead.map(Some))?;
        self.events += u64::from(event.is_some());
        Ok(event)
    }

    fn read(&mut self, cursor: &mut FileCursor) -> Result<Option<Vec<u8>>, CaptureError> {
        loop {
            match self.read_event(cursor) {
                Err(error) if self.skip_bad_lines && error.is_bad_line() => cursor.skip_bad_line(),
                event => return event,
            }
        }
    }

    /// The next event; `None` at the end. Behind a bad event, the next call finds the one behind it.
    fn read_event(&mut self, cursor: &mut FileCursor) -> Result<Option<Vec<u8>>, CaptureError> {
        if !self.skip_space(cursor)? {
            return Ok(None);
        }
        let whole = if self.by_lines { self.find_line_end(cursor) } else { self.find_end(cursor) }?;
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
        let (line, kind) = (self.line + lines_before, fault.kind);
        match whole {
            _ if !self.skip_bad_lines => {}
            Some(len) if self.by_lines || kind != CaptureErrorKind::Garbled => self.advance(len),
            None if self.by_lines => self.skip_line(cursor)?,
            _ => self.skip_to_event(cursor)?,
        }
        Err(CaptureError::new(cursor.path(), Some(line), fault))
    }

    /// Checks an event, or the beginning of one that does not end.
    fn judge(&self, text: &[u8], whole: bool) -> Result<(), EventFault> {
        let too_long = text.len() > self.limit;
        if too_long && self.by_lines {
            return Err(EventFault { lines_before: 0, fault: Fault::too_long("line", self.limit) });
        }
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

    /// The length of the next line; `None` if it is too long.
    fn find_line_end(&mut self, cursor: &mut FileCursor) -> Result<Option<usize>, CaptureError> {
        let mut searched = 0;
        loop {
            if let Some(end) = memchr(b'\n', &self.rest()[searched..]) {
                return Ok(Some(searched + end));
            }
            searched = self.rest().len();
            if searched > self.limit {
                return Ok(None);
            }
            if !self.fill(cursor)? {
                return Ok(Some(searched));
            }
        }
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
            if self.rest().is_empty() && !self.fill(cursor)? || self.rest().first() == Some(&b'{') {
                return Ok(());
            }
        }
    }

    fn skip_line(&mut self, cursor: &mut FileCursor) -> Result<(), CaptureError> {
        loop {
            let end = memchr(b'\n', self.rest());
            self.advance(end.map_or_else(|| self.rest().len(), |end| end + 1));
            if end.is_some() || !self.fill(cursor)? {
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
        let source = cursor.source()?;
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

impl<'a> WatchEvent<'a> {
    /// The event in this text; `None` if it is none.
    pub(crate) fn parse(text: &'a [u8]) -> Option<Self> {
        serde_json::from_slice(text).ok()
    }
}

/// Whether a server ended its watch by this event.
pub(crate) fn ends_watch(event: &[u8]) -> bool {
    // Few other events have the word.
    memmem::find(event, b"\"ERROR\"").is_some() && WatchEvent::parse(event).is_some_and(|event| event.r#type == "ERROR")
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

/// Checks that `text` is one watch event: a JSON object in UTF-8 with a `type` and an `object`.
fn check(text: &[u8]) -> Result<(), EventFault> {
    if let Err(error) = read_fields(text) {
        // serde_json reports the end of a line as column 0 of the next one.
        let line = error.line().saturating_sub((error.column() == 0).into());
        let lines_before = line.saturating_sub(1) as u64;
        return Err(EventFault { lines_before, fault: Fault::of_json(&error, "a watch event") });
    }
    let Err(error) = std::str::from_utf8(text) else { return Ok(()) };
    let before = &text[..error.valid_up_to()];
    let column = before.len() - memrchr(b'\n', before).map_or(0, |end| end + 1) + 1;
    let fault = Fault::of_line(CaptureErrorKind::Garbled, format_args!("not UTF-8 at column {column}"));
    Err(EventFault { lines_before: line_ends(before), fault })
}

/// Whether `text` may begin a watch event, and is not a whole one.
fn is_beginning(text: &[u8]) -> bool {
    read_fields(text).is_err_and(|error| error.is_eof())
}

/// The number of line ends in `text`.
pub(super) fn line_ends(text: &[u8]) -> u64 {
    memchr_iter(b'\n', text).count() as u64
}

#[derive(Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(field_identifier, rename_all = "lowercase")]
enum Field {
    Type,
    Object,
    #[serde(other)]
    Other,
}

/// Reads the fields of an event, without their values.
fn read_fields(text: &[u8]) -> serde_json::Result<()> {
    let fields: BTreeMap<Field, IgnoredAny> = serde_json::from_slice(text)?;
    let missing =
        [(Field::Type, "type"), (Field::Object, "object")].into_iter().find(|(it, _)| !fields.contains_key(it));
    missing.map_or(Ok(()), |(_, name)| Err(Error::missing_field(name)))
}
