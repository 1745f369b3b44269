//! The reading of a capture, line by line and in order.

use super::digest::RequestDigest;
use super::exchange::{Exchange, Progress, Sent, Stage, is_list_or_watch};
use super::format::{End, Line, Payload, Record, RequestRecord, Text};
use super::key::Key;
use super::note::TapeStart;
use super::order::Order;
use super::seal::LineCheck;
use crate::error::{CaptureError, Fault};
use crate::file::{FileCursor, Place};
use listwatch_core::Resource;
use listwatch_core::request::{Query, Request};
use memchr::memmem;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

/// A capture that is read forward, and the state that its next lines depend on.
pub(super) struct Reading {
    cursor: FileCursor,
    records: Records,
    skip_bad_lines: bool,
    /// The number of lines that were read.
    lines: u64,
    bad_lines: u64,
    is_over: bool,
    /// The error that ended the reading before the file.
    fault: Arc<OnceLock<CaptureError>>,
    /// Where the data breaks off behind a whole line.
    cut: Arc<OnceLock<CaptureError>>,
}

/// The news of a line.
#[derive(Debug)]
pub(super) enum Step {
    /// A request.
    Began(Began),
    /// A record of an exchange, or no record.
    Read,
    /// A bad line, with the number of its request, if it has one.
    Skipped(Option<u64>),
    /// The file or its good part has ended.
    Over,
}

/// A request that was read.
#[derive(Debug)]
pub(super) struct Began {
    pub(super) exchange: Arc<Exchange>,
    pub(super) keys: Keys,
    /// The resource that it lists or watches.
    pub(super) resource: Option<Resource>,
}

/// The keys by which an exchange is found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keys {
    request: Option<Key>,
    call: Option<Key>,
}

/// The records that were read.
#[derive(Default)]
struct Records {
    start: Option<TapeStart>,
    order: Order,
    /// The exchanges without an end.
    open: HashMap<u64, Arc<Exchange>>,
    /// The number of requests.
    requests: u64,
    /// The line and the time of the last record.
    last: (u64, u64),
    /// Whether some request is not found by its [`mark`](REQUEST).
    has_unmarked_requests: bool,
    check: LineCheck,
}

/// The text by which lines of requests are found. Few bodies have it.
const REQUEST: &[u8] = b"\"request\"";

impl Reading {
    pub(super) fn new(cursor: FileCursor, skip_bad_lines: bool) -> Self {
        let (records, fault, cut) = (Records::default(), Arc::default(), Arc::default());
        Self { cursor, records, skip_bad_lines, lines: 0, bad_lines: 0, is_over: false, fault, cut }
    }

    /// Reads a line.
    pub(super) fn step(&mut self) -> Step {
        if self.is_over {
            return Step::Over;
        }
        let requests = self.records.requests;
        match self.read() {
            Ok(Some(step)) => step,
            Ok(None) => self.end(None),
            Err(error) if self.skip_bad_lines && error.is_bad_line() => {
                self.bad_lines += 1;
                Step::Skipped((self.records.requests > requests).then_some(requests))
            }
            Err(error) => self.end(Some(error)),
        }
    }

    fn read(&mut self) -> Result<Option<Step>, CaptureError> {
        let lines = self.cursor.at(self.lines + 1)?;
        let place = lines.place();
        let read = match lines.next() {
            Ok(None) => return Ok(None),
            Ok(Some((_, line))) => self.records.line(place, line, !self.skip_bad_lines),
            Err(error) => {
                self.lines = lines.number();
                return Err(error);
            }
        };
        self.lines = place.line;
        read.map(Some).map_err(|fault| CaptureError::new(self.cursor.path(), Some(place.line), fault))
    }

    fn end(&mut self, fault: Option<CaptureError>) -> Step {
        self.is_over = true;
        if let Some(fault) = fault {
            self.fault.get_or_init(|| fault);
        }
        if let Some(cut) = self.cursor.cut() {
            self.cut.get_or_init(|| cut.clone());
        }
        Step::Over
    }

    /// Whether there is nothing more to read.
    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }

    /// The error that ended the reading, once there is one.
    pub(super) fn fault(&self) -> &Arc<OnceLock<CaptureError>> {
        &self.fault
    }

    /// Where the data breaks off behind a whole line, once it was read up to there.
    pub(super) fn cut(&self) -> &Arc<OnceLock<CaptureError>> {
        &self.cut
    }

    /// The first line.
    pub(super) fn start(&self) -> TapeStart {
        self.records.start.clone().unwrap_or_default()
    }

    /// What tells whether another line of the file is whole.
    pub(super) fn check(&self) -> LineCheck {
        self.records.check
    }

    pub(super) fn bad_lines(&self) -> u64 {
        self.bad_lines
    }

    /// The line and the time of the last record.
    pub(super) fn last(&self) -> (u64, u64) {
        self.records.last
    }

    /// How many bytes of lines were read.
    pub(super) fn bytes(&self) -> u64 {
        self.cursor.bytes()
    }

    /// An exchange without an end.
    pub(super) fn open(&self, id: u64) -> Option<&Arc<Exchange>> {
        self.records.open.get(&id)
    }

    /// Whether a line that was read may have a request.
    pub(super) fn may_have_request(&self, line: &[u8]) -> bool {
        self.records.has_unmarked_requests || is_marked(line)
    }
}

impl Records {
    fn line(&mut self, place: Place, line: &[u8], in_order: bool) -> Result<Step, Fault> {
        if line.trim_ascii().is_empty() {
            return Ok(Step::Read);
        }
        // Where bad lines are skipped, some may be missing.
        if in_order { self.check.next(line) } else { self.check.whole(line) }?;
        match self.order.parse(line)? {
            Line::Start(_, start) => {
                self.start = Some(start);
                Ok(Step::Read)
            }
            Line::Record(record) => {
                self.has_unmarked_requests |= matches!(record.payload, Payload::Request(_)) && !is_marked(line);
                self.record(place, &record)
            }
            Line::Note(..) | Line::Finished(_) => Ok(Step::Read),
        }
    }

    fn record(&mut self, place: Place, record: &Record<'_>) -> Result<Step, Fault> {
        let number = self.requests;
        self.requests += u64::from(matches!(record.payload, Payload::Request(_)));
        let stage = self.order.record(record.id, &record.payload)?;
        self.last = (place.line, record.t);
        if let Payload::Request(request) = &record.payload {
            let began = Began::new(&Sent { id: record.id, number, at: record.t, place }, request);
            self.open.insert(record.id, Arc::clone(&began.exchange));
            return Ok(Step::Began(began));
        }
        self.go_on(record.id, place, &record.payload, stage);
        Ok(Step::Read)
    }

    /// A further record of an open exchange.
    fn go_on(&mut self, id: u64, place: Place, payload: &Payload<'_>, stage: Stage) {
        let Some(exchange) = self.open.get(&id) else { return };
        exchange.set_progress(Progress {
            last: place.line,
            stage,
            answered: exchange.progress().answered || stage == Stage::Answered,
            given_up: matches!(payload, Payload::End(End { by_client: true, .. })),
        });
        if stage == Stage::Ended {
            self.open.remove(&id);
        }
    }
}

impl Began {
    pub(super) fn new(sent: &Sent, record: &RequestRecord<'_>) -> Self {
        let mut request = Request::parse(&record.path);
        let metadata_only = asks_for_metadata_only(record);
        if metadata_only {
            request.resource = request.resource.metadata_only();
        }
        let request = Some(request).filter(|request| is_list_or_watch(&record.method, request));
        let exchange = Exchange::new(sent, request.as_ref(), metadata_only);
        // Clients list; only informers watch.
        let is_call = matches!(exchange.query, None | Some(Query::List));
        let keys = Keys {
            request: request.as_ref().map(|request| Key::of_request(request, metadata_only)),
            call: is_call.then(|| Key::of_call(RequestDigest::recorded(record))),
        };
        Self { exchange: exchange.into(), keys, resource: request.map(|request| request.resource) }
    }
}

impl Keys {
    pub(super) fn iter(&self) -> impl Iterator<Item = Key> {
        [self.request, self.call].into_iter().flatten()
    }

    pub(super) fn contains(&self, key: Key) -> bool {
        self.iter().any(|own| own == key)
    }
}

fn is_marked(line: &[u8]) -> bool {
    memmem::find(line, REQUEST).is_some()
}

/// Whether the request asked for metadata only.
pub(crate) fn asks_for_metadata_only(sent: &RequestRecord<'_>) -> bool {
    let accept = sent.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("accept"));
    accept.is_some_and(|(_, Text(types))| types.contains("as=PartialObjectMetadata"))
}
