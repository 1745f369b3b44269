//! The observer of an informer: the rules that hold at every step.

use super::log::Log;
use super::object::{Health, KeyNumber, Stored, value};
use super::selector::Selector;
use super::tier::{InformerOf, Seen, Tier, number};
use listwatch_core::cache::Cache;
use listwatch_core::informer::EventOf;
use listwatch_core::reflector::{Failure, Phase};

/// What was told of an object last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Told {
    uid: u64,
    revision: u64,
    value: Option<u64>,
}

/// What the events amount to, and the rules that they and the cache keep.
#[derive(Clone, Debug)]
pub struct Observer {
    told: Vec<Option<Told>>,
    /// What is yet to be told of a state that is restored.
    restored: Option<Vec<Option<Told>>>,
    /// What was told of objects that are gone.
    gone: Vec<Option<Told>>,
    selector: Selector,
    metadata_only: bool,
    /// The most deltas that may be queued.
    most_queued: usize,
    synced: bool,
    received: u64,
    applied: u64,
    /// The store's era in which the last list began, and that of the state in the cache.
    listing_era: u32,
    era: u32,
    /// There were objects of which not even the key could be read: deletions may have been missed.
    pub blind: bool,
    /// One of them was part of the last list, from which no deletion was inferred: only the next tells, and none need come.
    pub needs_restart: bool,
    /// A proxy loses events, those of a first state too: deletions are inferred that never were.
    pub is_lossy: bool,
    checked: Option<(u64, u64)>,
    changes: u64,
    /// How many objects the cache has room for, if it cannot grow.
    room: Option<usize>,
    /// A list that may pass in parts has begun, and is not complete: the cache is between two states.
    is_between: bool,
    /// The cache lacks objects for want of room.
    lacks: bool,
    /// That was told.
    lacks_told: bool,
}

impl Observer {
    /// Of an informer that was told nothing yet.
    #[must_use]
    pub fn new(keys: KeyNumber, selector: Selector, metadata_only: bool, queue_limit: usize) -> Self {
        Self {
            told: vec![None; keys.into()],
            restored: None,
            gone: vec![None; keys.into()],
            selector,
            metadata_only,
            // One event is one delta; a list may bring all keys, and the deletions of all.
            most_queued: queue_limit + 2 * usize::from(keys),
            synced: false,
            received: 0,
            applied: 0,
            listing_era: 0,
            era: 0,
            blind: false,
            needs_restart: false,
            is_lossy: false,
            checked: None,
            changes: 0,
            room: None,
            is_between: false,
            lacks: false,
            lacks_told: false,
        }
    }

    /// Of an informer whose cache has room for so many objects.
    #[must_use]
    pub fn with_room(self, room: Option<usize>) -> Self {
        Self { room, ..self }
    }

    /// Of the next informer, which knows nothing.
    #[must_use]
    pub fn reborn(&self) -> Self {
        let nothing = vec![None; self.told.len()];
        let Self { blind, selector, .. } = self.clone();
        Self {
            told: nothing.clone(),
            restored: None,
            gone: nothing,
            selector,
            synced: false,
            received: 0,
            applied: 0,
            listing_era: 0,
            era: 0,
            blind,
            needs_restart: false,
            checked: None,
            is_between: false,
            lacks: false,
            lacks_told: false,
            ..*self
        }
    }

    /// Of the next informer, which begins with the state that this one has.
    #[must_use]
    pub fn restored(self) -> Self {
        let (told, era) = (vec![None; self.told.len()], self.era);
        Self {
            restored: Some(self.told),
            applied: 0,
            told,
            synced: false,
            listing_era: era,
            needs_restart: false,
            checked: None,
            ..self
        }
    }

    /// The store's era of the state in the cache.
    #[must_use]
    pub fn era(&self) -> u32 {
        self.era
    }

    /// A list, or a watch-list, begins.
    pub fn note_listing(&mut self, log: &Log) {
        self.listing_era = log.era();
        self.needs_restart = false;
    }

    /// (Added (Updated | Recreated)* Deleted)*, with nothing that goes back.
    ///
    /// # Panics
    /// Where it is not so.
    pub fn note<V: Seen>(&mut self, event: &EventOf<V>, log: &Log) {
        self.changes += 1;
        match event {
            EventOf::Added { object, initial } => {
                assert!(!(*initial && self.synced), "an object of the first list after all of them");
                let before = self.tell(object);
                self.check_restored(object);
                assert_eq!(before, None, "added, but it is there already: {object:?}");
            }
            EventOf::Updated { old, new } => {
                assert_eq!(old.uid(), new.uid(), "updated, but it is another one");
                self.replace(old, new, log);
            }
            EventOf::Recreated { old, new } => {
                assert_ne!(old.uid(), new.uid(), "recreated, but it is the same");
                self.replace(old, new, log);
            }
            EventOf::Deleted { object, .. } => {
                let key = key_number(object);
                self.gone[key] = self.told[key].take();
                let last = self.gone[key].unwrap_or_else(|| panic!("deleted, but it was not there: {object:?}"));
                self.check_gone(object.place(), last, log);
            }
            EventOf::Synced => {
                assert!(!std::mem::replace(&mut self.synced, true), "synced twice");
                let left = self.restored.take().into_iter().flatten().flatten().next();
                assert_eq!(left, None, "restored, but not told");
            }
            EventOf::Failed(report) => {
                if let Failure::DoesNotFit { wanted } = report.failure {
                    // A stream may count an object twice that changes meanwhile.
                    assert!(self.room.is_some() && wanted > self.held(), "{wanted} are wanted");
                    self.lacks_told = true;
                }
            }
            _ => {}
        }
    }

    /// What is told to be deleted was so, or was not among those that are selected any more, after it was told.
    fn check_gone(&self, key: KeyNumber, last: Told, log: &Log) {
        let was_gone = self.is_lossy || log.era() > 0 || self.was_gone(key, last, log.revision(), log);
        assert!(was_gone, "pod {key} is told to be deleted, and never was: {last:?}");
    }

    /// Whether an object was not to be seen in the state that was told last, or at some time after it.
    fn was_gone(&self, key: KeyNumber, last: Told, until: u64, log: &Log) -> bool {
        let is_seen = |state: &Stored| self.selector.matches(key, state);
        // A server without end repeats what is not selected, and a list in parts tells it.
        let is_wrong = !log.state(key, last.revision).is_some_and(|state| is_seen(&state));
        is_wrong || log.was_gone(key, last.revision, until, is_seen)
    }

    /// Of each object, the restored state is told first.
    fn check_restored(&mut self, object: &impl Seen) {
        let restored = self.restored.as_mut().and_then(|restored| restored[key_number(object)].take());
        assert!(restored.is_none_or(|restored| restored == told(object)), "another state is restored: {object:?}");
    }

    fn tell(&mut self, object: &impl Seen) -> Option<Told> {
        let told = told(object);
        assert_eq!(told.value.is_none(), self.metadata_only, "{object:?}");
        self.told[key_number(object)].replace(told)
    }

    fn replace<V: Seen>(&mut self, old: &V, new: &V, log: &Log) {
        let (before, old, new) = (self.tell(new), told(old), told(new));
        assert_eq!(before, Some(old), "what is said to be old was not told");
        assert!(log.era() > 0 || old.revision <= new.revision, "went back from {old:?} to {new:?}");
    }

    /// What holds between any two inputs.
    ///
    /// # Panics
    /// Where it does not.
    pub fn check<T: Tier>(&mut self, informer: &InformerOf<T>, log: &Log) {
        assert!(informer.queued() <= self.most_queued, "{} deltas are queued", informer.queued());
        if informer.phase() == Phase::Watching {
            self.era = self.listing_era;
        }
        self.note_room::<T>(informer);
        self.check_versions::<T>(informer, log);
        self.check_cache::<T>(informer);
        self.check_truth::<T>(informer, log);
    }

    /// A list of which a cache of a fixed capacity has a part, and what it has no room for.
    fn note_room<T: Tier>(&mut self, informer: &InformerOf<T>) {
        let is_read = informer.phase() == Phase::Watching && informer.queued() == 0 && informer.wants_input();
        let is_listing = informer.phase() == Phase::Listing;
        self.is_between = self.room.is_some() && (is_listing || self.is_between && !is_read);
        self.lacks = informer.wanted().is_some();
        self.lacks_told &= self.lacks;
        assert!(!self.lacks || self.room.is_some_and(|room| room < self.told.len()), "a cache with room lacks objects");
    }

    /// Versions do not go back, except where the store itself did.
    fn check_versions<T: Tier>(&mut self, informer: &InformerOf<T>, log: &Log) {
        let received = informer.received_version().map_or(0, number);
        let applied = informer.applied_version().map_or(0, number);
        if log.era() == 0 {
            assert!(self.received <= received, "the version went back from {} to {received}", self.received);
            assert!(self.applied <= applied, "the applied version went back from {} to {applied}", self.applied);
            assert!(applied <= received, "{applied} is applied, {received} received");
        }
        (self.received, self.applied) = (received, applied);
    }

    /// The cache is what the events amount to.
    fn check_cache<T: Tier>(&self, informer: &InformerOf<T>) {
        informer.cache().read(|cache| {
            for object in cache.iter() {
                let expected = self.told[key_number(object)];
                assert_eq!(Some(told(object)), expected, "the cache has what was not told");
            }
            assert_eq!(cache.len(), self.held(), "the cache lacks what was told");
        });
    }

    /// How many objects the cache holds, by what was told.
    fn held(&self) -> usize {
        self.told.iter().flatten().count()
    }

    /// When nothing is queued, the cache is the state of the store at the version that was applied.
    fn check_truth<T: Tier>(&mut self, informer: &InformerOf<T>, log: &Log) {
        let is_open = self.is_between || informer.queued() > 0 || self.received == 0;
        if self.blind || self.is_lossy || self.era != log.era() || is_open {
            return;
        }
        assert_eq!(self.received, self.applied, "nothing is queued, but not everything is applied");
        let now = Some((self.received, self.changes));
        if std::mem::replace(&mut self.checked, now) == now {
            return;
        }
        for key in 0..log.keys() {
            self.check_object(key, log);
        }
    }

    fn check_object(&self, key: KeyNumber, log: &Log) {
        let (told, at) = (self.told[usize::from(key)], self.received);
        let truth = self.selector.of_those(key, log.state(key, at));
        match (truth, told) {
            (None, None) => {}
            (Some(truth), _) if truth.health != Health::Good && !self.metadata_only => {
                self.check_last_good(key, log, told);
            }
            (Some(truth), Some(told)) => {
                assert_eq!(told, self.expected(&truth), "pod {key} is not what it was at {at}");
            }
            (Some(_), None) if self.lacks => {}
            (Some(truth), None) => panic!("pod {key} is missing at {at}: {truth:?}"),
            (None, Some(told)) => panic!("the deletion of pod {key} was missed at {at}: {told:?}"),
        }
    }

    /// An object that cannot be decoded keeps a state that it had, unless it was gone in the meantime; but for one from
    /// before the store was restored, perhaps.
    fn check_last_good(&self, key: KeyNumber, log: &Log, told: Option<Told>) {
        match (told, self.gone[usize::from(key)]) {
            _ if log.era() > 0 => {}
            (Some(told), _) => {
                let is_it = |past: Stored| self.expected(&past) == told && past.health == Health::Good;
                assert!(log.past(key, self.received).any(is_it), "pod {key} never was {told:?}");
            }
            (None, Some(gone)) => {
                let was_gone = self.was_gone(key, gone, self.received, log);
                assert!(was_gone, "pod {key} is there, but cannot be decoded, and was told to be gone: {gone:?}");
            }
            (None, None) => {}
        }
    }

    fn expected(&self, object: &Stored) -> Told {
        let value = (!self.metadata_only).then(|| value(object.uid, object.node));
        Told { uid: object.uid, revision: object.revision, value }
    }

    /// Whether the informer has everything that the store has.
    #[must_use]
    pub fn has_caught_up(&self, log: &Log) -> bool {
        let truth = |key| self.selector.of_those(key, log.state(key, log.revision()));
        let there = (0..log.keys()).filter(|key| truth(*key).is_some()).count();
        let is_full = self.room.is_some_and(|room| room < there) && self.room == Some(self.held());
        self.synced
            && self.lacks == is_full
            && self.lacks_told == is_full
            && (0..log.keys()).all(|key| {
                let told = self.told[usize::from(key)];
                truth(key).map(|truth| self.expected(&truth)) == told || is_full && told.is_none()
            })
    }
}

fn key_number(object: &impl Seen) -> usize {
    object.place().into()
}

fn told(object: &impl Seen) -> Told {
    Told { uid: object.uid(), revision: object.revision(), value: object.value() }
}

#[cfg(test)]
mod tests;
