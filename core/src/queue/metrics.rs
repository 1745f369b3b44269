//! The times that keys wait and are worked on.

use crate::storage::sealed::{Empty, Records};
use crate::storage::{Mem, Slot};
use crate::time::Instant;
use core::time::Duration;

/// The times of a queue, as in client-go's metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueueMetrics {
    /// From the addition that made a key ready or deferred until it was handed out: `workqueue_queue_duration_seconds`.
    pub latency: Durations,
    /// From handing a key out until it was done: `workqueue_work_duration_seconds`.
    pub work: Durations,
    /// The sum of the times that running keys have been with their workers: `workqueue_unfinished_work_seconds`.
    pub unfinished: Duration,
    /// The longest of these: `workqueue_longest_running_processor_seconds`.
    pub longest_running: Duration,
}

/// A histogram of durations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Durations {
    /// The number of durations.
    pub count: u64,
    /// Their sum.
    pub total: Duration,
    /// The number of durations up to each of the [bounds](Self::BOUNDS), and above the one before.
    pub buckets: [u64; 12],
}

impl Durations {
    /// The upper bounds of the buckets, 10 ns to 1000 s, those of controller-runtime's histograms.
    pub const BOUNDS: [Duration; 12] = {
        let mut bounds = [Duration::from_nanos(10); 12];
        let mut bucket = 1;
        while bucket < bounds.len() {
            bounds[bucket] = bounds[bucket - 1].saturating_mul(10);
            bucket += 1;
        }
        bounds
    };

    fn observe(&mut self, duration: Duration) {
        self.count += 1;
        self.total = self.total.saturating_add(duration);
        if let Some(bucket) = self.buckets.get_mut(Self::BOUNDS.partition_point(|bound| *bound < duration)) {
            *bucket += 1;
        }
    }
}

/// The times of a queue with metrics.
pub(super) struct Stopwatch<M: Mem> {
    /// By the record's slot.
    times: M::Array<Times>,
    pub(super) latency: Durations,
    pub(super) work: Durations,
}

#[derive(Clone, Copy, Debug)]
struct Times {
    added: Instant,
    started: Instant,
}

impl<M: Mem> Stopwatch<M> {
    /// The key became dirty.
    pub(super) fn added(&mut self, slot: Slot, now: Instant) {
        self.times(slot, now).added = now;
    }

    pub(super) fn started(&mut self, slot: Slot, now: Instant) {
        let times = self.times(slot, now);
        times.started = now;
        let waited = now.saturating_since(times.added);
        self.latency.observe(waited);
    }

    pub(super) fn done(&mut self, slot: Slot, now: Instant) {
        self.work.observe(self.running(slot, now));
    }

    /// For how long a key has been with its worker.
    pub(super) fn running(&self, slot: Slot, now: Instant) -> Duration {
        self.times.get(slot.index()).map_or(Duration::ZERO, |times| now.saturating_since(times.started))
    }

    /// Gives back the memory where there is no key and were many once.
    pub(super) fn release(&mut self) {
        self.times.release();
    }

    /// The times of a key; those of a new key begin at `now`.
    fn times(&mut self, slot: Slot, now: Instant) -> &mut Times {
        while self.times.len() <= slot.index() {
            if self.times.try_push(Times { added: now, started: now }).is_err() {
                unreachable!("as many times as records");
            }
        }
        self.times.get_mut(slot.index()).expect("a key has its times")
    }
}

impl<M: Mem> Default for Stopwatch<M> {
    fn default() -> Self {
        Self { times: M::Array::EMPTY, latency: Durations::default(), work: Durations::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_counts_in_the_first_bucket_that_is_not_below_it() {
        let mut durations = Durations::default();
        for nanos in [0, 10, 11, 1_000_000_000_000, 1_000_000_000_001] {
            durations.observe(Duration::from_nanos(nanos));
        }
        assert_eq!((durations.buckets[0], durations.buckets[1], durations.buckets[11]), (2, 1, 1));
        assert_eq!((durations.count, durations.buckets.iter().sum::<u64>()), (5, 4));
        assert_eq!(durations.total, Duration::from_nanos(2_000_000_000_022));
        assert_eq!(Durations::BOUNDS[11], Duration::from_secs(1000));
    }
}
