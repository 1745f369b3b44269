use super::{BackoffKind, Failure, Operation, Reaction, RetryRule};
use crate::random::Random;
use crate::time::{Instant, eighths};
use crate::transport::ResponseHead;
use core::time::Duration;

/// The delays between attempts.
///
/// *A server that refuses requests* gets the next one after `initial`·2ⁿ to twice that, as client-go does, where
/// `initial`·2ⁿ is at most `max`. The third delay comes four times: an API server that has just started refuses
/// requests for some seconds. With the defaults, no delay that begins within the first 15.2 s is longer than 6.4 s. In
/// the end, a client sends 80 requests an hour.
///
/// *A server that does not respond* is probed every `probe` to 9/8 of it. After twelve probes the distance is 3/2
/// to 15/8 of it. The first probe comes after 1/4 to 5/4 of `probe`, which spreads clients that lost their server
/// together. With the defaults a probe is made every 4 to 4.5 s for a minute, and every 6 to 7.5 s then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// The first delay after a refusal. Default: 800 ms, as in client-go.
    pub initial: Duration,
    /// The longest delay after a refusal, before jitter. Default: 30 s, as in client-go.
    pub max: Duration,
    /// The least time between two probes of a server that does not answer. Default: 4 s.
    pub probe: Duration,
}

impl Default for Backoff {
    /// After refusals client-go's delays: from 800 ms, doubled, up to 30 s. A probe every 4 s at most.
    fn default() -> Self {
        Self { initial: Duration::from_millis(800), max: Duration::from_secs(30), probe: Duration::from_secs(4) }
    }
}

/// The cause of a delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// A healthy watch broke. Nothing is known to be wrong with the server.
    Broken,
    /// A watch broke, or ended, before it had shown that the server is well: as when a server is restarted again and
    /// again.
    Interrupted,
    /// The server, back after an interruption, does not know the watch's version any more.
    Forgotten,
    /// The server refused a request, or broke off a response.
    Refused,
    /// The whole state is needed again after a healthy watch.
    Relist,
    /// The server did not answer.
    Unanswered,
}

impl Cause {
    /// The cause of a delay at this backoff, after a request that was answered or not, and whose watch was healthy or
    /// not.
    pub(super) fn of(backoff: BackoffKind, reaction: Reaction, answered: bool, healthy: bool) -> Self {
        match (backoff, reaction) {
            (BackoffKind::Probe, _) if !answered => Self::Unanswered,
            (BackoffKind::Probe, Reaction::Rewatch) if healthy => Self::Broken,
            (_, Reaction::Relist) if healthy => Self::Relist,
            _ => Self::Refused,
        }
    }
}

/// The least delay under any configuration: without one, a failing server would cause a busy loop.
const LEAST: Duration = Duration::from_millis(1);
/// The exponents of the first delays after refusals; those after them go on to grow.
const EXPONENTS: [u32; 6] = [0, 1, 2, 2, 2, 2];
/// After so many probes without an answer the outage is long, and probes are made less often.
const LONG_OUTAGE: u32 = 12;
/// A watch that lived for so long is proof of health, if it also lived for as long as the present delay.
const LEAST_PROOF: Duration = Duration::from_secs(10);
/// A watch that lived for so long is proof of health, however long the delays have become.
const PROOF: Duration = Duration::from_secs(30);
/// A server that answered nothing for so long was away, unless the present delay is longer. Where it answers every
/// other request, it was not.
const LEAST_OUTAGE: Duration = Duration::from_secs(10);
/// Relists that follow each other by more than this are independent of each other (client-go's `defaultBackoffReset`).
const RELISTS_APART: Duration = Duration::from_secs(120);

/// So many interruptions in a row, and so many 410s after them, cost no more than the spread: those of a rolling
/// upgrade.
const FORGIVEN: u32 = 6;

/// The delays of one client. A [`Reflector`](crate::Reflector) waits by them, and any other client that retries can.
///
/// Each cause has its own count, so no cause lengthens the delays of another.
///
/// ```
/// use core::time::Duration;
/// use listwatch_core::reflector::{Backoff, Failure};
/// use listwatch_core::transport::TransportErrorKind;
/// use listwatch_core::Instant;
///
/// let mut delays = Backoff::default().delays(7);
/// let refused = Failure::from(TransportErrorKind::Refused);
/// let delay = delays.after(Instant::ZERO, &refused, Duration::ZERO);
/// assert!(delay >= Duration::from_secs(1) && delay < Duration::from_secs(5));
/// ```
#[derive(Clone, Debug)]
pub struct RetryDelays {
    backoff: Backoff,
    /// Over how much time clients that fail together are spread.
    spread: Duration,
    random: Random,
    /// Delays after refusals in a row.
    refusals: u32,
    /// Delays after requests in a row that were not answered, and since when there were any.
    unanswered: Option<(u32, Instant)>,
    /// Relists in a row that followed a healthy watch.
    relists: u32,
    /// Watches in a row that were interrupted.
    interruptions: u32,
    /// 410s in a row that followed an interruption.
    forgotten: u32,
}

impl RetryDelays {
    pub(super) fn new(backoff: Backoff, seed: u64) -> Self {
        Self {
            backoff,
            spread: Duration::ZERO,
            random: Random::new(seed),
            refusals: 0,
            unanswered: None,
            relists: 0,
            interruptions: 0,
            forgotten: 0,
        }
    }

    /// The same delays for one of many clients, which are spread over so much time.
    pub(super) fn spread_over(self, spread: Duration) -> Self {
        Self { spread, ..self }
    }

    /// The delay after a request that failed at `now`: that of a reflector after such a failure of a list. It is at
    /// least `retry_after`, the delay that the server requested, of which at most an hour counts.
    pub fn after(&mut self, now: Instant, failure: &Failure, retry_after: Duration) -> Duration {
        let (row, answered) = (RetryRule::of(Operation::List, failure.class()), failure.is_answer());
        if answered {
            self.note_answer(now);
        }
        let cause = Cause::of(row.backoff, row.reaction, answered, false);
        self.next(now, cause, retry_after)
    }

    /// Restarts the jitter with a new seed.
    pub(super) fn reseed(&mut self, seed: u64) {
        self.random = Random::new(seed);
    }

    /// The delay after a failure at `now`; at least the delay that the server requested.
    pub(super) fn next(&mut self, now: Instant, cause: Cause, asked: Duration) -> Duration {
        let delay = match cause {
            Cause::Broken => self.random.below(self.spread),
            Cause::Interrupted => self.after_interruption(),
            Cause::Forgotten => self.after_forgetting(),
            Cause::Refused => self.grown(),
            Cause::Relist => self.between_relists(),
            Cause::Unanswered => self.probe(now),
        };
        delay.max(self.asked(asked)).max(LEAST)
    }

    /// The next delay of those that grow with each refusal. A direct call serves waits that are no failures.
    pub(super) fn grown(&mut self) -> Duration {
        let delay = self.backoff.after(self.refusals);
        self.refusals = self.refusals.saturating_add(1);
        self.doubled_at_most(delay)
    }

    /// The delay after a watch that was interrupted: at first as after a healthy one.
    pub(super) fn after_interruption(&mut self) -> Duration {
        if !self.forgives() {
            return self.grown();
        }
        self.interruptions += 1;
        self.random.below(self.spread)
    }

    /// Whether another interruption costs no more than the spread: of a server that refuses requests none does.
    pub(super) fn forgives(&self) -> bool {
        self.interruptions < FORGIVEN && self.refusals == 0
    }

    /// The delay after a 410 that an interruption led to: at first none, as that has spread the clients already.
    fn after_forgetting(&mut self) -> Duration {
        self.forgotten = self.forgotten.saturating_add(1);
        if self.forgotten > FORGIVEN { self.between_relists() } else { Duration::ZERO }
    }

    /// The delay before a state is requested although the watch before it was healthy.
    fn between_relists(&mut self) -> Duration {
        let delay = self.backoff.after(self.relists);
        self.relists = self.relists.saturating_add(1);
        self.doubled_at_most(delay)
    }

    /// The delay before the state is requested for the room that an object has left, after so many that did not fit. It
    /// grows as well if each of them fits, and soon does no more.
    pub(super) fn for_room(&mut self, states: u32) -> Duration {
        let delay = self.backoff.after(states);
        self.doubled_at_most(delay).max(self.between_relists())
    }

    /// The delay before the next request to a server that did not respond.
    fn probe(&mut self, now: Instant) -> Duration {
        let (probes, since) = self.unanswered.unwrap_or((0, now));
        self.unanswered = Some((probes.saturating_add(1), since));
        let probe = self.backoff.probe;
        let (least, spread) = match probes {
            0 => (eighths(probe, 2), probe),
            1..LONG_OUTAGE => (probe, eighths(probe, 1)),
            _ => (eighths(probe, 12), eighths(probe, 3)),
        };
        least.saturating_add(self.random.below(spread))
    }

    /// The delay that the server requested, and the spread of all clients that it refused at the same moment.
    fn asked(&mut self, asked: Duration) -> Duration {
        let asked = asked.min(ResponseHead::MAX_RETRY_AFTER);
        if asked.is_zero() || self.spread.is_zero() {
            return asked;
        }
        asked.saturating_add(self.random.below(self.spread.max(eighths(asked, 2))))
    }

    /// Notes that the server responded at `now`, with any status. If the outage before was as long as the present
    /// delay, earlier refusals no longer count.
    pub fn note_answer(&mut self, now: Instant) {
        if let Some((_, since)) = self.unanswered.take()
            && now.saturating_since(since) >= self.backoff.after(self.refusals).max(LEAST_OUTAGE)
        {
            self.refusals = 0;
        }
    }

    /// Whether a watch that lived for so long shows that the server is well.
    pub(super) fn is_proof(&self, lived: Duration) -> bool {
        lived >= self.backoff.after(self.refusals).clamp(LEAST_PROOF, PROOF)
    }

    /// A watch lived for so long, which shows that the server is well: the delays begin with the first.
    pub(super) fn reset(&mut self, lived: Duration) {
        (self.refusals, self.unanswered, self.interruptions) = (0, None, 0);
        if lived >= RELISTS_APART {
            (self.relists, self.forgotten) = (0, 0);
        }
    }

    /// A random duration between two, so that clients do not act at the same moment.
    pub(super) fn between(&mut self, least: Duration, most: Duration) -> Duration {
        least.saturating_add(self.random.below(most.saturating_sub(least)))
    }

    /// A moment between a duration and its double.
    fn doubled_at_most(&mut self, delay: Duration) -> Duration {
        delay.saturating_add(self.random.below(delay))
    }
}

impl Backoff {
    /// The delays of one client. Clients with different seeds wait for different times.
    pub fn delays(self, seed: u64) -> RetryDelays {
        RetryDelays::new(self, seed)
    }

    /// The delay after so many others, before jitter.
    fn after(&self, delays: u32) -> Duration {
        let more = |delays: u32| delays - EXPONENTS.len() as u32 + 3;
        let exponent = EXPONENTS.get(delays as usize).copied().unwrap_or_else(|| more(delays));
        let doubled = |delay: Duration, _| delay.saturating_add(delay);
        (0..exponent.min(u32::BITS)).fold(self.initial, doubled).min(self.max)
    }
}

#[cfg(test)]
#[cfg(feature = "json")]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn delays() -> RetryDelays {
        RetryDelays::new(Backoff::default(), 1).spread_over(SECOND)
    }

    fn millis(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    /// Asserts that delays of this cause lie between `initial`·2ⁿ and twice that, for these exponents.
    fn assert_grows(delays: &mut RetryDelays, cause: Cause) {
        for exponent in [0, 1, 2, 2, 2, 2, 3, 4, 5, 6, 7].map(|exponent| 1 << exponent) {
            let base = (millis(800) * exponent).min(30 * SECOND);
            let delay = delays.next(Instant::ZERO, cause, Duration::ZERO);
            assert!(delay >= base && delay < base * 2, "{cause:?}, {base:?}: {delay:?}");
        }
    }

    #[test]
    fn delays_after_refusals_stay_the_same_four_times_and_then_double_up_to_a_minute() {
        let mut delays = delays();
        assert_grows(&mut delays, Cause::Refused);
        delays.reset(PROOF);
        assert_grows(&mut delays, Cause::Refused);
    }

    #[test]
    fn a_refusal_within_the_first_fifteen_seconds_is_followed_by_a_request_within_seven() {
        for seed in 0..2000 {
            let (mut delays, mut elapsed) = (Backoff::default().delays(seed), Duration::ZERO);
            while elapsed < millis(15_200) {
                let delay = delays.next(Instant::ZERO, Cause::Refused, Duration::ZERO);
                assert!(delay < millis(6400), "seed {seed}, after {elapsed:?}: {delay:?}");
                elapsed += delay;
            }
        }
    }

    #[test]
    fn relists_have_delays_of_their_own_which_begin_again_after_two_minutes() {
        let mut delays = delays();
        assert_grows(&mut delays, Cause::Refused);
        assert_grows(&mut delays, Cause::Relist);
        delays.reset(PROOF);
        assert!(delays.next(Instant::ZERO, Cause::Relist, Duration::ZERO) >= 30 * SECOND);
        delays.reset(RELISTS_APART);
        assert_grows(&mut delays, Cause::Relist);
    }

    #[test]
    fn a_server_that_does_not_answer_is_probed_for_ever_and_not_twice_within_four_seconds() {
        for seed in 0..100 {
            let mut delays = Backoff::default().delays(seed);
            for probe in 0..1000 {
                let delay = delays.next(Instant::ZERO, Cause::Unanswered, Duration::ZERO);
                let (least, most) = match probe {
                    0 => (1000, 5000),
                    1..LONG_OUTAGE => (4000, 4500),
                    _ => (6000, 7500),
                };
                assert!(delay >= millis(least) && delay < millis(most), "{probe}: {delay:?}");
            }
        }
    }

    #[test]
    fn a_long_outage_makes_up_for_refusals_and_a_short_one_does_not() {
        for (away, reset) in [(2, false), (60, true)] {
            let mut delays = delays();
            assert_grows(&mut delays, Cause::Refused);
            let _ = delays.next(Instant::ZERO, Cause::Unanswered, Duration::ZERO);
            delays.note_answer(Instant::ZERO + away * SECOND);
            assert_eq!(
                delays.next(Instant::ZERO, Cause::Refused, Duration::ZERO) < 2 * SECOND,
                reset,
                "after {away} s"
            );
        }
    }

    #[test]
    fn a_watch_that_lived_as_long_as_the_present_delay_is_proof_of_health() {
        let mut delays = delays();
        assert!(!delays.is_proof(9 * SECOND) && delays.is_proof(10 * SECOND));
        (0..8).for_each(|_| _ = delays.grown());
        assert!(!delays.is_proof(25 * SECOND) && delays.is_proof(26 * SECOND));
        (0..8).for_each(|_| _ = delays.grown());
        assert!(!delays.is_proof(29 * SECOND) && delays.is_proof(30 * SECOND));
    }

    #[test]
    fn what_the_server_asks_for_is_the_least_and_clients_come_after_it_one_by_one() {
        let mut delays = delays();
        let mut asks = |asked, spread| {
            delays.reset(PROOF);
            delays.spread = spread;
            delays.next(Instant::ZERO, Cause::Refused, asked)
        };
        assert_eq!(asks(60 * SECOND, Duration::ZERO), 60 * SECOND);
        assert_eq!(asks(Duration::MAX, Duration::ZERO), ResponseHead::MAX_RETRY_AFTER);
        for _ in 0..100 {
            let spread = asks(60 * SECOND, SECOND);
            assert!(spread > 60 * SECOND && spread < 75 * SECOND, "{spread:?}");
            let spread = asks(2 * SECOND, SECOND);
            assert!(spread > 2 * SECOND && spread < 3 * SECOND, "{spread:?}");
        }
    }

    #[test]
    fn durations_without_a_limit_do_not_overflow() {
        let extremes = [Duration::ZERO, Duration::from_nanos(1), Duration::MAX];
        for (first, most, probe) in extremes
            .iter()
            .flat_map(|first| extremes.map(|most| (*first, most)))
            .flat_map(|(first, most)| extremes.map(|probe| (first, most, probe)))
        {
            let mut delays = RetryDelays::new(Backoff { initial: first, max: most, probe }, 1);
            for cause in [Cause::Broken, Cause::Refused, Cause::Relist, Cause::Unanswered].repeat(20) {
                for (asked, spread) in extremes.iter().zip(extremes.iter().rev()) {
                    delays.spread = *spread;
                    let delay = delays.next(Instant::ZERO, cause, *asked);
                    assert!(delay >= LEAST);
                }
            }
        }
    }
}
