//! The start of a controller, and its period.

use super::ReconcilerIn;
use crate::controller::lifecycle::{SourceId, Stage};
use crate::queue::RateLimiter;
use crate::storage::Mem;
use crate::time::Instant;
use core::hash::Hash;
use core::time::Duration;

impl<K: Hash + Eq + Clone, C, W, L: RateLimiter, M: Mem> ReconcilerIn<K, C, W, L, M> {
    /// Counts on a source of keys: the controller does not run before the source [has synced](Self::source_synced).
    /// A source that is added to a running controller stops nothing.
    ///
    /// # Errors
    /// A full reconciler has room for no more sources; nothing changed.
    pub fn try_add_source(&mut self) -> Result<SourceId, M::Full<()>> {
        self.sources.try_add()
    }

    /// All keys of the source's first state were added. Others may be added later.
    pub fn source_synced(&mut self, now: Instant, source: SourceId) {
        self.note_time(now);
        self.sources.on_synced(source);
        self.run_if_synced();
    }

    /// Counts no longer on a source.
    pub fn remove_source(&mut self, now: Instant, source: SourceId) {
        self.note_time(now);
        self.sources.remove(source);
        self.run_if_synced();
    }

    /// The sources that have not synced.
    pub fn unsynced_sources(&self) -> impl Iterator<Item = SourceId> {
        self.sources.unsynced()
    }

    /// Lets the controller run as soon as all sources have synced. If they have not `within` this time, it never runs:
    /// [`Lifecycle::NotSynced`](crate::controller::Lifecycle::NotSynced). Without a time it waits for ever.
    ///
    /// A second start is ignored.
    pub fn start(&mut self, now: Instant, within: Option<Duration>) {
        self.note_time(now);
        if self.stage == Stage::Created {
            self.stage = Stage::Starting(within.map(|within| self.now + within));
            self.run_if_synced();
        }
    }

    /// Whether the [period](Self::with_period) has come: the caller adds all keys. It is true once for each period.
    #[must_use = "the period is not told again"]
    pub fn poll_period(&mut self) -> bool {
        core::mem::take(&mut self.is_period_due)
    }

    pub(super) fn pass_period(&mut self) {
        if self.next_period.is_some_and(|due| due <= self.now) {
            self.is_period_due = true;
            self.next_period = self.period.as_ref().map(|period| self.now + *period);
        }
    }

    fn run_if_synced(&mut self) {
        if matches!(self.stage, Stage::Starting(_)) && self.sources.have_synced() {
            self.stage = Stage::Running;
            self.next_period = self.period.as_ref().map(|period| self.now + *period);
        }
    }
}
