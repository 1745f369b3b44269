//! The bodies of lists and watches, which arrive in pieces.

use super::change::Told;
use crate::body::{INITIAL_EVENTS_END, WatchEvent};
use crate::error::Fault;
use crate::memory::{Memory, OBJECT_LIMIT, object_too_long};
use crate::object::{ObjectText, TypeMeta, number};
use crate::packed::ObjectPacker;
use listwatch_core::framing::{Frame, Framer, Framing};
use memchr::memchr;
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;

/// A list, page by page, or a watch. A frame is as long as an object at the most.
#[derive(Clone, Debug)]
pub(crate) struct BodyReader {
    framer: Framer,
    buffer: Vec<u8>,
    /// Whether the buffer is the beginning of a line, at which the framer has not looked.
    is_line: bool,
    /// Reads an object, whole or without a part.
    pub(super) reads: Reads,
    part: Part,
    /// The items of a list, or the initial events of a watch-list.
    objects: Vec<ObjectText>,
    /// Packs those of a large list.
    packer: ObjectPacker,
    /// The memory of the objects, and of what the pages say of them.
    weight: u64,
}

/// The room for the beginning of an event that is kept for the next one.
const LARGE: usize = 64 * 1024;

/// The memory that the objects of a list take as they came. The others are packed.
const MOST_PLAIN: u64 = 16 << 20;

/// How an object is read from its text.
pub(crate) type Reads = fn(&[u8]) -> Option<ObjectText>;

/// What the next frames are.
#[derive(Clone, Debug)]
enum Part {
    Page(Page),
    InitialEvents,
    Events,
}

/// The fields around the items of a page.
#[derive(Clone, Debug, Default)]
struct Page {
    /// The type of its items.
    type_meta: TypeMeta<'static>,
    metadata: Metadata,
    is_complete: bool,
    /// The place of its first object.
    first: usize,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Metadata {
    resource_version: String,
    r#continue: String,
}

/// A page that has ended.
pub(crate) enum PageEnd {
    /// The list is complete.
    Complete(Told),
    /// The list goes on under this token.
    Continued(String, Box<BodyReader>),
    /// The body is no list, or not whole.
    Broken,
}

impl BodyReader {
    pub(crate) fn list() -> Self {
        Self::new(Framing::List, Part::Page(Page::default()))
    }

    /// A watch, or a watch-list, which begins with the state.
    pub(crate) fn watch(has_initial_events: bool) -> Self {
        Self::new(Framing::Values, if has_initial_events { Part::InitialEvents } else { Part::Events })
    }

    fn new(framing: Framing, part: Part) -> Self {
        let framer = Framer::new(framing, OBJECT_LIMIT);
        Self {
            framer,
            buffer: Vec::new(),
            is_line: false,
            reads: ObjectText::of_bytes,
            part,
            objects: Vec::new(),
            packer: ObjectPacker::default(),
            weight: 0,
        }
    }

    /// Reads each object so.
    pub(crate) fn reading(self, reads: Reads) -> Self {
        Self { reads, ..self }
    }

    /// Takes bytes of the body, and adds what they tell to `told`; as far as the memory, of which this body holds nothing
    /// now, has room for the objects.
    pub(crate) fn read(&mut self, bytes: &[u8], memory: &Memory, told: &mut Vec<Told>) -> Result<(), Fault> {
        if self.is_list() {
            return self.frames(bytes, memory, told);
        }
        let mut rest = bytes;
        while !rest.is_empty() {
            let (piece, behind) = rest.split_at(memchr(b'\n', rest).map_or(rest.len(), |end| end + 1));
            match piece.strip_suffix(b"\n") {
                Some(line) if self.line(line, told) => {}
                None if self.goes_on(piece) => {
                    self.buffer.extend_from_slice(piece);
                    self.is_line = true;
                }
                _ => self.frames(piece, memory, told)?,
            }
            rest = behind;
        }
        Ok(())
    }

    /// Takes a line, without its end, if it is an event of an object as servers write it, or the rest of one. Returns
    /// whether it is.
    pub(super) fn line(&mut self, line: &[u8], told: &mut Vec<Told>) -> bool {
        if !self.is_at_line() {
            return false;
        }
        let begun = self.buffer.len();
        let event = if begun == 0 {
            event_in_line(line, self.reads)
        } else {
            self.buffer.extend_from_slice(line);
            event_in_line(self.buffer.trim_ascii_start(), self.reads)
        };
        let Some(event) = event else {
            self.buffer.truncate(begun);
            return false;
        };
        self.is_line = false;
        self.buffer.clear();
        // A large event leaves no large buffer.
        self.buffer.shrink_to(LARGE);
        told.extend(self.on_event(event));
        true
    }

    fn is_list(&self) -> bool {
        matches!(self.part, Part::Page(_))
    }

    /// Whether what was read of the next event is looked at with its whole line.
    fn is_at_line(&self) -> bool {
        !self.is_list() && (self.buffer.is_empty() || self.is_line)
    }

    /// Whether an event goes on behind these bytes, which end no line.
    fn goes_on(&self, bytes: &[u8]) -> bool {
        let may_end = bytes.trim_ascii_end().last().is_none_or(|last| *last == b'}');
        self.is_at_line() && !may_end && self.buffer.len() + bytes.len() <= OBJECT_LIMIT
    }

    fn frames(&mut self, bytes: &[u8], memory: &Memory, told: &mut Vec<Told>) -> Result<(), Fault> {
        self.buffer.extend_from_slice(bytes);
        self.is_line = false;
        while let Some(frame) = self.framer.next_frame(&self.buffer) {
            match frame {
                Frame::TooLong => return Err(object_too_long()),
                // Nothing is known of one without a name.
                Frame::Item(item) => {
                    self.add((self.reads)(item));
                    memory.check(self.weight())?;
                }
                Frame::Value(event) => {
                    let news = WatchEvent::parse(event).and_then(|event| told_by(&event, self.reads));
                    told.extend(news.and_then(|news| self.on_event(news)));
                }
                frame => {
                    if let Part::Page(page) = &mut self.part {
                        page.on_frame(frame);
                    }
                }
            }
        }
        self.buffer.drain(..self.framer.reclaim());
        let is_blank = self.buffer.iter().all(u8::is_ascii_whitespace);
        if !self.is_list() && is_blank && self.framer.is_complete() {
            (self.framer, self.buffer) = (Framer::new(Framing::Values, OBJECT_LIMIT), Vec::new());
        }
        Ok(())
    }

    fn on_event(&mut self, news: Told) -> Option<Told> {
        match (news, &self.part) {
            (Told::Set(object), Part::InitialEvents) => {
                self.add(Some(object));
                None
            }
            (Told::Reached { version, is_initial_end: true }, Part::InitialEvents) => {
                (self.part, self.weight) = (Part::Events, 0);
                Some(Told::State { objects: core::mem::take(&mut self.objects), version })
            }
            (news @ (Told::Expired | Told::Failed(_)), _) => Some(news),
            (news, Part::Events) => Some(news),
            _ => None,
        }
    }

    fn add(&mut self, object: Option<ObjectText>) {
        let Some(mut object) = object else { return };
        if self.weight > MOST_PLAIN {
            object = object.packed(&mut self.packer);
        }
        self.weight += object.weight();
        self.objects.push(object);
    }

    /// Whether the next bytes begin an event of a watch.
    pub(super) fn is_between_events(&self) -> bool {
        matches!(self.part, Part::Events) && self.buffer.is_empty()
    }

    /// Whether it is a watch whose next event is a change: the initial events are over, if it has some.
    pub(crate) fn has_state(&self) -> bool {
        matches!(self.part, Part::Events)
    }

    /// The bytes that were read of the next event.
    pub(crate) fn rest(&self) -> &[u8] {
        &self.buffer
    }

    /// Takes the objects of a list or of initial events up to here.
    pub(crate) fn take_objects(&mut self) -> Vec<ObjectText> {
        let mut objects = core::mem::take(&mut self.objects);
        if let Part::Page(page) = &mut self.part
            && !objects.is_empty()
        {
            page.first = 0;
            let type_meta = Arc::new(page.type_meta.clone());
            objects.iter_mut().for_each(|item| item.page = Some(Arc::clone(&type_meta)));
        }
        self.weight = 0;
        objects
    }

    /// The memory of what is kept.
    pub(crate) fn weight(&self) -> u64 {
        self.weight + self.buffer.len() as u64
    }

    /// Ends a page of a list.
    pub(crate) fn end(mut self) -> PageEnd {
        let Part::Page(Page { type_meta, metadata, is_complete: true, first }) = self.part else {
            return PageEnd::Broken;
        };
        self.weight += type_meta.weight();
        let type_meta = Arc::new(type_meta);
        self.objects[first..].iter_mut().for_each(|item| item.page = Some(Arc::clone(&type_meta)));
        if !metadata.r#continue.is_empty() {
            let part = Part::Page(Page { first: self.objects.len(), ..Page::default() });
            let Self { objects, packer, weight, reads, .. } = self;
            let rest = Self { objects, packer, weight, reads, ..Self::new(Framing::List, part) };
            return PageEnd::Continued(metadata.r#continue, Box::new(rest));
        }
        // What kubectl saves has no version of its own.
        let newest = || self.objects.iter().map(|object| object.version).max().unwrap_or(0);
        let version = Some(number(&metadata.resource_version)).filter(|version| *version > 0).unwrap_or_else(newest);
        PageEnd::Complete(Told::State { objects: self.objects, version })
    }
}

impl Page {
    fn on_frame(&mut self, frame: Frame<'_>) {
        match frame {
            Frame::Field { name: b"metadata", value } => {
                self.metadata = serde_json::from_slice(value).unwrap_or_default();
            }
            Frame::Field { name, value } => self.type_meta.take_of_list(name, value),
            Frame::ListEnd => self.is_complete = true,
            _ => {}
        }
    }
}

/// The status of a watch whose version is too old.
pub(super) const EXPIRED: u16 = 410;

/// What a line tells, without its end, that is an event of an object as servers write it. Its JSON is read once; `None` for
/// any other text.
fn event_in_line(line: &[u8], reads: Reads) -> Option<Told> {
    let rest = line.strip_suffix(b"}").filter(|_| line.len() <= OBJECT_LIMIT)?.strip_prefix(b"{\"type\":\"")?;
    let (name, object) = rest.split_at(rest.iter().position(|byte| *byte == b'"')?);
    change_of(name, object.strip_prefix(b"\",\"object\":")?, reads)
}

/// The change that an event of this type tells; `None` for an event of another type, or without an object in it.
fn change_of(name: &[u8], object: &[u8], reads: Reads) -> Option<Told> {
    let told: fn(ObjectText) -> Told = match name {
        b"ADDED" | b"MODIFIED" => Told::Set,
        b"DELETED" => Told::Deleted,
        _ => return None,
    };
    reads(object).map(told)
}

/// What an event of a watch tells.
pub(super) fn told_by(WatchEvent { r#type, object }: &WatchEvent<'_>, reads: Reads) -> Option<Told> {
    let value = || serde_json::from_str::<Value>(object).ok();
    match &**r#type {
        name @ ("ADDED" | "MODIFIED" | "DELETED") => change_of(name.as_bytes(), object.as_bytes(), reads),
        "BOOKMARK" => {
            let metadata = &value()?["metadata"];
            let is_initial_end = metadata["annotations"][INITIAL_EVENTS_END] == "true";
            Some(Told::Reached { version: number(metadata["resourceVersion"].as_str()?), is_initial_end })
        }
        "ERROR" => match value()? {
            status if status["code"] == EXPIRED => Some(Told::Expired),
            status => Some(Told::Failed(status["message"].as_str().unwrap_or_default().to_owned())),
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pieces_in_which_events_come_change_nothing() {
        let event = |name: &str, object: &str| format!("{{\"type\":\"{name}\",\"object\":{object}}}\n");
        let object = |name: &str| {
            format!(r#"{{"kind":"Pod","apiVersion":"v1","metadata":{{"name":"{name}","resourceVersion":"7"}}}}"#)
        };
        let bookmark = r#"{"metadata":{"resourceVersion":"8","annotations":{"k8s.io/initial-events-end":"true"}}}"#;
        let pretty = object("d").replace(',', ",\n ");
        let body = [
            event("ADDED", &object("a")),
            event("ADDED", &object("b")),
            // Two events in a line.
            event("ADDED", &object("x")).trim_end().to_owned() + &event("ADDED", &object("y")),
            event("BOOKMARK", bookmark),
            "\n ".into(),
            event("MODIFIED", &object("a")),
            event("MODIFIED", &pretty),
            event("DELETED", &object("b")),
            event("ADDED", &object("c")).trim_end().to_owned(),
        ]
        .concat();
        let told = |has_initial_events: bool, length: usize, reads: Reads| {
            let (mut reader, mut told) = (BodyReader::watch(has_initial_events).reading(reads), Vec::new());
            for piece in body.as_bytes().chunks(length) {
                reader.read(piece, &Memory::at_most(u64::MAX), &mut told).unwrap();
            }
            told.iter().map(|told| format!("{told:?}")).collect::<Vec<_>>()
        };
        for (has_initial_events, count) in [(true, 5), (false, 9)] {
            let byte_by_byte = told(has_initial_events, 1, ObjectText::of_bytes);
            assert_eq!(byte_by_byte.len(), count, "{byte_by_byte:?}");
            for length in 2..=body.len() {
                for reads in [ObjectText::of_bytes, ObjectText::as_sent_or_of] {
                    assert_eq!(told(has_initial_events, length, reads), byte_by_byte, "in pieces of {length} bytes");
                }
            }
        }
    }

    #[test]
    fn an_event_over_the_limit_is_a_fault_in_whatever_pieces_it_comes() {
        let object = format!(r#"{{"metadata":{{"name":"a"}},"x":"{}"}}"#, "x".repeat(OBJECT_LIMIT));
        let event = format!("{{\"type\":\"ADDED\",\"object\":{object}}}\n");
        for length in [16 << 10, event.len()] {
            let (mut reader, memory) = (BodyReader::watch(false), Memory::at_most(u64::MAX));
            let mut pieces = event.as_bytes().chunks(length);
            assert!(pieces.any(|piece| reader.read(piece, &memory, &mut Vec::new()).is_err()), "of {length} bytes");
        }
    }

    #[test]
    fn a_line_is_told_as_its_value_is() {
        let object = r#"{"metadata":{"name":"a","resourceVersion":"7"}}"#;
        let told = |line: &str| format!("{:?}", event_in_line(line.trim_end().as_bytes(), ObjectText::of_bytes));
        for name in ["ADDED", "MODIFIED", "DELETED"] {
            let line = format!("{{\"type\":\"{name}\",\"object\":{object}}}\n");
            assert_eq!(
                told(&line),
                format!(
                    "{:?}",
                    WatchEvent::parse(line.as_bytes()).and_then(|event| told_by(&event, ObjectText::of_bytes))
                ),
                "{line}"
            );
        }
        for other in [
            format!(r#"{{"type":"ADDED","object":{object},"more":{object}}}"#),
            format!(r#"{{"type":"BOOKMARK","object":{object}}}"#),
            format!(r#"{{"object":{object},"type":"ADDED"}}"#),
            r#"{"type":"ADDED","object":{"metadata":{}}}"#.to_owned(),
        ] {
            assert_eq!(told(&format!("{other}\n")), "None", "{other}");
        }
    }
}
