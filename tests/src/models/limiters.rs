//! The bucket of golang.org/x/time/rate, as client-go's limiter uses it, in fractions instead of floats.

use std::time::Duration;

/// Counts the tokens that are in the bucket; below zero, those that are promised.
#[derive(Clone, Debug)]
pub struct BucketModel {
    /// In parts of which a token has as many as the period has nanoseconds.
    tokens: i128,
    last: u64,
    rate: u32,
    period: u64,
    burst: u32,
}

impl BucketModel {
    /// A full bucket that gets `rate` tokens in each `period`.
    #[must_use]
    pub fn new(rate: u32, period: Duration, burst: u32) -> Self {
        let period = period.as_nanos() as u64;
        Self { tokens: i128::from(burst) * i128::from(period), last: 0, rate, period, burst }
    }

    /// `Limiter.Reserve().Delay()`.
    pub fn reserve(&mut self, now: u64) -> Duration {
        self.refill(now);
        self.tokens -= i128::from(self.period);
        let debt = (-self.tokens).max(0) as u64;
        Duration::from_nanos(debt.div_ceil(self.rate.into()))
    }

    /// `Reservation.Cancel`, at once.
    pub fn cancel(&mut self) {
        self.tokens += i128::from(self.period);
    }

    fn refill(&mut self, now: u64) {
        let earned = i128::from(now - self.last) * i128::from(self.rate);
        self.last = now;
        self.tokens = (self.tokens + earned).min(i128::from(self.burst) * i128::from(self.period));
    }
}
