//! The objects of a list-and-watch, as they came or packed.

use crate::history::BodyReader;
use crate::object::ObjectText;
use crate::packed::ObjectPacker;
use listwatch_core::request::{Request, Verb};
use listwatch_core::{Key, Resource};
use std::collections::HashMap;
use std::io;
use std::sync::Arc;

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
    packer: ObjectPacker,
    /// The bytes of the objects as they came, and of those that are packed.
    plain: usize,
    packed: usize,
}

#[derive(Clone)]
struct Object {
    /// Its place in the order in which objects came.
    number: u64,
    list: u64,
    object: Arc<ObjectText>,
}

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
            packer: ObjectPacker::default(),
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
        objects.into_iter().try_for_each(|object| take(&object.object.with_type()?))
    }

    /// The bytes of the objects that are as they came.
    pub(super) fn plain(&self) -> usize {
        self.plain
    }

    /// How many bytes it holds, about.
    pub(super) fn held(&self) -> usize {
        self.plain + self.packed + self.packer.held() + self.pages.as_ref().map_or(0, BodyReader::weight) as usize
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
        gone.iter().for_each(|(_, object)| self.give_back(&object.object));
    }

    /// It has every change up to this version.
    pub(super) fn advance(&mut self, version: u64) {
        self.version = self.version.map(|known| known.max(version));
    }

    /// Keeps the state of an object, also that of a list that is not complete.
    pub(super) fn set(&mut self, object: ObjectText, is_packed: bool) {
        let (key, number, list) = (object.key().clone(), self.next, self.lists);
        let object = Arc::new(if is_packed { object.packed(&mut self.packer) } else { object });
        *self.bytes_of(&object) += held(&object);
        self.next += 1;
        match self.objects.get_mut(&key) {
            Some(known) => {
                let before = core::mem::replace(&mut known.object, object);
                known.list = list;
                self.give_back(&before);
            }
            None => _ = self.objects.insert(key, Object { number, list, object }),
        }
    }

    pub(super) fn remove(&mut self, key: &Key) {
        if let Some(object) = self.objects.remove(key) {
            self.give_back(&object.object);
        }
    }

    /// Forgets its state.
    pub(super) fn forget(&mut self) {
        self.is_lost = true;
        (self.version, self.pages, self.packer) = (None, None, ObjectPacker::default());
        self.objects = HashMap::new();
        (self.plain, self.packed) = (0, 0);
    }

    fn give_back(&mut self, object: &ObjectText) {
        *self.bytes_of(object) -= held(object);
    }

    fn bytes_of(&mut self, object: &ObjectText) -> &mut usize {
        if object.is_packed() { &mut self.packed } else { &mut self.plain }
    }
}

/// The bytes of an object with its places, about.
fn held(object: &ObjectText) -> usize {
    object.weight() as usize + object.key().as_str().len() + size_of::<Object>()
}
