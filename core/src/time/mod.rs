//! Points in time, which callers pass as arguments: core reads no clock.

mod date;
mod wall;

pub(crate) use date::MAX_RETRY_AFTER;
pub use date::retry_after;
pub use wall::{MicroTime, ParseWallTimeError, WallTime};

use core::fmt;
use core::time::Duration;

/// A point in time: nanoseconds since an epoch. The caller chooses one epoch for each machine.
///
/// Addition saturates, so a delay of [`Duration::MAX`] does not panic. Durations cannot be subtracted, because the
/// result could lie before the epoch. A deadline that never comes is `None`, not a large value.
///
/// ```
/// use core::time::Duration;
/// use listwatch_core::Instant;
///
/// let start = Instant::from_nanos(5_000_000_000);
/// let later = start + Duration::from_millis(250);
/// assert_eq!(later.saturating_since(start), Duration::from_millis(250));
/// assert_eq!(start.saturating_since(later), Duration::ZERO);
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(u64);

impl Instant {
    /// The epoch itself.
    pub const ZERO: Self = Self(0);

    /// The moment `nanos` nanoseconds after the epoch.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the epoch.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The time since `earlier`; zero if `earlier` is later.
    pub const fn saturating_since(self, earlier: Self) -> Duration {
        from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl core::ops::Add<Duration> for Instant {
    type Output = Self;

    /// The moment `delay` later, or the last one that can be represented.
    fn add(self, delay: Duration) -> Self {
        Self(self.0.saturating_add(nanos(delay)))
    }
}

impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Instant({:?})", Duration::from_nanos(self.0))
    }
}

#[cfg(feature = "defmt")]
impl defmt::Format for Instant {
    fn format(&self, f: defmt::Formatter<'_>) {
        defmt::write!(f, "{=u64:us}", self.0 / 1000);
    }
}

/// Nanoseconds, of which more than 584 years count as that.
pub(crate) const fn nanos(duration: Duration) -> u64 {
    let nanos = duration.as_nanos();
    if nanos > u64::MAX as u128 { u64::MAX } else { nanos as u64 }
}

/// As [`Duration::from_nanos`], by a multiplication: firmware has no division of 64 bits, and needs one nowhere else.
pub(crate) const fn from_nanos(nanos: u64) -> Duration {
    const SECOND: u64 = 1_000_000_000;
    /// 2^84 divided by the odd part of a second, rounded up. That is exact for numbers below 2^62.
    const RECIPROCAL: u128 = (1 << 84) / (SECOND >> 9) as u128 + 1;
    let seconds = (((nanos >> 9) as u128 * RECIPROCAL) >> 84) as u64;
    Duration::new(seconds, (nanos - seconds * SECOND) as u32)
}

/// So many eighths of a duration, rounded down to a nanosecond; the longest duration if the product overflows.
#[cfg(any(test, feature = "json", feature = "fixed"))]
pub(crate) const fn eighths(duration: Duration, number: u32) -> Duration {
    let Some(seconds) = duration.as_secs().checked_mul(number as u64) else { return Duration::MAX };
    let nanos = (seconds % 8) * 1_000_000_000 + duration.subsec_nanos() as u64 * number as u64;
    Duration::from_secs(seconds / 8).saturating_add(from_nanos(nanos / 8))
}

/// The earlier of two deadlines, where `None` is never.
pub fn earliest(one: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
    match (one, other) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

/// A duration in its largest useful unit, for people: `90 s`, `2 min`, `3 h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span(pub Duration);

impl Span {
    /// The duration rounded up to whole seconds, so that time that is left never reads as zero.
    pub fn rounded_up(duration: Duration) -> Self {
        let part = Duration::from_secs(u64::from(duration.subsec_nanos() > 0));
        Self(Duration::from_secs(duration.as_secs()).saturating_add(part))
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_secs() {
            seconds @ 0..120 => write!(f, "{seconds} s"),
            seconds @ 120..7_200 => write!(f, "{} min", seconds / 60),
            seconds => write!(f, "{} h", seconds / 3_600),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adding_saturates_instead_of_overflowing() {
        let end = Instant::from_nanos(u64::MAX);
        assert_eq!(end + Duration::from_secs(1), end);
        assert_eq!(Instant::ZERO + Duration::MAX, end);
    }

    #[test]
    fn nanoseconds_are_a_duration_as_in_the_standard_library() {
        for seconds in [0, 1, 2, 999, 1 << 20, 18_446_744_072, 18_446_744_073] {
            for nanos in [0, 1, 511, 512, 513, 709_551_615, 999_999_999] {
                let nanos = (seconds * 1_000_000_000_u64).saturating_add(nanos);
                assert_eq!(from_nanos(nanos), Duration::from_nanos(nanos));
            }
        }
        assert_eq!(from_nanos(u64::MAX), Duration::from_nanos(u64::MAX));
    }

    #[test]
    fn eighths_are_rounded_down_and_saturate() {
        for duration in [0, 1, 7, 999_999_999, 1_000_000_001, 3_999_999_999, u64::MAX].map(Duration::from_nanos) {
            for number in [1, 2, 3, 8, 12, 20, 40] {
                assert_eq!(eighths(duration, number), duration * number / 8, "{number} of {duration:?}");
            }
        }
        assert_eq!(eighths(Duration::MAX, 20), Duration::MAX);
    }

    #[test]
    fn earliest_takes_none_as_never() {
        let soon = Instant::from_nanos(1);
        assert_eq!(earliest(None, None), None);
        assert_eq!(earliest(Some(soon), None), Some(soon));
        assert_eq!(earliest(None, Some(soon)), Some(soon));
        assert_eq!(earliest(Some(Instant::from_nanos(2)), Some(soon)), Some(soon));
    }
}
