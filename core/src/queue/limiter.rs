//! How long a key that failed has to wait, in integer arithmetic.

use crate::storage::Initially;
use crate::time::{Instant, from_nanos, nanos};
use core::time::Duration;

/// How long a key waits before it is tried again: client-go's `TypedRateLimiter`, without its bookkeeping.
///
/// The queue counts each key's failures, so a limiter keeps only state that concerns all keys.
///
/// Limiters are joined by type: `MaxOf<ExponentialBackoff, TokenBucket>` is the one of client-go's controllers.
pub trait RateLimiter {
    /// The delay of a key that fails at `now` and has failed `failures` times before since it was last forgotten.
    fn delay(&mut self, now: Instant, failures: u32) -> Duration;

    /// Takes back the last [`delay`](Self::delay), which was not used: the key waits for an earlier moment already, or
    /// the queue is closed.
    ///
    /// client-go has no such thing, so there a bucket loses a token for each addition that was merged.
    fn give_back(&mut self) {}
}

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
    pub const fn new(fast: Duration, slow: Duration, max_fast: u32) -> Self {
        Self { fast, slow, max_fast }
    }
}

impl RateLimiter for FastSlow {
    fn delay(&mut self, _: Instant, failures: u32) -> Duration {
        if failures < self.max_fast { self.fast } else { self.slow }
    }
}

/// One bucket of tokens for all keys: client-go's `BucketRateLimiter`.
///
/// A failure takes a token, or reserves the next free one and waits for it. So in any time `t`, at most
/// `burst + rate · t` keys pass. No fraction of a token is rounded away; only the delay is rounded up to the next
/// nanosecond.
///
/// ```
/// use core::time::Duration;
/// use listwatch_core::queue::{RateLimiter, TokenBucket};
/// use listwatch_core::Instant;
///
/// let mut limiter = TokenBucket::per_second(10, 2);
/// let delays = [(); 4].map(|()| limiter.delay(Instant::ZERO, 0).as_millis());
/// assert_eq!(delays, [0, 0, 100, 200]);
/// ```
///
/// Unlike client-go's, the bucket takes no token for an addition that was merged; see [`RateLimiter::give_back`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenBucket {
    /// Time is counted in units: a nanosecond has as many as a `period` has tokens. Then one token is `period` units,
    /// and nothing needs a fraction.
    tokens: Initially<10>,
    period: Initially<1_000_000_000>,
    burst: Initially<100>,
    /// When the bucket is full again, in units.
    full_at: u128,
    /// The value of `full_at` before the last delay.
    before: u128,
}

impl TokenBucket {
    /// The bucket of client-go's controllers, as `default` returns: 10 tokens a second, 100 at once.
    pub const DEFAULT: Self = Self::per_second(10, 100);

    /// `tokens` new tokens in each `period`, one after the other, in a bucket that holds `burst` of them and is full.
    ///
    /// If `period` is zero, every failure has its token at once. If `tokens` is zero, only the first `burst` failures
    /// have one. A burst of zero counts as one.
    pub const fn new(tokens: u32, period: Duration, burst: u32) -> Self {
        let burst = if burst == 0 { 1 } else { burst };
        Self {
            tokens: Initially::new(tokens as u64),
            period: Initially::new(nanos(period)),
            burst: Initially::new(burst as u64),
            full_at: 0,
            before: 0,
        }
    }

    /// As client-go's `rate.NewLimiter(qps, burst)`.
    pub const fn per_second(qps: u32, burst: u32) -> Self {
        Self::new(qps, Duration::from_secs(1), burst)
    }
}

impl RateLimiter for TokenBucket {
    fn delay(&mut self, now: Instant, _: u32) -> Duration {
        let [tokens, period, burst] = [self.tokens.get(), self.period.get(), self.burst.get()].map(u128::from);
        let now = u128::from(now.as_nanos()) * tokens;
        self.before = self.full_at;
        self.full_at = self.full_at.max(now).saturating_add(period);
        let debt = (self.full_at - now).saturating_sub(burst * period);
        match (debt, tokens) {
            (0, _) => Duration::ZERO,
            (_, 0) => Duration::MAX,
            _ => debt.div_ceil(tokens).try_into().map_or(Duration::MAX, Duration::from_nanos),
        }
    }

    fn give_back(&mut self) {
        self.full_at = self.before;
    }
}

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
    use crate::random::Random;

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

    /// W13.
    #[test]
    fn only_the_first_failures_are_fast() {
        let (fast, slow) = (Duration::from_millis(5), Duration::from_secs(3));
        let mut limiter = FastSlow::new(fast, slow, 3);
        let delays = [0, 1, 2, 3, 4, u32::MAX].map(|failures| limiter.delay(Instant::ZERO, failures));
        assert_eq!(delays, [fast, fast, fast, slow, slow, slow]);
        assert_eq!(FastSlow::new(fast, slow, 0).delay(Instant::ZERO, 0), slow);
    }

    fn at(nanos: u64) -> Instant {
        Instant::from_nanos(nanos)
    }

    /// W14, without rounding: client-go's bucket keeps its tokens in a float.
    #[test]
    fn no_window_lets_more_through_than_the_burst_and_the_rate_allow() {
        for (tokens, period, burst) in [(3, 1_000, 4), (7, 10, 1), (1, 999, 2), (1_000, 7, 5)] {
            let mut limiter = TokenBucket::new(tokens, Duration::from_nanos(period), burst);
            let (mut random, mut now) = (Random::new(period), 0);
            let mut passed = [0_u64; 300];
            for time in &mut passed {
                now += random.next() % (2 * period / u64::from(tokens) + 2);
                *time = now + limiter.delay(at(now), 0).as_nanos() as u64;
            }
            for (first, start) in passed.iter().enumerate() {
                for (last, end) in passed.iter().enumerate().skip(first) {
                    // Both ends may have been rounded up, by less than a nanosecond.
                    let earned = u128::from(end - start + 1) * u128::from(tokens) / u128::from(period);
                    let count = (last - first + 1) as u128;
                    assert!(count <= u128::from(burst) + earned, "{count} in {start}..={end}, {limiter:?}");
                }
            }
        }
    }

    /// W14: a delay is no longer than it must be, and each takes its token however long it is.
    #[test]
    fn a_reservation_waits_for_the_next_token_that_is_free() {
        let mut limiter = TokenBucket::new(3, Duration::from_nanos(10), 2);
        let delays = [0, 0, 0, 0, 1, 20].map(|now| limiter.delay(at(now), 0).as_nanos());
        assert_eq!(delays, [0, 0, 4, 7, 9, 0], "tokens come at 10/3, 20/3, 30/3");
    }

    #[test]
    fn what_is_given_back_counts_as_not_taken() {
        let mut limiter = TokenBucket::per_second(10, 1);
        limiter.delay(at(5), 0);
        for _ in 0..3 {
            assert_eq!(limiter.delay(at(7), 0).as_nanos(), 100_000_000 - 2);
            limiter.give_back();
        }
    }

    #[test]
    fn a_bucket_at_its_limits_neither_panics_nor_rounds_down() {
        let mut dry = TokenBucket::per_second(0, 2);
        assert_eq!([(); 3].map(|()| dry.delay(at(9), 0)), [Duration::ZERO, Duration::ZERO, Duration::MAX]);
        let mut free = TokenBucket::new(1, Duration::ZERO, 0);
        assert!([(); 3].iter().all(|()| free.delay(at(0), 0).is_zero()));
        let mut slow = TokenBucket::new(1, Duration::MAX, 1);
        let delays = [(); 3].map(|()| slow.delay(at(u64::MAX), 0));
        assert_eq!(delays, [Duration::ZERO, Duration::from_nanos(u64::MAX), Duration::MAX]);
        let mut fast = TokenBucket::new(u32::MAX, Duration::from_nanos(1), u32::MAX);
        assert_eq!(fast.delay(at(u64::MAX), 0), Duration::ZERO);
    }

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
