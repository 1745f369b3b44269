//! What a controller counts of its reconciles.

#[cfg(feature = "metrics")]
use crate::mutex::Mutex;
use core::time::Duration;
use listwatch_core::queue::Outcome;

/// The upper bounds of the buckets, in milliseconds: those of `controller_runtime_reconcile_time_seconds`.
pub(crate) const BOUNDS: [u64; 40] = [
    5, 10, 25, 50, 100, 150, 200, 250, 300, 350, 400, 450, 500, 600, 700, 800, 900, 1000, 1250, 1500, 1750, 2000, 2500,
    3000, 3500, 4000, 4500, 5000, 6000, 7000, 8000, 9000, 10_000, 15_000, 20_000, 25_000, 30_000, 40_000, 50_000,
    60_000,
];

/// The upper bounds of the buckets of the ages of events, in milliseconds.
pub(crate) const AGES: [u64; 14] =
    [1, 5, 10, 50, 100, 500, 1000, 5000, 10_000, 30_000, 60_000, 300_000, 900_000, 3_600_000];

/// The counters of a controller. Without the feature `metrics`, it counts nothing and locks nothing.
pub(super) struct Tally(#[cfg(feature = "metrics")] Mutex<Counts>);

/// Its counters at a moment.
#[derive(Clone)]
#[cfg_attr(not(feature = "metrics"), expect(dead_code, reason = "a scrape alone reads it"))]
pub(crate) struct Counts {
    pub(crate) workers: usize,
    pub(crate) active: usize,
    pub(crate) success: u64,
    pub(crate) requeue_after: u64,
    /// Failures, terminal ones and panics among them.
    pub(crate) error: u64,
    pub(crate) terminal: u64,
    pub(crate) timeouts: u64,
    /// Loops of writes.
    pub(crate) loops: u64,
    /// The number of reconciles up to each of the bounds and above the one before; the last is of those above all.
    pub(crate) buckets: [u64; BOUNDS.len() + 1],
    pub(crate) total: Duration,
    /// The same of the [ages](AGES) of events.
    pub(crate) ages: [u64; AGES.len() + 1],
    pub(crate) total_age: Duration,
}

/// A reconcile that runs. Dropped, it runs no more.
pub(super) struct Active<'t>(&'t Tally);

impl Tally {
    #[cfg(feature = "metrics")]
    pub(super) fn new(workers: usize) -> Self {
        Self(Mutex::new(Counts {
            workers,
            active: 0,
            success: 0,
            requeue_after: 0,
            error: 0,
            terminal: 0,
            timeouts: 0,
            loops: 0,
            buckets: [0; BOUNDS.len() + 1],
            total: Duration::ZERO,
            ages: [0; AGES.len() + 1],
            total_age: Duration::ZERO,
        }))
    }

    #[cfg(not(feature = "metrics"))]
    pub(super) fn new(_workers: usize) -> Self {
        Self()
    }

    pub(super) fn begin(&self) -> Active<'_> {
        self.count(|counts| counts.active += 1);
        Active(self)
    }

    pub(super) fn timed_out(&self) {
        self.count(|counts| counts.timeouts += 1);
    }

    pub(super) fn looped(&self) {
        self.count(|counts| counts.loops += 1);
    }

    pub(super) fn ended(&self, outcome: Outcome) {
        self.count(|counts| {
            match outcome {
                Outcome::Done => counts.success += 1,
                Outcome::RequeueAfter(_) => counts.requeue_after += 1,
                _ => counts.error += 1,
            }
            counts.terminal += u64::from(outcome == Outcome::Terminal);
        });
    }

    /// A reconcile succeeded so long after the arrival of the oldest change that caused it.
    pub(super) fn aged(&self, age: Duration) {
        self.count(|counts| {
            counts.ages[bucket(&AGES, age)] += 1;
            counts.total_age = counts.total_age.saturating_add(age);
        });
    }

    #[cfg(feature = "metrics")]
    pub(super) fn counts(&self) -> Counts {
        self.0.lock().clone()
    }

    fn count(&self, count: impl FnOnce(&mut Counts)) {
        #[cfg(feature = "metrics")]
        count(&mut self.0.lock());
        #[cfg(not(feature = "metrics"))]
        drop(count);
    }
}

impl Active<'_> {
    pub(super) fn took(self, duration: Duration) {
        self.0.count(|counts| {
            counts.buckets[bucket(&BOUNDS, duration)] += 1;
            counts.total = counts.total.saturating_add(duration);
        });
    }
}

impl Drop for Active<'_> {
    fn drop(&mut self) {
        self.0.count(|counts| counts.active -= 1);
    }
}

fn bucket(bounds: &[u64], duration: Duration) -> usize {
    bounds.partition_point(|bound| Duration::from_millis(*bound) < duration)
}
