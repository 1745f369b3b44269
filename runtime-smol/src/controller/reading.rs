//! A controller at a moment, for metrics.

use super::handle::ControllerHandle;
use super::sources::SourceStatus;
use super::tally::Counts;
#[cfg(feature = "endpoint")]
use crate::election::{ElectionStatus, Leadership};
use crate::informers::Asked;
#[cfg(feature = "endpoint")]
use listwatch_core::controller::{KeyReport, Lifecycle};
use listwatch_core::queue::{QueueMetrics, QueueStats};
#[cfg(feature = "endpoint")]
use listwatch_core::{Instant, Key};
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
    /// The requests of its world.
    pub(crate) asked: Option<Asked>,
}

/// What a status page reads of a controller that lives.
#[cfg(feature = "endpoint")]
pub(crate) struct Inspection {
    pub(crate) reading: Reading,
    pub(crate) now: Instant,
    pub(crate) lifecycle: Lifecycle,
    pub(crate) keys: Vec<KeyReport<Key>>,
    pub(crate) election: Option<ElectionStatus>,
}

impl ControllerHandle {
    /// None before and after the controller's life.
    #[cfg(feature = "endpoint")]
    pub(crate) fn inspection(&self) -> Option<Inspection> {
        let reading = self.reading()?;
        let state = self.state()?;
        Some(Inspection {
            reading,
            now: state.clock.now(),
            lifecycle: state.machine.lifecycle(),
            keys: state.machine.report(),
            election: state.leadership.as_ref().map(Leadership::status),
        })
    }

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
            asked: Some(state.informers.world().asked()),
            leads: state.leadership.as_ref().map(|it| (it.lease().to_owned(), it.token().is_some())),
        })
    }
}
