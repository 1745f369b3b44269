//! The exchanges of a capture, in the order in which they begin.

use super::exchange::{Began, Exchange, Progress};
use super::format::{Line, Payload, Record};
use super::note::TapeStart;
use super::reader::{Order, Read, Reader};
use super::seal::LineCheck;
use crate::error::CaptureError;
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// A capture that is read for its exchanges.
pub(super) struct Reading {
    reader: Reader,
    records: Records,
    end: Arc<OnceLock<End>>,
}

/// The news of a line.
#[derive(Debug)]
pub(super) enum Step {
    /// A request.
    Began(Began),
    /// A record of an exchange, or no record.
    Read,
    /// The file or its good part has ended.
    Over,
}

/// The end of a reading.
#[derive(Debug, Default)]
pub(super) struct End {
    /// The error that ended the reading before the file.
    pub(super) fault: Option<CaptureError>,
    /// Where the data breaks off behind a whole line.
    pub(super) cut: Option<CaptureError>,
}

/// The records that were read.
#[derive(Default)]
struct Records {
    start: TapeStart,
    /// The exchanges without an end.
    open: HashMap<u64, Arc<Exchange>>,
    /// The line and the time of the last record.
    last: (u64, u64),
}

impl Reading {
    pub(super) fn new(path: &Arc<Path>, line_limit: usize, skip_bad_lines: bool) -> Self {
        let reader = Reader::new(path, line_limit, skip_bad_lines);
        Self { reader, records: Records::default(), end: Arc::default() }
    }

    /// Reads a line.
    pub(super) fn step(&mut self) -> Step {
        if self.is_over() {
            return Step::Over;
        }
        let fault = match self.reader.next(|read| Ok(self.records.read(read))) {
            Ok(Some(step)) => return step,
            Ok(None) => None,
            Err(error) => Some(error),
        };
        self.end.get_or_init(|| End { fault, cut: self.reader.cut().cloned() });
        Step::Over
    }

    /// Whether there is nothing more to read.
    pub(super) fn is_over(&self) -> bool {
        self.end.get().is_some()
    }

    /// How the reading ended, once it has.
    pub(super) fn end(&self) -> &Arc<OnceLock<End>> {
        &self.end
    }

    /// The first line.
    pub(super) fn start(&self) -> &TapeStart {
        &self.records.start
    }

    /// What tells whether another line of the file is whole.
    pub(super) fn check(&self) -> LineCheck {
        self.reader.check()
    }

    pub(super) fn bad_lines(&self) -> u64 {
        self.reader.bad_lines()
    }

    /// The line and the time of the last record.
    pub(super) fn last(&self) -> (u64, u64) {
        self.records.last
    }

    /// How many bytes of lines were read.
    pub(super) fn bytes(&self) -> u64 {
        self.reader.bytes()
    }

    /// The exchange as it was read first, while it has no end.
    pub(super) fn open(&self, exchange: &Exchange) -> Option<&Arc<Exchange>> {
        self.records.open.get(&exchange.id).filter(|open| open.number == exchange.number)
    }
}

impl Records {
    fn read(&mut self, Read { place, line, order }: Read<'_>) -> Step {
        let (Record { t, id, payload }, number) = match (line, order) {
            (Line::Record(record), order) => (record, order),
            (Line::Start(_, start), _) => {
                self.start = start;
                return Step::Read;
            }
            (Line::Note(..) | Line::Finished(_), _) => return Step::Read,
        };
        self.last = (place.line, t);
        match (payload, number) {
            (Payload::Request(request), Order::Request(number)) => {
                let began = Began::new(number, id, t, place, &request);
                self.open.insert(id, Arc::clone(&began.exchange));
                Step::Began(began)
            }
            (payload, Order::Behind(before)) => {
                // The reader has checked the order.
                if let (Some(exchange), Ok(stage)) = (self.open.get(&id), before.after(&payload)) {
                    exchange.set_progress(Progress { last: place.line, stage });
                    if stage.has_ended() {
                        self.open.remove(&id);
                    }
                }
                Step::Read
            }
            _ => Step::Read,
        }
    }
}
