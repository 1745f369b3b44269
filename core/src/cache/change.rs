use super::indexer::IndexerIn;
use crate::decode::DecodeErrorOf;
use crate::fanout::Transition;
use crate::fifo::Delta;
use crate::object::Version;
use crate::reflector::FailureReport;
use crate::storage::{Keyed, Mem};
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
    /// The version up to which the cache has every change with this one, if that is a new version. (A version without a
    /// change is a [`Note::Applied`].)
    pub applied: Option<&'a Version>,
}

/// What an informer tells its [`Cache`](super::Cache) besides the changes of objects.
#[derive(Debug)]
#[non_exhaustive]
pub enum Note<'a, V: Keyed> {
    /// The informer was started, for the first time or again.
    Started,
    /// The cache has every object of the first list (client-go `HasSynced`).
    Synced,
    /// The cache has every change up to this version
    /// ([`Informer::applied_version`](crate::Informer::applied_version)), without another change: after a bookmark, or
    /// a list without items. Otherwise the [change](super::Change::applied) says so.
    Applied(&'a Version),
    /// A request failed.
    Failed(&'a FailureReport),
    /// Requests succeed again.
    Recovered,
    /// An object could not be decoded. The cache keeps its last state.
    Undecodable(&'a DecodeErrorOf<V::Key>),
    /// The informer was stopped.
    Stopped,
}

impl<'a, V> Change<'a, V> {
    /// A change by `delta`, at the epoch.
    pub const fn new(delta: &'a Delta<V>, initial: bool) -> Self {
        Self { delta, initial, at: Instant::ZERO, applied: None }
    }

    /// The same change, applied at `now`.
    #[must_use]
    pub const fn at(mut self, now: Instant) -> Self {
        self.at = now;
        self
    }

    /// The same change, with which everything up to `version` is applied.
    #[must_use]
    pub const fn applying(mut self, version: Option<&'a Version>) -> Self {
        self.applied = version;
        self
    }
}

impl<V: Keyed + Clone, M: Mem> IndexerIn<V, M> {
    /// Applies a change, and returns the object that was under the key.
    pub(super) fn try_change(&mut self, change: Change<'_, V>) -> Result<Option<V>, M::Full<()>> {
        let object = change.delta.object();
        if change.delta.is_deletion() {
            return Ok(self.remove(object.key()));
        }
        self.try_insert(object.clone()).map_err(|full| M::map_full(full, drop))
    }
}

/// The change that `delta` makes where the cache had `known`: none if it deletes an object that the cache did not have.
pub(crate) fn transition<V>(delta: Delta<V>, initial: bool, known: Option<V>) -> Option<Transition<V>> {
    let (is_deletion, final_state_known) = (delta.is_deletion(), !matches!(delta, Delta::Tombstone(_)));
    let object = delta.into_object();
    match known {
        old if is_deletion => old.map(|old| Transition::Deleted { old, object, final_state_known }),
        Some(old) => Some(Transition::Updated { old, new: object }),
        None => Some(Transition::Added { object, initial }),
    }
}

impl<V> Clone for Change<'_, V> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<V> Copy for Change<'_, V> {}
