//! A simulated cluster: objects in memory, and the answers of an API server.

mod form;
mod kinds;
mod list;
mod patch;
mod refusal;
mod selector;
mod server;
mod shared;
mod store;
mod target;
#[cfg(test)]
mod tests;
mod watch;
mod write;

pub(crate) use kinds::Kinds;
pub use kinds::ServedKind;
pub use server::{Call, RecordedChange, RecordedKind, RecordedState};
pub use shared::{Answer, WatchStream};
pub use watch::WatchProgress;

use listwatch_core::Instant;
use listwatch_core::time::WallTime;
use server::Server;
use shared::Shared;
use std::sync::Arc;
use write::Actor;

/// A cluster in memory. A clone is the same cluster.
#[derive(Clone, Debug)]
pub struct SimulatedCluster {
    shared: Arc<Shared>,
}

impl SimulatedCluster {
    /// The date at which a cluster begins: `2000-01-01T00:00:00Z`, as a simulated clock does.
    pub const ORIGIN: WallTime = WallTime::from_unix_seconds(946_684_800);

    /// A cluster without objects.
    #[must_use]
    pub fn new() -> Self {
        Self::starting_at(Self::ORIGIN)
    }

    /// A cluster without objects, whose date is `origin` at [`Instant::ZERO`].
    #[must_use]
    pub fn starting_at(origin: WallTime) -> Self {
        Self { shared: Shared::new(Server::new(origin)) }
    }

    /// Adds a kind of custom resources. A kind whose plural is regular needs no such call.
    #[must_use]
    pub fn with_kind(self, api_version: &str, kind: &str, plural: &str, namespaced: bool) -> Self {
        self.shared.with(|inside| {
            inside.server.kinds().add(ServedKind::custom(api_version, kind, plural, namespaced));
        });
        self
    }

    /// The kinds that are served, by the names of their collections.
    #[must_use]
    pub fn kinds(&self) -> Vec<Arc<ServedKind>> {
        self.shared.kinds()
    }

    /// Answers a request that came over a wire.
    #[must_use]
    pub fn handle(&self, now: Instant, call: &Call<'_>) -> Answer {
        self.shared.handle(now, call, Actor::Client)
    }

    /// Enters a change that was recorded elsewhere, in its own version. The versions of a collection ascend.
    pub fn apply_recorded(&self, now: Instant, change: RecordedChange) {
        self.shared.apply_recorded(now, change);
    }

    /// Enters a state that was recorded elsewhere, and whose changes are unknown. A watch is told what came before, and
    /// then a 410; so its client has to list again.
    pub fn apply_relisted(&self, now: Instant, state: RecordedState) {
        self.shared.apply_relisted(now, state);
    }

    /// Forgets the history, as etcd does by and by: a watch from an older version, and a list's older continue token,
    /// get a 410.
    pub fn compact(&self) {
        self.shared.with(|inside| inside.server.store_mut().compact());
    }
}

impl Default for SimulatedCluster {
    fn default() -> Self {
        Self::new()
    }
}
