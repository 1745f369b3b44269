//! The sources that a controller follows, as its handle reads them.

use core::time::Duration;
use listwatch_core::Instant;
use listwatch_core::informer::Subscriber;
use listwatch_core::object::ObjectHandle;
use listwatch_core::sync::StdLock;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// How far a controller is with one of its sources. [`ControllerHandle::sources`](super::ControllerHandle::sources)
/// returns it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SourceStatus {
    /// The path of the source's resource.
    pub source: Arc<str>,
    /// Whether all objects of its first state became keys.
    pub has_synced: bool,
    /// How many changes wait at most to become keys.
    pub backlog: usize,
    /// For how long the oldest of them has waited; zero where none waits.
    pub lag: Duration,
}

/// The sources that are followed now.
#[derive(Default)]
pub(super) struct Sources(Mutex<Vec<Entry>>);

struct Entry {
    source: Arc<str>,
    gauge: Weak<dyn Gauge>,
}

/// A subscriber of any type.
pub(super) trait Gauge: Send + Sync {
    /// Whether it has synced, its backlog, and its lag.
    fn read(&self, now: Instant) -> (bool, usize, Duration);
}

impl<T: Send + Sync> Gauge for Mutex<Subscriber<ObjectHandle<T>, StdLock>> {
    fn read(&self, now: Instant) -> (bool, usize, Duration) {
        let subscriber = lock(self);
        (subscriber.has_synced(), subscriber.backlog(), subscriber.lag(now))
    }
}

impl Sources {
    /// Shows a source for as long as its subscriber is there.
    pub(super) fn add(&self, source: &Arc<str>, gauge: &Arc<impl Gauge + 'static>) {
        let gauge: Arc<dyn Gauge> = Arc::clone(gauge) as _;
        let mut entries = lock(&self.0);
        entries.retain(|entry| entry.gauge.strong_count() > 0);
        entries.push(Entry { source: Arc::clone(source), gauge: Arc::downgrade(&gauge) });
    }

    /// The sources, in the order of their begin.
    pub(super) fn status(&self, now: Instant) -> Vec<SourceStatus> {
        let entries = lock(&self.0);
        let known = entries.iter().filter_map(|entry| Some((Arc::clone(&entry.source), entry.gauge.upgrade()?)));
        let known: Vec<_> = known.collect();
        // Outside of the lock: the last share of a subscriber may be dropped here.
        drop(entries);
        let status = |(source, gauge): (_, Arc<dyn Gauge>)| {
            let (has_synced, backlog, lag) = gauge.read(now);
            SourceStatus { source, has_synced, backlog, lag }
        };
        known.into_iter().map(status).collect()
    }
}

/// Nothing of the program's runs under these locks, or its panic was caught.
pub(super) fn lock<T: ?Sized>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
