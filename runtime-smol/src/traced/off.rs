//! Without the feature `tracing`, nobody is told anything.

use crate::audit::StreamAudit;
use crate::controller::Report;
use crate::election::ElectionReport;
use crate::informers::StreamError;
use core::time::Duration;
use listwatch_core::api::ReconcileId;
use listwatch_core::informer::InformerStatus;
use listwatch_core::queue::Outcome;
use listwatch_core::reflector::FailureReport;
use listwatch_core::{Key, Resource};

pub(crate) struct ReconcileSpan;

impl ReconcileSpan {
    pub(crate) fn begin(_controller: &str, _key: &Key, _attempt: u32, _id: ReconcileId) -> Self {
        Self
    }

    pub(crate) fn is_sampled(&self) -> bool {
        false
    }

    pub(crate) fn within<R>(&self, act: impl FnOnce() -> R) -> R {
        act()
    }

    pub(crate) fn attend<F>(&self, make: impl FnOnce() -> F) -> F {
        make()
    }
}

/// Has a field, so that it is made and changed as that of the feature is.
#[derive(Debug, Default)]
pub(crate) struct StreamTrace(());

#[expect(clippy::needless_pass_by_ref_mut, reason = "with the feature, it remembers what was told")]
impl StreamTrace {
    pub(crate) fn failed(&mut self, _resource: &Resource, _report: &FailureReport) {}

    pub(crate) fn note(&mut self, _resource: &Resource, _status: impl FnOnce() -> InformerStatus) {}
}

pub(crate) fn stream_error(_resource: &Resource, _error: &StreamError<'_>) {}

pub(crate) fn audited(_audit: &StreamAudit) {}

pub(crate) fn ended(_outcome: Option<Outcome>, _took: Duration) {}

pub(crate) fn report(_controller: &str, _report: &Report<'_>, _took: Option<Duration>) -> bool {
    false
}

pub(crate) fn election(_controller: Option<&str>, _lease: &str, _report: &ElectionReport<'_>) -> bool {
    false
}
