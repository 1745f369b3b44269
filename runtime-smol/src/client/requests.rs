//! The requests that a client and the streams of its world have sent, for metrics.

use listwatch_core::api::Method;
#[cfg(feature = "metrics")]
use std::collections::BTreeMap;
#[cfg(feature = "metrics")]
use std::sync::{Mutex, PoisonError};

/// The numbers of requests that are over, by their method and the status of the answer. There are as many of them as a
/// server has statuses. Without the feature `metrics`, nothing is counted.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    #[cfg(feature = "metrics")]
    counts: Mutex<Counts>,
}

/// By method and status; no status for a request without an answer.
#[cfg(feature = "metrics")]
pub(crate) type Counts = BTreeMap<(&'static str, Option<u16>), u64>;

impl Requests {
    /// A request was answered with this status, or has no answer.
    pub(crate) fn count(&self, method: Method, status: Option<u16>) {
        #[cfg(feature = "metrics")]
        {
            // Three digits, as HTTP has them. A peer that invents others makes one series.
            let status = status.map(|status| if (100..600).contains(&status) { status } else { 0 });
            let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
            *counts.entry((method.name(), status)).or_default() += 1;
        }
        #[cfg(not(feature = "metrics"))]
        let _unused = (method, status);
    }

    #[cfg(feature = "metrics")]
    pub(crate) fn counts(&self) -> Counts {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
