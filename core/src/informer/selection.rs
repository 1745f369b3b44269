//! A part of the collection, of which alone objects are kept.

use super::Informer;
use super::response::Unlisted;
use crate::cache::Cache;
use crate::decode::{FromJson, Keeps};
use crate::fifo::Delta;
use crate::object::{Meta, ObjectHandle};
use crate::reflector::{Phase, Step};
use crate::request::Resource;
use crate::storage::never_full;
use crate::time::Instant;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// The objects that an [`Informer`] keeps, and the request for them. The answer may have others: they are dropped as they are
/// decoded.
#[derive(Clone)]
pub struct Selection {
    resource: Resource,
    /// `None` if none is.
    keeps: Option<Keeps>,
}

impl Selection {
    /// The objects for which `keeps` is true. It has to say the same of all states of an object that has one uid.
    pub fn new(resource: Resource, keeps: impl Fn(&Meta) -> bool + Send + Sync + 'static) -> Self {
        Self { resource, keeps: Some(Arc::new(keeps)) }
    }

    /// No object: its list asks for one.
    pub fn none(resource: Resource) -> Self {
        Self { resource, keeps: None }
    }

    /// Whether it has this object.
    pub fn keeps(&self, meta: &Meta) -> bool {
        self.keeps.as_ref().is_some_and(|keeps| keeps(meta))
    }
}

summary!("Selection" for Selection, |it| { resource: it.resource });

impl<T: FromJson, C: Cache<ObjectHandle<T>>> Informer<T, C> {
    /// Keeps these objects alone, and lists them at once. When [`lists`](Self::lists) has grown and nothing is
    /// [left](Self::is_drained), the cache has all of them, and no others. Until then, it has those that it had.
    ///
    /// An object that leaves the cache so is told as deleted.
    pub fn select(&mut self, now: Instant, selection: Selection) {
        self.now = self.now.max(now);
        self.keep(selection);
        let step = self.reflector.reread(self.now);
        if step == Step::Discard {
            self.forget_response();
        }
        self.follow(step);
    }

    /// The same without a list: the others leave the cache. It is for objects that the cache has.
    pub fn narrow(&mut self, now: Instant, selection: Selection) {
        if self.phase() == Phase::Listing {
            // What is staged may be of the others.
            return self.select(now, selection);
        }
        self.now = self.now.max(now);
        self.keep(selection.clone());
        let queued = self.fifo.waiting().map(Delta::object).filter(|object| !selection.keeps(object.meta()));
        for object in queued.cloned().collect::<Vec<_>>() {
            never_full(self.try_delete(object));
        }
        let Self { cache, fifo, list, .. } = self;
        cache.read(|objects| {
            let kept = objects.places().filter(|(_, object)| selection.keeps(object.meta()));
            kept.for_each(|(place, _)| _ = list.places.insert(place));
            fifo.bury_part(&Unlisted { objects, cache, places: &list.places });
        });
        self.list.clear();
        self.note_received();
        self.cache.wake();
    }

    /// Whether nothing is left of what was received: the cache has it.
    pub fn is_drained(&self) -> bool {
        self.fifo.is_empty() && !self.has_work()
    }

    fn keep(&mut self, selection: Selection) {
        let Selection { resource, keeps } = selection;
        self.reflector.set_part(resource, keeps.is_none());
        self.decoder.set_keeps(keeps.unwrap_or_else(|| Arc::new(|_| false)));
    }
}
