//! The drift audits of a controller.

use super::read::{Distinct, Read};
use super::report::Report;
use super::state::State;
use crate::audit::{AuditConfig, AuditSchedule, Audits};
use core::time::Duration;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The audits of these caches of a controller, each once in each period.
pub(super) fn audits<'r>(state: &State, period: Duration, reads: impl Iterator<Item = &'r dyn Read>) -> Audits {
    let mut distinct = Distinct::default();
    let targets = reads.filter(|read| distinct.is_new(*read)).flat_map(Read::audit_targets).collect();
    Audits::new(targets, state.clock.clone(), AuditSchedule::new(period, state.seed), AuditConfig::default())
}

/// Reports each audit whose cache is not clean, or was not before.
pub(super) async fn report_audits(state: Arc<State>, mut audits: Audits) {
    let mut unclean = Unclean::default();
    while let Some((place, audit)) = audits.next_placed().await {
        if unclean.is_worth_a_report(place, audit.is_clean()) {
            state.report(&Report::Audited { audit: &audit });
        }
    }
}

/// The places of the streams whose last audit was not clean.
#[derive(Default)]
struct Unclean(BTreeSet<usize>);

impl Unclean {
    fn is_worth_a_report(&mut self, place: usize, is_clean: bool) -> bool {
        let was_unclean = if is_clean { self.0.remove(&place) } else { !self.0.insert(place) };
        was_unclean || !is_clean
    }
}
