//! A controller at a moment, for metrics.

use super::handle::ControllerHandle;
use super::sources::SourceStatus;
use super::tally::Counts;
use listwatch_core::queue::{QueueMetrics, QueueStats};
use std::sync::Arc;

/// What a scrape reads of a controller that lives.
pub(crate) struct Reading {
    pub(crate) name: Arc<str>,
    pub(crate) stats: QueueStats,
    pub(crate) times: Option<QueueMetrics>,
    pub(crate) counts: Counts,
    pub(crate) sources: Vec<SourceStatus>,
    /// The lease of its election, and whether it leads.
    pub(crate) leads: Option<(String, bool)>,
}

impl ControllerHandle {
    /// None before and after the controller's life.
    pub(crate) fn reading(&self) -> Option<Reading> {
        let state = self.state().filter(|state| state.has_not_ended())?;
        let now = state.clock.now();
        Some(Reading {
            name: Arc::clone(&state.name),
            stats: state.machine.stats(),
            times: state.machine.metrics(now),
            counts: state.tally.counts(),
            sources: state.sources.status(now),
            leads: state.leadership.as_ref().map(|it| (it.lease().to_owned(), it.token().is_some())),
        })
    }
}
