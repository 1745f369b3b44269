//! How soon a client is back, after which failures.

use super::*;

const SECOND: Duration = Duration::from_secs(1);

impl Talk {
    /// Nothing answers for so long, the open request first. Returns how long after that the next request is made.
    pub(super) fn away(&mut self, time: Duration) -> Duration {
        let back = self.now + time;
        loop {
            let _ = self.fails(TransportErrorKind::Refused.into());
            self.waits();
            let _ = self.asks();
            if self.now >= back {
                return self.now.saturating_since(back);
            }
        }
    }

    /// The watch is answered, goes on for so long, and breaks. The next one is asked for.
    pub(super) fn breaks_after(&mut self, time: Duration) -> Duration {
        self.lives(time);
        let _ = self.fails(TransportErrorKind::Reset.into());
        let waited = self.waits();
        let _ = self.asks();
        waited
    }

    /// The server does not know the watch's version, and answers the next watch-list at once. Returns when that is
    /// asked for.
    fn forgets(&mut self) -> Duration {
        self.head(200);
        let _ = self.says(|id| broken(id, status(410)));
        let waited =
            if self.reflector.poll_timeout().is_some_and(|at| at > self.now) { self.waits() } else { Duration::ZERO };
        let _ = self.asks();
        self.head(200);
        let _ = self.says(|id| bookmark(id, "5", true));
        waited
    }

    /// The watch, or whatever else is asked for, is refused for so long. Returns the longest delay.
    fn refused_for(&mut self, time: Duration) -> Duration {
        let (until, mut longest) = (self.now + time, Duration::ZERO);
        while self.now < until {
            self.head(503);
            let _ = self.fails(status(503));
            longest = longest.max(self.waits());
            let _ = self.asks();
        }
        longest
    }
}

/// A reflector with the defaults and this seed, which watches.
pub(super) fn watching(seed: u64) -> Talk {
    let mut talk = talk(ReflectorConfig { seed: Some(seed), ..Default::default() });
    let _ = talk.says(|_| Input::Start);
    let _ = talk.asks();
    talk.head(200);
    let _ = talk.says(|id| bookmark(id, "5", true));
    talk
}

/// The delays do not grow while nothing listens.
#[test]
fn a_client_is_back_within_eight_seconds_of_a_servers_restart() {
    for seed in 0..200 {
        for away in [1, 5, 20, 60, 300, 3600] {
            let mut talk = watching(seed);
            let _ = talk.breaks_after(300 * SECOND);
            let late = talk.away(away * SECOND);
            assert!(late < 8 * SECOND, "{late:?} after {away} s");
        }
    }
}

/// No watch lives for half a minute, and no restart lengthens the delays after the next one.
#[test]
fn a_client_is_back_within_eight_seconds_of_each_of_several_restarts() {
    for seed in 0..200 {
        let mut talk = watching(seed);
        let _ = talk.breaks_after(300 * SECOND);
        for restart in 0..10 {
            let late = talk.away(8 * SECOND);
            assert!(late < 8 * SECOND, "{late:?} after restart {restart}");
            let _ = talk.breaks_after(5 * SECOND);
        }
    }
}

/// An API server that has just started knows none of the versions before: it answers the old watch with 410.
#[test]
fn a_client_is_back_within_eight_seconds_of_restarts_that_forget_history() {
    for (up, down) in [(2, 1), (5, 3), (9, 3), (12, 3), (15, 8), (15, 20), (60, 90), (60, 300)] {
        for seed in 0..200 {
            let mut talk = watching(seed);
            let mut waited = talk.breaks_after(300 * SECOND);
            for restart in 1..=6 {
                let late = talk.away((down * SECOND).saturating_sub(waited)) + talk.forgets();
                assert!(late < 8 * SECOND, "{late:?} after restart {restart}, {down} s away");
                waited = talk.breaks_after(up * SECOND);
            }
        }
    }
}

/// A server that forgets each version at once is not asked for lists all day.
#[test]
fn a_server_that_forgets_after_each_of_many_restarts_is_asked_ever_less_often() {
    let mut talk = watching(1);
    let waited: Vec<Duration> = (0..40)
        .map(|_| {
            let broken = talk.breaks_after(2 * SECOND);
            broken + talk.forgets()
        })
        .collect();
    assert!(waited[..6].iter().all(|waited| *waited < SECOND), "{waited:?}");
    assert!(waited[20..].iter().all(|waited| *waited >= 30 * SECOND), "{waited:?}");
}

/// `listwatch watch` discovers by them before it lists.
#[test]
fn delays_are_those_of_a_reflector() {
    for seed in 0..20 {
        let mut talk = talk(ReflectorConfig { watch_list: false, seed: Some(seed), ..alone() });
        let mut delays = Backoff::default().delays(seed);
        let _ = talk.says(|_| Input::Start);
        let failures = [TransportErrorKind::Refused.into(), TransportErrorKind::Reset.into(), status(503), status(403)];
        for failure in failures.iter().cycle().take(80).chain([&failures[0]; 40]) {
            let _ = talk.asks();
            let delay = delays.after(talk.now, failure, Duration::ZERO);
            let _ = talk.fails(failure.clone());
            assert_eq!(talk.waits(), delay, "{failure}");
        }
    }
}

/// An API server refuses requests for some seconds until it is ready.
#[test]
fn a_client_is_back_within_eight_seconds_when_a_server_is_ready() {
    for seed in 0..200 {
        for away in [0, 10, 300] {
            let mut talk = watching(seed);
            let _ = talk.breaks_after(300 * SECOND);
            let _ = talk.away(away * SECOND);
            let late = talk.refused_for(12 * SECOND);
            assert!(late < 8 * SECOND, "{late:?} after {away} s");
        }
    }
}

/// Some errors, then a list of ten pages, half a minute of health, and a 410.
#[test]
fn a_410_after_earlier_errors_leads_to_a_list_within_two_seconds() {
    let mut talk = lists();
    let _ = talk.says(|_| Input::Start);
    for _ in 0..5 {
        let _ = talk.asks();
        let _ = talk.fails(status(500));
        talk.waits();
    }
    for token in ["a", "b", "c", "d", "e", "f", "g", "h", "i", ""] {
        let _ = talk.asks();
        let _ = talk.says(|id| list_end(id, "5", token));
    }
    let _ = talk.asks();
    talk.lives(HEALTHY);
    let _ = talk.says(|id| broken(id, status(410)));
    let waited = talk.waits();
    assert!(waited < 2 * SECOND, "{waited:?}");
}

#[test]
fn a_healthy_watch_that_breaks_is_made_again_within_a_second_but_not_by_everybody_at_once() {
    let mut delays: Vec<Duration> = (0..100)
        .map(|seed| {
            let mut talk = watching(seed);
            talk.breaks_after(300 * SECOND)
        })
        .collect();
    delays.sort();
    assert!(delays[0] < SECOND / 10 && delays[50] > SECOND / 4 && delays[99] < SECOND, "{delays:?}");
}

/// A server that is about to stop ends its watches in good order.
#[test]
fn watches_that_end_early_are_made_again_spread_over_a_second() {
    let mut delays: Vec<Duration> = (0..100)
        .map(|seed| {
            let mut talk = watching(seed);
            talk.lives(100 * SECOND);
            let _ = talk.says(|id| bookmark(id, "6", false));
            let _ = talk.says(|id| closed(id, Ok(())));
            talk.waits()
        })
        .collect();
    delays.sort();
    assert!(delays[0] < SECOND / 10 && delays[50] > SECOND / 4 && delays[99] < SECOND, "{delays:?}");
}

/// Each class of failure has delays of its own.
#[test]
fn refusals_do_not_lengthen_probes_nor_probes_the_delays_after_refusals() {
    let mut talk = watching(1);
    talk.refused_for(300 * SECOND);
    let late = talk.away(20 * SECOND);
    assert!(late < 7 * SECOND, "{late:?}");
    let mut talk = watching(1);
    talk.refused_for(60 * SECOND);
    let _ = talk.away(300 * SECOND);
    talk.head(503);
    let _ = talk.fails(status(503));
    assert!(talk.waits() < 2 * SECOND);
}

/// Refused connections between refusals are no outage: the delays go on to grow.
#[test]
fn a_server_half_of_which_is_away_is_asked_no_more_often_for_that() {
    let mut talk = watching(1);
    let mut refusals = 0;
    while talk.now < Instant::ZERO + 3600 * SECOND {
        if talk.id.0.is_multiple_of(2) {
            let _ = talk.fails(TransportErrorKind::Refused.into());
        } else {
            talk.head(503);
            let _ = talk.fails(status(503));
            refusals += 1;
        }
        talk.waits();
        let _ = talk.asks();
    }
    assert!(refusals < 90, "{refusals}");
}

/// The first refusal after a long outage is the first failure of a watch, and leads to no list.
#[test]
fn refused_connections_do_not_count_as_refused_watches() {
    let mut talk = watching(1);
    let _ = talk.breaks_after(300 * SECOND);
    let _ = talk.away(120 * SECOND);
    talk.head(503);
    let _ = talk.fails(status(503));
    assert_eq!(talk.reflector.poll_failure().map(|report| report.reaction), Some(Reaction::Rewatch));
}

/// client-go makes 16 requests an hour then: each stream that ends is followed by one refused watch and by the next
/// stream.
#[test]
fn a_server_that_refuses_watches_gets_15_requests_an_hour_at_most() {
    for seed in 0..50 {
        let mut talk = watching(seed);
        let (mut requests, begun) = (0, talk.now);
        while talk.now < begun + 3600 * SECOND {
            talk.now = talk.reflector.poll_timeout().unwrap();
            let _ = talk.says(|id| bookmark(id, "6", false));
            let _ = talk.says(|id| closed(id, Ok(())));
            requests += talk.streams_again();
        }
        assert!(requests <= 15, "{requests}");
    }
}

/// Each stream reads everything again until the watch is tried.
#[test]
fn a_server_that_refused_watches_for_a_moment_is_asked_for_one_after_the_next_stream() {
    let mut talk = watching(1);
    talk.lives(300 * SECOND);
    let _ = talk.fails(TransportErrorKind::Reset.into());
    assert_eq!(talk.streams_again(), 5);
    talk.now = talk.reflector.poll_timeout().unwrap();
    let _ = talk.says(|id| bookmark(id, "6", false));
    let _ = talk.says(|id| closed(id, Ok(())));
    assert_eq!(talk.asks().map(|asked| asked.contains("sendInitialEvents")), Some(false));
    talk.lives(HEALTHY);
    assert_eq!(talk.reflector.server.refused, 0);
}

impl Talk {
    /// Refuses watches until there is a watch-list, which becomes complete. Returns how many requests that takes.
    fn streams_again(&mut self) -> u32 {
        for requests in 1.. {
            let asked = self.asks().unwrap_or_else(|| {
                self.waits();
                self.asks().unwrap()
            });
            if asked.contains("sendInitialEvents") {
                self.head(200);
                let _ = self.says(|id| bookmark(id, "6", true));
                return requests;
            }
            self.head(403);
            let _ = self.fails(status(403));
        }
        0
    }
}
