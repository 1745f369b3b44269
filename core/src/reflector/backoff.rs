use crate::random::Random;
use core::time::Duration;

/// How long to wait between attempts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// The first delay.
    pub first: Duration,
    /// The longest one, before jitter.
    pub most: Duration,
}

impl Default for Backoff {
    /// client-go's: from 800 ms, doubled, up to 30 s.
    fn default() -> Self {
        Self { first: Duration::from_millis(800), most: Duration::from_secs(30) }
    }
}

/// A server that asks for more is not believed.
const MOST_ASKED: Duration = Duration::from_secs(3600);
/// Time passes between two attempts, whatever the configuration says.
const LEAST: Duration = Duration::from_millis(1);

/// The delays of one outage: each twice the one before, and each spread over its own length again, so that clients that
/// lost their server together do not come back together.
#[derive(Clone, Debug)]
pub(super) struct Delays {
    backoff: Backoff,
    random: Random,
    attempts: u32,
}

impl Delays {
    pub(super) fn new(backoff: Backoff, seed: u64) -> Self {
        Self { backoff, random: Random::new(seed), attempts: 0 }
    }

    /// The next delay; at least what the server asked for.
    pub(super) fn next(&mut self, asked: Option<Duration>) -> Duration {
        let factor = 1_u32.checked_shl(self.attempts).unwrap_or(u32::MAX);
        self.attempts = self.attempts.saturating_add(1);
        let delay = self.backoff.first.saturating_mul(factor).min(self.backoff.most);
        let spread = delay.saturating_add(self.random.below(delay));
        spread.max(asked.unwrap_or_default().min(MOST_ASKED)).max(LEAST)
    }

    /// How many attempts in a row went wrong.
    pub(super) fn attempts(&self) -> u32 {
        self.attempts
    }

    /// The server is well: the next outage begins with the first delay.
    pub(super) fn reset(&mut self) {
        self.attempts = 0;
    }

    /// A moment between two durations, for what should not happen everywhere at once.
    pub(super) fn between(&mut self, least: Duration, most: Duration) -> Duration {
        least + self.random.below(most.saturating_sub(least))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_the_longest_and_are_spread() {
        let backoff = Backoff::default();
        let mut delays = Delays::new(backoff, 1);
        let mut base = backoff.first;
        for attempt in 0..40 {
            let delay = delays.next(None);
            assert!(delay >= base && delay < base * 2, "{attempt}: {delay:?}");
            base = (base * 2).min(backoff.most);
        }
        delays.reset();
        assert!(delays.next(None) < backoff.first * 2);
    }

    #[test]
    fn what_the_server_asks_for_is_the_least() {
        let mut delays = Delays::new(Backoff::default(), 1);
        assert_eq!(delays.next(Some(Duration::from_secs(60))), Duration::from_secs(60));
        assert_eq!(delays.next(Some(Duration::MAX)), MOST_ASKED);
    }
}
