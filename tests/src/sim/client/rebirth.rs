//! A client that is killed, and begins again from what it saved.

use super::{Client, Noted, Observer};
use crate::sim::restored::Restored;
use crate::sim::tier::{ObjectOf, Tier};
use listwatch_core::cache::Cache;
use listwatch_core::informer::SavedAge;
use listwatch_core::reflector::Action;
use listwatch_core::request::RequestId;
use listwatch_core::saved::Saver;
use listwatch_core::{InformerConfig, Instant, Resource};
use std::time::Duration;

/// What a client saves, and how it begins.
#[derive(Debug)]
pub(super) struct Memory<V> {
    resource: Resource,
    config: InformerConfig,
    saver: Saver,
    saved: Option<State<V>>,
}

/// A cache that was saved, and what its observer knew then.
#[derive(Clone, Debug)]
struct State<V> {
    at: Instant,
    version: String,
    objects: Vec<V>,
    observer: Observer,
}

/// The least time between two saves.
const EVERY: Duration = Duration::from_secs(20);

impl<V> Memory<V> {
    pub(super) fn new(resource: Resource, config: InformerConfig) -> Self {
        Self { resource, config, saver: Saver::new(EVERY), saved: None }
    }
}

impl<T: Tier> Client<T> {
    /// Saves the cache, if that is due.
    pub(super) fn save(&mut self, now: Instant) {
        let version = self.informer.saveable_version();
        if !self.memory.saver.poll_save(now, version) {
            return;
        }
        let Some(version) = version.map(|version| version.to_string()) else { return };
        let objects = self.informer.cache().read(|cache| cache.iter().cloned().collect());
        self.memory.saved = Some(State { at: now, version, objects, observer: self.observer.clone() });
        self.memory.saver.handle_saved(true);
    }

    /// The process is killed, and begins again with what it saved last, if anything.
    ///
    /// # Panics
    /// Where what was saved does not come back.
    pub fn die_and_return(&mut self, now: Instant) {
        self.informer.stop(now);
        while let Some(Action::Abort(id)) = self.informer.poll_action() {
            if self.connection.take_if(|open| open.id() == id).is_some() {
                self.wire.abort(id);
            }
        }
        assert!(self.connection.is_none(), "a request is open that was not given up");
        self.trace.begin_anew();
        self.informer = T::informer(self.memory.resource.clone(), self.memory.config);
        (self.not_before, self.last_id) = (now, RequestId::default());
        (self.unread, self.twice) = (false, false);
        self.noted = Noted::default();
        match self.memory.saved.clone() {
            Some(state) if self.restore(now, &state) => {}
            _ => self.observer = self.observer.reborn(),
        }
        self.informer.start(now);
    }

    /// Gives the new informer what was saved, if its tier can take it.
    fn restore(&mut self, now: Instant, state: &State<ObjectOf<T>>) -> bool {
        let age = now.saturating_since(state.at);
        let held = T::ROOM.is_none() && self.dice.chance(20);
        let State { version, objects, .. } = state;
        let restored = Restored { now, age, held, resource: &self.memory.resource, objects, version };
        if !T::restore(&mut self.informer, restored) {
            return false;
        }
        assert_eq!(self.informer.restored_age(now), Some(SavedAge::Known(age)));
        let blind = self.observer.blind;
        self.observer = state.observer.clone().restored();
        self.observer.blind |= blind;
        self.memory.saver.handle_restored(now, version);
        true
    }
}
