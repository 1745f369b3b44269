//! 410s, and pages that make no progress.

use super::*;

#[test]
fn a_410_inside_of_a_watch_ends_the_request_and_leads_to_a_relist() {
    let mut talk = lists().synced();
    let watch = talk.id;
    assert_eq!(talk.says(|id| broken(id, status(410))), Step::Nothing);
    talk.waits();
    assert_eq!(talk.asks().as_deref(), Some("?limit=2"));
    assert_eq!(talk.aborted, [watch]);
    let failed = talk.reflector.poll_failure().unwrap();
    assert_eq!((failed.operation, failed.reaction, failed.attempts), (Operation::Watch, Reaction::Relist, 1));
}

#[test]
fn a_410_at_the_start_of_a_watch_leads_to_a_relist() {
    let mut talk = lists().synced();
    assert_eq!(talk.fails(status(410)), Step::Nothing);
    talk.waits();
    assert_eq!(talk.asks().as_deref(), Some("?limit=2"));
    assert!(talk.aborted.is_empty(), "the answer was over by itself");
}

#[test]
fn a_410_on_a_page_restarts_the_list_unpaged_and_forgets_what_was_read() {
    let mut talk = lists();
    let _ = talk.says(|_| Input::Start);
    let _ = talk.asks();
    assert_eq!(talk.says(|id| object(id, "")), Step::Stage);
    assert_eq!(talk.says(|id| list_end(id, "5", "t1")), Step::Nothing);
    let _ = talk.asks();
    assert_eq!(talk.fails(status(410)), Step::Discard);
    assert_eq!(talk.asks().as_deref(), Some(""), "at once, without a limit and without a token");
    assert_eq!(talk.says(|id| list_end(id, "6", "")), Step::Commit);
}

#[test]
fn a_410_on_the_first_page_waits_and_lists_again() {
    let mut talk = lists();
    let _ = talk.says(|_| Input::Start);
    let _ = talk.asks();
    assert_eq!(talk.fails(status(410)), Step::Discard);
    talk.waits();
    assert_eq!(talk.asks().as_deref(), Some("?limit=2"));
}

#[test]
fn a_server_that_ignores_unpaged_is_not_asked_in_a_loop() {
    let mut talk = lists();
    let _ = talk.says(|_| Input::Start);
    for _ in 0..2 {
        let _ = talk.asks();
        assert_eq!(talk.says(|id| list_end(id, "5", "t1")), Step::Nothing);
        assert!(talk.asks().unwrap().contains("continue=t1"));
        let _ = talk.fails(status(410));
    }
    talk.waits();
    assert_eq!(talk.asks().as_deref(), Some("?limit=2"));
}

#[test]
fn a_page_that_leads_to_itself_is_a_failure() {
    let mut talk = lists();
    let _ = talk.says(|_| Input::Start);
    let _ = talk.asks();
    assert_eq!(talk.says(|id| list_end(id, "5", "t1")), Step::Nothing);
    let _ = talk.asks();
    assert_eq!(talk.says(|id| list_end(id, "5", "t1")), Step::Discard);
    talk.waits();
}
