//! What a tape in memory has, as a recording of its own.

use super::aged::{Aged, OpenWatch};
use super::mark::{Kept, Mark};
use super::ring::Cut;
use super::sink::in_memory;
use super::stream::Stream;
use super::writer::CaptureWriter;
use crate::capture::TapeStart;
use crate::capture::format::{End, Line, Payload, Record, RequestRecord, ResponseRecord, Text, VERSION};
use crate::capture::{Data, Note, NoteKind};
use crate::error::CaptureError;
use core::time::Duration;
use listwatch_core::request::{Query, Verb};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;

/// What the lines of a window say of what is before them.
#[derive(Default)]
struct Survey {
    /// The first request of each transport.
    next: HashMap<u64, Query>,
    with_watch_lists: BTreeSet<u64>,
    transports: HashMap<u64, u64>,
    /// The changes that caches had before the first data of a transport.
    changes: HashMap<u64, u64>,
    /// The same by a read, by the name of the list-and-watch.
    read: BTreeMap<String, u64>,
    /// What the requests are for.
    asked: BTreeSet<String>,
}

/// Writes the lines of a recording.
struct Dump<'w> {
    writer: &'w mut CaptureWriter,
    /// Whether it begins with the state of each list-and-watch. Without one, reconciles cannot be replayed.
    is_whole: bool,
    /// The time at which it begins.
    at: u64,
    next_request: u64,
    /// The requests without an end.
    open: BTreeSet<u64>,
    /// The reconciles that began in it.
    begun: BTreeSet<u64>,
    notes: u64,
}

/// The event by which a server ends a watch whose version is too old.
const EXPIRED: &[u8] = br#"{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"the recorded client listed the objects anew here","reason":"Expired","code":410}}
"#;

/// Writes a recording of `cut`. A list of each stream stands for the lines before it. Ids from `next_request` are free.
pub(super) fn write(
    cut: &Cut,
    start: TapeStart,
    next_request: u64,
    writer: &mut CaptureWriter,
) -> Result<(), CaptureError> {
    let mut survey = Survey::default();
    for segment in &cut.segments {
        in_memory(segment.each(|kept| survey.take(kept, &cut.aged)))?;
    }
    let lost = cut.aged.lost();
    let start = match &*lost {
        [] => start,
        lost => TapeStart { dumped: start.dumped.map(|cause| without_reconciles(&cause, lost)), ..start },
    };
    let started = start.started.map(|date| date + Duration::from_millis(cut.at));
    writer.write(Line::Start(VERSION, TapeStart { started, changes: survey.changes_of(&cut.aged), ..start }))?;
    let (open, begun) = (BTreeSet::new(), BTreeSet::new());
    let is_whole = lost.is_empty();
    let mut dump = Dump { is_whole, writer, at: cut.at, next_request, open, begun, notes: 0 };
    for call in cut.aged.calls.iter().filter(|call| !survey.asked.contains(&call.target)) {
        dump.call(&call.lines)?;
    }
    for (transport, stream) in &cut.aged.streams {
        dump.stream(*transport, stream, &cut.aged, &survey)?;
    }
    for segment in &cut.segments {
        let mut written = Ok(());
        in_memory(segment.each(|kept| {
            if written.is_ok() {
                written = dump.kept(kept);
            }
        }))?;
        written?;
    }
    dump.end(cut.until)
}

/// The cause of a dump that has no reconciles, and why.
fn without_reconciles(cause: &str, lost: &[&str]) -> String {
    format!("{cause}; without reconciles, because the memory is too small for the objects of {}", lost.join(", "))
}

impl Survey {
    fn take(&mut self, kept: Kept<'_>, aged: &Aged) {
        let Kept::Line(line) = kept else { return };
        match Mark::parse(line) {
            Some(Mark::Begun(begun)) => {
                self.next.entry(begun.transport).or_insert(begun.query);
                self.transports.insert(begun.id, begun.transport);
                if begun.query == Query::WatchList {
                    self.with_watch_lists.insert(begun.transport);
                }
            }
            Some(Mark::Position { id, changes }) => {
                let transport = self.transports.get(&id).copied().or_else(|| aged.transport_of(id));
                transport.into_iter().for_each(|it| _ = self.changes.entry(it).or_insert(changes));
            }
            Some(Mark::Left { .. }) => {}
            None => match Line::parse(line) {
                Ok(Line::Note(_, _, Note { kind: NoteKind::Read { at }, .. })) => {
                    at.into_iter().for_each(|(name, position)| {
                        _ = self.read.entry(name).or_insert(position.changes);
                    });
                }
                Ok(Line::Record(Record { payload: Payload::Request(request), .. })) => {
                    self.asked.insert(request.path.into_owned());
                }
                _ => {}
            },
        }
    }

    /// The changes that the caches had where the window begins. A cache that is not read and does not change needs none.
    fn changes_of(&self, aged: &Aged) -> BTreeMap<String, u64> {
        let with_state = aged.streams.iter().filter(|(_, stream)| stream.version.is_some());
        let changes = with_state.filter_map(|(transport, stream)| {
            let changes = self.changes.get(transport).or_else(|| self.read.get(&*stream.name))?;
            Some((String::from(&*stream.name), *changes))
        });
        changes.filter(|(name, _)| !name.is_empty()).collect()
    }
}

impl Dump<'_> {
    /// The exchange of a read before the window.
    fn call(&mut self, lines: &[u8]) -> Result<(), CaptureError> {
        let id = self.new_id();
        let mut rest = lines;
        core::iter::from_fn(|| Kept::take_from(&mut rest)).try_for_each(|kept| match kept {
            Kept::Data { bytes, .. } => self.data(id, bytes),
            Kept::Line(line) => match Line::parse(line) {
                Ok(Line::Record(Record { payload, .. })) => self.record(id, payload),
                _ => Ok(()),
            },
        })
    }

    /// The state of a stream, and its open watch.
    fn stream(&mut self, transport: u64, stream: &Stream, aged: &Aged, survey: &Survey) -> Result<(), CaptureError> {
        let Some(version) = stream.version else { return Ok(()) };
        let watch = aged.watch_of(transport);
        let version = version.to_string();
        let by_watch_list = stream.by_watch_list || survey.with_watch_lists.contains(&transport);
        if by_watch_list {
            let answered = watch.as_ref().filter(|watch| watch.status == Some(200));
            let id = answered.map_or_else(|| self.new_id(), |watch| watch.id);
            self.request(id, stream, Verb::Watch { resource_version: None, timeout: None, initial_events: true }, 200)?;
            self.initial_events(id, stream, &version)?;
            if let Some(watch) = answered {
                return self.go_on(watch);
            }
            if watch.is_none() && survey.lists_next(transport) {
                self.data(id, EXPIRED)?;
            }
            self.record(id, Payload::End(End::new("eof")))?;
        } else {
            let id = self.new_id();
            self.request(id, stream, Verb::List { limit: None, continue_token: None, resource_version: None }, 200)?;
            self.list(id, stream, &version)?;
            self.record(id, Payload::End(End::new("eof")))?;
        }
        let verb = Verb::Watch { resource_version: Some((&*version).into()), timeout: None, initial_events: false };
        match watch {
            Some(watch) => {
                self.request(watch.id, stream, verb, watch.status.unwrap_or_default())?;
                self.go_on(&watch)
            }
            None if survey.lists_next(transport) && !by_watch_list => {
                let id = self.new_id();
                self.request(id, stream, verb, 200)?;
                self.data(id, EXPIRED)?;
                self.record(id, Payload::End(End::new("eof")))
            }
            None => Ok(()),
        }
    }

    /// A request of a stream, and the beginning of its answer unless the status is zero.
    fn request(&mut self, id: u64, stream: &Stream, verb: Verb, status: u16) -> Result<(), CaptureError> {
        let request = stream.request(verb);
        let accept = ("accept".into(), Text(request.accept().into()));
        let (headers, hashed) = ([accept].into(), stream.hashed);
        let record = RequestRecord { headers, hashed, ..RequestRecord::new("GET", request.to_string()) };
        self.record(id, Payload::Request(record))?;
        if status == 0 {
            return Ok(());
        }
        let headers = [("content-type".into(), Text("application/json".into()))].into();
        self.record(id, Payload::Response(ResponseRecord { status, headers }))
    }

    fn list(&mut self, id: u64, stream: &Stream, version: &str) -> Result<(), CaptureError> {
        let head =
            format!(r#"{{"kind":"List","apiVersion":"v1","metadata":{{"resourceVersion":"{version}"}},"items":["#);
        self.data(id, head.as_bytes())?;
        let mut is_first = true;
        self.each(stream, |dump, text| {
            let comma = if core::mem::take(&mut is_first) { "" } else { "," };
            dump.data(id, [comma, text].concat().as_bytes())
        })?;
        self.data(id, b"]}")
    }

    fn initial_events(&mut self, id: u64, stream: &Stream, version: &str) -> Result<(), CaptureError> {
        let mut kinds = None;
        self.each(stream, |dump, text| {
            kinds.get_or_insert_with(|| crate::object::TypeMeta::in_text(text).into_owned());
            dump.data(id, format!("{{\"type\":\"ADDED\",\"object\":{text}}}\n").as_bytes())
        })?;
        let kinds = kinds.unwrap_or_default();
        let metadata = json!({ "resourceVersion": version, "annotations": { "k8s.io/initial-events-end": "true" } });
        let object = json!({ "kind": kinds.kind, "apiVersion": kinds.api_version, "metadata": metadata });
        self.data(id, format!("{{\"type\":\"BOOKMARK\",\"object\":{object}}}\n").as_bytes())
    }

    fn each(
        &mut self,
        stream: &Stream,
        mut write: impl FnMut(&mut Self, &str) -> Result<(), CaptureError>,
    ) -> Result<(), CaptureError> {
        let mut written = Ok(());
        let read = stream.each(|text| {
            written = write(self, text);
            if written.is_ok() { Ok(()) } else { Err(io::ErrorKind::Other.into()) }
        });
        written?;
        in_memory(read)
    }

    /// What an open watch told before the window, that is not in the state.
    fn go_on(&mut self, watch: &OpenWatch<'_>) -> Result<(), CaptureError> {
        if watch.has_failed {
            self.data(watch.id, EXPIRED)?;
        }
        if watch.rest.is_empty() { Ok(()) } else { self.data(watch.id, watch.rest) }
    }

    /// What was kept of the window.
    fn kept(&mut self, kept: Kept<'_>) -> Result<(), CaptureError> {
        let line = match kept {
            Kept::Data { t, id, bytes } => return self.recorded(t, id, Payload::Data(Data::new(bytes, false))),
            Kept::Line(line) => line,
        };
        if Mark::parse(line).is_some() {
            return Ok(());
        }
        match Line::parse(line) {
            Ok(Line::Record(Record { t, id, payload })) => self.recorded(t, id, payload),
            Ok(Line::Note(t, _, note)) => self.note(t, note),
            _ => Ok(()),
        }
    }

    /// A record of the window, unless its request is before it.
    fn recorded(&mut self, t: u64, id: u64, payload: Payload<'_>) -> Result<(), CaptureError> {
        let payload = match payload {
            Payload::Request(request) => {
                let by = request.by.filter(|by| self.begun.contains(by));
                Payload::Request(RequestRecord { by, ..request })
            }
            _ if !self.open.contains(&id) => return Ok(()),
            payload => payload,
        };
        self.record_at(t, id, payload)
    }

    /// A note of the window, unless its reconcile began before it.
    fn note(&mut self, t: u64, note: Note) -> Result<(), CaptureError> {
        if let NoteKind::Began { .. } = note.kind
            && self.is_whole
        {
            self.begun.insert(note.reconcile);
        }
        if !self.begun.contains(&note.reconcile) {
            return Ok(());
        }
        self.notes += 1;
        let t = self.since(t);
        self.writer.write(Line::Note(t, self.notes, note))
    }

    /// The end of the recording.
    fn end(mut self, until: u64) -> Result<(), CaptureError> {
        // A single request ends with the recording. Of several, only one has the last line.
        if self.open.len() > 1 {
            for id in core::mem::take(&mut self.open) {
                self.record_at(until, id, Payload::End(End::by_client()))?;
            }
        }
        let t = self.since(until);
        self.writer.write(Line::Finished(t))
    }

    fn data(&mut self, id: u64, bytes: &[u8]) -> Result<(), CaptureError> {
        self.record(id, Payload::Data(Data::new(bytes, false)))
    }

    fn record(&mut self, id: u64, payload: Payload<'_>) -> Result<(), CaptureError> {
        self.record_at(self.at, id, payload)
    }

    fn record_at(&mut self, t: u64, id: u64, payload: Payload<'_>) -> Result<(), CaptureError> {
        match payload {
            Payload::Request(_) => _ = self.open.insert(id),
            Payload::End(_) => _ = self.open.remove(&id),
            Payload::Response(_) | Payload::Data(_) => {}
        }
        let t = self.since(t);
        self.writer.write(Line::Record(Record { t, id, payload }))
    }

    fn since(&self, t: u64) -> u64 {
        t.saturating_sub(self.at)
    }

    fn new_id(&mut self) -> u64 {
        self.next_request += 1;
        self.next_request - 1
    }
}

impl Survey {
    /// Whether a transport begins with a list.
    fn lists_next(&self, transport: u64) -> bool {
        matches!(self.next.get(&transport), Some(Query::List | Query::WatchList))
    }
}
