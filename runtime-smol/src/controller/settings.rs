//! What a controller is configured with.

use super::handle::ControllerHandle;
use super::report::OnReport;
use super::sharded::Sharding;
use super::state::Machine;
use crate::clock::Clock;
use crate::election::Election;
use core::time::Duration;
use listwatch_core::controller::{Debounce, Reconciler};
use listwatch_core::queue::{ExponentialBackoff, Lanes, WhileDelayed, WorkQueue};

/// What a controller was configured with.
#[derive(Default)]
pub(super) struct Settings {
    pub(super) name: String,
    pub(super) handle: ControllerHandle,
    pub(super) workers: usize,
    pub(super) threads: usize,
    pub(super) every: Option<Duration>,
    pub(super) audit_every: Option<Duration>,
    pub(super) debounce: Option<(Duration, Duration)>,
    pub(super) park_after: Option<u32>,
    pub(super) while_delayed: WhileDelayed,
    pub(super) deadline: Option<Duration>,
    pub(super) await_writes: Option<Duration>,
    pub(super) sync_within: Duration,
    pub(super) drain: Duration,
    pub(super) election: Option<Election>,
    pub(super) sharding: Option<Sharding>,
    /// Standard error without one.
    pub(super) on_report: Option<OnReport>,
}

impl Settings {
    pub(super) fn new(name: String) -> Self {
        let (sync_within, drain) = (Duration::from_secs(120), Duration::from_secs(25));
        Self {
            name,
            workers: 1,
            threads: 1,
            while_delayed: WhileDelayed::Promote,
            sync_within,
            drain,
            ..Self::default()
        }
    }

    /// The machine that is configured so.
    pub(super) fn machine(&self, clock: &Clock, seed: u64) -> Machine {
        let queue = WorkQueue::with_discipline(ExponentialBackoff::default(), Lanes::default(), seed);
        let queue = queue.with_while_delayed(self.while_delayed).with_metrics();
        let queue = match self.park_after {
            // The queue counts the retries: none after the last failure.
            Some(failures) => queue.with_max_retries(failures.saturating_sub(1)),
            None => queue,
        };
        let mut reconciler = Reconciler::new(queue, seed);
        if let Some((quiet, longest)) = self.debounce {
            reconciler = reconciler.with_debounce(Debounce { quiet, longest });
        }
        if let Some(longest) = self.await_writes {
            reconciler = reconciler.with_longest_hold(longest);
        }
        if let Some(period) = self.every {
            reconciler = reconciler.with_period(period);
        }
        if let Some(limit) = self.deadline {
            reconciler = reconciler.with_time_limit(limit);
        }
        let clock = clock.clone();
        Machine::new(reconciler, move || clock.now())
    }
}
