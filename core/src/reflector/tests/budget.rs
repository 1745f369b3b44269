//! How often is asked, whatever fails: the promise is 150 requests an hour, and nobody all at once.

use super::*;

const HOUR: Duration = Duration::from_secs(3600);
const MOST: usize = 150;

/// What a server does with a request, and what it costs in time.
type Server = fn(&mut Talk, &str);

/// The requests of the first and of the second hour.
fn requests(seed: u64, server: Server) -> [usize; 2] {
    let mut talk = talk(ReflectorConfig { seed, ..Default::default() });
    let _ = talk.says(|_| Input::Start);
    let mut hours = [0; 2];
    while talk.now < Instant::ZERO + 2 * HOUR {
        while let Some(asked) = talk.asks() {
            let hour = &mut hours[usize::from(talk.now >= Instant::ZERO + HOUR)];
            *hour += 1;
            assert!(*hour < 10_000, "it asks without an end");
            server(&mut talk, &asked);
            let _ = talk.reflector.poll_failure();
        }
        talk.now = talk.reflector.poll_timeout().expect("it goes on").max(talk.now);
        let _ = talk.says(|_| Input::Timeout);
    }
    hours
}

/// Answers what asks for the whole state, and watches as `watch` does.
fn healthy_but_for(talk: &mut Talk, asked: &str, watch: fn(&mut Talk)) {
    talk.head(200);
    match asked {
        _ if asked.contains("sendInitialEvents") => {
            assert_eq!(talk.says(|id| bookmark(id, "9", true)), Step::Commit);
            watch(talk);
        }
        _ if asked.contains("watch=1") => watch(talk),
        _ => assert_eq!(talk.says(|id| list_end(id, "9", "")), Step::Commit),
    }
}

fn lives(talk: &mut Talk, seconds: u64) {
    talk.now = talk.now + Duration::from_secs(seconds);
}

fn ends(talk: &mut Talk) {
    let _ = talk.says(|id| closed(id, Ok(())));
}

fn resets(talk: &mut Talk) {
    let _ = talk.fails(TransportErrorKind::Reset.into());
}

fn says_something(talk: &mut Talk) {
    let _ = talk.says(|id| object(id, "6"));
    let _ = talk.says(|id| bookmark(id, "7", false));
}

const FAILURES: &[(&str, Server)] = &[
    ("refused", |talk, _| _ = talk.fails(TransportErrorKind::Refused.into())),
    ("no trust", |talk, _| _ = talk.fails(TransportErrorKind::Tls.into())),
    ("400", |talk, _| _ = talk.fails(status(400))),
    ("401", |talk, _| _ = talk.fails(status(401))),
    ("403", |talk, _| _ = talk.fails(status(403))),
    ("404", |talk, _| _ = talk.fails(status(404))),
    ("410", |talk, _| _ = talk.fails(status(410))),
    ("422", |talk, _| _ = talk.fails(status(422))),
    ("429", |talk, _| _ = talk.fails(status(429))),
    ("500", |talk, _| _ = talk.fails(status(500))),
    ("503", |talk, _| _ = talk.fails(status(503))),
    ("302", |talk, _| _ = talk.fails(status(302))),
    ("silence", |_, _| {}),
    ("garbage", |talk, _| {
        talk.head(200);
        _ = talk.says(|id| broken(id, Failure::NotAList));
    }),
    ("streams that end at once", |talk, _| {
        talk.head(200);
        ends(talk);
    }),
    ("lists that break off on their third page, and no watch-list", |talk, asked| match asked {
        _ if asked.contains("watch") => _ = talk.fails(status(422)),
        _ if asked.contains("continue=t2") => resets(talk),
        _ if asked.contains("continue=t1") => _ = talk.says(|id| list_end(id, "5", "t2")),
        _ => _ = talk.says(|id| list_end(id, "5", "t1")),
    }),
    ("410 on every second page, and no watch-list", |talk, asked| match asked {
        _ if asked.contains("watch") => _ = talk.fails(status(422)),
        _ if asked.contains("continue") => _ = talk.fails(status(410)),
        _ => _ = talk.says(|id| list_end(id, "5", "t1")),
    }),
    ("a watch-list that fails, and a list that is well, but no watch", |talk, asked| match asked {
        _ if asked.contains("watch") => _ = talk.fails(status(503)),
        _ => _ = talk.says(|id| list_end(id, "5", "")),
    }),
    ("watches that are forbidden", |talk, asked| match asked {
        _ if asked.contains("watch") => _ = talk.fails(status(403)),
        _ => _ = talk.says(|id| list_end(id, "5", "")),
    }),
    ("a list of three pages, the last of which is forbidden, and no watch-list", |talk, asked| match asked {
        _ if asked.contains("watch") => _ = talk.fails(status(422)),
        _ if asked.contains("continue=t2") => _ = talk.fails(status(403)),
        _ if asked.contains("continue=t1") => _ = talk.says(|id| list_end(id, "5", "t2")),
        _ => _ = talk.says(|id| list_end(id, "5", "t1")),
    }),
    ("watches that are not found", |talk, asked| match asked {
        _ if asked.contains("watch") => _ = talk.fails(status(404)),
        _ => _ = talk.says(|id| list_end(id, "5", "")),
    }),
    ("lists in which something is unreadable, and watches that end after a second", |talk, asked| {
        match asked {
            _ if asked.contains("sendInitialEvents") => {
                let _ = talk.fails(status(422));
                return;
            }
            _ if asked.contains("watch") => {}
            _ => _ = talk.says(|id| Input::Answer(id, Answer::Unreadable)),
        }
        healthy_but_for(talk, asked, |talk| {
            lives(talk, 1);
            ends(talk);
        });
    }),
    ("watches that end at once", |talk, asked| healthy_but_for(talk, asked, ends)),
    ("watches that bring an event and break", |talk, asked| {
        healthy_but_for(talk, asked, |talk| {
            says_something(talk);
            resets(talk);
        });
    }),
    ("watches that bring an event and end", |talk, asked| {
        healthy_but_for(talk, asked, |talk| {
            says_something(talk);
            ends(talk);
        });
    }),
    ("watches that end after a second", |talk, asked| {
        healthy_but_for(talk, asked, |talk| {
            lives(talk, 1);
            ends(talk);
        });
    }),
    ("watches that bring an event and end after ten seconds", |talk, asked| {
        healthy_but_for(talk, asked, |talk| {
            says_something(talk);
            lives(talk, 10);
            ends(talk);
        });
    }),
    ("watches that break after half a minute", |talk, asked| {
        healthy_but_for(talk, asked, |talk| {
            lives(talk, 30);
            resets(talk);
        });
    }),
    ("watches that are expired from the start", |talk, asked| {
        healthy_but_for(talk, asked, |talk| _ = talk.says(|id| broken(id, status(410))));
    }),
    ("watches that say 500 after an event", |talk, asked| {
        healthy_but_for(talk, asked, |talk| {
            says_something(talk);
            let event = Failure::StreamError(Status::of_code(500).into());
            _ = talk.says(|id| broken(id, event));
        });
    }),
    ("states that are older every other time", |talk, asked| {
        let version = if talk.id.0.is_multiple_of(2) { "5" } else { "1" };
        talk.head(200);
        match asked {
            _ if asked.contains("sendInitialEvents") => _ = talk.says(|id| bookmark(id, version, true)),
            _ if !asked.contains("watch") => _ = talk.says(|id| list_end(id, version, "")),
            _ => {}
        }
        if talk.reflector.phase() == Phase::Watching {
            _ = talk.says(|id| broken(id, status(410)));
        }
    }),
];

#[test]
fn no_failure_leads_to_more_than_150_requests_an_hour_not_even_in_the_first() {
    for (name, server) in FAILURES {
        for seed in 0..20 {
            let hours = requests(seed, *server);
            assert!(hours.iter().all(|requests| *requests <= MOST), "{name}: {hours:?} requests");
            assert!(hours.iter().all(|requests| *requests >= 20), "{name}: it is still tried: {hours:?} requests");
        }
    }
}

#[test]
fn a_person_who_fixes_the_rules_waits_for_a_minute_at_most() {
    for code in [401, 403, 404] {
        let mut talk = lists();
        let _ = talk.says(|_| Input::Start);
        for _ in 0..20 {
            let _ = talk.asks();
            let _ = talk.fails(status(code));
            let waited = talk.waits();
            assert!(waited >= Duration::from_secs(30) && waited < Duration::from_secs(60), "{code}: {waited:?}");
        }
    }
}

/// When each of a thousand clients comes back whose streams break at the same moment, and whose server is away for so
/// long.
fn returns(away: Duration) -> Vec<Instant> {
    let back = Instant::ZERO + HOUR + away;
    let returns = (0..1000).map(|seed| {
        let mut talk = talk(ReflectorConfig { seed, answer_timeout: None, ..Default::default() });
        let _ = talk.says(|_| Input::Start);
        let _ = talk.asks();
        let _ = talk.says(|id| bookmark(id, "5", true));
        talk.now = Instant::ZERO + HOUR;
        resets(&mut talk);
        loop {
            talk.waits();
            assert!(talk.asks().unwrap().contains("watch=1&resourceVersion=5"));
            if talk.now >= back {
                return talk.now;
            }
            let _ = talk.fails(TransportErrorKind::Refused.into());
        }
    });
    let mut returns: Vec<Instant> = returns.collect();
    returns.sort();
    returns
}

#[test]
fn a_thousand_clients_that_lose_their_server_together_come_back_over_more_than_half_a_minute() {
    for away in [0, 1, 5, 10, 20, 30, 60, 300, 3600] {
        let returns = returns(Duration::from_secs(away));
        let over = returns[999].saturating_since(returns[0]);
        assert!(over >= Duration::from_secs(30), "after {away} s all were back within {over:?}");
        assert!(over < Duration::from_secs(110), "after {away} s the last one was back after {over:?}");
        let within_a_second = |from: Instant| returns.partition_point(|at| *at < from + Duration::from_secs(1));
        let most = returns.iter().enumerate().map(|(first, at)| within_a_second(*at) - first).max().unwrap();
        assert!(most <= 60, "after {away} s {most} came within a second");
    }
}
