use super::waiting::{Decimal, Registration};
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
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StreamProgress {
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

/// Hears of each read of a store, for a recorder of what its readers see, or a replay of it.
///
/// [`StoreWriterIn::observed_by`](super::StoreWriterIn::observed_by) sets it. The informer's own reads are not told.
pub trait Observer: Send + Sync {
    /// A read begins. The lock is open: the observer may let the informer write first.
    fn before_read(&self);

    /// A read sees the store where its streams are now, in the order of [`StoreIn::streams`](super::StoreIn::streams).
    /// The lock is held, so this must be short, and must not read the store.
    fn on_read(&self, streams: &mut dyn Iterator<Item = &StreamProgress>);
}

/// The part of a store that one informer writes, and the tasks that wait for it.
pub(super) struct Stream<K> {
    pub(super) progress: StreamProgress,
    scope: Option<Scope<K>>,
    /// The writer was dropped.
    pub(super) is_gone: bool,
    /// The tasks that wait for a version.
    versions: BTreeMap<Decimal, Wakers>,
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
        let namespace = scope.as_ref().map(|scope| Arc::clone(&scope.namespace));
        let progress = StreamProgress { namespace, ..StreamProgress::default() };
        Self { progress, scope, is_gone: false, versions: BTreeMap::new() }
    }

    pub(super) fn covers(&self, key: &K) -> bool {
        self.scope.as_ref().is_none_or(|scope| scope.covers(key))
    }

    /// The tasks that waited in another stream wait in this one: they keep their places.
    pub(super) fn adopt(&mut self, other: Self) {
        self.versions = other.versions;
    }

    /// Notes a version, and takes the wakers of the tasks that wait for it, or for one before it.
    pub(super) fn advance(&mut self, version: &Version, woken: &mut Vec<Waker>) {
        self.progress.applied = Some(version.clone());
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

    /// Lets a task sleep, if it waits for a version. `at` is the number of this stream.
    #[must_use]
    pub(super) fn register(&mut self, at: usize, registration: &mut Registration, waker: &Waker) -> Option<Waker> {
        let version = registration.version.clone()?;
        registration.stream = Some(at);
        self.versions.entry(version).or_default().register(&mut registration.by_version, waker)
    }

    #[must_use]
    pub(super) fn remove(&mut self, registration: &mut Registration) -> Option<Waker> {
        registration.stream = None;
        let version = registration.version.as_ref()?;
        let wakers = self.versions.get_mut(version)?;
        let last = wakers.remove(&mut registration.by_version);
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
