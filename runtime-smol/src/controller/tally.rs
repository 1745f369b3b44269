//! What a controller counts of its reconciles.

use super::sources::lock;
use core::time::Duration;
use listwatch_core::queue::Outcome;
use std::sync::Mutex;

/// The upper bounds of the buckets, in milliseconds: those of `controller_runtime_reconcile_time_seconds`.
pub(crate) const BOUNDS: [u64; 40] = [
    5, 10, 25, 50, 100, 150, 200, 250, 300, 350, 400, 450, 500, 600, 700, 800, 900, 1000, 1250, 1500, 1750, 2000, 2500,
    3000, 3500, 4000, 4500, 5000, 6000, 7000, 8000, 9000, 10_000, 15_000, 20_000, 25_000, 30_000, 40_000, 50_000,
    60_000,
];

/// The counters of a controller.
pub(super) struct Tally(Mutex<Counts>);

/// Its counters at a moment.
#[derive(Clone)]
pub(crate) struct Counts {
    #[cfg_attr(not(feature = "metrics"), expect(dead_code, reason = "a scrape alone reads it"))]
    pub(crate) workers: usize,
    pub(crate) active: usize,
    pub(crate) success: u64,
    pub(crate) requeue_after: u64,
    /// Failures, terminal ones and panics among them.
    pub(crate) error: u64,
    pub(crate) terminal: u64,
    pub(crate) timeouts: u64,
    /// The number of reconciles up to each of the bounds and above the one before; the last is of those above all.
    pub(crate) buckets: [u64; BOUNDS.len() + 1],
    pub(crate) total: Duration,
}

/// A reconcile that runs. Dropped, it runs no more.
pub(super) struct Active<'t>(&'t Tally);

impl Tally {
    pub(super) fn new(workers: usize) -> Self {
        Self(Mutex::new(Counts {
            workers,
            active: 0,
            success: 0,
            requeue_after: 0,
            error: 0,
            terminal: 0,
            timeouts: 0,
            buckets: [0; BOUNDS.len() + 1],
            total: Duration::ZERO,
        }))
    }

    pub(super) fn begin(&self) -> Active<'_> {
        lock(&self.0).active += 1;
        Active(self)
    }

    pub(super) fn timed_out(&self) {
        lock(&self.0).timeouts += 1;
    }

    pub(super) fn ended(&self, outcome: Outcome) {
        let mut counts = lock(&self.0);
        match outcome {
            Outcome::Done => counts.success += 1,
            Outcome::RequeueAfter(_) => counts.requeue_after += 1,
            _ => counts.error += 1,
        }
        counts.terminal += u64::from(outcome == Outcome::Terminal);
    }

    #[cfg(feature = "metrics")]
    pub(super) fn counts(&self) -> Counts {
        lock(&self.0).clone()
    }
}

impl Active<'_> {
    pub(super) fn took(self, duration: Duration) {
        let mut counts = lock(&self.0.0);
        let bucket = BOUNDS.partition_point(|bound| Duration::from_millis(*bound) < duration);
        counts.buckets[bucket] += 1;
        counts.total = counts.total.saturating_add(duration);
    }
}

impl Drop for Active<'_> {
    fn drop(&mut self) {
        lock(&self.0.0).active -= 1;
    }
}
