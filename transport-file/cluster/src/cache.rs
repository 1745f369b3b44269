//! The watch caches of API servers, which may be behind etcd.
//!
//! The rules are those of Kubernetes 1.31 and later: `cacher.go`, `watch_cache.go` and `delegator.go` of
//! `k8s.io/apiserver/pkg/storage/cacher`.
//!
//! | read | answer |
//! |---|---|
//! | an object without a version | from etcd |
//! | a list without a version | once the cache has the newest version; after three seconds, from etcd |
//! | a list or an object from version 0 on, a watch without a version | from the cache as it is |
//! | a list or an object of or from another version | once the cache has it; after three seconds a 504 |
//! | initial events of a watch-list | the same: without a version, from the newest one on; a 504 is an event |
//! | a watch from a version | the changes after it, as the cache gets them |

use super::network::Network;
use super::store::{Change, Collection, State, Store};
use core::time::Duration;
use listwatch_core::Instant;
use std::sync::Arc;

/// How long a read waits for a cache (`blockTimeout`).
const PATIENCE: Duration = Duration::from_secs(3);

/// How far the watch caches of an API server are behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Lag {
    /// Each change reaches them so much later.
    Time(Duration),
    /// They lack so many of the last changes of each resource.
    Changes(u32),
}

/// Whose caches a client reads.
#[derive(Clone, Debug, Default)]
pub(super) struct Reach {
    /// The number of the API server.
    pub(super) server: usize,
    /// What lies between; `None` for nothing.
    pub(super) network: Option<Arc<dyn Network>>,
}

/// The cache of a collection, as a client reads it now.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cache<'s> {
    pub(super) collection: &'s Collection,
    /// The newest version in etcd.
    pub(super) newest: u64,
    name: &'s str,
    now: Instant,
    lag: Option<Lag>,
    network: Option<&'s dyn Network>,
}

impl<'s> Cache<'s> {
    pub(super) fn new(now: Instant, store: &'s Store, name: &'s str, lag: Option<Lag>, reach: &'s Reach) -> Self {
        let (collection, newest) = (store.collection(name), store.version_of(name));
        Self { collection, newest, name, now, lag, network: reach.network.as_deref() }
    }

    /// When it has the change of this number; `None` if that depends on later ones.
    fn has_at(&self, number: u64, change: &Change) -> Option<Instant> {
        let has_at = match self.lag {
            None => change.at,
            Some(Lag::Time(late)) => change.at + late,
            Some(Lag::Changes(behind)) => self.collection.change(number + u64::from(behind)).ok()??.at,
        };
        let shown = |it: &dyn Network| it.cached_at(self.now, self.name, change.revision, change.at);
        Some(self.network.map_or(has_at, |it| has_at.max(shown(it))))
    }

    /// When a watch tells the change of this number, which takes so long on its way.
    pub(super) fn told_at(&self, number: u64, change: &Change, way: Duration) -> Option<Instant> {
        let told_at = |it: &dyn Network| it.told_at(self.now, self.name, change.at);
        let due = self.network.map_or(change.at + way, told_at);
        self.has_at(number, change).map(|has_at| has_at.max(due))
    }

    /// The newest version that it has.
    pub(super) fn version(&self) -> u64 {
        let is_missing = |number: u64, change: &Change| self.has_at(number, change).is_none_or(|at| at > self.now);
        let change = |number| self.collection.change(number).ok().flatten().filter(|change| is_missing(number, change));
        match (0..self.collection.end()).rev().map_while(change).last() {
            Some(oldest) => (oldest.revision - 1).max(self.collection.compacted()),
            None => self.newest,
        }
    }

    /// When it has this version: by now, or later. `None` if that depends on later changes.
    pub(super) fn reaches(&self, version: u64) -> Option<Instant> {
        if version > self.newest {
            return None;
        }
        let last = self.collection.position(version).ok().and_then(|next| next.checked_sub(1));
        let change = last.and_then(|last| Some((last, self.collection.change(last).ok()??)));
        change.map_or(Some(Instant::ZERO), |(last, change)| self.has_at(last, change))
    }

    /// The time at which a read of a version is answered that waits for it since then.
    pub(super) fn answers(&self, version: u64, since: Instant) -> Instant {
        self.reaches(version).map_or(since + PATIENCE, |at| at.min(since + PATIENCE))
    }

    pub(super) fn has(&self, version: u64) -> bool {
        self.reaches(version).is_some_and(|at| at <= self.now)
    }

    /// The objects that it has, and their version.
    pub(super) fn state(&self) -> (u64, State<'s>) {
        let version = self.version();
        let state = self.collection.state(version).map(|state| (version, state));
        state.unwrap_or_else(|_| (self.newest, self.collection.state(self.newest).unwrap_or_default()))
    }
}
