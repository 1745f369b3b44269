//! The drift audits of a controller.

use super::feed::Feed;
use super::read::Read;
use super::report::Report;
use super::state::State;
use crate::audit::{AuditConfig, AuditSchedule, Audits, StreamAudit};
use crate::informers::StreamName;
use core::time::Duration;
use std::sync::Arc;

/// The audits of the caches of a controller, once in each period.
pub(super) fn audits(state: &State, period: Duration, feeds: &[Box<dyn Feed>], reads: &[Box<dyn Read>]) -> Audits {
    let all = feeds.iter().map(|feed| feed.source()).chain(reads.iter().map(|read| &**read));
    let targets = all.flat_map(Read::audit_targets).collect();
    Audits::new(targets, state.clock.clone(), AuditSchedule::new(period, state.seed), AuditConfig::default())
}

/// Reports each audit whose cache is not clean, or was not before.
pub(super) async fn report_audits(state: Arc<State>, mut audits: Audits) {
    let mut unclean = Unclean::default();
    while let Some(audit) = audits.next().await {
        if unclean.is_worth_a_report(&audit) {
            state.report(&Report::Audited { audit: &audit });
        }
    }
}

/// The streams whose last audit was not clean.
#[derive(Default)]
struct Unclean(Vec<StreamName>);

impl Unclean {
    fn is_worth_a_report(&mut self, audit: &StreamAudit) -> bool {
        let before = self.0.iter().position(|known| *known == audit.name);
        match (before, audit.is_clean()) {
            (Some(place), true) => _ = self.0.swap_remove(place),
            (None, false) => self.0.push(audit.name.clone()),
            (None, true) | (Some(_), false) => {}
        }
        before.is_some() || !audit.is_clean()
    }
}
