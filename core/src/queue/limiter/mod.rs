//! How long a key that failed has to wait, in integer arithmetic.

mod combined;
mod exponential;
mod fast_slow;
mod token_bucket;

pub use combined::{DefaultControllerRateLimiter, MaxOf, MaxWait};
pub use exponential::ExponentialBackoff;
pub use fast_slow::FastSlow;
pub use token_bucket::TokenBucket;

use crate::time::Instant;
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
