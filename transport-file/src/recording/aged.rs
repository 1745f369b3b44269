//! The state that the lines before a window lead to: the objects of each stream, and the requests that are open.

use super::mark::{Begun, Mark};
use crate::capture::format::{Line, Payload, Record, RequestRecord};
use crate::history::{BodyReader, PageEnd, Told};
use crate::memory::{ENTRY, Memory};
use crate::object::ObjectText;
use listwatch_core::request::{Query, Request, Verb};
use listwatch_core::{Key, Resource};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io;
use std::sync::Arc;
use zstd::bulk::{Compressor, Decompressor};
use zstd::dict::EncoderDictionary;

/// The state up to a line.
#[derive(Clone)]
pub(super) struct Aged {
    /// By the numbers of their transports.
    pub(super) streams: BTreeMap<u64, Stream>,
    /// By the ids of their requests.
    open: HashMap<u64, Exchange>,
    /// The request that comes next.
    begun: Option<(u64, u64)>,
    /// The answers to reads of no reconcile, such as those of discovery, each with the lines of its exchange.
    pub(super) calls: VecDeque<Answered>,
    /// Objects are kept as they are up to so many bytes, and packed beyond.
    most_plain: usize,
    plain: usize,
    packed: usize,
}

/// A list-and-watch.
#[derive(Clone)]
pub(super) struct Stream {
    pub(super) name: Arc<str>,
    pub(super) resource: Resource,
    pub(super) hashed: bool,
    /// Whether its last state came as the initial events of a watch.
    pub(super) by_watch_list: bool,
    /// `None` while its state is not known.
    pub(super) version: Option<u64>,
    objects: HashMap<Key, Object>,
    /// Counts the lists. An object of an earlier one is gone when a list is complete.
    lists: u64,
    /// The number of the next object.
    next: u64,
    /// The list that goes on with the next page.
    pages: Option<BodyReader>,
    dictionary: Option<Arc<Dictionary>>,
}

/// What the objects of a stream are alike in: one of them.
struct Dictionary {
    text: Box<[u8]>,
    encoder: EncoderDictionary<'static>,
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
struct Object {
    /// Its place in the order in which objects came.
    number: u64,
    list: u64,
    text: Text,
}

#[derive(Clone)]
enum Text {
    Plain(Arc<ObjectText>),
    Packed { frame: Arc<[u8]>, len: usize },
}

#[derive(Clone)]
enum Exchange {
    Followed(Followed),
    Call { target: String, lines: Vec<u8>, is_success: bool },
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

#[derive(Clone)]
pub(super) struct Answered {
    target: String,
    pub(super) lines: Arc<[u8]>,
}

/// A level that takes a sixth less time than level 1, and finds what recurs in each event of an object.
pub(super) const LEVEL: i32 = -3;

/// The bytes of answered reads that are kept, and of one.
const MOST_CALLS: usize = 256 * 1024;
const LONGEST_CALL: usize = MOST_CALLS / 4;

impl Aged {
    pub(super) fn new(most_plain: usize) -> Self {
        let (streams, open, calls) = (BTreeMap::new(), HashMap::new(), VecDeque::new());
        Self { streams, open, begun: None, calls, most_plain, plain: 0, packed: 0 }
    }

    /// The same for a dump, which shares the objects.
    pub(super) fn snapshot(&self) -> Self {
        self.clone()
    }

    /// How many bytes it holds, about.
    pub(super) fn held(&self) -> usize {
        let open: usize = self.open.values().map(Exchange::held).sum();
        let calls: usize = self.calls.iter().map(|call| call.target.len() + call.lines.len()).sum();
        let pages: u64 = self.streams.values().filter_map(|it| it.pages.as_ref()).map(BodyReader::weight).sum();
        self.plain + self.packed + open + calls + pages as usize
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

    /// Takes the next line.
    pub(super) fn take(&mut self, line: &[u8]) {
        match Mark::parse(line) {
            Some(Mark::Begun(begun)) => self.begin(&begun),
            Some(Mark::Position { .. }) => {}
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
            self.streams.values_mut().for_each(|stream| stream.pages = None);
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
                lines.extend_from_slice(line);
                lines.push(b'\n');
                match payload {
                    Payload::Response(response) => *is_success = response.status == 200,
                    Payload::End(_) => self.end(id),
                    _ if lines.len() > LONGEST_CALL => _ = self.open.remove(&id),
                    _ => {}
                }
            }
            (Some(Exchange::Followed(_)), Payload::Response(response)) => self.response(id, response.status),
            (Some(Exchange::Followed(_)), Payload::Data(data)) => self.data(id, &data.bytes()),
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
                        stream.lists += 1;
                        Some(BodyReader::list().into())
                    }
                    Query::List => page.map(Box::new),
                    Query::Watch | Query::WatchList => None,
                };
                (stream.resource, stream.hashed) = (request.resource, record.hashed);
                Exchange::Followed(Followed { stream: transport, query, status: None, has_failed: false, body })
            }
            _ if record.method == "GET" && record.by.is_none() && !record.hashed => {
                let lines = [line, b"\n"].concat();
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
                it.body = Some(BodyReader::watch(is_list).into());
                self.streams.get_mut(&it.stream).iter_mut().for_each(|stream| stream.lists += u64::from(is_list));
            }
        }
    }

    fn data(&mut self, id: u64, bytes: &[u8]) {
        let Some(Exchange::Followed(it)) = self.open.get_mut(&id) else { return };
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
        let is_known = self.streams.get(&transport).is_some_and(|stream| stream.version.is_some());
        match told {
            Told::Set(_) | Told::Deleted(_) if !is_known => {}
            Told::Set(object) => {
                self.advance(transport, object.version());
                self.set(transport, object);
            }
            Told::Deleted(object) => {
                self.advance(transport, object.version());
                self.remove(transport, object.key());
            }
            Told::Reached { version, .. } => self.advance(transport, version),
            Told::State { objects, version } => {
                objects.into_iter().for_each(|object| self.set(transport, object));
                self.commit(transport, version, by_watch_list);
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

    fn advance(&mut self, transport: u64, version: u64) {
        if let Some(known) = self.streams.get_mut(&transport).and_then(|stream| stream.version.as_mut()) {
            *known = version.max(*known);
        }
    }

    /// Keeps the state of an object, also that of a list that is not complete.
    fn set(&mut self, transport: u64, object: ObjectText) {
        let is_packed = self.plain + object.text().len() > self.most_plain;
        let Some(stream) = self.streams.get_mut(&transport) else { return };
        let key = object.key().clone();
        let Ok(text) = stream.text(object, is_packed) else { return };
        *(if is_packed { &mut self.packed } else { &mut self.plain }) += text.held(&key);
        let (next, list) = (stream.next, stream.lists);
        stream.next += 1;
        match stream.objects.get_mut(&key) {
            Some(known) => {
                let before = core::mem::replace(&mut known.text, text);
                known.list = list;
                self.give_back(&key, &before);
            }
            None => _ = stream.objects.insert(key, Object { number: next, list, text }),
        }
    }

    fn remove(&mut self, transport: u64, key: &Key) {
        let gone = self.streams.get_mut(&transport).and_then(|stream| stream.objects.remove(key));
        gone.iter().for_each(|object| self.give_back(key, &object.text));
    }

    fn give_back(&mut self, key: &Key, text: &Text) {
        let place = if let Text::Plain(_) = text { &mut self.plain } else { &mut self.packed };
        *place -= text.held(key);
    }

    /// A list is complete: what it does not have is gone.
    fn commit(&mut self, transport: u64, version: u64, by_watch_list: bool) {
        let Some(stream) = self.streams.get_mut(&transport) else { return };
        (stream.version, stream.by_watch_list) = (Some(version), by_watch_list);
        let list = stream.lists;
        let gone: Vec<_> = stream.objects.extract_if(|_, object| object.list < list).collect();
        gone.iter().for_each(|(key, object)| self.give_back(key, &object.text));
    }

    /// Forgets the state of a stream until its next list.
    fn lose(&mut self, transport: u64) {
        self.open.retain(|_, exchange| match exchange {
            Exchange::Followed(it) => it.stream != transport || !it.is_listing(),
            Exchange::Call { .. } => true,
        });
        let Some(stream) = self.streams.get_mut(&transport) else { return };
        let (plain, packed) = stream.forget();
        (self.plain, self.packed) = (self.plain - plain, self.packed - packed);
    }
}

impl Stream {
    fn new(name: &str) -> Self {
        Self {
            name: name.into(),
            resource: Resource::new(""),
            hashed: false,
            by_watch_list: false,
            version: None,
            objects: HashMap::new(),
            lists: 0,
            next: 0,
            pages: None,
            dictionary: None,
        }
    }

    /// A request of it.
    pub(super) fn request(&self, verb: Verb) -> Request {
        Request { resource: self.resource.clone(), verb }
    }

    /// The texts of its objects, in the order in which they came first.
    pub(super) fn each(&self, mut take: impl FnMut(&str) -> io::Result<()>) -> io::Result<()> {
        let mut objects: Vec<_> = self.objects.values().collect();
        objects.sort_unstable_by_key(|object| object.number);
        let mut unpacker = Decompressor::with_dictionary(self.dictionary.as_ref().map_or(&[][..], |it| &it.text))?;
        objects.into_iter().try_for_each(|object| match &object.text {
            Text::Plain(object) => take(&object.with_type()),
            Text::Packed { frame, len } => {
                let text = unpacker.decompress(frame, *len)?;
                take(str::from_utf8(&text).map_err(io::Error::other)?)
            }
        })
    }

    fn text(&mut self, object: ObjectText, is_packed: bool) -> io::Result<Text> {
        if !is_packed {
            return Ok(Text::Plain(Arc::new(object)));
        }
        let text = object.with_type();
        let dictionary = self.dictionary.get_or_insert_with(|| Dictionary::of(text.as_bytes()).into());
        let frame = Compressor::with_prepared_dictionary(&dictionary.encoder)?.compress(text.as_bytes())?;
        Ok(Text::Packed { frame: frame.into(), len: text.len() })
    }

    fn held(&self) -> usize {
        self.objects.iter().map(|(key, object)| object.text.held(key)).sum()
    }

    /// Forgets its state. Returns how many bytes that was, as they were and packed.
    fn forget(&mut self) -> (usize, usize) {
        (self.version, self.pages) = (None, None);
        let (plain, packed): (Vec<_>, Vec<_>) =
            self.objects.drain().partition(|(_, object)| matches!(object.text, Text::Plain(_)));
        let [plain, packed] =
            [plain, packed].map(|of| of.iter().map(|(key, object)| object.text.held(key)).sum::<usize>());
        (plain, packed)
    }
}

impl Dictionary {
    fn of(text: &[u8]) -> Self {
        Self { text: text.into(), encoder: EncoderDictionary::copy(text, LEVEL) }
    }
}

impl Text {
    fn held(&self, key: &Key) -> usize {
        let text = match self {
            Self::Plain(object) => object.text().len(),
            Self::Packed { frame, .. } => frame.len(),
        };
        text + 2 * key.as_str().len() + size_of::<ObjectText>() + size_of::<Object>() + ENTRY as usize
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
