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
            // A peer that invents statuses makes no series of its own for each.
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

#[cfg(all(test, feature = "metrics"))]
mod tests {
    use super::*;

    #[test]
    fn a_peer_that_invents_statuses_makes_one_series_of_them() {
        let requests = Requests::default();
        (0..=u16::MAX).for_each(|status| requests.count(Method::Get, Some(status)));
        requests.count(Method::Patch, None);
        let counts = requests.counts();
        assert_eq!(counts.len(), 500 + 1 + 1);
        assert_eq!(counts[&("GET", Some(0))], 65_536 - 500);
        assert_eq!(counts[&("PATCH", None)], 1);
    }
}
