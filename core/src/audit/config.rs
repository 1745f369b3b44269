use crate::random::Random;
use crate::time::Instant;
use core::time::Duration;

/// The limits of an [`Audit`](super::Audit).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AuditConfig {
    /// How many objects a page has at the most: 500 by default. Zero requests one page.
    pub page_size: u32,
    /// Whether the list is requested of one exact version, which a list of one object shows first. API servers before 1.34
    /// answer it from etcd. Since 1.31 they answer other lists from their watch cache, as they do watches; so what that
    /// cache has lost is in neither. By default it is not.
    pub exact: bool,
    /// How many pages a list has at the most: 10,000 by default.
    pub max_pages: u32,
    /// How often a list begins again after its continue token has expired, or if it is too old: three times by default.
    pub restarts: u32,
    /// How long the store has to reach the version of the list: three minutes by default, because bookmarks come each
    /// minute.
    pub patience: Duration,
    /// How often the store is looked at meanwhile: each second by default. Less than ten milliseconds are ten.
    pub interval: Duration,
    /// How many differences a report names: 1,000 by default. All of them are counted.
    pub named: usize,
}

impl AuditConfig {
    /// The shortest interval: without a pause, the store would not go on.
    pub(super) const SHORTEST: Duration = Duration::from_millis(10);
}

impl Default for AuditConfig {
    fn default() -> Self {
        Self {
            page_size: 500,
            exact: false,
            max_pages: 10_000,
            restarts: 3,
            patience: Duration::from_secs(180),
            interval: Duration::from_secs(1),
            named: 1_000,
        }
    }
}

/// When the audits of a store begin: about once in each period.
///
/// The first one begins at a random time of the first period, and each further one a period after the one before, more or
/// less by a tenth. So the replicas of a program do not list at the same time, whenever they were started.
///
/// ```
/// use core::time::Duration;
/// use listwatch_core::Instant;
/// use listwatch_core::audit::AuditSchedule;
///
/// let hour = Duration::from_secs(3600);
/// let mut schedule = AuditSchedule::new(hour, 7);
/// let first = schedule.next(Instant::ZERO);
/// assert!(first < Instant::ZERO + hour);
/// assert!(schedule.next(first) >= first + hour * 9 / 10);
/// ```
#[derive(Clone, Debug)]
pub struct AuditSchedule {
    period: Duration,
    random: Random,
    has_begun: bool,
}

impl AuditSchedule {
    /// The shortest period. A shorter one is raised to it.
    pub const SHORTEST: Duration = Duration::from_secs(10);

    /// A schedule of this period. The random delays depend on `seed`.
    pub const fn new(period: Duration, seed: u64) -> Self {
        let period = if period.as_nanos() < Self::SHORTEST.as_nanos() { Self::SHORTEST } else { period };
        Self { period, random: Random::new(seed), has_begun: false }
    }

    /// When the next audit begins. The one before began `now`, unless there was none.
    #[must_use]
    pub fn next(&mut self, now: Instant) -> Instant {
        if !core::mem::replace(&mut self.has_begun, true) {
            return now + self.random.below(self.period);
        }
        let tenth = self.period / 10;
        now + (self.period - tenth) + self.random.below(tenth * 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    fn delays(period: Duration, seed: u64) -> [Duration; 100] {
        let mut schedule = AuditSchedule::new(period, seed);
        core::array::from_fn(|_| schedule.next(Instant::ZERO).saturating_since(Instant::ZERO))
    }

    #[test]
    fn audits_of_several_replicas_spread_over_the_first_period_and_go_on_a_period_apart() {
        let firsts: [Duration; 100] = core::array::from_fn(|seed| delays(HOUR, seed as u64)[0]);
        assert!(firsts.iter().all(|first| *first < HOUR));
        assert!(firsts.iter().any(|first| *first < HOUR / 4) && firsts.iter().any(|first| *first > HOUR * 3 / 4));
        let later = &delays(HOUR, 7)[1..];
        assert!(later.iter().all(|delay| (HOUR * 9 / 10..HOUR * 11 / 10).contains(delay)), "{later:?}");
        assert!(later.iter().any(|delay| *delay < HOUR) && later.iter().any(|delay| *delay > HOUR));
        assert_eq!(delays(HOUR, 7), delays(HOUR, 7));
    }

    #[test]
    fn a_period_of_zero_counts_as_the_shortest_period() {
        assert!(delays(Duration::ZERO, 7)[1..].iter().all(|delay| *delay >= AuditSchedule::SHORTEST * 9 / 10));
    }

    #[test]
    fn a_period_without_an_end_does_not_overflow() {
        let mut schedule = AuditSchedule::new(Duration::MAX, 7);
        let first = schedule.next(Instant::ZERO);
        assert!(schedule.next(first) >= first);
    }
}
