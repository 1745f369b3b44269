//! The objects of a list-and-watch, as they came or packed.

use crate::history::BodyReader;
use crate::memory::ENTRY;
use crate::object::ObjectText;
use listwatch_core::request::{Request, Verb};
use listwatch_core::{Key, Resource};
use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use zstd::bulk::{Compressor, Decompressor};
use zstd::dict::EncoderDictionary;

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
    /// Whether its state was known and did not fit.
    pub(super) is_lost: bool,
    /// The list that goes on with the next page.
    pub(super) pages: Option<BodyReader>,
    objects: HashMap<Key, Object>,
    /// Counts the lists. An object of an earlier one is gone when a list is complete.
    lists: u64,
    /// The number of the next object.
    next: u64,
    /// One of the objects, to which the others are alike.
    dictionary: Option<Arc<Dictionary>>,
    /// The bytes of the objects as they came, and of those that are packed.
    plain: usize,
    packed: usize,
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

struct Dictionary {
    text: Box<[u8]>,
    encoder: EncoderDictionary<'static>,
}

/// A level that takes a sixth less time than level 1, and finds what recurs in each event of an object.
pub(super) const LEVEL: i32 = -3;

impl Stream {
    pub(super) fn new(name: &str) -> Self {
        Self {
            name: name.into(),
            resource: Resource::new(""),
            hashed: false,
            by_watch_list: false,
            version: None,
            is_lost: false,
            pages: None,
            objects: HashMap::new(),
            lists: 0,
            next: 0,
            dictionary: None,
            plain: 0,
            packed: 0,
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

    /// The bytes of the objects that are as they came.
    pub(super) fn plain(&self) -> usize {
        self.plain
    }

    /// How many bytes it holds, about.
    pub(super) fn held(&self) -> usize {
        self.plain + self.packed + self.pages.as_ref().map_or(0, BodyReader::weight) as usize
    }

    /// A list begins.
    pub(super) fn begin_list(&mut self) {
        self.lists += 1;
    }

    /// A list is complete: what it does not have is gone.
    pub(super) fn end_list(&mut self, version: u64, by_watch_list: bool) {
        (self.version, self.by_watch_list, self.is_lost) = (Some(version), by_watch_list, false);
        let list = self.lists;
        let gone: Vec<_> = self.objects.extract_if(|_, object| object.list < list).collect();
        gone.iter().for_each(|(key, object)| self.give_back(key, &object.text));
    }

    /// It has every change up to this version.
    pub(super) fn advance(&mut self, version: u64) {
        self.version = self.version.map(|known| known.max(version));
    }

    /// Keeps the state of an object, also that of a list that is not complete.
    pub(super) fn set(&mut self, object: ObjectText, is_packed: bool) {
        let (key, number, list) = (object.key().clone(), self.next, self.lists);
        let Ok(text) = (if is_packed { self.pack(&object) } else { Ok(Text::Plain(Arc::new(object))) }) else { return };
        *self.bytes_of(&text) += text.held(&key);
        self.next += 1;
        match self.objects.get_mut(&key) {
            Some(known) => {
                let before = core::mem::replace(&mut known.text, text);
                known.list = list;
                self.give_back(&key, &before);
            }
            None => _ = self.objects.insert(key, Object { number, list, text }),
        }
    }

    pub(super) fn remove(&mut self, key: &Key) {
        if let Some(object) = self.objects.remove(key) {
            self.give_back(key, &object.text);
        }
    }

    /// Forgets its state.
    pub(super) fn forget(&mut self) {
        self.is_lost = true;
        (self.version, self.pages, self.dictionary) = (None, None, None);
        self.objects = HashMap::new();
        (self.plain, self.packed) = (0, 0);
    }

    fn pack(&mut self, object: &ObjectText) -> io::Result<Text> {
        let text = object.with_type();
        let dictionary = self.dictionary.get_or_insert_with(|| Dictionary::of(text.as_bytes()).into());
        let frame = Compressor::with_prepared_dictionary(&dictionary.encoder)?.compress(text.as_bytes())?;
        Ok(Text::Packed { frame: frame.into(), len: text.len() })
    }

    fn give_back(&mut self, key: &Key, text: &Text) {
        *self.bytes_of(text) -= text.held(key);
    }

    fn bytes_of(&mut self, text: &Text) -> &mut usize {
        if let Text::Plain(_) = text { &mut self.plain } else { &mut self.packed }
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
