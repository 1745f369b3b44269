//! A capture, line by line: each line as it was written, and in its place.

use super::exchange::{Stage, misplaced};
use super::format::{Line, Payload, VERSION};
use super::seal::LineCheck;
use crate::error::{CaptureError, CaptureErrorKind, Fault};
use crate::file::{FileCursor, LinePlace};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

/// A capture that is read forward. Playback, reconciles and histories read it by this, and so agree on what it holds.
pub(crate) struct Reader {
    cursor: FileCursor,
    skips_bad_lines: bool,
    bad_lines: u64,
    /// The number of the last line.
    last: u64,
    records: Records,
}

/// A line of a capture in its place.
pub(crate) struct Read<'l> {
    pub(crate) place: LinePlace,
    pub(crate) line: Line<'l>,
    /// The number of the request among all of the file, from zero; of another record, how far its exchange was before.
    pub(crate) order: Order,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Order {
    Request(u64),
    Behind(Stage),
    /// The line is no record.
    None,
}

/// What the next lines depend on.
#[derive(Default)]
struct Records {
    check: LineCheck,
    has_begun: bool,
    requests: u64,
    /// The requests without an end.
    open: HashMap<u64, Stage>,
}

/// The most requests that are open at once. Each takes some 300 bytes.
const MOST_OPEN: usize = 1 << 16;

impl Reader {
    /// Reads from the beginning. Bad lines end the reading, or are counted and skipped.
    pub(crate) fn new(path: &Arc<Path>, line_limit: usize, skips_bad_lines: bool) -> Self {
        let cursor = FileCursor::new(Arc::clone(path), line_limit).of_capture();
        Self { cursor, skips_bad_lines, bad_lines: 0, last: 0, records: Records::default() }
    }

    /// Reads the next line that is not blank; `None` at the end. A fault of `take` is one of the line.
    pub(crate) fn next<R>(
        &mut self,
        mut take: impl FnMut(Read<'_>) -> Result<R, Fault>,
    ) -> Result<Option<R>, CaptureError> {
        loop {
            let lines = self.cursor.at(self.last + 1)?;
            let place = lines.place();
            let read = match lines.next() {
                Ok(None) => return Ok(None),
                Ok(Some((_, line))) => {
                    self.last = place.line;
                    let read = self.records.line(place, line, !self.skips_bad_lines);
                    let taken = read.and_then(|read| read.map(&mut take).transpose());
                    taken.map_err(|fault| CaptureError::new(self.cursor.path(), Some(place.line), fault))
                }
                Err(error) => {
                    self.last = lines.number();
                    Err(error)
                }
            };
            match read {
                Ok(None) => {}
                Err(error) if self.skips_bad_lines && error.is_bad_line() => self.bad_lines += 1,
                read => return read,
            }
        }
    }

    /// Reads all lines.
    pub(crate) fn each(&mut self, mut take: impl FnMut(Read<'_>) -> Result<(), Fault>) -> Result<(), CaptureError> {
        while self.next(&mut take)?.is_some() {}
        Ok(())
    }

    /// Where the data breaks off behind a whole line, once it was read up to there.
    pub(crate) fn cut(&self) -> Option<&CaptureError> {
        self.cursor.cut()
    }

    /// What tells whether another line of the file is whole.
    pub(super) fn check(&self) -> LineCheck {
        self.records.check
    }

    pub(super) fn bad_lines(&self) -> u64 {
        self.bad_lines
    }

    /// How many bytes of lines were read.
    pub(super) fn bytes(&self) -> u64 {
        self.cursor.bytes()
    }

    /// The number of the last line.
    pub(crate) fn last(&self) -> u64 {
        self.last
    }
}

impl Records {
    /// Reads a line; `None` if it is blank. Where bad lines are skipped, some may be missing.
    fn line<'l>(&mut self, place: LinePlace, text: &'l [u8], in_order: bool) -> Result<Option<Read<'l>>, Fault> {
        if text.trim_ascii().is_empty() {
            return Ok(None);
        }
        if in_order { self.check.next(text) } else { self.check.whole(text) }?;
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        let line = Line::parse(text)?;
        let order = match &line {
            Line::Start(..) if !is_first => {
                return Err(misplaced("the version of the capture belongs in the first line"));
            }
            Line::Start(version, _) if !(1..=VERSION).contains(version) => return Err(unknown_version(*version)),
            Line::Record(record) => self.record(record.id, &record.payload)?,
            Line::Start(..) | Line::Note(..) | Line::Finished(_) => Order::None,
        };
        Ok(Some(Read { place, line, order }))
    }

    fn record(&mut self, id: u64, payload: &Payload<'_>) -> Result<Order, Fault> {
        if let Payload::Request(_) = payload {
            self.requests += 1;
            return self.request(id);
        }
        let Some(stage) = self.open.get_mut(&id) else {
            return Err(misplaced(format_args!("a record for request {id}, which is not open")));
        };
        let before = *stage;
        *stage = before.after(payload)?;
        if let Payload::End(_) = payload {
            self.open.remove(&id);
        }
        Ok(Order::Behind(before))
    }

    fn request(&mut self, id: u64) -> Result<Order, Fault> {
        if self.open.contains_key(&id) {
            return Err(misplaced("a second request under the same id"));
        }
        if self.open.len() == MOST_OPEN {
            let message = format!("more than {MOST_OPEN} requests are open at once");
            return Err(Fault::of_line(CaptureErrorKind::Order, message));
        }
        self.open.insert(id, Stage::Requested);
        Ok(Order::Request(self.requests - 1))
    }
}

fn unknown_version(version: u64) -> Fault {
    let message = format!("version {version} of the capture format is unknown here; use a release that reads it");
    Fault::new(CaptureErrorKind::Version, message)
}
