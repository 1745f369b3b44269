use super::{ExponentialBackoff, RateLimiter, TokenBucket};
use crate::time::Instant;
use core::time::Duration;

/// The longer of two delays; three limiters are `MaxOf<A, MaxOf<B, C>>`. client-go's `MaxOfRateLimiter`.
///
/// Both limiters are called each time, so a bucket loses a token even if the other delay is longer.
///
/// ```
/// use core::time::Duration;
/// use listwatch_core::queue::{FastSlow, MaxOf, RateLimiter, TokenBucket};
/// use listwatch_core::Instant;
///
/// let slow = FastSlow::new(Duration::ZERO, Duration::from_secs(9), 1);
/// let mut limiter = MaxOf(slow, TokenBucket::per_second(1, 1));
/// assert_eq!(limiter.delay(Instant::ZERO, 1), Duration::from_secs(9));
/// assert_eq!(limiter.delay(Instant::ZERO, 0), Duration::from_secs(1), "the second token");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MaxOf<A, B>(pub A, pub B);

/// The limiter that client-go's controllers use by default. A [`WorkQueue`](crate::WorkQueue) has it only where it is
/// named: its own default is an [`ExponentialBackoff`] without a bucket.
///
/// ```
/// use core::time::Duration;
/// use listwatch_core::queue::{DefaultControllerRateLimiter, RateLimiter};
/// use listwatch_core::Instant;
///
/// let mut limiter = DefaultControllerRateLimiter::default_controller();
/// assert_eq!(limiter.delay(Instant::ZERO, 1), Duration::from_millis(10));
/// ```
pub type DefaultControllerRateLimiter = MaxOf<ExponentialBackoff, TokenBucket>;

impl MaxOf<ExponentialBackoff, TokenBucket> {
    /// From 5 ms to 1000 s for a key, and 10 retries a second, 100 at once, for all together: client-go's
    /// `DefaultTypedControllerRateLimiter`.
    #[must_use]
    pub const fn default_controller() -> Self {
        Self(ExponentialBackoff::DEFAULT, TokenBucket::DEFAULT)
    }
}

impl<A: RateLimiter, B: RateLimiter> RateLimiter for MaxOf<A, B> {
    fn delay(&mut self, now: Instant, failures: u32) -> Duration {
        self.0.delay(now, failures).max(self.1.delay(now, failures))
    }

    fn give_back(&mut self) {
        self.0.give_back();
        self.1.give_back();
    }
}

/// Another limiter's delay, but no longer than `max`: client-go's `WithMaxWaitRateLimiter`.
///
/// ```
/// use core::time::Duration;
/// use listwatch_core::queue::{ExponentialBackoff, MaxWait, RateLimiter};
/// use listwatch_core::Instant;
///
/// let mut limiter = MaxWait { limiter: ExponentialBackoff::default(), max: Duration::from_secs(60) };
/// assert_eq!(limiter.delay(Instant::ZERO, 30), Duration::from_secs(60));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MaxWait<L> {
    /// The limiter whose delay is limited.
    pub limiter: L,
    /// The longest delay.
    pub max: Duration,
}

impl<L: RateLimiter> RateLimiter for MaxWait<L> {
    fn delay(&mut self, now: Instant, failures: u32) -> Duration {
        self.limiter.delay(now, failures).min(self.max)
    }

    fn give_back(&mut self) {
        self.limiter.give_back();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::FastSlow;

    const START: Instant = Instant::ZERO;

    /// W15.
    #[test]
    fn the_longer_delay_counts_and_both_limiters_are_asked() {
        let mut limiter =
            MaxOf(FastSlow::new(Duration::ZERO, Duration::from_secs(9), 2), TokenBucket::per_second(1, 1));
        let delays = [0, 1, 2, 0].map(|failures| limiter.delay(START, failures).as_secs());
        assert_eq!(delays, [0, 1, 9, 3], "the slow failure took a token too");
    }

    /// W15.
    #[test]
    fn a_capped_limiter_goes_on_inside() {
        let mut limiter = MaxWait { limiter: TokenBucket::per_second(1, 1), max: Duration::from_secs(2) };
        let delays = [(); 5].map(|()| limiter.delay(START, 0).as_secs());
        assert_eq!(delays, [0, 1, 2, 2, 2]);
        assert_eq!(limiter.limiter.delay(START, 0).as_secs(), 5, "each delay that was capped took its token");
    }

    #[test]
    fn what_is_given_back_reaches_the_bucket_inside() {
        let mut limiter = MaxOf(
            ExponentialBackoff::new(Duration::ZERO, Duration::ZERO),
            MaxWait { limiter: TokenBucket::per_second(1, 1), max: Duration::MAX },
        );
        for _ in 0..3 {
            assert_eq!(limiter.delay(START, 0), Duration::ZERO);
            limiter.give_back();
        }
    }

    #[test]
    fn the_default_is_that_of_client_gos_controllers() {
        let mut limiter = DefaultControllerRateLimiter::default_controller();
        let delays: [u128; 103] = core::array::from_fn(|_| limiter.delay(START, 0).as_millis());
        assert!(delays[..100].iter().all(|delay| *delay == 5), "one key's back-off is longer than the burst's");
        assert_eq!(delays[100..], [100, 200, 300]);
        assert_eq!(limiter.delay(START, 12), Duration::from_millis(20_480));
        assert_eq!(limiter.delay(START, 40), Duration::from_secs(1000));
    }
}
