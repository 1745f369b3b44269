use super::RateLimiter;
use crate::time::Instant;
use core::time::Duration;

/// `fast` for the first failures, then `slow`: client-go's `ItemFastSlowRateLimiter`.
///
/// ```
/// use core::time::Duration;
/// use listwatch_core::queue::{FastSlow, RateLimiter};
/// use listwatch_core::Instant;
///
/// let mut limiter = FastSlow::new(Duration::from_millis(5), Duration::from_secs(10), 3);
/// assert_eq!(limiter.delay(Instant::ZERO, 2), Duration::from_millis(5));
/// assert_eq!(limiter.delay(Instant::ZERO, 3), Duration::from_secs(10));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FastSlow {
    fast: Duration,
    slow: Duration,
    max_fast: u32,
}

impl FastSlow {
    /// A delay of `fast` for the first `max_fast` failures of a key, and of `slow` for all further ones.
    #[must_use]
    pub const fn new(fast: Duration, slow: Duration, max_fast: u32) -> Self {
        Self { fast, slow, max_fast }
    }
}

impl RateLimiter for FastSlow {
    fn delay(&mut self, _: Instant, failures: u32) -> Duration {
        if failures < self.max_fast { self.fast } else { self.slow }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// W13.
    #[test]
    fn only_the_first_failures_are_fast() {
        let (fast, slow) = (Duration::from_millis(5), Duration::from_secs(3));
        let mut limiter = FastSlow::new(fast, slow, 3);
        let delays = [0, 1, 2, 3, 4, u32::MAX].map(|failures| limiter.delay(Instant::ZERO, failures));
        assert_eq!(delays, [fast, fast, fast, slow, slow, slow]);
        assert_eq!(FastSlow::new(fast, slow, 0).delay(Instant::ZERO, 0), slow);
    }
}
