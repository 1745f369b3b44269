use crate::sim::counts::Counts;
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

impl Counts for AuditTally {
    fn counts_mut(&mut self) -> Vec<(&'static str, &mut u64)> {
        vec![
            ("clean", &mut self.clean),
            ("drifted", &mut self.drifted),
            ("behind", &mut self.behind),
            ("failed", &mut self.failed),
            ("interrupted", &mut self.interrupted),
            ("missing", &mut self.missing),
            ("extra", &mut self.extra),
            ("stale", &mut self.stale),
            ("undecodable", &mut self.undecodable),
            ("expired", &mut self.expired),
            ("endless", &mut self.endless),
            ("back in time", &mut self.back_in_time),
            ("checked", &mut self.checked),
            ("owed", &mut self.owed),
        ]
    }
}
