//! The work of a controller, under the terms of its candidate.

use super::{Leadership, Phase};
use crate::election::lost::is_lost;
use core::time::Duration;
use listwatch_core::election::{FencingToken, StopReason};

/// Where the election of a controller stands.
pub(crate) enum Turn {
    Leads,
    Lost(StopReason),
    /// No task drives the candidate.
    Ended,
}

/// Work that goes on under a term, until it is dropped.
pub(crate) struct Work {
    leadership: Leadership,
    token: FencingToken,
}

impl Leadership {
    /// Waits until this candidate leads, has lost its term, or is driven no more.
    pub(crate) async fn turn(&self) -> Turn {
        self.find(|machine| match &machine.phase {
            Phase::Leading(_) => Some(Turn::Leads),
            Phase::Stopping(reason) if is_lost(reason) => Some(Turn::Lost(reason.clone())),
            Phase::Ended { .. } => Some(Turn::Ended),
            Phase::Following | Phase::Stopping(_) => None,
        })
        .await
    }

    /// How long a release takes at most.
    pub(crate) fn release_limit(&self) -> Duration {
        self.0.release
    }

    /// Waits until this candidate leads, or is asked to end.
    pub(crate) async fn leads_or_ends(&self) {
        self.find(|machine| (machine.is_over() || machine.leading().is_some()).then_some(())).await;
    }

    /// Begins work as soon as this candidate leads. `None` if it is asked to end.
    pub(crate) async fn work(&self) -> Option<Work> {
        self.find(|machine| match machine.leading().filter(|_| !machine.is_asked) {
            Some(token) => {
                machine.work += 1;
                Some(Some(Work { leadership: self.clone(), token }))
            }
            None => machine.is_over().then_some(None),
        })
        .await
    }

    /// Waits until no work goes on.
    pub(crate) async fn idle(&self) {
        self.find(|machine| (machine.work == 0).then_some(())).await;
    }
}

impl Work {
    /// Whether it has to stop at once.
    pub(crate) fn is_over(&self) -> bool {
        self.leadership.token().is_none_or(|token| token != self.token)
    }

    /// Waits until it has to stop at once.
    pub(crate) async fn over(&self) {
        self.leadership.lost().await;
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        self.leadership.change(|machine| machine.work -= 1);
    }
}
