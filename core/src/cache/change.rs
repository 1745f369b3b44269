use super::indexer::Indexer;
use crate::fifo::Delta;
use crate::storage::Keyed;
use crate::time::Instant;

/// A change that a [`Cache`](super::Cache) applies. Together with the object that the cache had, it gives the
/// informer's event.
#[derive(Debug)]
#[non_exhaustive]
pub struct Change<'a, V> {
    /// The delta of the object.
    pub delta: &'a Delta<V>,
    /// Whether the delta belongs to the first list (client-go `isInInitialList`).
    pub initial: bool,
    /// When the informer applies it.
    pub at: Instant,
}

impl<'a, V> Change<'a, V> {
    /// A change by `delta`, at the epoch.
    #[must_use]
    pub const fn new(delta: &'a Delta<V>, initial: bool) -> Self {
        Self { delta, initial, at: Instant::ZERO }
    }

    /// The same change, applied at `now`.
    #[must_use]
    pub const fn at(mut self, now: Instant) -> Self {
        self.at = now;
        self
    }
}

impl<V: Keyed + Clone> Indexer<V> {
    /// Applies a change, and returns the object that was under the key.
    pub(super) fn change(&mut self, change: Change<'_, V>) -> Option<V> {
        let object = change.delta.object();
        if change.delta.is_deletion() { self.remove(object.key()) } else { self.insert(object.clone()) }
    }
}

impl<V> Clone for Change<'_, V> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<V> Copy for Change<'_, V> {}
