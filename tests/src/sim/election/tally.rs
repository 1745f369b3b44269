//! What elections met.

use crate::sim::counts::Counts;
use listwatch_core::election::{ElectionEvent, StopReason};

/// Counts of an election, or of many.
#[derive(Clone, Copy, Debug, Default)]
pub struct ElectionTally {
    /// Elections.
    pub runs: u64,
    /// Requests of candidates.
    pub requests: u64,
    /// Terms.
    pub started: u64,
    /// Terms that ended because no renewal succeeded.
    pub expired: u64,
    /// Terms that ended because another client changed the record.
    pub taken: u64,
    /// Terms that the program ended.
    pub asked: u64,
    /// Leases that were released.
    pub released: u64,
    /// Requests that failed.
    pub failed: u64,
    /// Programs that were killed, and that stood still.
    pub kills: u64,
    /// Programs that stood still.
    pub stalls: u64,
    /// Writes that their candidate did not send, because its term was over.
    pub refused: u64,
    /// Writes that arrived after one of a later term, which their receiver refuses.
    pub late: u64,
}

impl ElectionTally {
    pub(super) fn event(&mut self, event: &ElectionEvent) {
        match event {
            ElectionEvent::Started(_) => self.started += 1,
            ElectionEvent::Stopping(StopReason::Expired) => self.expired += 1,
            ElectionEvent::Stopping(StopReason::Taken { .. }) => self.taken += 1,
            ElectionEvent::Stopping(_) => self.asked += 1,
            ElectionEvent::Ended { released: true } => self.released += 1,
            ElectionEvent::Failed(_) => self.failed += 1,
            _ => {}
        }
    }
}

impl Counts for ElectionTally {
    fn counts_mut(&mut self) -> Vec<(&'static str, &mut u64)> {
        vec![
            ("runs", &mut self.runs),
            ("requests", &mut self.requests),
            ("started", &mut self.started),
            ("expired", &mut self.expired),
            ("taken", &mut self.taken),
            ("asked", &mut self.asked),
            ("released", &mut self.released),
            ("failed", &mut self.failed),
            ("kills", &mut self.kills),
            ("stalls", &mut self.stalls),
            ("refused", &mut self.refused),
            ("late", &mut self.late),
        ]
    }
}
