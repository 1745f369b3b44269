//! What recorders met.

use crate::sim::counts::Counts;
use listwatch_core::recorder::RecorderCounts;

/// Counts of a recorder, or of many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecorderTally {
    pub(super) recorded: u64,
    pub(super) requests: u64,
    pub(super) aborted: u64,
    pub(super) lost_answers: u64,
    pub(super) busy: u64,
    pub(super) forbidden: u64,
    pub(super) forgotten: u64,
    pub(super) killed: u64,
    /// Programs at whose end the counts were exactly what reached the server.
    pub(super) exact: u64,
    filtered: u64,
    dropped: u64,
    refused: u64,
    failed: u64,
}

impl RecorderTally {
    pub(super) fn ended(&mut self, counts: RecorderCounts) {
        self.recorded += counts.recorded;
        self.filtered += counts.filtered;
        self.dropped += counts.dropped;
        self.refused += counts.refused;
        self.failed += counts.failed;
    }
}

impl Counts for RecorderTally {
    fn counts_mut(&mut self) -> Vec<(&'static str, &mut u64)> {
        vec![
            ("recorded", &mut self.recorded),
            ("requests", &mut self.requests),
            ("aborted", &mut self.aborted),
            ("lost answers", &mut self.lost_answers),
            ("busy", &mut self.busy),
            ("forbidden", &mut self.forbidden),
            ("forgotten", &mut self.forgotten),
            ("killed", &mut self.killed),
            ("exact", &mut self.exact),
            ("filtered", &mut self.filtered),
            ("dropped", &mut self.dropped),
            ("refused", &mut self.refused),
            ("failed", &mut self.failed),
        ]
    }
}
