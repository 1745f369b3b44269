//! Counts over time, whose end is not known before.

use std::time::Duration;

/// The most intervals. Beyond them, two become one.
const MOST: usize = 480;

/// What is counted in an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Interval {
    pub(super) added: u32,
    pub(super) modified: u32,
    pub(super) deleted: u32,
    pub(super) writes: u32,
    pub(super) failures: u32,
    pub(super) lists: u32,
    pub(super) retries: u32,
    /// The most reconciles that ran at once.
    pub(super) running: u32,
    /// The longest time from the answer of a write until a watch told of it, in milliseconds.
    pub(super) lag: u32,
}

/// Intervals of one length, from the beginning.
pub(super) struct Series {
    length: u64,
    intervals: Vec<Interval>,
}

impl Default for Series {
    fn default() -> Self {
        Self { length: 1, intervals: Vec::new() }
    }
}

impl Series {
    /// The interval of a time.
    pub(super) fn at(&mut self, time: Duration) -> &mut Interval {
        let millis = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        while millis / self.length >= MOST as u64 {
            self.widen();
        }
        let place = (millis / self.length) as usize;
        if self.intervals.len() <= place {
            self.intervals.resize(place + 1, Interval::default());
        }
        &mut self.intervals[place]
    }

    /// The intervals, with the second in which each begins.
    pub(super) fn points(&self) -> impl Iterator<Item = (f64, &Interval)> {
        self.intervals.iter().enumerate().map(|(place, it)| ((place as u64 * self.length) as f64 / 1e3, it))
    }

    /// The length of an interval.
    pub(super) fn length(&self) -> Duration {
        Duration::from_millis(self.length)
    }

    fn widen(&mut self) {
        self.length = self.length.saturating_mul(2);
        self.intervals =
            self.intervals.chunks(2).map(|pair| pair.iter().fold(Interval::default(), Interval::and)).collect();
    }
}

impl Interval {
    fn and(self, other: &Self) -> Self {
        Self {
            added: self.added + other.added,
            modified: self.modified + other.modified,
            deleted: self.deleted + other.deleted,
            writes: self.writes + other.writes,
            failures: self.failures + other.failures,
            lists: self.lists + other.lists,
            retries: self.retries + other.retries,
            running: self.running.max(other.running),
            lag: self.lag.max(other.lag),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_get_longer_and_lose_no_count() {
        let mut series = Series::default();
        for second in 0..10_000 {
            series.at(Duration::from_secs(second)).writes += 1;
            series.at(Duration::from_secs(second)).lag = second as u32;
        }
        assert!(series.intervals.len() <= MOST);
        assert_eq!(series.points().map(|(_, it)| it.writes).sum::<u32>(), 10_000);
        assert_eq!(series.points().map(|(_, it)| it.lag).max(), Some(9_999));
    }
}
