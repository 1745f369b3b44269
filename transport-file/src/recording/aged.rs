//! The state that the lines before a window lead to: the objects of each stream, and the requests that are open.

use super::mark::{Begun, Kept, Mark};
use super::stream::Stream;
use crate::capture::format::{Line, Payload, Record, RequestRecord};
use crate::history::{BodyReader, PageEnd, Told};
use crate::memory::Memory;
use crate::object::ObjectText;
use listwatch_core::request::Query;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

/// The state up to a line. A clone shares the objects.
#[derive(Clone)]
pub(super) struct Aged {
    /// By the numbers of their transports.
    pub(super) streams: BTreeMap<u64, Stream>,
    /// By the ids of their requests.
    open: HashMap<u64, Exchange>,
    /// The request that comes next, and its transport.
    begun: Option<(u64, u64)>,
    /// The newest answers to reads of no reconcile, such as those of discovery.
    pub(super) calls: VecDeque<Answered>,
    /// Objects are kept as they came up to so many bytes, and packed beyond.
    most_plain: usize,
}

/// An open watch of a stream.
pub(super) struct OpenWatch<'a> {
    pub(super) id: u64,
    /// The status of its answer, if that has begun.
    pub(super) status: Option<u16>,
    /// Whether the server has ended it by an error.
    pub(super) has_failed: bool,
    /// The beginning of its next event.
    pub(super) rest: &'a [u8],
}

#[derive(Clone)]
enum Exchange {
    Followed(Followed),
    /// A read of no reconcile, with what was kept of it.
    Call {
        target: String,
        lines: Vec<u8>,
        is_success: bool,
    },
}

#[derive(Clone)]
struct Followed {
    stream: u64,
    query: Query,
    status: Option<u16>,
    has_failed: bool,
    /// `None` for a watch without an answer, and for a refusal.
    body: Option<Box<BodyReader>>,
}

/// A read with its answer.
#[derive(Clone)]
pub(super) struct Answered {
    pub(super) target: String,
    pub(super) lines: Arc<[u8]>,
}

/// The bytes of answered reads that are kept, and of one.
const MOST_CALLS: usize = 256 * 1024;
const LONGEST_CALL: usize = MOST_CALLS / 4;

impl Aged {
    pub(super) fn new(most_plain: usize) -> Self {
        let (streams, open, calls) = (BTreeMap::new(), HashMap::new(), VecDeque::new());
        Self { streams, open, begun: None, calls, most_plain }
    }

    /// How many bytes it holds, about.
    pub(super) fn held(&self) -> usize {
        let streams: usize = self.streams.values().map(Stream::held).sum();
        let open: usize = self.open.values().map(Exchange::held).sum();
        let calls: usize = self.calls.iter().map(|call| call.target.len() + call.lines.len()).sum();
        streams + open + calls
    }

    /// The names of the lists and watches whose state did not fit.
    pub(super) fn lost(&self) -> Vec<&str> {
        self.streams.values().filter(|stream| stream.is_lost && !stream.name.is_empty()).map(|it| &*it.name).collect()
    }

    /// Whether a list has begun and not ended.
    pub(super) fn is_listing(&self) -> bool {
        self.followed().any(|(_, it)| it.is_listing()) || self.streams.values().any(|stream| stream.pages.is_some())
    }

    /// The open watch of a stream.
    pub(super) fn watch_of(&self, transport: u64) -> Option<OpenWatch<'_>> {
        let (id, it) = self.followed().find(|(_, it)| it.stream == transport && !it.is_listing())?;
        let rest = it.body.as_ref().map_or(&[][..], |body| body.rest());
        Some(OpenWatch { id, status: it.status, has_failed: it.has_failed, rest })
    }

    fn followed(&self) -> impl Iterator<Item = (u64, &Followed)> {
        self.open.iter().filter_map(|(id, exchange)| match exchange {
            Exchange::Followed(it) => Some((*id, it)),
            Exchange::Call { .. } => None,
        })
    }

    /// The transport of an open request.
    pub(super) fn transport_of(&self, id: u64) -> Option<u64> {
        self.followed().find(|(open, _)| *open == id).map(|(_, it)| it.stream)
    }

    /// Takes what was kept next.
    pub(super) fn take(&mut self, kept: Kept<'_>) {
        match kept {
            Kept::Data { t, id, bytes } => self.data(t, id, bytes),
            Kept::Line(line) => self.line(line),
        }
    }

    fn line(&mut self, line: &[u8]) {
        match Mark::parse(line) {
            Some(Mark::Begun(begun)) => self.begin(&begun),
            Some(Mark::Position { .. }) => {}
            Some(Mark::Left { transport }) => {
                self.lose(transport);
                self.streams.remove(&transport);
            }
            None => {
                if let Ok(Line::Record(record)) = Line::parse(line) {
                    self.record(line, record);
                }
            }
        }
    }

    /// Forgets the objects of the largest streams until no more than this is held.
    pub(super) fn shed(&mut self, most: usize) {
        while self.held() > most {
            let held = self.streams.iter().map(|(transport, stream)| (stream.held(), *transport));
            let Some((_, largest)) = held.max().filter(|(held, _)| *held > 0) else { break };
            self.lose(largest);
        }
        if self.held() > most {
            self.open.clear();
            self.calls.clear();
            self.streams.values_mut().for_each(Stream::forget);
        }
    }

    fn begin(&mut self, begun: &Begun<'_>) {
        let Begun { id, transport, name, .. } = begun;
        self.begun = Some((*id, *transport));
        self.streams.entry(*transport).or_insert_with(|| Stream::new(name));
    }

    fn record(&mut self, line: &[u8], Record { id, payload, .. }: Record<'_>) {
        if let Payload::Request(request) = &payload {
            return self.request(line, id, request);
        }
        match (self.open.get_mut(&id), payload) {
            (Some(Exchange::Call { lines, is_success, .. }), payload) => {
                Kept::Line(line).write(lines);
                match payload {
                    Payload::Response(response) => *is_success = response.status == 200,
                    Payload::End(_) => self.end(id),
                    _ => {}
                }
            }
            (Some(Exchange::Followed(_)), Payload::Response(response)) => self.response(id, response.status),
            (Some(Exchange::Followed(_)), Payload::End(_)) => self.end(id),
            _ => {}
        }
    }

    fn request(&mut self, line: &[u8], id: u64, record: &RequestRecord<'_>) {
        let transport = self.begun.take().filter(|(begun, _)| *begun == id).map(|(_, transport)| transport);
        let exchange = match (transport, record.asked()) {
            (Some(transport), Some(request)) => {
                let Some(stream) = self.streams.get_mut(&transport) else { return };
                let query = request.query();
                let page = stream.pages.take().filter(|_| request.continue_token().is_some());
                let body = match query {
                    Query::List if page.is_none() => {
                        stream.begin_list();
                        Some(BodyReader::list().into())
                    }
                    Query::List => page.map(Box::new),
                    Query::Watch | Query::WatchList => None,
                };
                (stream.resource, stream.hashed) = (request.resource, record.hashed);
                Exchange::Followed(Followed { stream: transport, query, status: None, has_failed: false, body })
            }
            _ if record.method == "GET" && record.by.is_none() && !record.hashed => {
                let mut lines = Vec::new();
                Kept::Line(line).write(&mut lines);
                Exchange::Call { target: record.path.clone().into_owned(), lines, is_success: false }
            }
            _ => return,
        };
        self.open.insert(id, exchange);
    }

    fn response(&mut self, id: u64, status: u16) {
        let Some(Exchange::Followed(it)) = self.open.get_mut(&id) else { return };
        it.status = Some(status);
        match it.query {
            _ if status != 200 => it.body = None,
            Query::List => {}
            Query::Watch | Query::WatchList => {
                let is_list = it.query == Query::WatchList;
                it.body = Some(BodyReader::watch(is_list).reading(ObjectText::as_sent_or_of).into());
                if let Some(stream) = self.streams.get_mut(&it.stream).filter(|_| is_list) {
                    stream.begin_list();
                }
            }
        }
    }

    fn data(&mut self, t: u64, id: u64, bytes: &[u8]) {
        let it = match self.open.get_mut(&id) {
            Some(Exchange::Followed(it)) => it,
            Some(Exchange::Call { lines, .. }) => {
                Kept::Data { t, id, bytes }.write(lines);
                if lines.len() > LONGEST_CALL {
                    self.open.remove(&id);
                }
                return;
            }
            None => return,
        };
        let Some(body) = &mut it.body else { return };
        let (mut told, transport) = (Vec::new(), it.stream);
        if body.read(bytes, &Memory::at_most(u64::MAX), &mut told).is_err() {
            // An object over the limit: the state is not known any more.
            self.open.remove(&id);
            return self.lose(transport);
        }
        it.has_failed |= told.iter().any(|told| matches!(told, Told::Expired | Told::Failed(_)));
        let (items, by_watch_list) = (body.take_objects(), it.query == Query::WatchList);
        items.into_iter().for_each(|item| self.set(transport, item));
        told.into_iter().for_each(|told| self.on_told(transport, told, by_watch_list));
    }

    fn on_told(&mut self, transport: u64, told: Told, by_watch_list: bool) {
        let Some(stream) = self.streams.get_mut(&transport) else { return };
        match told {
            // Before its first list, and while its state is forgotten.
            Told::Set(_) | Told::Deleted(_) if stream.version.is_none() => {}
            Told::Set(object) => {
                stream.advance(object.version());
                self.set(transport, object);
            }
            Told::Deleted(object) => {
                stream.advance(object.version());
                stream.remove(object.key());
            }
            Told::Reached { version, .. } => stream.advance(version),
            Told::State { objects, version } => {
                objects.into_iter().for_each(|object| self.set(transport, object));
                if let Some(stream) = self.streams.get_mut(&transport) {
                    stream.end_list(version, by_watch_list);
                }
            }
            Told::Relisted { .. } | Told::Watching { .. } | Told::Expired | Told::Failed(_) => {}
        }
    }

    fn end(&mut self, id: u64) {
        match self.open.remove(&id) {
            Some(Exchange::Followed(Followed { stream, query: Query::List, body: Some(body), .. })) => {
                match body.end() {
                    PageEnd::Complete(told) => self.on_told(stream, told, false),
                    PageEnd::Continued(_, pages) => {
                        if let Some(stream) = self.streams.get_mut(&stream) {
                            stream.pages = Some(*pages);
                        }
                    }
                    PageEnd::Broken => {}
                }
            }
            Some(Exchange::Call { target, lines, is_success: true }) => {
                self.calls.retain(|call| call.target != target);
                self.calls.push_back(Answered { target, lines: lines.into() });
                while self.calls.iter().map(|call| call.lines.len()).sum::<usize>() > MOST_CALLS {
                    self.calls.pop_front();
                }
            }
            _ => {}
        }
    }

    /// Keeps the state of an object.
    fn set(&mut self, transport: u64, object: ObjectText) {
        let plain: usize = self.streams.values().map(Stream::plain).sum();
        let is_packed = plain + object.len() > self.most_plain;
        if let Some(stream) = self.streams.get_mut(&transport) {
            stream.set(object, is_packed);
        }
    }

    /// Forgets the state of a stream until its next list.
    fn lose(&mut self, transport: u64) {
        self.open.retain(|_, exchange| match exchange {
            Exchange::Followed(it) => it.stream != transport || !it.is_listing(),
            Exchange::Call { .. } => true,
        });
        self.streams.get_mut(&transport).into_iter().for_each(Stream::forget);
    }
}

impl Followed {
    fn is_listing(&self) -> bool {
        match self.query {
            Query::List => true,
            Query::Watch => false,
            Query::WatchList => self.body.as_ref().is_none_or(|body| !body.has_state()),
        }
    }
}

impl Exchange {
    fn held(&self) -> usize {
        match self {
            Self::Followed(it) => it.body.as_ref().map_or(0, |body| body.weight() as usize),
            Self::Call { target, lines, .. } => target.len() + lines.len(),
        }
    }
}
