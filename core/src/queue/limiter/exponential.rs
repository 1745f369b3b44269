use super::RateLimiter;
use crate::storage::Initially;
use crate::time::{Instant, from_nanos, nanos};
use core::time::Duration;

/// `base` for the first failure, and for each further one twice as long as before, up to `max`.
///
/// client-go's `ItemExponentialFailureRateLimiter`, with the defaults of its controllers: 5 ms and 1000 s.
///
/// ```
/// use core::time::Duration;
/// use listwatch_core::queue::{ExponentialBackoff, RateLimiter};
/// use listwatch_core::Instant;
///
/// let mut limiter = ExponentialBackoff::new(Duration::from_millis(5), Duration::from_secs(1000));
/// assert_eq!(limiter.delay(Instant::ZERO, 0), Duration::from_millis(5));
/// assert_eq!(limiter.delay(Instant::ZERO, 3), Duration::from_millis(40));
/// assert_eq!(limiter.delay(Instant::ZERO, 1_000_000), Duration::from_secs(1000));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExponentialBackoff {
    base_nanos: Initially<5_000_000>,
    max_nanos: Initially<1_000_000_000_000>,
}

impl ExponentialBackoff {
    /// From 5 ms to 1000 s, as `default` returns.
    pub const DEFAULT: Self = Self::new(Duration::from_millis(5), Duration::from_secs(1000));

    /// Delays from `base` to `max`. A longer time than 584 years counts as 584 years.
    #[must_use]
    pub const fn new(base: Duration, max: Duration) -> Self {
        Self { base_nanos: Initially::new(nanos(base)), max_nanos: Initially::new(nanos(max)) }
    }
}

impl RateLimiter for ExponentialBackoff {
    fn delay(&mut self, _: Instant, failures: u32) -> Duration {
        let factor = 1_u64.checked_shl(failures).unwrap_or(u64::MAX);
        from_nanos(self.base_nanos.get().saturating_mul(factor).min(self.max_nanos.get()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// W12: `min(max, base · 2^failures)`, for every number of failures.
    #[test]
    fn the_delay_doubles_until_the_cap_and_never_overflows() {
        for (base, max) in [(1, u64::MAX), (5_000_000, 1_000_000_000_000), (60_000_000_000, u64::MAX), (7, 3)] {
            let mut limiter = ExponentialBackoff::new(Duration::from_nanos(base), Duration::from_nanos(max));
            for failures in (0..200).chain([1_000, u32::MAX]) {
                let exact = u128::from(base).saturating_mul(1_u128.checked_shl(failures).unwrap_or(u128::MAX));
                let delay = limiter.delay(Instant::ZERO, failures);
                assert_eq!(delay.as_nanos(), exact.min(u128::from(max)), "{base} ns, {failures} failures");
            }
        }
    }

    #[test]
    fn a_base_of_zero_never_delays() {
        let mut limiter = ExponentialBackoff::new(Duration::ZERO, Duration::MAX);
        assert!([0, 1, 63, 64, u32::MAX].iter().all(|n| limiter.delay(Instant::ZERO, *n).is_zero()));
    }
}
