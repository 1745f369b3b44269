//! A response while it is played: its parts in order, each with its delay.

use super::config::PlaybackConfig;
use super::logged_state::{Left, LoggedState};
use crate::body::{BodySurvey, JSON, ListBody, WatchEvent, WatchLog, ends_watch};
use crate::capture::format::{End, Line, Payload, Record};
use crate::capture::{Behind, Exchange, Index, LineCheck, Stage, record_head};
use crate::error::{CaptureError, CaptureErrorKind, Fault};
use crate::file::{FileCursor, LinePlace};
use crate::object::TypeMeta;
use core::time::Duration;
use listwatch_core::transport::{ResponseHead, TransportError, TransportErrorKind};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A part of a response.
#[derive(Clone, Debug)]
pub(crate) enum Part {
    Head(ResponseHead),
    Data(Chunk),
    End,
    Failed(TransportError),
    /// The recorded client aborted the request here, and listed or watched again, or not.
    GivenUp {
        went_on: bool,
    },
    /// The recording ends here, before the response.
    RecordingEnd,
    /// The recording cannot be read on.
    Broken(CaptureError),
}

/// Bytes that are consumed from the front.
#[derive(Clone, Debug)]
pub(crate) struct Chunk {
    bytes: Vec<u8>,
    used: usize,
    /// Whether the next part goes on with the same recorded chunk.
    more: bool,
}

impl Chunk {
    fn new(bytes: Vec<u8>) -> Self {
        Self { bytes, used: 0, more: false }
    }

    /// Copies as much as fits to the front of `buf`.
    pub(crate) fn read(&mut self, buf: &mut [u8]) -> usize {
        let rest = &self.bytes[self.used..];
        let len = rest.len().min(buf.len());
        buf[..len].copy_from_slice(&rest[..len]);
        self.used += len;
        len
    }

    /// The bytes that are left.
    pub(crate) fn into_bytes(mut self) -> Vec<u8> {
        self.bytes.split_off(self.used)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.used == self.bytes.len()
    }

    /// Whether the next part goes on with the same recorded chunk.
    pub(crate) fn has_more(&self) -> bool {
        self.more
    }
}

/// A response, of which one part at a time is in memory.
pub(crate) struct Answer {
    /// The parts that are known, with their delays after the request.
    next: VecDeque<(Duration, Part)>,
    rest: Rest,
}

/// The source of the parts behind the known ones.
enum Rest {
    Nothing,
    Recorded(Recorded),
    List(ListBody),
    Watch(Box<LoggedWatch>),
    State(Box<LoggedState>, Duration),
}

/// A watch of a log.
pub(crate) struct LoggedWatch {
    pub(crate) log: WatchLog,
    pub(crate) survey: Arc<BodySurvey>,
    /// The kind whose events are told; `None` for all.
    pub(crate) kind: Option<usize>,
    /// Before how many events the log lists its objects anew.
    pub(crate) until: Option<u64>,
    /// Up to how many events an error does not end the watch. How many were passed over so.
    pub(crate) patient_until: u64,
    pub(crate) passed_errors: Arc<AtomicU64>,
    /// Whether each event comes at its time.
    pub(crate) is_dated: bool,
    /// Whether the server ended the watch by its last event.
    pub(crate) is_over: bool,
}

/// The event by which a server ends a watch whose version is too old.
const EXPIRED: &[u8] = br#"{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"the recording lists the objects anew here","reason":"Expired","code":410}}
"#;

impl Answer {
    /// A recorded response. If it has no end and the recording goes on, it broke off; if not, the recording did.
    pub(crate) fn recorded(exchange: Arc<Exchange>, index: Index, config: PlaybackConfig) -> Self {
        let recorded = Recorded {
            line: exchange.place.line + 1,
            last: exchange.progress().last,
            stage: Stage::Requested,
            check: index.check(),
            at: Duration::ZERO,
            exchange,
            index,
            config,
        };
        Self { next: VecDeque::new(), rest: Rest::Recorded(recorded) }
    }

    /// A file that is a list.
    pub(crate) fn list(list: ListBody) -> Self {
        Self::of([Part::Head(success(JSON))], Rest::List(list))
    }

    /// The watch that is next in a log.
    pub(crate) fn watch_log(watch: LoggedWatch) -> Self {
        Self::of([Part::Head(success(JSON))], Rest::Watch(watch.into()))
    }

    /// The objects that a log has told of, at a time.
    pub(crate) fn state(state: LoggedState, at: Duration) -> Self {
        Self::of([Part::Head(success(JSON))], Rest::State(state.into(), at))
    }

    /// A watch that ends at once, so that a list comes next.
    pub(crate) fn expired() -> Self {
        Self::of([Part::Head(success(JSON)), Part::Data(Chunk::new(EXPIRED.to_vec())), Part::End], Rest::Nothing)
    }

    /// The response of a server that does not support watch-lists.
    pub(crate) fn unsupported_watch_list() -> Self {
        const BODY: &[u8] = br#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"sendInitialEvents is not supported","reason":"Invalid","code":422}"#;
        let head = ResponseHead { status: 422, ..success(JSON) };
        Self::of([Part::Head(head), Part::Data(Chunk::new(BODY.to_vec())), Part::End], Rest::Nothing)
    }

    /// A response that cannot be played.
    pub(crate) fn broken(error: CaptureError) -> Self {
        Self::of([Part::Broken(error)], Rest::Nothing)
    }

    fn of<const N: usize>(parts: [Part; N], rest: Rest) -> Self {
        Self { next: parts.map(|part| (Duration::ZERO, part)).into(), rest }
    }

    /// The next part, and its delay after the request.
    pub(crate) fn peek(&mut self, cursor: &mut FileCursor) -> &mut (Duration, Part) {
        if self.next.is_empty() {
            self.next.push_back(self.rest.next(cursor));
        }
        &mut self.next[0]
    }

    /// Takes the part that was peeked at.
    pub(crate) fn pop(&mut self) -> Option<Part> {
        self.next.pop_front().map(|(_, part)| part)
    }

    /// What is left of a log behind this answer.
    pub(crate) fn rest_of_log(self) -> Left {
        match self.rest {
            Rest::Watch(mut watch) => {
                for (_, part) in self.next {
                    if let Part::Data(Chunk { bytes, .. }) = part
                        && bytes != EXPIRED
                    {
                        watch.log.give_back(bytes);
                    }
                }
                Left::Rest(watch.log)
            }
            Rest::State(state, _) => state.left(),
            Rest::Nothing | Rest::Recorded(_) | Rest::List(_) => Left::Nothing,
        }
    }
}

impl Rest {
    fn next(&mut self, cursor: &mut FileCursor) -> (Duration, Part) {
        let bytes = match self {
            Self::Nothing => return (Duration::ZERO, Part::RecordingEnd),
            Self::Recorded(recorded) => {
                let part = recorded.next(cursor).unwrap_or_else(Part::Broken);
                return (recorded.at, part);
            }
            Self::List(list) => list.next(cursor),
            Self::Watch(watch) => watch.next(cursor),
            Self::State(state, _) => state.next(cursor),
        };
        let part = match bytes {
            Ok(bytes) => bytes.map_or(Part::End, |bytes| Part::Data(Chunk::new(bytes))),
            Err(error) => Part::Broken(error),
        };
        let at = match self {
            Self::Watch(watch) if watch.is_dated => watch.survey.time(watch.log.events()),
            Self::State(_, at) => *at,
            _ => Duration::ZERO,
        };
        (at, part)
    }
}

impl LoggedWatch {
    /// The next event; `None` at the end of the watch.
    fn next(&mut self, cursor: &mut FileCursor) -> Result<Option<Vec<u8>>, CaptureError> {
        loop {
            if self.is_over {
                return Ok(None);
            }
            if self.until.is_some_and(|until| until <= self.log.events()) {
                self.is_over = true;
                return Ok(Some(EXPIRED.to_vec()));
            }
            let Some(event) = self.log.next_event(cursor)? else {
                return self.survey.fault.clone().map_or(Ok(None), Err);
            };
            let is_error = ends_watch(&event);
            if is_error && self.log.events() < self.patient_until {
                self.passed_errors.fetch_add(1, Ordering::Relaxed);
                continue;
            }
            self.is_over = is_error;
            if self.is_over || self.is_told(&event) {
                return Ok(Some(event));
            }
        }
    }

    /// Whether an event is of the kind. One that cannot be read is.
    fn is_told(&self, event: &[u8]) -> bool {
        let Some(kind) = self.kind else { return true };
        let type_meta = WatchEvent::checked(event).map(|event| TypeMeta::in_text(event.object));
        type_meta.and_then(|type_meta| self.survey.kind_of(&type_meta)).is_none_or(|of| of == kind)
    }
}

/// A response of a capture, read record by record.
struct Recorded {
    exchange: Arc<Exchange>,
    index: Index,
    /// The line to read next.
    line: u64,
    /// The line of the last record that is known.
    last: u64,
    stage: Stage,
    check: LineCheck,
    /// The delay of the newest record after the request.
    at: Duration,
    config: PlaybackConfig,
}

impl Recorded {
    fn next(&mut self, cursor: &mut FileCursor) -> Result<Part, CaptureError> {
        loop {
            while self.line <= self.last {
                let place = self.exchange.place.before(self.line);
                self.line += 1;
                match self.read(place, cursor) {
                    Ok(None) => {}
                    Ok(Some(part)) => return Ok(part),
                    Err(error) if self.config.skip_bad_lines && error.is_bad_line() => {}
                    Err(error) => return Err(error),
                }
            }
            let last = self.index.await_record(&self.exchange, self.last).last;
            if last <= self.last {
                return Ok(self.broken_off());
            }
            self.last = last;
        }
    }

    /// The part in a line, if the line belongs to this response.
    fn read(&mut self, place: LinePlace, cursor: &mut FileCursor) -> Result<Option<Part>, CaptureError> {
        let path = cursor.path().clone();
        match cursor.line(place)? {
            Some((number, line)) => self.part(line).map_err(|fault| CaptureError::new(&path, Some(number), fault)),
            None => Err(CaptureError::new(&path, None, shortened())),
        }
    }

    fn part(&mut self, line: &[u8]) -> Result<Option<Part>, Fault> {
        if line.trim_ascii().is_empty() || record_head(line).is_some_and(|(_, id, _)| id != self.exchange.id) {
            return Ok(None);
        }
        self.check.whole(line)?;
        let Line::Record(Record { t, id, payload }) = Line::parse(line)? else { return Ok(None) };
        if id != self.exchange.id {
            return Ok(None);
        }
        let before = self.stage;
        self.stage = before.after(&payload)?;
        self.at = self.delay(t);
        Ok(match payload {
            Payload::Request(_) => None,
            Payload::Response(response) => Some(Part::Head(response.head())),
            Payload::Data(data) if data.is_empty() => None,
            Payload::Data(data) => Some(Part::Data(Chunk { more: data.more, ..Chunk::new(data.into_bytes()) })),
            Payload::End(End { by_client: true, .. }) => Some(self.given_up()),
            Payload::End(end) => Some(ending(before, &end.how)),
        })
    }

    /// The part for a response without an end.
    fn broken_off(&mut self) -> Part {
        let behind = self.index.behind(&self.exchange, self.last);
        if let Behind::Others { until } = behind {
            // The recorded client read on as long as the recording went on.
            self.at = self.at.max(self.delay(until));
        }
        match behind {
            Behind::Nothing => Part::RecordingEnd,
            Behind::SameResource | Behind::Others { .. } => {
                broken_off(TransportErrorKind::Reset, "no end was recorded")
            }
        }
    }

    /// The part for a request that the recorded client aborted.
    fn given_up(&self) -> Part {
        let went_on = self.index.behind(&self.exchange, self.line - 1) == Behind::SameResource;
        Part::GivenUp { went_on }
    }

    /// The delay of a time of the recording after the request.
    fn delay(&self, t: u64) -> Duration {
        let sent = Duration::from_millis(self.exchange.sent).max(self.config.from);
        let sent = if self.config.is_dated() { self.config.from } else { sent };
        Duration::from_millis(t).saturating_sub(sent)
    }
}

/// The part for an `end` at this stage.
pub(super) fn ending(stage: Stage, end: &str) -> Part {
    match (stage, end) {
        (Stage::Answered, "eof") => Part::End,
        (Stage::Answered, _) => broken_off(kind(end).unwrap_or(TransportErrorKind::Reset), end),
        _ if end.to_ascii_lowercase().contains("refused") => broken_off(TransportErrorKind::Refused, end),
        _ => broken_off(kind(end).unwrap_or(TransportErrorKind::Other), end),
    }
}

/// The kind of error with this text.
fn kind(end: &str) -> Option<TransportErrorKind> {
    TransportErrorKind::ALL.into_iter().find(|kind| end.starts_with(&kind.to_string()))
}

fn broken_off(kind: TransportErrorKind, end: &str) -> Part {
    Part::Failed(TransportError::new(kind, format!("recorded: {end}")))
}

/// The error for a client that waited in vain.
pub(crate) fn timed_out() -> TransportError {
    TransportError::new(TransportErrorKind::Timeout, "recorded: aborted by the client")
}

fn shortened() -> Fault {
    Fault::new(CaptureErrorKind::Io, "the file became shorter while it was played; play a copy")
}

fn success(content_type: &str) -> ResponseHead {
    ResponseHead { status: 200, retry_after: None, content_type: Some(content_type.into()) }
}
