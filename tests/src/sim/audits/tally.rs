use listwatch_core::audit::{AuditError, AuditReport, Verdict};

/// What audits have found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AuditTally {
    clean: u64,
    drifted: u64,
    behind: u64,
    failed: u64,
    /// The client was killed.
    interrupted: u64,
    missing: u64,
    extra: u64,
    stale: u64,
    undecodable: u64,
    expired: u64,
    endless: u64,
    back_in_time: u64,
    /// How many were checked against the log.
    checked: u64,
    /// How many differences there were of which an audit had to tell.
    owed: u64,
}

impl AuditTally {
    /// All that ended.
    #[must_use]
    pub fn audits(&self) -> u64 {
        self.clean + self.drifted + self.behind + self.failed + self.interrupted
    }

    /// Each count by its name.
    #[must_use]
    pub fn counts(&self) -> [(&'static str, u64); 14] {
        [
            ("clean", self.clean),
            ("drifted", self.drifted),
            ("behind", self.behind),
            ("failed", self.failed),
            ("interrupted", self.interrupted),
            ("missing", self.missing),
            ("extra", self.extra),
            ("stale", self.stale),
            ("undecodable", self.undecodable),
            ("expired", self.expired),
            ("endless", self.endless),
            ("back in time", self.back_in_time),
            ("checked", self.checked),
            ("owed", self.owed),
        ]
    }

    /// Adds those of another run.
    pub fn add(&mut self, other: &Self) {
        let sum = |ours: &mut u64, theirs: u64| *ours += theirs;
        sum(&mut self.clean, other.clean);
        sum(&mut self.drifted, other.drifted);
        sum(&mut self.behind, other.behind);
        sum(&mut self.failed, other.failed);
        sum(&mut self.interrupted, other.interrupted);
        sum(&mut self.missing, other.missing);
        sum(&mut self.extra, other.extra);
        sum(&mut self.stale, other.stale);
        sum(&mut self.undecodable, other.undecodable);
        sum(&mut self.expired, other.expired);
        sum(&mut self.endless, other.endless);
        sum(&mut self.back_in_time, other.back_in_time);
        sum(&mut self.checked, other.checked);
        sum(&mut self.owed, other.owed);
    }

    pub(super) fn interrupt(&mut self) {
        self.interrupted += 1;
    }

    pub(super) fn check(&mut self, owed: usize) {
        self.checked += 1;
        self.owed += owed as u64;
    }

    pub(super) fn note(&mut self, result: &Result<AuditReport, AuditError>) {
        let report = match result {
            Ok(report) => report,
            Err(error) => {
                self.failed += 1;
                self.expired += u64::from(*error == AuditError::Expired);
                self.endless += u64::from(*error == AuditError::Endless);
                self.back_in_time += u64::from(*error == AuditError::BackInTime);
                return;
            }
        };
        *match report.verdict() {
            Verdict::Clean => &mut self.clean,
            Verdict::Drifted => &mut self.drifted,
            Verdict::Behind => &mut self.behind,
        } += 1;
        let counts = [report.missing, report.extra, report.stale, report.undecodable].map(|count| count as u64);
        let [missing, extra, stale, undecodable] = counts;
        (self.missing, self.extra, self.stale) = (self.missing + missing, self.extra + extra, self.stale + stale);
        self.undecodable += undecodable;
    }
}
