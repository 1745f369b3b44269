use super::stream_audit::StreamAudit;
use listwatch_core::Instant;
#[cfg(feature = "metrics")]
use listwatch_core::audit::AuditReport;
use std::sync::Arc;

/// How many audits a stream had, by their results, and the last ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AuditCounts {
    by_result: [u64; RESULTS.len()],
    last: Option<(Instant, Arc<StreamAudit>)>,
    /// The last one that compared the store.
    compared: Option<Arc<StreamAudit>>,
}

/// The results that are counted.
const RESULTS: [&str; 4] = ["clean", "drifted", "behind", "failed"];

impl AuditCounts {
    /// An audit has ended.
    pub(in crate::informers) fn add(&mut self, now: Instant, audit: &Arc<StreamAudit>) {
        let place = RESULTS.iter().position(|known| *known == audit.result_name());
        place.into_iter().for_each(|place| self.by_result[place] += 1);
        if audit.result.is_ok() {
            self.compared = Some(Arc::clone(audit));
        }
        self.last = Some((now, Arc::clone(audit)));
    }

    /// The number of each result.
    #[cfg(feature = "metrics")]
    pub(crate) fn by_result(&self) -> [(&'static str, u64); RESULTS.len()] {
        let mut counts = RESULTS.map(|result| (result, 0));
        counts.iter_mut().zip(self.by_result).for_each(|((_, count), known)| *count = known);
        counts
    }

    /// What the last audit found that compared the store. One that fails after it says nothing about the store.
    #[cfg(feature = "metrics")]
    pub(crate) fn found(&self) -> Option<&AuditReport> {
        self.compared.as_ref()?.result.as_ref().ok()
    }

    /// The last audit, and when it ended.
    pub(in crate::informers) fn last(&self) -> Option<&(Instant, Arc<StreamAudit>)> {
        self.last.as_ref()
    }
}
