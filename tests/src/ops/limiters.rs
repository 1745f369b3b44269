//! Operations on the rate limiters.

use crate::models::limiters::BucketModel;
use arbitrary::{Arbitrary, Unstructured};
use listwatch_core::Instant;
use listwatch_core::queue::{ExponentialBackoff, MaxOf, MaxWait, RateLimiter, TokenBucket};
use std::time::Duration;

/// Times are in nanoseconds.
#[derive(Clone, Copy, Debug, Arbitrary)]
enum Op {
    /// A key fails, so much later, that has failed so often before.
    Fail(u8, u8),
    GiveBack,
}

/// Runs the operations that `data` stands for on a limiter that joins all kinds.
///
/// # Panics
/// Where it and its model differ.
pub fn run(data: &[u8]) {
    let mut data = Unstructured::new(data);
    let [rate, period, burst, base, max] = data.arbitrary::<[u8; 5]>().unwrap_or_default().map(u64::from);
    let (rate, period, burst) = (1 + rate as u32, Duration::from_nanos(period), 1 + burst as u32 % 8);
    let (base, max) = (Duration::from_nanos(base), Duration::from_nanos(max * 16));
    let mut limiter = MaxOf(
        ExponentialBackoff::new(base, max),
        MaxWait { limiter: TokenBucket::new(rate, period, burst), max: 2 * max },
    );
    let mut bucket = BucketModel::new(rate, period, burst);
    let (mut now, mut is_reserved) = (0, false);
    while !data.is_empty()
        && let Ok(op) = data.arbitrary()
    {
        match op {
            Op::Fail(later, failures) => {
                now += u64::from(later);
                let back_off = base.saturating_mul(2_u32.saturating_pow(failures.into())).min(max);
                let expected = back_off.max(bucket.reserve(now).min(2 * max));
                assert_eq!(limiter.delay(Instant::from_nanos(now), failures.into()), expected, "{op:?} at {now}");
                is_reserved = true;
            }
            Op::GiveBack if is_reserved => {
                limiter.give_back();
                bucket.cancel();
                is_reserved = false;
            }
            Op::GiveBack => {}
        }
    }
}
