//! Watch-lists, and servers without them.

use super::*;

/// F7: what is streamed is staged until the bookmark that ends it; F8: then the same stream goes on.
#[test]
fn a_watch_list_is_staged_up_to_its_bookmark_and_then_watched() {
    let mut talk = streams();
    let _ = talk.says(|_| Input::Start);
    let first = talk.asks().unwrap();
    assert_eq!(first, "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan");
    assert_eq!(talk.says(|id| object(id, "3")), Step::Stage);
    assert_eq!(talk.says(|id| bookmark(id, "3", false)), Step::Nothing);
    assert_eq!(talk.says(|id| bookmark(id, "8", true)), Step::Commit);
    assert_eq!(talk.says(|id| object(id, "9")), Step::Apply);
    talk.now = talk.now + HEALTHY;
    assert_eq!(talk.says(|id| closed(id, Ok(()))), Step::Nothing);
    assert_eq!(talk.asks().as_deref(), Some("?watch=1&resourceVersion=9"));
}

#[test]
fn a_server_that_knows_no_watch_list_is_listed() {
    let mut talk = streams();
    let _ = talk.says(|_| Input::Start);
    let _ = talk.asks();
    assert_eq!(talk.fails(status(422)), Step::Discard);
    assert_eq!(talk.asks().as_deref(), Some("?limit=500"));
    assert_eq!(talk.says(|id| list_end(id, "5", "")), Step::Commit);
    let _ = talk.asks();
    let _ = talk.fails(status(410));
    talk.waits();
    assert_eq!(talk.asks().as_deref(), Some("?limit=500"));
}

#[test]
fn a_stream_that_ends_before_its_bookmark_is_forgotten_and_begun_again() {
    let mut talk = streams();
    let _ = talk.says(|_| Input::Start);
    let first = talk.asks();
    assert_eq!(talk.says(|id| object(id, "3")), Step::Stage);
    assert_eq!(talk.says(|id| closed(id, Ok(()))), Step::Discard);
    talk.waits();
    assert_eq!(talk.asks(), first);
}

/// k/k #140890: an aggregated server that never sends the bookmark must not keep everybody waiting.
#[test]
fn a_watch_list_that_does_not_end_is_tried_twice_and_then_listed() {
    let mut talk = streams();
    let _ = talk.says(|_| Input::Start);
    for _ in 0..2 {
        assert!(talk.asks().unwrap().contains("sendInitialEvents"));
        assert_eq!(talk.says(|id| closed(id, Ok(()))), Step::Discard);
        talk.waits();
    }
    for _ in 0..3 {
        assert_eq!(talk.asks().as_deref(), Some("?limit=500"));
        let _ = talk.fails(status(500));
        talk.waits();
    }
}

/// Changes keep such a stream alive.
#[test]
fn a_watch_list_that_goes_on_without_its_bookmark_is_tried_twice_and_then_listed() {
    let plain: [fn(RequestId) -> Input<'static>; 2] = [|id| object(id, "6"), |id| bookmark(id, "", false)];
    for goes_on in plain {
        let mut talk = talk(ReflectorConfig { answer_timeout: Some(Duration::from_secs(60)), ..alone() });
        let _ = talk.says(|_| Input::Start);
        let started = talk.now;
        for _ in 0..2 {
            assert!(talk.asks().unwrap().contains("sendInitialEvents"));
            talk.head(200);
            while !talk.reflector.has_failure() {
                let _ = talk.says(goes_on);
                talk.now = (talk.now + Duration::from_secs(5)).min(talk.reflector.poll_timeout().unwrap());
                let _ = talk.says(|_| Input::Timeout);
            }
            assert_eq!(talk.reflector.poll_failure().unwrap().failure, Failure::Unfinished);
            talk.waits();
        }
        assert_eq!(talk.asks().as_deref(), Some("?limit=500"));
        assert!(talk.now < started + Duration::from_secs(130), "{:?}", talk.now);
    }
}

#[test]
fn initial_events_may_take_their_time() {
    let mut talk = talk(ReflectorConfig { answer_timeout: Some(Duration::from_secs(60)), ..alone() });
    let _ = talk.says(|_| Input::Start);
    let _ = talk.asks();
    talk.head(200);
    for _ in 0..100 {
        let added = Response::Object { version: "6", event_type: Some(EventType::Added) };
        let _ = talk.says(|id| Input::Response(id, Response::Data(4096)));
        let _ = talk.says(|id| Input::Response(id, added));
        talk.now = talk.now + Duration::from_secs(10);
        let _ = talk.says(|_| Input::Timeout);
    }
    let _ = talk.says(|id| object(id, "7"));
    talk.now = talk.now + Duration::from_secs(59);
    let _ = talk.says(|_| Input::Timeout);
    assert_eq!(talk.says(|id| bookmark(id, "8", true)), Step::Commit);
}

/// A failure that is not of the watch list does not count.
#[test]
fn a_refused_connection_and_an_early_end_leave_the_watch_list_on() {
    let mut talk = streams();
    let _ = talk.says(|_| Input::Start);
    let _ = talk.asks();
    let _ = talk.fails(TransportErrorKind::Refused.into());
    talk.waits();
    assert!(talk.asks().unwrap().contains("sendInitialEvents"));
    assert_eq!(talk.says(|id| closed(id, Ok(()))), Step::Discard);
    talk.waits();
    let asked = talk.asks().unwrap();
    assert!(asked.contains("sendInitialEvents"), "{asked}");
}

/// The server may be upgraded meanwhile.
#[test]
fn a_watch_list_that_was_given_up_is_tried_after_a_day() {
    for (hours, tried) in [(23, false), (24, true)] {
        let mut talk = streams();
        let _ = talk.says(|_| Input::Start);
        let _ = talk.asks();
        let _ = talk.fails(status(422));
        let _ = talk.asks();
        let _ = talk.says(|id| list_end(id, "5", ""));
        let _ = talk.asks();
        talk.lives(hours * Duration::from_secs(3600));
        let _ = talk.says(|id| broken(id, status(410)));
        talk.waits();
        let asked = talk.asks().unwrap();
        assert_eq!(asked.contains("sendInitialEvents"), tried, "{hours} h: {asked}");
    }
}

#[test]
fn a_watch_list_that_fails_twice_is_followed_by_a_list_and_tried_again_later() {
    let mut talk = streams();
    let _ = talk.says(|_| Input::Start);
    for code in [404, 503] {
        assert!(talk.asks().unwrap().contains("sendInitialEvents"));
        let _ = talk.fails(status(code));
        talk.waits();
    }
    assert_eq!(talk.asks().as_deref(), Some("?limit=500"));
    let _ = talk.fails(status(503));
    talk.waits();
    assert!(talk.asks().unwrap().contains("sendInitialEvents"));
}
