//! Without the feature `tracing`, nobody is told anything.

use listwatch_core::api::{ApiRequest, ApiResponse, ReconcileId};
use listwatch_core::informer::InformerStatus;
use listwatch_core::reflector::FailureReport;
use listwatch_core::{Key, Resource};

pub(crate) fn answered(_request: &ApiRequest, _response: &ApiResponse) {}

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
