//! The index of a capture: the only part of it that stays in memory.

use super::digest::RequestDigest;
use super::exchange::{Exchange, RequestKey, Stage, is_list_or_watch, misplaced};
use super::exchanges::Exchanges;
use super::format::{End, Line, Payload, Record, RequestRecord, Text, VERSION};
use super::note::TapeStart;
use crate::error::{CaptureError, CaptureErrorKind, Fault};
use crate::file::FileCursor;
use listwatch_core::Resource;
use listwatch_core::request::{Query, Request};
use std::collections::{HashMap, VecDeque};
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The index of the exchanges that answer client requests.
#[derive(Debug, Default)]
pub(crate) struct ClientIndex {
    /// For each request, its exchanges in the order of the capture, by their positions.
    pub(crate) places: HashMap<RequestDigest, Vec<usize>>,
}

/// The exchanges of a capture, by the requests that they answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Index {
    start: TapeStart,
    exchanges: Arc<Exchanges>,
    /// The index for clients.
    client_index: Arc<ClientIndex>,
    resources: Vec<Resource>,
    /// The position of each resource in `resources`.
    numbers: HashMap<Collection, usize>,
    /// The lists and watches, by resource, kind and page.
    queues: HashMap<RequestKey, Queue>,
    /// How many exchanges are neither lists nor watches.
    others: u64,
    bad_lines: u64,
    fault: Option<CaptureError>,
}

impl Index {
    /// Reads a whole capture.
    pub(crate) fn read(cursor: &mut FileCursor, skip_bad_lines: bool) -> Result<Self, CaptureError> {
        let mut reading = Reading::default();
        let path = cursor.path().clone();
        let lines = cursor.at(1)?;
        loop {
            let read = match lines.next() {
                Ok(None) => break,
                Ok(Some((number, line))) => {
                    reading.line(number, line).map_err(|fault| CaptureError::new(&path, Some(number), fault))
                }
                Err(error) => Err(error),
            };
            match read {
                Ok(()) => {}
                Err(error) if skip_bad_lines && error.is_bad_line() => reading.index.bad_lines += 1,
                Err(error) => {
                    reading.index.fault = Some(error);
                    break;
                }
            }
        }
        let Reading { mut index, exchanges, client_index, last, .. } = reading;
        (index.exchanges, index.client_index) = (Exchanges::new(exchanges, last).into(), client_index.into());
        if index.resources.is_empty() {
            return Err(index.fault.take().unwrap_or_else(|| CaptureError::new(&path, None, index.nothing_to_play())));
        }
        Ok(index)
    }

    /// Takes the next recorded response to such a request.
    pub(crate) fn take(&mut self, request: &Request) -> Option<&Exchange> {
        let question = self.question(request)?;
        self.queues.get_mut(&question)?.take(&self.exchanges, request.resource.is_metadata_only())
    }

    /// Whether the capture has any such request.
    pub(crate) fn knows(&self, request: &Request) -> bool {
        self.question(request).is_some_and(|question| self.queues.contains_key(&question))
    }

    /// Whether the recorded client aborted such a request, and listed instead.
    pub(crate) fn turned_to_lists(&mut self, request: &Request) -> bool {
        let Some(question) = self.question(request) else { return false };
        let last = self.queues.get(&question).map(|queue| self.exchanges.get(queue.newest));
        if !last.is_some_and(|last| last.given_up && last.is_taken()) {
            return false;
        }
        let lists = self.queues.get_mut(&RequestKey { query: Query::List, ..question });
        lists.is_some_and(|queue| queue.has_left(&self.exchanges))
    }

    /// The first line.
    pub(crate) fn start(&self) -> &TapeStart {
        &self.start
    }

    /// The exchanges, which clients share.
    pub(crate) fn exchanges(&self) -> &Arc<Exchanges> {
        &self.exchanges
    }

    /// The index for clients.
    pub(crate) fn client_index(&self) -> &Arc<ClientIndex> {
        &self.client_index
    }

    /// The resources that were listed or watched, in the order of their first requests.
    pub(crate) fn resources(&self) -> &[Resource] {
        &self.resources
    }

    /// How many recorded responses of this kind were not played.
    pub(crate) fn left(&self, query: Query) -> u64 {
        self.exchanges.left(Some(query))
    }

    /// How many recorded requests are neither lists nor watches.
    pub(crate) fn others(&self) -> u64 {
        self.others
    }

    pub(crate) fn bad_lines(&self) -> u64 {
        self.bad_lines
    }

    /// The error that ended the index before the file.
    pub(crate) fn fault(&self) -> Option<&CaptureError> {
        self.fault.as_ref()
    }

    fn question(&self, request: &Request) -> Option<RequestKey> {
        let resource = *self.numbers.get(&Collection(request.resource.clone()))?;
        Some(RequestKey::new(resource, request))
    }

    fn nothing_to_play(&self) -> Fault {
        let (others, bad) = (self.others(), self.bad_lines);
        let found = format!("the capture has neither lists nor watches (other requests: {others}, bad lines: {bad})");
        Fault::new(CaptureErrorKind::NothingToPlay, format!("{found}; record a program that lists or watches"))
    }
}

/// An index under construction.
#[derive(Default)]
struct Reading {
    index: Index,
    exchanges: Vec<Exchange>,
    client_index: ClientIndex,
    /// The line and the time of the last record.
    last: (u64, u64),
    /// The position of each recorded id.
    places: HashMap<u64, usize>,
    begun: bool,
}

impl Reading {
    fn line(&mut self, number: u64, line: &[u8]) -> Result<(), Fault> {
        if line.trim_ascii().is_empty() {
            return Ok(());
        }
        let first = !std::mem::replace(&mut self.begun, true);
        match Line::parse(line)? {
            Line::Start(VERSION, start) if first => {
                self.index.start = start;
                Ok(())
            }
            Line::Start(version, _) if first => Err(unknown_version(version)),
            Line::Start(..) => Err(misplaced("the version of the capture belongs in the first line")),
            Line::Record(record) => self.record(number, &record),
            Line::Note(..) => Ok(()),
        }
    }

    fn record(&mut self, number: u64, record: &Record<'_>) -> Result<(), Fault> {
        let known = self.places.get(&record.id).map(|&place| &mut self.exchanges[place]);
        match (known, &record.payload) {
            (Some(exchange), payload) => {
                exchange.stage = exchange.stage.after(payload)?;
                exchange.answered |= exchange.stage == Stage::Answered;
                exchange.given_up |= matches!(payload, Payload::End(End { by_client: true, .. }));
                exchange.last = number;
            }
            (None, Payload::Request(request)) => self.request(number, record, request),
            (None, _) => return Err(misplaced(format_args!("a record for request {}, which is not there", record.id))),
        }
        self.last = (number, record.t);
        Ok(())
    }

    fn request(&mut self, number: u64, record: &Record<'_>, sent: &RequestRecord<'_>) {
        let mut request = Request::parse(&sent.path);
        let metadata_only = asks_for_metadata_only(sent);
        if metadata_only {
            request.resource = request.resource.metadata_only();
        }
        let place = self.exchanges.len();
        self.places.insert(record.id, place);
        let query = is_list_or_watch(&sent.method, &request).then(|| request.query());
        let resource = query.map(|_| self.enqueue(place, &request));
        self.index.others += u64::from(query.is_none());
        // Clients list; only informers watch.
        if matches!(query, None | Some(Query::List)) {
            self.client_index.places.entry(RequestDigest::recorded(sent)).or_default().push(place);
        }
        self.exchanges.push(Exchange {
            id: record.id,
            sent: record.t,
            first: number,
            last: number,
            stage: Stage::Requested,
            answered: false,
            given_up: false,
            taken: AtomicBool::new(false),
            metadata_only,
            withheld: sent.withheld,
            query,
            resource,
        });
    }

    /// Adds a list or a watch to its queue, and returns the index of the resource.
    fn enqueue(&mut self, place: usize, request: &Request) -> usize {
        let index = &mut self.index;
        let resource = *index.numbers.entry(Collection(request.resource.clone())).or_insert_with(|| {
            index.resources.push(request.resource.clone());
            index.resources.len() - 1
        });
        index
            .queues
            .entry(RequestKey::new(resource, request))
            .or_default()
            .add(place, request.resource.is_metadata_only());
        resource
    }
}

/// The exchanges of equal requests that were not played, by their positions.
#[derive(Clone, Debug, Default)]
struct Queue {
    whole: VecDeque<usize>,
    metadata_only: VecDeque<usize>,
    /// The last one that was recorded.
    newest: usize,
}

impl Queue {
    fn add(&mut self, place: usize, metadata_only: bool) {
        let form = if metadata_only { &mut self.metadata_only } else { &mut self.whole };
        form.push_back(place);
        self.newest = place;
    }

    /// Takes the first one. Metadata alone counts only if it is enough, or if no whole objects are left.
    fn take<'a>(&mut self, exchanges: &'a Exchanges, metadata_is_enough: bool) -> Option<&'a Exchange> {
        loop {
            work::step();
            let metadata_first = match (self.whole.front(), self.metadata_only.front()) {
                (Some(whole), Some(metadata)) => metadata_is_enough && metadata < whole,
                (whole, _) => whole.is_none(),
            };
            let form = if metadata_first { &mut self.metadata_only } else { &mut self.whole };
            // A client may have taken it before.
            if let Some(exchange) = exchanges.take(form.pop_front()?) {
                return Some(exchange);
            }
        }
    }

    fn has_left(&mut self, exchanges: &Exchanges) -> bool {
        for form in [&mut self.whole, &mut self.metadata_only] {
            while form.front().is_some_and(|place| exchanges.get(*place).is_taken()) {
                form.pop_front();
            }
        }
        !self.whole.is_empty() || !self.metadata_only.is_empty()
    }
}

fn unknown_version(version: u64) -> Fault {
    let message = format!("version {version} of the capture format is unknown here; use a release that reads it");
    Fault::new(CaptureErrorKind::Version, message)
}

/// Whether the request asked for metadata only.
pub(crate) fn asks_for_metadata_only(sent: &RequestRecord<'_>) -> bool {
    let accept = sent.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("accept"));
    accept.is_some_and(|(_, Text(types))| types.contains("as=PartialObjectMetadata"))
}

/// A resource that equals itself in the metadata-only form: both forms share their exchanges.
#[derive(Clone, Debug)]
struct Collection(Resource);

impl Collection {
    fn names(&self) -> (&str, Option<&str>, Option<&str>) {
        (self.0.path(), self.0.label_selector(), self.0.field_selector())
    }
}

impl PartialEq for Collection {
    fn eq(&self, other: &Self) -> bool {
        work::step();
        self.names() == other.names()
    }
}

impl Eq for Collection {}

impl Hash for Collection {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.names().hash(state);
    }
}

/// Counts the steps of a search, for tests.
mod work {
    #[cfg(test)]
    thread_local! {
        pub(super) static STEPS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
    }

    pub(super) fn step() {
        #[cfg(test)]
        STEPS.set(STEPS.get() + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write;

    /// A capture of these requests, all of which failed to connect.
    fn capture(name: &str, targets: impl Iterator<Item = String>) -> FileCursor {
        let mut lines = String::new();
        for (id, target) in targets.enumerate() {
            writeln!(lines, r#"{{"t":0,"id":{id},"request":{{"method":"GET","path":"{target}","headers":{{}}}}}}"#)
                .unwrap();
            writeln!(lines, r#"{{"t":1,"id":{id},"end":"connection refused"}}"#).unwrap();
        }
        let path = std::env::temp_dir().join(format!("listwatch-index-{name}-{}", std::process::id()));
        std::fs::write(&path, lines).unwrap();
        FileCursor::new(path.into(), usize::MAX)
    }

    /// The steps to index these requests, and to make each again.
    fn steps(name: &str, targets: impl Iterator<Item = String> + Clone) -> u64 {
        let mut cursor = capture(name, targets.clone());
        work::STEPS.set(0);
        let mut index = Index::read(&mut cursor, false).unwrap();
        for target in targets {
            let request = Request::parse(&target);
            assert!(index.take(&request).is_some_and(Exchange::is_refused), "{target}");
            assert!(index.knows(&request) && !index.turned_to_lists(&request));
        }
        std::fs::remove_file(cursor.path()).unwrap();
        assert_eq!(index.left(Query::List), 0);
        work::STEPS.get()
    }

    #[test]
    fn a_replay_looks_at_each_resource_and_at_each_failing_list_a_few_times_however_many_there_are() {
        for count in [500, 2_000] {
            let resources = steps("resources", (0..count).map(|number| format!("/api/v1/namespaces/n{number}/pods")));
            let lists = steps("lists", (0..count).map(|_| "/api/v1/pods".to_owned()));
            assert!(
                resources <= 16 * count && lists <= 16 * count,
                "{count}: {resources} for resources, {lists} for lists"
            );
        }
    }
}
