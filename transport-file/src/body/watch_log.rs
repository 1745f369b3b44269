//! Logs: one value per line, or concatenated JSON in any layout. A value is an event of a watch, an object, a list, or a
//! notification that `listwatch` printed. Each is told as events of a watch.

use super::marks::Marks;
use crate::error::{CaptureError, CaptureErrorKind, Fault};
use crate::fields::{plain, values};
use crate::file::{BYTE_ORDER_MARK, FileCursor};
use crate::object::TypeMeta;
use listwatch_core::Key;
use listwatch_core::framing::{Frame, Framer, Framing};
use memchr::{memchr, memchr_iter, memmem, memrchr};
use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny};
use serde_json::json;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};
use std::io::BufRead;
use std::sync::Arc;

/// A watch log that is read forward. Each event is checked, and one at a time is in memory.
#[derive(Clone)]
pub(crate) struct WatchLog {
    /// Whether an event ends with its line, and not with its last bracket.
    by_lines: bool,
    skip_bad_lines: bool,
    limit: usize,
    /// Bytes of the file. At most one event of them is not delivered.
    bytes: Vec<u8>,
    /// The offset of the next event in `bytes`, and its line, from one.
    start: usize,
    line: u64,
    /// The items of a list that were not taken, as events.
    items: VecDeque<Vec<u8>>,
    /// How many events were taken.
    events: u64,
    /// How many first events are known to be good lines.
    good: u64,
    /// How many first values were good events.
    found_good: u64,
    /// Whether all values were, and no line was bad.
    is_good: bool,
    /// Whether the last value was an object, and no event.
    is_bare: bool,
    /// The events that another watch of the same log has told before.
    twice: Arc<Marks>,
}

/// What a log tells next.
pub(crate) enum Entry {
    /// An event of a watch, with a line end.
    Event(Vec<u8>),
    /// A list, whose items are the events that follow.
    List(ListHead),
}

/// The fields around the items of a list.
pub(crate) struct ListHead {
    pub(crate) items: u64,
    /// The type of its items, if the list says it.
    pub(crate) type_meta: Option<TypeMeta<'static>>,
    /// Whether another page follows.
    pub(crate) is_page: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct List<'a> {
    #[serde(borrow, default)]
    api_version: Cow<'a, str>,
    #[serde(borrow, default)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    items: Option<Vec<&'a RawValue>>,
    #[serde(default)]
    metadata: Option<ListMetadata>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ListMetadata {
    r#continue: String,
}

/// A notification that `listwatch --format json` printed: an object without its content.
#[derive(Deserialize)]
struct Notification<'a> {
    #[serde(borrow)]
    event: Cow<'a, str>,
    #[serde(borrow)]
    key: Cow<'a, str>,
    #[serde(borrow)]
    rv: Cow<'a, str>,
}

/// What a value of a log is.
#[derive(Clone, Copy)]
enum Shape {
    Event,
    Object,
    List,
    Notification,
    /// The keys of a cache, which notifications before it have told of.
    Store,
}

/// An event of a watch.
#[derive(Deserialize)]
pub(crate) struct WatchEvent<'a> {
    #[serde(borrow)]
    pub(crate) r#type: Cow<'a, str>,
    #[serde(borrow, deserialize_with = "text_of")]
    pub(crate) object: &'a str,
}

/// The fault of an event.
#[derive(Debug)]
struct EventFault {
    /// The lines of the event before the bad one.
    lines_before: u64,
    fault: Fault,
}

/// The length in bytes from which an unfinished event is checked, each time that it doubles. A truncated event would
/// otherwise swallow those behind it.
const PROBE: usize = 64 * 1024;

/// The bytes at the beginning of a list within which its items begin.
const HEAD: usize = 4 * 1024;
/// The most bytes of a list in a log.
const LIST_LIMIT: usize = 1 << 30;

impl WatchLog {
    /// Of one event per line, if the first line is a JSON value; else events of any layout.
    pub(crate) fn new(cursor: &mut FileCursor, skip_bad_lines: bool) -> Result<Self, CaptureError> {
        let (by_lines, limit) = (begins_with_a_line(cursor)?, cursor.line_limit());
        let (bytes, items) = (Vec::new(), VecDeque::new());
        Ok(Self {
            by_lines,
            skip_bad_lines,
            limit,
            bytes,
            start: 0,
            line: 1,
            items,
            events: 0,
            good: 0,
            found_good: 0,
            is_good: true,
            is_bare: false,
            twice: Arc::default(),
        })
    }

    /// The same log, of which so many first events are known to be good lines. They are not checked again.
    pub(crate) fn with_good(self, good: u64) -> Self {
        Self { good, ..self }
    }

    /// The same log, of which these events are passed over.
    pub(crate) fn without(self, twice: Arc<Marks>) -> Self {
        Self { twice, ..self }
    }

    /// Whether the last event stands for an object that came by itself.
    pub(crate) fn is_bare(&self) -> bool {
        self.is_bare
    }

    /// How many first values were good events, each of them a line.
    pub(crate) fn good(&self) -> u64 {
        if self.by_lines { self.found_good } else { 0 }
    }

    /// How many events were taken.
    pub(crate) fn events(&self) -> u64 {
        self.events
    }

    /// Takes what comes next; `None` at the end.
    pub(crate) fn next(&mut self, cursor: &mut FileCursor) -> Result<Option<Entry>, CaptureError> {
        loop {
            let entry = match self.items.pop_front() {
                Some(event) => Some(Entry::Event(event)),
                None => self.read(cursor)?,
            };
            let is_event = matches!(entry, Some(Entry::Event(_)));
            self.events += u64::from(is_event);
            if !is_event || !self.twice.has(self.events - 1) {
                return Ok(entry);
            }
        }
    }

    /// Gives the event back that was taken last.
    pub(crate) fn give_back(&mut self, event: Vec<u8>) {
        self.items.push_front(event);
        self.events -= 1;
    }

    /// Takes the next event; `None` at the end.
    pub(crate) fn next_event(&mut self, cursor: &mut FileCursor) -> Result<Option<Vec<u8>>, CaptureError> {
        loop {
            match self.next(cursor)? {
                Some(Entry::Event(event)) => return Ok(Some(event)),
                Some(Entry::List(_)) => {}
                None => return Ok(None),
            }
        }
    }

    fn read(&mut self, cursor: &mut FileCursor) -> Result<Option<Entry>, CaptureError> {
        loop {
            match self.read_value(cursor) {
                Ok(Some((Shape::Store, _))) => self.is_good = false,
                Ok(Some((shape, text))) => return Ok(Some(self.entry(shape, text))),
                Ok(None) => return Ok(None),
                Err(error) if self.skip_bad_lines && error.is_bad_line() => {
                    self.is_good = false;
                    cursor.skip_bad_line();
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// A value as events of a watch.
    fn entry(&mut self, shape: Shape, text: Vec<u8>) -> Entry {
        self.is_good &= matches!(shape, Shape::Event);
        self.is_bare = matches!(shape, Shape::Object);
        self.found_good += u64::from(self.is_good);
        match shape {
            Shape::Event => Entry::Event(text),
            // It is not told whether the object is new.
            Shape::Object => Entry::Event([br#"{"type":"MODIFIED","object":"#, text.trim_ascii_end(), b"}\n"].concat()),
            Shape::List => serde_json::from_slice::<List<'_>>(&text)
                .map_or_else(|_| Entry::Event(text.clone()), |list| self.list(list)),
            Shape::Notification | Shape::Store => Entry::Event(told_again(&text).unwrap_or(text)),
        }
    }

    fn list(&mut self, List { api_version, kind, items, metadata }: List<'_>) -> Entry {
        let kind = kind.strip_suffix("List").unwrap_or_default();
        let type_meta = (!kind.is_empty())
            .then(|| TypeMeta { api_version: api_version.into_owned().into(), kind: kind.to_owned().into() });
        let items = items.unwrap_or_default();
        let event = |item: &&RawValue| typed_event(item.get(), type_meta.as_ref());
        self.items = items.iter().map(event).collect();
        let is_page = metadata.is_some_and(|metadata| !metadata.r#continue.is_empty());
        Entry::List(ListHead { items: items.len() as u64, type_meta, is_page })
    }

    /// The next value; `None` at the end. Behind a bad one, the next call finds the one behind it.
    fn read_value(&mut self, cursor: &mut FileCursor) -> Result<Option<(Shape, Vec<u8>)>, CaptureError> {
        if !self.skip_space(cursor)? {
            return Ok(None);
        }
        let whole = if self.by_lines { self.find_line_end(cursor) } else { self.find_end(cursor) }?;
        let rest = self.rest();
        let text = whole.map_or(rest, |len| &rest[..len]);
        let is_good = self.by_lines && self.events < self.good && whole.is_some();
        let judged = if is_good { Ok(Shape::Event) } else { self.judge(text, whole.is_some()) };
        let EventFault { lines_before, fault } = match judged {
            Ok(shape) => {
                let value = [text, b"\n"].concat();
                self.advance(value.len() - 1);
                return Ok(Some((shape, value)));
            }
            Err(flaw) => flaw,
        };
        let (line, kind) = (self.line + lines_before, fault.kind);
        match whole {
            _ if !self.skip_bad_lines => {}
            Some(len) if self.by_lines || kind != CaptureErrorKind::Garbled => self.advance(len),
            None if self.by_lines => self.skip_line(cursor)?,
            _ => self.skip_to_event(cursor)?,
        }
        Err(CaptureError::new(cursor.path(), Some(line), fault))
    }

    /// Checks a value, or the beginning of one that does not end.
    fn judge(&self, text: &[u8], whole: bool) -> Result<Shape, EventFault> {
        let too_long = text.len() > self.limit_of(text);
        if too_long && self.by_lines {
            return Err(EventFault { lines_before: 0, fault: Fault::too_long("line", self.limit) });
        }
        if !whole && !too_long && is_beginning(text) {
            let what = format!("the file ends within the event that begins in line {}", self.line);
            let fault = Fault::new(CaptureErrorKind::Garbled, what + "; correct or delete it, or skip bad lines");
            return Err(EventFault { lines_before: line_ends(&text[..text.len() - 1]), fault });
        }
        if too_long && (whole || is_beginning(text)) {
            return Err(EventFault { lines_before: 0, fault: Fault::too_long("event", self.limit) });
        }
        check(text)
    }

    /// The most bytes of a value. A list has many objects.
    fn limit_of(&self, text: &[u8]) -> usize {
        let head = &text[..text.len().min(HEAD)];
        let may_be_list = memmem::find(head, b"\"items\"").is_some();
        if may_be_list { self.limit.max(LIST_LIMIT) } else { self.limit }
    }

    /// The length of the next line; `None` if it is too long.
    fn find_line_end(&mut self, cursor: &mut FileCursor) -> Result<Option<usize>, CaptureError> {
        let mut searched = 0;
        loop {
            if let Some(end) = memchr(b'\n', &self.rest()[searched..]) {
                return Ok(Some(searched + end));
            }
            searched = self.rest().len();
            if searched > self.limit_of(self.rest()) {
                return Ok(None);
            }
            if !self.fill(cursor)? {
                return Ok(Some(searched));
            }
        }
    }

    /// The length of the next event; `None` if it is garbled or too long, or if the file ends before it.
    fn find_end(&mut self, cursor: &mut FileCursor) -> Result<Option<usize>, CaptureError> {
        let (mut framer, mut probe) = (Framer::new(Framing::Values, usize::MAX), PROBE);
        loop {
            let len = self.rest().len();
            if let Some(Frame::Value(value)) = framer.next_frame(self.rest()) {
                return Ok(Some(value.len()));
            }
            if len > self.limit_of(self.rest()) || (len > probe && !is_beginning(self.rest())) {
                return Ok(None);
            }
            if len > probe {
                probe = len * 2;
            }
            if !self.fill(cursor)? {
                return Ok(None);
            }
        }
    }

    /// Skips white space; `false` at the end of the file.
    fn skip_space(&mut self, cursor: &mut FileCursor) -> Result<bool, CaptureError> {
        loop {
            let blank = self.rest().iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            self.advance(blank);
            // Files that were joined have one each.
            if self.rest().starts_with(BYTE_ORDER_MARK) {
                self.advance(BYTE_ORDER_MARK.len());
            } else if !self.rest().is_empty() {
                return Ok(true);
            } else if !self.fill(cursor)? {
                return Ok(false);
            }
        }
    }

    /// Skips to the next line that begins with an unindented `{`. Lines within an event are indented.
    fn skip_to_event(&mut self, cursor: &mut FileCursor) -> Result<(), CaptureError> {
        loop {
            self.skip_line(cursor)?;
            if self.rest().is_empty() && !self.fill(cursor)? || self.rest().first() == Some(&b'{') {
                return Ok(());
            }
        }
    }

    fn skip_line(&mut self, cursor: &mut FileCursor) -> Result<(), CaptureError> {
        loop {
            let end = memchr(b'\n', self.rest());
            self.advance(end.map_or_else(|| self.rest().len(), |end| end + 1));
            if end.is_some() || !self.fill(cursor)? {
                return Ok(());
            }
        }
    }

    fn rest(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    fn advance(&mut self, len: usize) {
        self.line += line_ends(&self.rest()[..len]);
        self.start += len;
    }

    /// Reads more; `false` at the end of the file.
    fn fill(&mut self, cursor: &mut FileCursor) -> Result<bool, CaptureError> {
        self.bytes.drain(..self.start);
        self.start = 0;
        let source = cursor.source()?;
        let read = match source.fill_buf() {
            Ok(bytes) => bytes,
            Err(error) => return Err(source.error(Some(self.line), &error)),
        };
        self.bytes.extend_from_slice(read);
        let len = read.len();
        source.consume(len);
        Ok(len > 0)
    }
}

impl<'a> WatchEvent<'a> {
    /// The event in this text; `None` if it is none.
    pub(crate) fn parse(text: &'a [u8]) -> Option<Self> {
        serde_json::from_slice(text).ok()
    }

    /// The event in this text, which was checked.
    pub(crate) fn checked(text: &'a [u8]) -> Option<Self> {
        let found = || {
            let [r#type, object] = values(str::from_utf8(text).ok()?, ["type", "object"])?;
            Some(Self { r#type: plain(r#type)?.into(), object }).filter(|event| !event.object.is_empty())
        };
        found().or_else(|| Self::parse(text))
    }
}

fn text_of<'de, D: Deserializer<'de>>(value: D) -> Result<&'de str, D::Error> {
    <&RawValue>::deserialize(value).map(RawValue::get)
}

/// Whether a server ended its watch by this event.
pub(crate) fn ends_watch(event: &[u8]) -> bool {
    // Few other events have the word.
    memmem::find(event, b"\"ERROR\"").is_some()
        && WatchEvent::checked(event).is_some_and(|event| event.r#type == "ERROR")
}

/// Whether the first non-blank line is a whole JSON value.
fn begins_with_a_line(cursor: &mut FileCursor) -> Result<bool, CaptureError> {
    let lines = cursor.at(1)?;
    loop {
        match lines.next() {
            Ok(Some((_, line))) if line.trim_ascii().is_empty() => {}
            Ok(Some((_, line))) => return Ok(serde_json::from_slice::<IgnoredAny>(line).is_ok()),
            Ok(None) => return Ok(false),
            Err(error) if error.is_bad_line() => return Ok(false),
            Err(error) => return Err(error),
        }
    }
}

/// Checks that `text` is a value of a log, in UTF-8.
fn check(text: &[u8]) -> Result<Shape, EventFault> {
    let shape = read_fields(text).map_err(|error| {
        // serde_json reports the end of a line as column 0 of the next one.
        let line = error.line().saturating_sub((error.column() == 0).into());
        let lines_before = line.saturating_sub(1) as u64;
        EventFault { lines_before, fault: Fault::of_json(&error, "a watch event") }
    })?;
    let Err(error) = std::str::from_utf8(text) else { return Ok(shape) };
    let before = &text[..error.valid_up_to()];
    let column = before.len() - memrchr(b'\n', before).map_or(0, |end| end + 1) + 1;
    let fault = Fault::of_line(CaptureErrorKind::Garbled, format_args!("not UTF-8 at column {column}"));
    Err(EventFault { lines_before: line_ends(before), fault })
}

/// The event by which a list tells of an item. An item that does not say its type has that of the list.
pub(crate) fn typed_event(item: &str, type_meta: Option<&TypeMeta<'_>>) -> Vec<u8> {
    let own: TypeMeta<'_> = serde_json::from_str(item).unwrap_or_default();
    let fields = item.trim_start().strip_prefix('{').filter(|_| own.kind.is_empty());
    let object = match (type_meta, fields) {
        (Some(TypeMeta { api_version, kind }), Some(fields)) => {
            let comma = if fields.trim_start().starts_with('}') { "" } else { "," };
            let version = if own.api_version.is_empty() {
                format!(r#""apiVersion":{},"#, json!(api_version))
            } else {
                String::new()
            };
            Cow::Owned(format!(r#"{{{version}"kind":{}{comma}{fields}"#, json!(kind)))
        }
        _ => Cow::Borrowed(item),
    };
    format!("{{\"type\":\"ADDED\",\"object\":{object}}}\n").into_bytes()
}

/// The event that a notification was printed for, with as much of its object as it has.
fn told_again(text: &[u8]) -> Option<Vec<u8>> {
    let Notification { event, key, rv } = serde_json::from_slice(text).ok()?;
    let kind = match &*event {
        "add" => "ADDED",
        "delete" => "DELETED",
        _ => "MODIFIED",
    };
    let key = Key::from(&*key);
    let mut metadata = json!({ "name": key.name(), "resourceVersion": rv });
    if let Some(namespace) = key.namespace() {
        metadata["namespace"] = namespace.into();
    }
    Some(format!("{}\n", json!({ "type": kind, "object": { "metadata": metadata } })).into_bytes())
}

/// Whether `text` may begin a watch event, and is not a whole one.
fn is_beginning(text: &[u8]) -> bool {
    read_fields(text).is_err_and(|error| error.is_eof())
}

/// The number of line ends in `text`.
pub(super) fn line_ends(text: &[u8]) -> u64 {
    memchr_iter(b'\n', text).count() as u64
}

#[derive(Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(field_identifier, rename_all = "lowercase")]
enum Field {
    Type,
    Object,
    Items,
    Kind,
    Metadata,
    Event,
    Key,
    Rv,
    Store,
    #[serde(other)]
    Other,
}

/// Reads the names of the fields of a value.
///
/// An event of a watch has no metadata of its own. An object has them and its type, and then any other field, such as the
/// `type` of a Secret.
fn read_fields(text: &[u8]) -> serde_json::Result<Shape> {
    let fields: BTreeMap<Field, IgnoredAny> = serde_json::from_slice(text)?;
    let has = |names: &[Field]| names.iter().all(|name| fields.contains_key(name));
    let is_object = has(&[Field::Kind, Field::Metadata]);
    match () {
        () if is_object && has(&[Field::Items]) => Ok(Shape::List),
        () if is_object => Ok(Shape::Object),
        () if has(&[Field::Type, Field::Object]) => Ok(Shape::Event),
        () if has(&[Field::Type]) => Err(Error::missing_field("object")),
        () if has(&[Field::Object]) => Err(Error::missing_field("type")),
        () if has(&[Field::Items]) => Ok(Shape::List),
        () if has(&[Field::Event, Field::Key, Field::Rv]) => Ok(Shape::Notification),
        () if has(&[Field::Store]) => Ok(Shape::Store),
        () => Err(Error::missing_field("type")),
    }
}
