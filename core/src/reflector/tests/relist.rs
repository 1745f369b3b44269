//! What leads to a relist, and what does not.

use super::*;

#[test]
fn a_watch_that_is_refused_again_and_again_leads_to_a_relist() {
    let mut talk = lists().synced();
    for _ in 0..3 {
        let _ = talk.fails(status(500));
        talk.waits();
        assert!(talk.asks().unwrap().contains("watch=1"));
    }
    let _ = talk.fails(status(500));
    talk.waits();
    assert_eq!(talk.asks().as_deref(), Some("?limit=2"));
}

#[test]
fn an_outage_however_long_leads_to_no_relist() {
    let mut talk = lists().synced();
    for _ in 0..50 {
        let _ = talk.fails(TransportErrorKind::Refused.into());
        talk.waits();
        assert!(talk.asks().unwrap().contains("resourceVersion=5"));
    }
}

#[test]
fn a_watch_in_which_something_was_unreadable_is_followed_by_a_relist() {
    let mut talk = lists().synced();
    assert_eq!(talk.says(|id| object(id, "6")), Step::Apply);
    assert_eq!(talk.says(|id| Input::Response(id, Response::Unreadable)), Step::Apply);
    assert_eq!(talk.says(|id| closed(id, Ok(()))), Step::Nothing);
    talk.waits();
    assert_eq!(talk.asks().as_deref(), Some("?limit=2"));
}

/// Until then the cache is wrong.
#[test]
fn a_watch_in_which_something_was_unreadable_gives_way_to_a_relist_within_seconds() {
    let mut talk = lists().synced();
    talk.head(200);
    assert_eq!(talk.says(|id| Input::Response(id, Response::Unreadable)), Step::Apply);
    assert!(talk.waits_in_any_phase() < Duration::from_secs(2));
    let report = talk.reflector.poll_failure().unwrap();
    assert_eq!((report.failure, report.reaction), (Failure::Unreadable, Reaction::Relist));
    assert_eq!(talk.asks().as_deref(), Some("?limit=2"));
}

#[test]
fn what_a_list_could_not_read_either_brings_no_list_forward() {
    let mut talk = lists();
    let _ = talk.says(|_| Input::Start);
    let _ = talk.asks();
    assert_eq!(talk.says(|id| Input::Response(id, Response::Unreadable)), Step::Stage);
    assert_eq!(talk.says(|id| list_end(id, "5", "")), Step::Commit);
    let _ = talk.asks();
    talk.head(200);
    assert_eq!(talk.says(|id| Input::Response(id, Response::Unreadable)), Step::Apply);
    assert!(talk.reflector.poll_failure().is_none());
    assert_eq!(talk.reflector.poll_timeout(), None);
}

#[test]
fn a_watch_in_which_something_was_unreadable_is_followed_by_a_relist_even_if_it_breaks() {
    let mut talk = lists().synced();
    assert_eq!(talk.says(|id| Input::Response(id, Response::Unreadable)), Step::Apply);
    let _ = talk.fails(TransportErrorKind::Reset.into());
    talk.waits();
    assert_eq!(talk.asks().as_deref(), Some("?limit=2"));
}

/// Without it, what is deleted meanwhile stays in the cache.
#[test]
fn a_list_in_which_something_was_unreadable_is_followed_by_another_one() {
    let mut talk = lists();
    let _ = talk.says(|_| Input::Start);
    let _ = talk.asks();
    assert_eq!(talk.says(|id| Input::Response(id, Response::Unreadable)), Step::Stage);
    assert_eq!(talk.says(|id| list_end(id, "5", "t1")), Step::Nothing);
    let _ = talk.asks();
    assert_eq!(talk.says(|id| list_end(id, "5", "")), Step::Commit);
    assert!(talk.asks().unwrap().contains("watch=1"));
    let _ = talk.fails(status(429));
    talk.waits();
    assert!(talk.asks().unwrap().contains("watch=1"), "who is told to wait does not list");
    talk.lives(HEALTHY);
    let _ = talk.says(|id| closed(id, Ok(())));
    assert_eq!(talk.reflector.poll_failure().map(|report| report.failure), Some(Failure::Unreadable));
    talk.waits();
    assert_eq!(talk.asks().as_deref(), Some("?limit=2"));
    let _ = talk.says(|id| list_end(id, "6", ""));
    let _ = talk.asks();
    talk.lives(HEALTHY);
    let _ = talk.says(|id| closed(id, Ok(())));
    assert!(talk.asks().unwrap().contains("watch=1"), "all could be read");
}

/// F5: what a watch from no version begins with comes in no order.
#[test]
fn without_a_version_only_a_change_gives_one() {
    let mut talk = lists();
    let _ = talk.says(|_| Input::Start);
    let _ = talk.asks();
    assert_eq!(talk.says(|id| list_end(id, "", "")), Step::Commit);
    assert_eq!(talk.asks().as_deref(), Some("?watch=1"));
    for version in ["90", "20"] {
        let added = Response::Object { version, event_type: Some(EventType::Added) };
        assert_eq!(talk.reflector.handle(talk.now, Input::Response(talk.id, added)), Step::Apply);
    }
    assert_eq!(talk.reflector.last_version(), None);
    let _ = talk.says(|id| object(id, "91"));
    assert_eq!(talk.reflector.last_version(), Some("91"));
}

#[test]
fn a_relist_without_a_version_leaves_no_old_one() {
    let mut talk = lists().synced();
    let _ = talk.fails(status(410));
    talk.waits();
    let _ = talk.asks();
    assert_eq!(talk.says(|id| list_end(id, "", "")), Step::Commit);
    assert_eq!(talk.asks().as_deref(), Some("?watch=1"));
}

#[test]
fn a_cache_that_differs_is_listed_again_in_its_most_recent_state() {
    let mut talk = talk(ReflectorConfig { consistency: Consistency::NotOlderThan, ..alone() });
    let _ = talk.says(|_| Input::Start);
    let _ = talk.asks();
    let _ = talk.says(|id| bookmark(id, "5", true));
    for _ in 0..2 {
        let _ = talk.says(|_| Input::Drifted { objects: 3 });
    }
    assert!(talk.waits_in_any_phase() < Duration::from_secs(2));
    let report = talk.reflector.poll_failure().unwrap();
    assert_eq!((report.failure, report.reaction), (Failure::Drifted { objects: 3 }, Reaction::Relist));
    assert_eq!(talk.asks().as_deref(), Some("?limit=500"));
    let _ = talk.says(|_| Input::Drifted { objects: 3 });
    let _ = talk.says(|id| list_end(id, "6", ""));
    assert!(talk.asks().unwrap().contains("watch=1"));
    assert_eq!(talk.reflector.poll_timeout(), None, "what is found before a list is mended by it");
}
