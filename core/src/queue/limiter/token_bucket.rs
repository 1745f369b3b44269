use super::RateLimiter;
use crate::storage::Initially;
use crate::time::{Instant, nanos};
use core::time::Duration;

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
    #[must_use]
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
    #[must_use]
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

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
}
