//! From a recording into a simulated cluster.

use super::change::{HistoryChange, HistoryStep};
use super::place::version_of;
use crate::cluster::{RecordedChange, SimulatedCluster};
use listwatch_core::Instant;
use serde_json::Value;

impl SimulatedCluster {
    /// Enters a step of a recording, in the version that was recorded. If the collection has a newer one, which another
    /// recorded client was told of earlier, the step and its object get the next version.
    ///
    /// At [`HistoryChange::Relisted`], a watch is told what came before, and then a 410; so its client has to list again.
    pub fn enter(&self, now: Instant, step: HistoryStep) {
        let of_object = |change: fn(Value, u64) -> RecordedChange, object: Value| {
            let version = version_of(&object);
            change(object, version)
        };
        let change = match step.change {
            HistoryChange::Added(object) | HistoryChange::Modified(object) => {
                of_object(RecordedChange::Present, object)
            }
            HistoryChange::Deleted(object) => of_object(RecordedChange::Deleted, object),
            HistoryChange::Reached(version) => RecordedChange::Reached(version),
            HistoryChange::Relisted { changed, gone, version } => RecordedChange::Relisted { changed, gone, version },
        };
        self.record(now, &step.resource.kind, change);
    }
}
