//! The rules of client-go's reflector (F1 to F14) that the other tests do not name, and the table, row by row.

use super::*;

/// F6
#[test]
fn a_watch_that_is_told_to_wait_never_leads_to_a_list() {
    let mut talk = lists().synced();
    for turn in 0..50 {
        let _ = match turn % 2 {
            0 => talk.fails(status(429)),
            _ => talk.says(|id| broken(id, Failure::StreamError(Status::of_code(429).into()))),
        };
        talk.waits();
        assert_eq!(talk.asks().as_deref(), Some("?watch=1&resourceVersion=5"));
    }
}

/// F9, where client-go keeps a 410 inside of a stream to itself.
#[test]
fn a_410_is_reported_whether_it_comes_at_the_start_of_a_watch_or_inside() {
    for inside in [false, true] {
        let mut talk = lists().synced();
        let failure = if inside { Failure::StreamError(Status::of_code(410).into()) } else { status(410) };
        let _ = talk.says(|id| broken(id, failure.clone()));
        assert_eq!(talk.reflector.poll_failure().map(|report| report.failure), Some(failure));
    }
}

/// How a reflector comes into a state.
type Into = fn() -> Talk;

/// F10 and F14: whatever was open is ended once, what comes of it has no effect, and nothing more is asked for.
#[test]
fn a_stop_ends_what_is_open_in_every_state() {
    let into: [(&str, Into); 6] = [
        ("idle", lists),
        ("listing", || {
            let mut talk = lists();
            let _ = talk.says(|_| Input::Start);
            let _ = talk.asks();
            talk
        }),
        ("reading a page", || {
            let mut talk = lists();
            let _ = talk.says(|_| Input::Start);
            let _ = talk.asks();
            let _ = talk.says(|id| list_end(id, "5", "t1"));
            let _ = talk.asks();
            talk
        }),
        ("streaming", || {
            let mut talk = streams();
            let _ = talk.says(|_| Input::Start);
            let _ = talk.asks();
            talk
        }),
        ("watching", || lists().synced()),
        ("waiting", || {
            let mut talk = lists().synced();
            let _ = talk.fails(status(500));
            talk
        }),
    ];
    for (name, into) in into {
        let mut talk = into();
        let open = talk.reflector.open_query(talk.id).map(|_| talk.id);
        let _ = talk.says(|_| Input::Stop);
        let _ = talk.says(|_| Input::Stop);
        assert_eq!((talk.asks(), talk.reflector.poll_timeout()), (None, None), "{name}");
        assert_eq!(talk.aborted, Vec::from_iter(open), "{name}");
        for input in [list_end, |id, version, _| object(id, version)] {
            assert_eq!(talk.says(|id| input(id, "9", "")), Step::Nothing, "{name}");
        }
        assert_eq!(talk.asks(), None, "{name}");
    }
}

/// F10: nothing is asked for if it was stopped before it could be.
#[test]
fn a_reflector_that_is_stopped_at_once_asks_for_nothing() {
    let mut talk = lists();
    let _ = talk.says(|_| Input::Start);
    let _ = talk.says(|_| Input::Stop);
    assert_eq!((talk.asks(), talk.aborted.len()), (None, 0));
}

/// F12
#[test]
fn lists_and_watches_share_one_back_off() {
    let mut talk = lists().synced();
    let _ = talk.fails(status(503));
    talk.waits();
    let _ = talk.asks();
    let _ = talk.says(|id| broken(id, status(410)));
    talk.waits();
    let _ = talk.asks();
    let _ = talk.fails(status(503));
    assert!(talk.waits() >= Duration::from_millis(3200));
}

/// Defect 6: client-go watches on without a delay.
#[test]
fn an_error_event_of_500_waits() {
    let mut talk = lists().synced();
    for _ in 0..5 {
        let _ = talk.says(|id| broken(id, Failure::StreamError(Status::of_code(500).into())));
        assert!(talk.waits() >= Duration::from_millis(800));
        assert_eq!(talk.asks().as_deref(), Some("?limit=2"));
        let _ = talk.says(|id| list_end(id, "6", ""));
        let _ = talk.asks();
    }
}

/// client-go's five to ten minutes, where kube-rs has 290 s for everybody (defect 6 of its watcher).
#[test]
fn watches_of_many_clients_do_not_end_together() {
    let mut timeouts: Vec<u64> = (0..100)
        .map(|seed| {
            let mut talk = talk(ReflectorConfig { seed: Some(seed), watch_list: false, ..Default::default() });
            let _ = talk.says(|_| Input::Start);
            let _ = talk.asks();
            let _ = talk.says(|id| list_end(id, "5", ""));
            let asked = talk.asks().unwrap();
            asked.split_once("timeoutSeconds=").unwrap().1.parse().unwrap()
        })
        .collect();
    timeouts.sort_unstable();
    timeouts.dedup();
    assert!(timeouts[0] >= 300 && timeouts[timeouts.len() - 1] < 600, "{timeouts:?}");
    assert!(timeouts.len() > 70, "{} of 100 differ", timeouts.len());
}

/// A failure of this class.
pub(super) fn failure(class: FailureClass) -> Failure {
    match class {
        FailureClass::Expired => status(410),
        FailureClass::VersionTooLarge => {
            let body = br#"{"code":504,"reason":"Timeout","message":"Too large resource version: 9, current: 1"}"#;
            Failure::Status(Status::read(504, body).into())
        }
        FailureClass::BackInTime => Failure::BackInTime { version: "1".into(), last: "2".into() },
        FailureClass::Unauthorized => status(401),
        FailureClass::Forbidden => status(403),
        FailureClass::NotFound => status(404),
        FailureClass::Unsupported => status(400),
        FailureClass::TooManyRequests => status(429),
        FailureClass::ServerError => status(503),
        FailureClass::Refused => status(307),
        FailureClass::StreamError => Failure::StreamError(Status::of_code(500).into()),
        FailureClass::Unreachable => TransportErrorKind::Reset.into(),
        FailureClass::Untrusted => TransportErrorKind::Tls.into(),
        FailureClass::Stalled => Failure::Stalled { silence: Duration::from_secs(1) },
        FailureClass::Unfinished => Failure::Unfinished,
        FailureClass::Malformed => Failure::NotAList,
        FailureClass::TooLarge => Failure::TooLarge { limit: 1 },
        FailureClass::Unreadable => Failure::Unreadable,
        FailureClass::VeryShort => Failure::VeryShort,
        FailureClass::DoesNotFit => Failure::DoesNotFit { wanted: 3 },
        FailureClass::Silent => Failure::Silent,
        FailureClass::Drifted => Failure::Drifted { objects: 1 },
    }
}

/// A reflector that has seen version 5, and is doing this.
fn doing(operation: Operation) -> Talk {
    let mut talk = talk(ReflectorConfig { consistency: Consistency::NotOlderThan, ..alone() });
    let resumes = operation == Operation::Resume && talk.reflector.resume("5", false);
    let _ = talk.says(|_| Input::Start);
    let _ = talk.asks();
    if resumes {
        return talk;
    }
    let _ = talk.says(|id| bookmark(id, "5", true));
    if operation == Operation::Watch {
        return talk;
    }
    talk.reflector.server.lists_since = (operation != Operation::WatchList).then_some(talk.now);
    let _ = talk.says(|id| broken(id, status(410)));
    talk.waits();
    let _ = talk.asks();
    if operation == Operation::Page {
        let _ = talk.says(|id| list_end(id, "6", "t1"));
        assert_eq!(talk.asks().as_deref(), Some("?limit=500&continue=t1"));
    }
    talk.reflector.delays.reset(HEALTHY);
    talk
}

/// What is asked for after the row's reaction.
fn asks_as(row: &RetryRule, asked: &str) -> bool {
    let by_list = !asked.contains("watch=1");
    let most_recent = !asked.contains("resourceVersion=5");
    match row.reaction {
        Reaction::Rewatch => asked == "?watch=1&resourceVersion=5",
        Reaction::RelistUnpaged => asked == "?resourceVersion=5&resourceVersionMatch=NotOlderThan",
        Reaction::ListInstead | Reaction::RelistByList => by_list,
        Reaction::Resume => asked == "?limit=1",
        Reaction::Relist => (by_list || asked.contains("sendInitialEvents=true")) && most_recent == row.most_recent,
    }
}

#[test]
fn the_reflector_does_what_every_row_of_the_table_says() {
    for operation in [Operation::List, Operation::Page, Operation::WatchList, Operation::Watch, Operation::Resume] {
        for class in FailureClass::ALL {
            let row = RetryRule::of(operation, class);
            assert!(row.operations.contains(&operation) && row.classes.contains(&class), "{row:?}");
            assert_eq!(failure(class).class(), class);
            if class == FailureClass::DoesNotFit && operation != Operation::Watch {
                // A watch shows it, with the state before it.
                continue;
            }
            let mut talk = doing(operation);
            let _ = talk.says(|id| match failure(class) {
                Failure::DoesNotFit { wanted } => Input::DoesNotFit { wanted },
                failure => broken(id, failure),
            });
            let report = talk.reflector.poll_failure().unwrap();
            assert_eq!((report.operation, report.reaction), (operation, row.reaction), "{class}");
            let (least, most) = match row.backoff {
                BackoffKind::Immediate => (0, 0),
                BackoffKind::Exponential => (800, 1600),
                BackoffKind::Probe => (1000, 5000),
                BackoffKind::Room => (600_000, 900_000),
            };
            let waited = match row.backoff {
                BackoffKind::Immediate => Duration::ZERO,
                BackoffKind::Room => talk.waits_in_any_phase(),
                _ => talk.waits(),
            };
            let within = Duration::from_millis(least)..=Duration::from_millis(most);
            assert!(within.contains(&waited), "{operation}, {class}: {waited:?}");
            let asked = talk.asks().unwrap();
            assert!(asks_as(row, &asked), "{operation}, {class}: {asked}");
        }
    }
}

#[test]
fn a_limit_of_the_table_is_kept() {
    for row in RETRY_POLICY {
        let Some((times, then)) = row.limit else { continue };
        assert_eq!((0..times).find(|before| row.after(*before).0 != row.reaction), None, "{row:?}");
        assert_eq!(row.after(times).0, then, "{row:?}");
        assert_ne!(row.after(times).1, BackoffKind::Immediate, "what follows then is not done at once: {row:?}");
    }
}
