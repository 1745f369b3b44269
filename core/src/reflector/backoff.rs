use super::Pace;
use crate::random::Random;
use core::time::Duration;

/// How long to wait between attempts.
///
/// The n-th delay in a row lies between `first`·2ⁿ and twice that, as client-go's does, where `first`·2ⁿ is at most
/// `most`. So an attempt is made every 30 to 60 seconds in the end, 80 an hour and never more than 120; and one that took
/// several requests is followed by as many delays, up to ten, unless it is the first. Where somebody has to help, `most`
/// to twice that is waited from the start, also after two requests; only after more than two, as after pages that were
/// answered before something was refused, it is up to `most` for each.
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

/// What a delay depends on, beside the attempts before it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wait {
    pub(super) pace: Pace,
    /// How long the server asked to wait.
    pub(super) asked: Duration,
    /// How many requests the attempt took.
    pub(super) requests: u32,
    /// Over how much time clients that fail together are spread.
    pub(super) spread: Duration,
}

/// A server that asks for more is not believed.
const MOST_ASKED: Duration = Duration::from_secs(3600);
/// Time passes between two attempts, whatever the configuration says.
const LEAST: Duration = Duration::from_millis(1);
/// More requests than these count as so many: a list of a hundred pages is not waited for all day.
const MOST_REQUESTS: u32 = 10;

/// The delays of one outage: each twice the one before, and each spread over its own length again.
#[derive(Clone, Debug)]
pub(super) struct Delays {
    backoff: Backoff,
    random: Random,
    /// How many delays there were.
    attempts: u32,
    /// One of them was after a failure.
    failed: bool,
}

impl Delays {
    pub(super) fn new(backoff: Backoff, seed: u64) -> Self {
        Self { backoff, random: Random::new(seed), attempts: 0, failed: false }
    }

    /// The delay after a failure; at least what the server asked for.
    pub(super) fn next(&mut self, wait: Wait) -> Duration {
        // The first time, what came before was no failure.
        let requests = if self.failed { wait.requests.clamp(1, MOST_REQUESTS) } else { 1 };
        self.failed = true;
        let delay = match wait.pace {
            Pace::Slow => self.slow(requests),
            Pace::AtOnce | Pace::Growing | Pace::Spread => self.grown().saturating_mul(requests),
        };
        let spread = match wait.pace {
            Pace::Spread => self.random.below(wait.spread),
            Pace::AtOnce | Pace::Growing | Pace::Slow => Duration::ZERO,
        };
        delay.max(wait.asked.min(MOST_ASKED)).saturating_add(spread).max(LEAST)
    }

    /// The next delay of those that grow. Alone, it is for what is no failure.
    pub(super) fn grown(&mut self) -> Duration {
        let Backoff { first, most } = self.backoff;
        let factor = 1_u32.checked_shl(self.attempts).unwrap_or(u32::MAX);
        self.attempts = self.attempts.saturating_add(1);
        let delay = first.saturating_mul(factor).min(most);
        delay.saturating_add(self.random.below(delay))
    }

    /// The delay where somebody has to help, who should not wait for long then. Four fifths of `most` are 24 s: whatever
    /// the jitter, no more than 150 requests an hour.
    fn slow(&mut self, requests: u32) -> Duration {
        self.attempts = self.attempts.saturating_add(1);
        let most = self.backoff.most;
        let least = (most * 4 / 5).saturating_mul(requests).max(most);
        self.between(least, most.saturating_mul(requests.max(2)))
    }

    /// The server is well: the next outage begins with the first delay.
    pub(super) fn reset(&mut self) {
        (self.attempts, self.failed) = (0, false);
    }

    /// A moment between two durations, for what should not happen everywhere at once.
    pub(super) fn between(&mut self, least: Duration, most: Duration) -> Duration {
        least + self.random.below(most.saturating_sub(least))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn wait(pace: Pace) -> Wait {
        Wait { pace, asked: Duration::ZERO, requests: 1, spread: 40 * SECOND }
    }

    fn delays() -> Delays {
        Delays::new(Backoff::default(), 1)
    }

    #[test]
    fn delays_double_up_to_the_longest_and_are_spread() {
        let (backoff, mut delays) = (Backoff::default(), delays());
        let mut base = backoff.first;
        for attempt in 0..40 {
            let delay = delays.next(wait(Pace::Growing));
            assert!(delay >= base && delay < base * 2, "{attempt}: {delay:?}");
            base = (base * 2).min(backoff.most);
        }
        delays.reset();
        assert!(delays.next(wait(Pace::Growing)) < backoff.first * 2);
    }

    #[test]
    fn what_the_server_asks_for_is_the_least() {
        let mut delays = delays();
        let asked = |asked| Wait { asked, ..wait(Pace::Growing) };
        assert_eq!(delays.next(asked(60 * SECOND)), 60 * SECOND);
        assert_eq!(delays.next(asked(Duration::MAX)), MOST_ASKED);
        let spread = delays.next(Wait { asked: 60 * SECOND, ..wait(Pace::Spread) });
        assert!(spread > 60 * SECOND && spread < 100 * SECOND, "not everybody at the same moment: {spread:?}");
    }

    #[test]
    fn an_attempt_of_several_requests_is_followed_by_as_many_delays() {
        let mut delays = delays();
        for (requests, times) in [(0, 1), (1, 1), (3, 3), (10, 10), (500, 10)] {
            (delays.attempts, delays.failed) = (10, true);
            let delay = delays.next(Wait { requests, ..wait(Pace::Growing) });
            assert!(delay >= 30 * SECOND * times && delay < 60 * SECOND * times, "{requests}: {delay:?}");
        }
    }

    #[test]
    fn what_somebody_has_to_help_with_is_tried_slowly_from_the_start_and_at_least_once_a_minute() {
        let mut delays = delays();
        for requests in [1, 2].repeat(40) {
            let delay = delays.next(Wait { requests, ..wait(Pace::Slow) });
            assert!(delay >= 30 * SECOND && delay < 60 * SECOND, "{requests}: {delay:?}");
        }
    }

    /// Two requests every 30 s would be 240 an hour.
    #[test]
    fn slow_attempts_of_several_requests_were_made_more_than_150_times_an_hour_or_less_than_once_a_minute() {
        let mut delays = delays();
        let _ = delays.next(wait(Pace::Slow));
        for (requests, least, most) in [(1, 30, 60), (2, 48, 60), (3, 72, 90), (10, 240, 300), (500, 240, 300)] {
            for _ in 0..40 {
                let delay = delays.next(Wait { requests, ..wait(Pace::Slow) });
                assert!(delay >= least * SECOND && delay < most * SECOND, "{requests}: {delay:?}");
            }
        }
    }
}
