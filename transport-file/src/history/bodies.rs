//! The bodies of lists and watches, which arrive in pieces.

use super::change::Told;
use crate::body::WatchEvent;
use crate::error::Fault;
use crate::memory::{Memory, OBJECT_LIMIT, object_too_long, weight, weight_of_text};
use crate::object::{ObjectText, Unreadable, key_of, number, version_of};
use listwatch_core::framing::{Frame, Framer, Framing};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// The frames of a body, each as long as an object at the most.
#[derive(Debug)]
struct Frames {
    framer: Framer,
    buffer: Vec<u8>,
}

impl Frames {
    fn new(framing: Framing) -> Self {
        Self { framer: Framer::new(framing, OBJECT_LIMIT), buffer: Vec::new() }
    }

    fn add(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// Drops the frames that were taken.
    fn reclaim(&mut self) {
        self.buffer.drain(..self.framer.reclaim());
    }

    fn next(&mut self) -> Result<Option<Frame<'_>>, Fault> {
        match self.framer.next_frame(&self.buffer) {
            Some(Frame::TooLong) => Err(object_too_long()),
            frame => Ok(frame),
        }
    }

    /// How many bytes are kept.
    fn len(&self) -> u64 {
        self.buffer.len() as u64
    }
}

/// A list that arrives in pieces, page by page.
#[derive(Debug)]
pub(super) struct ListReader {
    frames: Frames,
    page: Page,
    objects: Vec<Value>,
    /// The memory of the objects.
    weight: u64,
    unreadable: Option<Unreadable>,
}

/// The fields around the items of a page.
#[derive(Debug, Default)]
struct Page {
    kind: Option<String>,
    api_version: Option<String>,
    metadata: Metadata,
    complete: bool,
    /// The place of its first object.
    first: usize,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Metadata {
    resource_version: String,
    r#continue: String,
}

/// A page that has ended.
pub(super) enum PageEnd {
    /// The list is complete, at this version. Some items may be left out.
    Complete { objects: Vec<Value>, version: u64, unreadable: Option<Unreadable> },
    /// The list goes on under this token.
    Continued { token: String, list: Box<ListReader> },
    /// The body is no list, or not whole.
    Broken,
}

impl Default for ListReader {
    fn default() -> Self {
        let (frames, page) = (Frames::new(Framing::List), Page::default());
        Self { frames, page, objects: Vec::new(), weight: 0, unreadable: None }
    }
}

impl ListReader {
    /// Takes bytes of the body, as far as the memory, of which this list holds nothing now, has room for the objects.
    pub(super) fn read(&mut self, bytes: &[u8], memory: &Memory) -> Result<(), Fault> {
        self.frames.add(bytes);
        while let Some(frame) = self.frames.next()? {
            match frame {
                Frame::Field { name, value } => self.page.field(name, value),
                Frame::Item(item) => {
                    match serde_json::from_slice::<Value>(item) {
                        Ok(object) if key_of(&object).is_some() => {
                            self.weight += weight(&object);
                            self.objects.push(object);
                        }
                        // Nothing is known of one without a name.
                        Ok(_) => {}
                        Err(_) => Unreadable::add(&mut self.unreadable, unreadable(item)),
                    }
                    memory.check(self.weight())?;
                }
                Frame::ListEnd => self.page.complete = true,
                _ => {}
            }
        }
        self.frames.reclaim();
        Ok(())
    }

    /// The memory of what was read, with what the fields of the page add to its items.
    pub(super) fn weight(&self) -> u64 {
        self.weight + self.page.weight_in(&self.objects) + self.frames.len()
    }

    /// Ends a page.
    pub(super) fn end(mut self) -> PageEnd {
        let page = std::mem::take(&mut self.page);
        if !page.complete {
            return PageEnd::Broken;
        }
        for object in &mut self.objects[page.first..] {
            page.complete_object(object);
        }
        self.weight += page.weight_in(&self.objects);
        if page.metadata.r#continue.is_empty() {
            // What kubectl saves has no version of its own.
            let newest = || self.objects.iter().map(version_of).max().unwrap_or(0);
            let version = Some(number(&page.metadata.resource_version)).filter(|version| *version > 0);
            return PageEnd::Complete {
                version: version.unwrap_or_else(newest),
                objects: self.objects,
                unreadable: self.unreadable,
            };
        }
        let token = page.metadata.r#continue;
        self.page.first = self.objects.len();
        self.frames = Frames::new(Framing::List);
        PageEnd::Continued { token, list: Box::new(self) }
    }
}

/// An item that is no value, if it has a name.
fn unreadable(item: &[u8]) -> Option<Unreadable> {
    let text = serde_json::from_slice::<&RawValue>(item).ok()?;
    ObjectText::of(text)?.value().err()
}

impl Page {
    fn field(&mut self, name: &[u8], value: &[u8]) {
        let text = || serde_json::from_slice(value).ok();
        match name {
            b"kind" => self.kind = text(),
            b"apiVersion" => self.api_version = text(),
            b"metadata" => self.metadata = serde_json::from_slice(value).unwrap_or_default(),
            _ => {}
        }
    }

    /// Adds the kind and the version of the API, which a server leaves out of the items.
    fn complete_object(&self, object: &mut Value) {
        let Some(fields) = object.as_object_mut() else { return };
        for (name, value) in self.fields_of_items() {
            if !fields.contains_key(name) {
                fields.insert(name.into(), value.into());
            }
        }
    }

    /// The memory that these fields take in the items of the page, if none has them.
    fn weight_in(&self, objects: &[Value]) -> u64 {
        let items = objects.len() - self.first;
        items as u64
            * self.fields_of_items().map(|(name, value)| weight_of_text(name) + weight_of_text(value)).sum::<u64>()
    }

    fn fields_of_items(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let kind = self.kind.as_deref().and_then(|kind| kind.strip_suffix("List"));
        let fields = [("kind", kind), ("apiVersion", self.api_version.as_deref())];
        fields.into_iter().filter_map(|(name, value)| Some((name, value?)))
    }
}

/// The annotation of the bookmark that ends the initial events of a watch-list.
const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

/// The status of a watch whose version is too old.
pub(super) const EXPIRED: u16 = 410;

/// A watch that arrives in pieces.
#[derive(Debug)]
pub(super) struct WatchReader {
    frames: Frames,
    progress: Progress,
}

/// How far a watch is.
#[derive(Debug, Default)]
struct Progress {
    /// The objects of the initial events, while these go on.
    initial: Option<Vec<Value>>,
    /// The memory of the initial events.
    weight: u64,
    /// Behind an error, nothing is told.
    over: bool,
}

impl WatchReader {
    /// A watch, or a watch-list, which begins with the state.
    pub(super) fn new(initial_events: bool) -> Self {
        let progress = Progress { initial: initial_events.then(Vec::new), ..Progress::default() };
        Self { frames: Frames::new(Framing::Values), progress }
    }

    /// Takes bytes of the body, and adds what they tell to `told`.
    pub(super) fn read(&mut self, bytes: &[u8], told: &mut Vec<Told>) -> Result<(), Fault> {
        self.frames.add(bytes);
        while let Some(frame) = self.frames.next()? {
            if let Frame::Value(line) = frame {
                told.extend(self.progress.line(line));
            }
        }
        self.frames.reclaim();
        Ok(())
    }

    /// The memory of what is kept.
    pub(super) fn weight(&self) -> u64 {
        self.progress.weight + self.frames.len()
    }
}

/// What one event tells, behind no other.
pub(super) fn event_of(line: &[u8]) -> Option<Told> {
    Progress::default().line(line)
}

impl Progress {
    fn line(&mut self, line: &[u8]) -> Option<Told> {
        let event = WatchEvent::parse(line).filter(|_| !self.over)?;
        match (&*event.r#type, &mut self.initial) {
            ("ADDED" | "MODIFIED", Some(_)) => self.on_initial(value(event.object)?),
            ("BOOKMARK", Some(_)) => self.on_end_of_initial(&value(event.object)?),
            ("ADDED" | "MODIFIED", None) => ObjectText::of(event.object).map(Told::Set),
            ("DELETED", None) => ObjectText::of(event.object).map(Told::Deleted),
            ("BOOKMARK", None) => reached(&value(event.object)?),
            ("ERROR", _) => self.on_error(&value(event.object)?),
            _ => None,
        }
    }

    fn on_initial(&mut self, object: Value) -> Option<Told> {
        key_of(&object)?;
        self.weight += weight(&object);
        self.initial.as_mut()?.push(object);
        None
    }

    fn on_end_of_initial(&mut self, bookmark: &Value) -> Option<Told> {
        if bookmark["metadata"]["annotations"][INITIAL_EVENTS_END] != "true" {
            return None;
        }
        self.weight = 0;
        Some(Told::State { objects: self.initial.take()?, version: version_of(bookmark), unreadable: None })
    }

    fn on_error(&mut self, status: &Value) -> Option<Told> {
        self.over = true;
        (status["code"] == EXPIRED).then_some(Told::Expired)
    }
}

fn reached(bookmark: &Value) -> Option<Told> {
    bookmark["metadata"]["resourceVersion"].as_str().map(|version| Told::Reached(number(version)))
}

fn value(object: &RawValue) -> Option<Value> {
    serde_json::from_str(object.get()).ok()
}
