use super::limits::{Memory, OBJECT_LIMIT, object_too_long, weight, weight_of_text};
use super::place::{key_of, number, version_of};
use crate::error::Fault;
use listwatch_core::framing::{Frame, Framer, Framing};
use serde::Deserialize;
use serde_json::Value;

/// A list that arrives in pieces, page by page.
#[derive(Debug)]
pub(super) struct ListReader {
    framer: Framer,
    buffer: Vec<u8>,
    page: Page,
    objects: Vec<Value>,
    /// The memory of the objects.
    weight: u64,
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
    /// The list is complete, at this version.
    Complete { objects: Vec<Value>, version: u64 },
    /// The list goes on under this token.
    Continued { token: String, list: Box<ListReader> },
    /// The body is no list, or not whole.
    Broken,
}

impl Default for ListReader {
    fn default() -> Self {
        let framer = Framer::new(Framing::List, OBJECT_LIMIT);
        Self { framer, buffer: Vec::new(), page: Page::default(), objects: Vec::new(), weight: 0 }
    }
}

impl ListReader {
    /// Takes bytes of the body, as far as the memory, of which this list holds nothing now, has room for the objects.
    pub(super) fn read(&mut self, bytes: &[u8], memory: &Memory) -> Result<(), Fault> {
        self.buffer.extend_from_slice(bytes);
        while let Some(frame) = self.framer.next_frame(&self.buffer) {
            match frame {
                Frame::Field { name, value } => self.page.field(name, value),
                Frame::Item(item) => {
                    let named = serde_json::from_slice::<Value>(item).ok().filter(|object| key_of(object).is_some());
                    self.weight += named.as_ref().map_or(0, weight);
                    self.objects.extend(named);
                    memory.check(self.weight())?;
                }
                Frame::TooLong => return Err(object_too_long()),
                Frame::ListEnd => self.page.complete = true,
                _ => {}
            }
        }
        self.buffer.drain(..self.framer.reclaim());
        Ok(())
    }

    /// The memory of what was read, with what the fields of the page add to its items.
    pub(super) fn weight(&self) -> u64 {
        self.weight + self.page.weight_in(&self.objects) + self.buffer.len() as u64
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
            return PageEnd::Complete { version: version.unwrap_or_else(newest), objects: self.objects };
        }
        let token = page.metadata.r#continue;
        self.page.first = self.objects.len();
        (self.framer, self.buffer) = (Framer::new(Framing::List, OBJECT_LIMIT), Vec::new());
        PageEnd::Continued { token, list: Box::new(self) }
    }
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
