//! The files of a log, value by value: one in each line, or JSON in the layout of a tool.

use super::event::{Event, events_in};
use crate::error::{CaptureError, CaptureErrorKind, Fault};
use crate::file::{FileCursor, LINE_LIMIT};
use listwatch_core::framing::Scanner;
use listwatch_core::time::WallTime;
use memchr::{memchr2, memmem};
use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;

/// A file of a log, which is read forward.
pub(super) struct Records {
    cursor: FileCursor,
    /// A value that goes on in the next line, without the ends of its lines.
    begun: Vec<u8>,
    scanner: Scanner,
    /// The events of the last value that were not taken.
    events: VecDeque<Event>,
    /// The date of the last event. One without a date has the same.
    date: Option<WallTime>,
}

/// What a file has next.
pub(super) enum Entry {
    Event(Event),
    /// A value that is no event of an audit log, such as a line of another log.
    Other,
    /// A line or a value that cannot be read.
    Bad(CaptureError),
}

/// How an event begins, also behind one that was cut off.
const EVENT: &[u8] = br#"{"kind":"Event","apiVersion":"audit.k8s.io/"#;
/// The most bytes of a value of several lines, such as all entries that a tool saves as one array.
const VALUE_LIMIT: usize = 1 << 30;

impl Records {
    pub(super) fn new(path: &Arc<Path>) -> Self {
        let (begun, scanner, events) = Default::default();
        Self { cursor: FileCursor::new(Arc::clone(path), LINE_LIMIT), begun, scanner, events, date: None }
    }

    /// A fault of the line that was read last.
    pub(super) fn error(&self, fault: Fault) -> CaptureError {
        CaptureError::new(self.cursor.path(), Some(self.cursor.number()), fault).without_skipping()
    }

    /// Takes what comes next; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<Entry>, CaptureError> {
        loop {
            if let Some(mut event) = self.events.pop_front() {
                self.date = event.at.or(event.received).or(self.date);
                event.at = self.date;
                return Ok(Some(Entry::Event(event)));
            }
            let number = self.cursor.number();
            let line = match self.cursor.at(number + 1)?.next() {
                Ok(Some((_, line))) => line.trim_ascii(),
                Ok(None) if self.begun.is_empty() => return Ok(None),
                Ok(None) => {
                    self.begun.clear();
                    return Ok(Some(Entry::Bad(self.error(Fault::breaks_off("the end of the file")))));
                }
                Err(error) if error.kind() == CaptureErrorKind::TooLong => {
                    return Ok(Some(Entry::Bad(error.without_skipping())));
                }
                Err(error) => return Err(error),
            };
            let read = if self.begun.is_empty() && !matches!(line, b"{" | b"[") {
                events_of_line(line, &mut self.events)
            } else {
                let end = self.scanner.end_of_value(line);
                self.begun.extend_from_slice(&line[..end.unwrap_or(line.len())]);
                match end {
                    None if self.begun.len() > VALUE_LIMIT => {
                        (self.begun, self.scanner) = Default::default();
                        Err(Fault::too_long("value", VALUE_LIMIT))
                    }
                    None => Ok(true),
                    Some(_) => events_in(&core::mem::take(&mut self.begun), &mut self.events),
                }
            };
            // Tools save the newest event first.
            if self.events.iter().all(|event| event.at.is_some()) {
                self.events.make_contiguous().sort_by_key(|event| event.at);
            }
            match read {
                Ok(true) => {}
                Ok(false) => return Ok(Some(Entry::Other)),
                Err(fault) => return Ok(Some(Entry::Bad(self.error(fault)))),
            }
        }
    }
}

/// Adds the events of a line, in which a date may stand before the value. Returns whether it is one of an audit log.
fn events_of_line(line: &[u8], events: &mut VecDeque<Event>) -> Result<bool, Fault> {
    let start = memchr2(b'{', b'[', line).unwrap_or(line.len());
    let text = &line[start..];
    match (events_in(text, events), memmem::rfind(text, EVENT)) {
        // A server that was killed has cut an event off, and the next one stands behind it.
        (Err(fault), Some(next @ 1..)) => events_in(&text[next..], events).and(Err(fault)),
        (Err(_), _) if start > 0 => Ok(false),
        (read, _) => read.map(|is_event| is_event || line.is_empty()),
    }
}
