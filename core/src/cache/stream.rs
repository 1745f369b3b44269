use super::observer::Position;
use super::waiting::{Decimal, Place};
use crate::object::{Version, digits};
use crate::reflector::FailureReport;
use crate::sync::wakers::Wakers;
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::task::Waker;

/// The progress of one informer of a store, as [`StoreIn::streams`](super::StoreIn::streams) returns it.
///
/// A store has one stream, or one for each namespace of [`split`](super::StoreWriterIn::split).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StreamStatus {
    /// The namespace that the stream covers; `None` if it covers every object.
    pub namespace: Option<Arc<str>>,
    /// Whether the store has every object of the first list.
    pub synced: bool,
    /// The version up to which the store has every change.
    pub applied: Option<Version>,
    /// How many changes of objects the informer has applied since the store was made.
    pub changes: u64,
    /// The last failure, until the informer has recovered.
    pub failure: Option<FailureReport>,
    /// Whether the informer was stopped or dropped.
    pub stopped: bool,
}

/// The part of a store that one informer writes, and the tasks that wait for it.
pub(super) struct Stream<K> {
    scope: Option<Scope<K>>,
    pub(super) has_synced: bool,
    pub(super) is_stopped: bool,
    /// The writer was dropped.
    pub(super) is_gone: bool,
    pub(super) failure: Option<FailureReport>,
    applied: Option<Version>,
    /// How many changes were applied.
    pub(super) changes: u64,
    /// The tasks that wait for a version.
    versions: BTreeMap<Decimal, Wakers>,
}

/// The progress of a stream, for a task that waits for an object of it.
#[derive(Clone)]
pub(super) struct Reached {
    pub(super) has_synced: bool,
    pub(super) is_stopped: bool,
    pub(super) applied: Option<Version>,
}

/// The keys of one namespace.
#[derive(Clone, Debug)]
pub(super) struct Scope<K> {
    pub(super) namespace: Arc<str>,
    pub(super) namespace_of: fn(&K) -> Option<&str>,
}

impl<K> Scope<K> {
    pub(super) fn covers(&self, key: &K) -> bool {
        (self.namespace_of)(key) == Some(&*self.namespace)
    }
}

impl<K> Stream<K> {
    pub(super) fn new(scope: Option<Scope<K>>) -> Self {
        Self {
            scope,
            has_synced: false,
            is_stopped: false,
            is_gone: false,
            failure: None,
            applied: None,
            changes: 0,
            versions: BTreeMap::new(),
        }
    }

    pub(super) fn covers(&self, key: &K) -> bool {
        self.scope.as_ref().is_none_or(|scope| scope.covers(key))
    }

    /// The tasks that waited in another stream wait in this one: they keep their places.
    pub(super) fn adopt(&mut self, other: Self) {
        self.versions = other.versions;
    }

    pub(super) fn status(&self) -> StreamStatus {
        StreamStatus {
            namespace: self.scope.as_ref().map(|scope| Arc::clone(&scope.namespace)),
            synced: self.has_synced,
            applied: self.applied.clone(),
            changes: self.changes,
            failure: self.failure.clone(),
            stopped: self.is_stopped,
        }
    }

    pub(super) fn position(&self) -> Position<'_> {
        Position::new(self.changes, self.applied.as_ref())
    }

    pub(super) fn reached(&self) -> Reached {
        Reached { has_synced: self.has_synced, is_stopped: self.is_stopped, applied: self.applied.clone() }
    }

    /// Notes a version, and takes the wakers of the tasks that wait for it, or for one before it.
    pub(super) fn advance(&mut self, version: &Version, woken: &mut Vec<Waker>) {
        self.applied = Some(version.clone());
        if self.versions.is_empty() {
            return;
        }
        // Where versions have no order, every task looks for itself.
        let reached = version_of(version);
        for (awaited, wakers) in &mut self.versions {
            if reached.as_ref().is_some_and(|reached| awaited > reached) {
                break;
            }
            woken.append(&mut wakers.take_all());
        }
    }

    /// Lets a task sleep, if it waits for a version. `at` is the place of this stream.
    #[must_use]
    pub(super) fn register(&mut self, at: usize, place: &mut Place, waker: &Waker) -> Option<Waker> {
        let version = place.version.clone()?;
        place.stream = Some(at);
        self.versions.entry(version).or_default().register(&mut place.by_version, waker)
    }

    #[must_use]
    pub(super) fn remove(&mut self, place: &mut Place) -> Option<Waker> {
        place.stream = None;
        let version = place.version.as_ref()?;
        let wakers = self.versions.get_mut(version)?;
        let last = wakers.remove(&mut place.by_version);
        if wakers.has_no_tasks() {
            self.versions.remove(version);
        }
        last
    }

    #[cfg(test)]
    pub(super) fn has_no_tasks(&self) -> bool {
        self.versions.is_empty()
    }
}

/// A version that has an order.
pub(super) fn version_of(text: &str) -> Option<Decimal> {
    digits(text).ok().map(|digits| (digits.len(), digits.into()))
}
