//! What recorders met.

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

    /// Each count by its name.
    #[must_use]
    pub fn counts(&self) -> [(&'static str, u64); 13] {
        [
            ("recorded", self.recorded),
            ("requests", self.requests),
            ("aborted", self.aborted),
            ("lost answers", self.lost_answers),
            ("busy", self.busy),
            ("forbidden", self.forbidden),
            ("forgotten", self.forgotten),
            ("killed", self.killed),
            ("exact", self.exact),
            ("filtered", self.filtered),
            ("dropped", self.dropped),
            ("refused", self.refused),
            ("failed", self.failed),
        ]
    }

    /// Adds those of another run.
    pub fn add(&mut self, other: &Self) {
        let sum = |ours: &mut u64, theirs: u64| *ours += theirs;
        sum(&mut self.recorded, other.recorded);
        sum(&mut self.requests, other.requests);
        sum(&mut self.aborted, other.aborted);
        sum(&mut self.lost_answers, other.lost_answers);
        sum(&mut self.busy, other.busy);
        sum(&mut self.forbidden, other.forbidden);
        sum(&mut self.forgotten, other.forgotten);
        sum(&mut self.killed, other.killed);
        sum(&mut self.exact, other.exact);
        sum(&mut self.filtered, other.filtered);
        sum(&mut self.dropped, other.dropped);
        sum(&mut self.refused, other.refused);
        sum(&mut self.failed, other.failed);
    }
}
