//! A capture, line by line: each line as it was written, and in its place.

use super::exchange::{Began, Exchange, Progress, Stage, misplaced};
use super::format::{Line, Payload, Record, VERSION};
use super::note::TapeStart;
use super::seal::LineCheck;
use crate::error::{CaptureError, CaptureErrorKind, Fault};
use crate::file::{FileCursor, LinePlace};
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// A capture that is read forward. Playback, reconciles and histories read it by this, and so agree on what it holds.
pub(crate) struct Reader {
    cursor: FileCursor,
    skips_bad_lines: bool,
    bad_lines: u64,
    /// The number of the last line.
    last: u64,
    records: Records,
    end: Arc<OnceLock<End>>,
}

/// A line of a capture in its place.
pub(crate) struct Read<'l> {
    pub(crate) place: LinePlace,
    pub(crate) line: Line<'l>,
    pub(crate) order: Order,
}

/// What a line is among the records.
#[derive(Debug)]
pub(crate) enum Order {
    /// It begins an exchange.
    Request(Arc<Exchange>),
    /// It belongs to an exchange, which was at this stage before.
    Behind(Stage),
    /// It is no record.
    None,
}

/// The news of a line for a reader of exchanges.
#[derive(Debug)]
pub(super) enum Step {
    /// A request.
    Began(Began),
    /// A record of an exchange, or no record.
    Read,
    /// The file or its good part has ended.
    Over,
}

/// The end of a reading of exchanges.
#[derive(Debug, Default)]
pub(super) struct End {
    /// The error that ended the reading before the file.
    pub(super) fault: Option<CaptureError>,
    /// Where the data breaks off behind a whole line.
    pub(super) cut: Option<CaptureError>,
}

/// What the next lines depend on.
#[derive(Default)]
struct Records {
    check: LineCheck,
    has_begun: bool,
    start: TapeStart,
    /// How many requests there were, with those that are misplaced.
    requests: u64,
    /// The exchanges without an end.
    open: HashMap<u64, Arc<Exchange>>,
    /// The line and the time of the last record.
    last: (u64, u64),
}

/// The most requests that are open at once. Each takes some 300 bytes.
const MOST_OPEN: usize = 1 << 16;

impl Reader {
    /// Reads from the beginning. Bad lines end the reading, or are counted and skipped.
    pub(crate) fn new(path: &Arc<Path>, line_limit: usize, skips_bad_lines: bool) -> Self {
        let cursor = FileCursor::new(Arc::clone(path), line_limit).of_capture();
        Self { cursor, skips_bad_lines, bad_lines: 0, last: 0, records: Records::default(), end: Arc::default() }
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

    /// Reads a line for its exchange.
    pub(super) fn step(&mut self) -> Step {
        if self.is_over() {
            return Step::Over;
        }
        let fault = match self.next(|read| Ok(read.began())) {
            Ok(Some(began)) => return began.map_or(Step::Read, Step::Began),
            Ok(None) => None,
            Err(error) => Some(error),
        };
        self.end.get_or_init(|| End { fault, cut: self.cut().cloned() });
        Step::Over
    }

    /// Whether no step is left.
    pub(super) fn is_over(&self) -> bool {
        self.end.get().is_some()
    }

    /// How the steps ended, once they have.
    pub(super) fn end(&self) -> &Arc<OnceLock<End>> {
        &self.end
    }

    /// The first line.
    pub(crate) fn start(&self) -> &TapeStart {
        &self.records.start
    }

    /// The line and the time of the last record.
    pub(super) fn last_record(&self) -> (u64, u64) {
        self.records.last
    }

    /// The exchange as it was read first, while it has no end.
    pub(super) fn open(&self, exchange: &Exchange) -> Option<&Arc<Exchange>> {
        self.records.open.get(&exchange.id).filter(|open| open.number == exchange.number)
    }

    /// Where the data breaks off behind a whole line, once it was read up to there.
    pub(crate) fn cut(&self) -> Option<&CaptureError> {
        self.cursor.cut()
    }

    /// What tells whether another line of the file is whole.
    pub(super) fn check(&self) -> LineCheck {
        self.records.check
    }

    pub(crate) fn bad_lines(&self) -> u64 {
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

impl Read<'_> {
    fn began(self) -> Option<Began> {
        match (self.order, self.line) {
            (Order::Request(exchange), Line::Record(Record { payload: Payload::Request(request), .. })) => {
                Some(Began::new(exchange, &request))
            }
            _ => None,
        }
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
            Line::Start(_, start) => {
                self.start = start.clone();
                Order::None
            }
            Line::Record(record) => {
                let order = self.record(place, record)?;
                self.last = (place.line, record.t);
                order
            }
            Line::Note(..) | Line::Finished(_) => Order::None,
        };
        Ok(Some(Read { place, line, order }))
    }

    fn record(&mut self, place: LinePlace, record: &Record<'_>) -> Result<Order, Fault> {
        let (id, payload) = (record.id, &record.payload);
        if let Payload::Request(request) = payload {
            let exchange = Exchange::new(self.requests, id, record.t, place, request);
            self.requests += 1;
            return self.request(exchange.into());
        }
        let Some(exchange) = self.open.get(&id) else {
            return Err(misplaced(format_args!("a record for request {id}, which is not open")));
        };
        let before = exchange.progress().stage;
        let stage = before.after(payload)?;
        exchange.set_progress(Progress { last: place.line, stage });
        if stage.has_ended() {
            self.open.remove(&id);
        }
        Ok(Order::Behind(before))
    }

    fn request(&mut self, exchange: Arc<Exchange>) -> Result<Order, Fault> {
        if self.open.contains_key(&exchange.id) {
            return Err(misplaced("a second request under the same id"));
        }
        if self.open.len() == MOST_OPEN {
            let message = format!("more than {MOST_OPEN} requests are open at once");
            return Err(Fault::of_line(CaptureErrorKind::Order, message));
        }
        self.open.insert(exchange.id, Arc::clone(&exchange));
        Ok(Order::Request(exchange))
    }
}

fn unknown_version(version: u64) -> Fault {
    let message = format!("version {version} of the capture format is unknown here; use a release that reads it");
    Fault::new(CaptureErrorKind::Version, message)
}
