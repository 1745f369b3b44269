//! The part of an informer in recordings of a controller and their replays.

use super::stream::Stream;
use crate::mutex::Mutex;
use crate::replay::Advance;
use crate::witness;
use core::any::Any;
use listwatch_core::cache::{Observer, StreamProgress};
use listwatch_core::object::Version;
use listwatch_core::{Key, Resource, Store};
use serde_json::Value;
use std::sync::{Arc, Weak};

/// A stream, and its place in the store.
pub(super) struct Followed<T> {
    stream: Weak<Stream>,
    store: Store<T>,
    place: usize,
    resource: Resource,
    /// How many changes its first list stands for, if a dump begins with it.
    before: Option<u64>,
    /// How many changes that list was here.
    listed: Mutex<Option<u64>>,
    again: Box<Again>,
    /// It is there from the first question for an object.
    whole: Mutex<Option<Whole>>,
}

/// Plays a stream again.
type Again = dyn Fn() -> Option<Whole> + Send + Sync;

/// The stream again, with whole objects: `T` may have less of them.
pub(super) struct Whole {
    pub(super) stream: Arc<dyn Advance>,
    pub(super) store: Store<Value>,
    /// What keeps the stream running.
    pub(super) _informer: Arc<dyn Any + Send + Sync>,
}

impl<T> Followed<T> {
    pub(super) fn new(
        stream: &Arc<Stream>,
        store: &Store<T>,
        place: usize,
        before: Option<u64>,
        again: Box<Again>,
    ) -> Self {
        let (resource, listed, whole) = (stream.resource().clone(), Mutex::default(), Mutex::default());
        Self { stream: Arc::downgrade(stream), store: store.clone(), place, resource, before, listed, again, whole }
    }

    /// The changes of the recorded cache, where this one is.
    fn changes(&self, progress: &StreamProgress) -> u64 {
        match self.before {
            None => progress.changes,
            Some(_) if !progress.synced => 0,
            Some(before) => {
                let listed = *self.listed.lock().get_or_insert(progress.changes);
                before + progress.changes.saturating_sub(listed)
            }
        }
    }
}

impl<T: Send + Sync> Advance for Followed<T> {
    fn position(&self) -> (u64, Option<Version>) {
        let streams = self.store.streams();
        streams.get(self.place).map_or((0, None), |stream| (self.changes(stream), stream.applied.clone()))
    }

    fn has_synced(&self) -> bool {
        self.store.streams().get(self.place).is_some_and(|stream| stream.synced)
    }

    fn object(&self, path: &str) -> Option<Value> {
        let key = key_of(path, &self.resource)?;
        let shown = self.store.get(&key)?;
        let mut whole = self.whole.lock();
        if whole.is_none() {
            *whole = (self.again)();
        }
        let object = whole.as_ref()?.object(&key, self.position().0)?;
        // Two streams of one resource may be played in another order.
        (object["metadata"]["resourceVersion"] == shown.meta().resource_version()).then_some(object)
    }

    fn turn(&self) -> bool {
        // The changes of the first list are counted before another one comes.
        let _counted = self.before.map(|_| self.position());
        self.stream.upgrade().is_some_and(|stream| stream.turn())
    }
}

impl Whole {
    /// The object after this many changes.
    fn object(&self, key: &Key, changes: u64) -> Option<Value> {
        while self.stream.position().0 < changes && self.stream.turn() {}
        self.store.get(key).map(|object| (*object).clone())
    }
}

/// The key of the object of this path, if the resource has it with all its fields.
fn key_of(path: &str, resource: &Resource) -> Option<Key> {
    let (collection, name) = path.rsplit_once('/').filter(|_| !resource.is_metadata_only())?;
    let Some((before, namespaced)) = collection.split_once("/namespaces/") else {
        return (collection == resource.path()).then(|| Key::new(None, name));
    };
    let (namespace, plural) = namespaced.split_once('/')?;
    let is_of = |all: &str| [collection, &format!("{before}/{plural}")].contains(&all);
    is_of(resource.path()).then(|| Key::new(Some(namespace), name))
}

/// Observes the store of an informer.
pub(super) struct Probe {
    /// The names of its lists and watches, in the order of the store's streams.
    pub(super) names: Vec<Arc<str>>,
}

impl Observer for Probe {
    fn before_read(&self) {
        if let Some(witness) = witness::present() {
            self.names.iter().for_each(|name| witness.before_read(name));
        }
    }

    fn on_read(&self, streams: &mut dyn Iterator<Item = &StreamProgress>) {
        if let Some(witness) = witness::present() {
            for (name, at) in self.names.iter().zip(streams) {
                witness.on_read(name, at.changes, at.applied.as_deref());
            }
        }
    }
}
