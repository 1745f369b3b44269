use super::open::VERY_SHORT;
use super::*;
use crate::decode::{EventType, Status};
use crate::transport::{ResponseHead, TransportErrorKind};
use core::time::Duration;
use std::string::{String, ToString};
use std::vec::Vec;

mod budget;
mod consistency;
mod limits;
mod recovery;
mod report;
mod rules;

/// A watch that lived for so long shows that the server is well.
const HEALTHY: Duration = Duration::from_secs(30);

/// A reflector of pods and the requests it has made, for tests that read like the log of a conversation.
struct Talk {
    reflector: Reflector,
    now: Instant,
    id: RequestId,
    aborted: Vec<RequestId>,
}

fn talk(config: ReflectorConfig) -> Talk {
    let reflector = Reflector::new(Resource::new("/pods"), config);
    Talk { reflector, now: Instant::ZERO, id: RequestId(0), aborted: Vec::new() }
}

/// Lists in pages of 2, without watch-list and without timeouts.
fn lists() -> Talk {
    talk(ReflectorConfig { page_size: Some(2), watch_list: false, ..alone() })
}

/// Most recent, without timeouts, and with nobody to be kept apart from.
fn alone() -> ReflectorConfig {
    ReflectorConfig {
        consistency: Consistency::MostRecent,
        watch_timeout: None,
        answer_timeout: None,
        reconnect_jitter: Duration::ZERO,
        ..ReflectorConfig::default()
    }
}

/// Streams first.
fn streams() -> Talk {
    talk(alone())
}

fn status(code: u16) -> Failure {
    Failure::Status(Status::of_code(code).into())
}

fn object(id: RequestId, version: &'static str) -> Input<'static> {
    Input::Response(id, Response::Object { version, event_type: Some(EventType::Modified) })
}

fn list_end(id: RequestId, version: &'static str, continue_token: &'static str) -> Input<'static> {
    Input::Response(id, Response::ListEnd { version, continue_token })
}

fn bookmark(id: RequestId, version: &'static str, initial_events_end: bool) -> Input<'static> {
    Input::Response(id, Response::Bookmark { version, initial_events_end })
}

fn closed(id: RequestId, result: Result<(), Failure>) -> Input<'static> {
    Input::Response(id, Response::Closed(result))
}

fn broken(id: RequestId, failure: Failure) -> Input<'static> {
    Input::Response(id, Response::Broken(failure))
}

impl Talk {
    fn says(&mut self, input: impl FnOnce(RequestId) -> Input<'static>) -> Step {
        let input = input(self.id);
        self.reflector.handle(self.now, input)
    }

    /// What is asked for next, without the path.
    fn asks(&mut self) -> Option<String> {
        loop {
            match self.reflector.poll_action()? {
                Action::Abort(id) => self.aborted.push(id),
                Action::Open(id, request) => {
                    self.id = id;
                    return Some(request.to_string().replace("/pods", "").replace("&allowWatchBookmarks=true", ""));
                }
            }
        }
    }

    /// Waits for the back-off; says how long it was.
    fn waits(&mut self) -> Duration {
        assert_eq!(self.asks(), None, "nothing is asked while backing off");
        assert_eq!(self.reflector.phase(), Phase::BackingOff);
        let before = self.now;
        self.now = self.reflector.poll_timeout().unwrap();
        assert_eq!(self.says(|_| Input::Timeout), Step::Nothing);
        self.now.saturating_since(before)
    }

    /// Lists one page that ends at version 5.
    fn synced(mut self) -> Self {
        let _ = self.reflector.handle(self.now, Input::Start);
        assert_eq!(self.asks().as_deref(), Some("?limit=2"));
        assert_eq!(self.says(|id| object(id, "")), Step::Stage);
        assert_eq!(self.says(|id| list_end(id, "5", "")), Step::Commit);
        assert_eq!(self.asks().as_deref(), Some("?watch=1&resourceVersion=5"));
        self
    }

    /// The watch is answered, and goes on for so long.
    fn lives(&mut self, time: Duration) {
        self.head(200);
        self.now = self.now + time;
    }

    fn head(&mut self, status: u16) {
        let head = ResponseHead { status, ..ResponseHead::default() };
        assert_eq!(self.reflector.handle(self.now, Input::Response(self.id, Response::Head(&head))), Step::Nothing);
    }

    fn fails(&mut self, failure: Failure) -> Step {
        self.says(|id| closed(id, Err(failure)))
    }
}

#[test]
fn a_list_is_read_page_by_page_and_becomes_visible_at_its_end() {
    let mut talk = lists();
    assert_eq!(talk.says(|_| Input::Start), Step::Nothing);
    assert_eq!(talk.asks().as_deref(), Some("?limit=2"));
    assert_eq!(talk.says(|id| object(id, "")), Step::Stage);
    assert_eq!(talk.says(|id| list_end(id, "5", "t1")), Step::Nothing);
    assert_eq!(talk.asks().as_deref(), Some("?limit=2&continue=t1"));
    assert_eq!(talk.says(|id| object(id, "")), Step::Stage);
    assert_eq!(talk.says(|id| list_end(id, "5", "")), Step::Commit);
    assert_eq!(talk.asks().as_deref(), Some("?watch=1&resourceVersion=5"));
    assert_eq!(talk.reflector.phase(), Phase::Watching);
}

/// F3: the version is that of the last accepted event, not the largest one.
#[test]
fn a_watch_that_ends_goes_on_at_once_from_the_last_event_or_bookmark() {
    let mut talk = lists().synced();
    assert_eq!(talk.says(|id| object(id, "9")), Step::Apply);
    assert_eq!(talk.says(|id| object(id, "7")), Step::Apply);
    talk.lives(HEALTHY);
    assert_eq!(talk.says(|id| closed(id, Ok(()))), Step::Nothing);
    assert_eq!(talk.asks().as_deref(), Some("?watch=1&resourceVersion=7"));
    assert_eq!(talk.says(|id| bookmark(id, "20", false)), Step::Nothing);
    talk.lives(HEALTHY);
    assert_eq!(talk.says(|id| closed(id, Ok(()))), Step::Nothing);
    assert_eq!(talk.asks().as_deref(), Some("?watch=1&resourceVersion=20"));
}

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
fn a_refused_watch_goes_on_from_its_version_after_a_growing_delay() {
    let mut talk = lists().synced();
    let mut least = Duration::from_millis(800);
    for code in [403, 429, 503] {
        assert_eq!(talk.fails(status(code)), Step::Nothing);
        let waited = talk.waits();
        assert!(waited >= least && waited < least * 2, "{waited:?}");
        assert_eq!(talk.asks().as_deref(), Some("?watch=1&resourceVersion=5"));
        least *= 2;
    }
}

/// F13 differs on purpose: neither time nor an event resets the back-off, but a watch that lived for as long as the
/// present delay. With client-go a permanent outage begins again with the first delay every two minutes (defect 2).
/// With kube-rs an event, or the mere beginning of a list, is enough (defect 9).
#[test]
fn only_a_watch_that_lived_for_as_long_as_the_delay_resets_it() {
    let first = Duration::from_millis(1600);
    let mut talk = lists().synced();
    for _ in 0..10 {
        let _ = talk.fails(status(429));
        talk.waits();
        let _ = talk.asks();
    }
    talk.head(200);
    let _ = talk.says(|id| object(id, "6"));
    talk.now = talk.now + Duration::from_secs(29);
    let _ = talk.says(|id| broken(id, TransportErrorKind::Reset.into()));
    assert!(talk.waits() > first, "an event proves nothing");
    let _ = talk.asks();
    talk.now = talk.now + Duration::from_secs(3600);
    let _ = talk.fails(status(429));
    assert!(talk.waits() > first, "time proves nothing");
    let _ = talk.asks();
    talk.lives(HEALTHY);
    let _ = talk.says(|id| broken(id, Failure::StreamError(Status::of_code(429).into())));
    assert!(talk.waits() < first);
}

/// It said "failing for 20 s, 4 attempts" at the moment at which a watch broke that had brought events for 15 s.
#[test]
fn an_outage_was_said_to_have_begun_before_the_events_that_came_meanwhile() {
    let mut talk = lists().synced();
    for _ in 0..6 {
        let _ = talk.fails(status(429));
        talk.waits();
        let _ = talk.asks();
    }
    let began = Instant::ZERO;
    assert_eq!(talk.reflector.outage().map(|outage| (outage.since, outage.attempts)), Some((began, 6)));
    talk.head(200);
    let _ = talk.says(|id| object(id, "6"));
    talk.now = talk.now + Duration::from_secs(9);
    let _ = talk.says(|id| broken(id, TransportErrorKind::Reset.into()));
    assert_eq!(talk.reflector.outage().map(|outage| (outage.since, outage.attempts)), Some((talk.now, 1)));
    assert_eq!(talk.reflector.poll_failure().map(|report| report.attempts), Some(1));
    assert!(talk.waits() >= Duration::from_millis(6400), "the delays go on to grow");
}

#[test]
fn a_watch_that_ended_as_it_should_was_called_failing_until_the_next_one() {
    let mut talk = lists().synced();
    for _ in 0..4 {
        let _ = talk.fails(status(429));
        talk.waits();
        let _ = talk.asks();
    }
    talk.lives(VERY_SHORT);
    assert_eq!(talk.says(|id| closed(id, Ok(()))), Step::Nothing);
    assert_eq!(talk.reflector.phase(), Phase::BackingOff);
    assert!(talk.reflector.outage().is_none());
}

#[test]
fn a_watch_that_ends_at_once_and_without_an_event_is_a_failure() {
    let mut talk = lists().synced();
    assert_eq!(talk.says(|id| closed(id, Ok(()))), Step::Nothing);
    talk.waits();
    assert_eq!(talk.asks().as_deref(), Some("?watch=1&resourceVersion=5"));
    let _ = talk.reflector.poll_failure();
    talk.lives(VERY_SHORT);
    assert_eq!(talk.says(|id| closed(id, Ok(()))), Step::Nothing);
    assert!(!talk.reflector.has_failure(), "one that lived for a while is none");
}

/// Clean ends were counted as failed attempts, and the requests before them were waited for again.
#[test]
fn a_watch_that_ended_well_and_then_was_refused_was_not_tried_again_within_a_minute() {
    let mut talk = lists();
    let _ = talk.says(|_| Input::Start);
    let _ = talk.asks();
    let _ = talk.says(|id| list_end(id, "5", "t1"));
    let _ = talk.asks();
    let _ = talk.says(|id| list_end(id, "5", ""));
    for _ in 0..5 {
        let _ = talk.asks();
        talk.lives(VERY_SHORT * 10);
        let _ = talk.says(|id| closed(id, Ok(())));
        if talk.reflector.phase() == Phase::BackingOff {
            talk.waits();
        }
    }
    assert!(talk.asks().unwrap().contains("watch=1"));
    let _ = talk.fails(status(404));
    assert_eq!(talk.reflector.poll_failure().map(|report| report.attempts), Some(1));
    assert!(talk.waits() < Duration::from_secs(60));
}

#[test]
fn a_list_that_breaks_off_is_forgotten() {
    let mut talk = lists();
    let _ = talk.says(|_| Input::Start);
    let _ = talk.asks();
    assert_eq!(talk.says(|id| object(id, "")), Step::Stage);
    assert_eq!(talk.fails(Failure::Truncated), Step::Discard);
    talk.waits();
    assert_eq!(talk.asks().as_deref(), Some("?limit=2"));
}

#[test]
fn the_server_is_given_the_time_it_asks_for() {
    let mut talk = lists().synced();
    let head = ResponseHead { status: 429, retry_after: Some(Duration::from_secs(90)), content_type: None };
    let _ = talk.reflector.handle(talk.now, Input::Response(talk.id, Response::Head(&head)));
    let _ = talk.fails(status(429));
    assert_eq!(talk.waits(), Duration::from_secs(90));
}

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

#[test]
fn input_under_an_old_id_is_dropped() {
    let mut talk = lists().synced();
    let old = talk.id;
    let _ = talk.fails(status(500));
    talk.waits();
    let _ = talk.asks();
    for input in [object(old, "99"), broken(old, status(410)), closed(old, Ok(()))] {
        assert_eq!(talk.reflector.handle(talk.now, input), Step::Nothing);
    }
    assert_eq!((talk.reflector.phase(), talk.reflector.last_version()), (Phase::Watching, Some("5")));
}

#[test]
fn a_watch_that_outlives_its_timeout_is_given_up() {
    let seconds = Duration::from_secs;
    let config =
        ReflectorConfig { watch_list: false, watch_timeout: Some((seconds(300), seconds(600))), ..Default::default() };
    let mut talk = talk(config);
    let _ = talk.says(|_| Input::Start);
    let _ = talk.asks();
    let _ = talk.says(|id| list_end(id, "5", ""));
    let _ = talk.asks();
    let watch = talk.id;
    talk.head(200);
    talk.now = talk.reflector.poll_timeout().unwrap();
    assert!(talk.now >= Instant::ZERO + seconds(330) && talk.now < Instant::ZERO + seconds(630), "{:?}", talk.now);
    let _ = talk.says(|_| Input::Timeout);
    talk.waits();
    assert_eq!(talk.asks().as_deref().map(|asked| asked.contains("resourceVersion=5")), Some(true));
    assert_eq!(talk.aborted, [watch]);
}

#[test]
fn a_stopped_reflector_asks_for_nothing_and_can_start_again() {
    let mut talk = lists().synced();
    let watch = talk.id;
    assert_eq!(talk.says(|_| Input::Stop), Step::Nothing);
    assert_eq!((talk.asks(), talk.reflector.poll_timeout()), (None, None));
    assert_eq!(talk.aborted, [watch]);
    let _ = talk.says(|_| Input::Start);
    assert_eq!(talk.asks().as_deref(), Some("?limit=2"));
}

#[test]
fn time_that_goes_back_is_clamped() {
    let mut talk = lists().synced();
    talk.now = Instant::from_nanos(1_000_000_000_000);
    let _ = talk.fails(status(500));
    talk.now = Instant::ZERO;
    assert_eq!(talk.says(|_| Input::Timeout), Step::Nothing);
    assert!(talk.reflector.poll_timeout().unwrap() > Instant::from_nanos(1_000_000_000_000));
}

#[test]
fn a_list_that_falls_silent_is_given_up_and_one_that_goes_on_is_not() {
    let mut talk = talk(ReflectorConfig { watch_list: false, ..Default::default() });
    let _ = talk.says(|_| Input::Start);
    let _ = talk.asks();
    talk.head(200);
    for _ in 0..100 {
        talk.now = talk.now + Duration::from_secs(50);
        assert_eq!(talk.says(|id| Input::Response(id, Response::Data(100_000))), Step::Nothing);
        assert_eq!(talk.says(|_| Input::Timeout), Step::Nothing);
    }
    talk.now = talk.now + Duration::from_secs(60);
    assert_eq!(talk.says(|_| Input::Timeout), Step::Discard);
    talk.waits();
    assert_eq!(talk.aborted, [talk.id]);
}

#[test]
fn a_watch_that_is_not_answered_is_given_up() {
    let mut talk = talk(ReflectorConfig { watch_list: false, ..Default::default() });
    let _ = talk.says(|_| Input::Start);
    let _ = talk.asks();
    let _ = talk.says(|id| list_end(id, "5", ""));
    let _ = talk.asks();
    assert_eq!(talk.reflector.poll_timeout(), Some(Instant::ZERO + Duration::from_secs(60)));
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

/// What failed before counted, whatever it was.
#[test]
fn one_refused_connection_and_one_early_end_turned_the_watch_list_off() {
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

/// A server that was upgraded meanwhile was listed for as long as the client lived.
#[test]
fn a_watch_list_that_was_given_up_was_never_tried_again() {
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

#[test]
fn a_watch_in_which_something_was_unreadable_is_followed_by_a_relist_even_if_it_breaks() {
    let mut talk = lists().synced();
    assert_eq!(talk.says(|id| Input::Response(id, Response::Unreadable)), Step::Apply);
    let _ = talk.fails(TransportErrorKind::Reset.into());
    talk.waits();
    assert_eq!(talk.asks().as_deref(), Some("?limit=2"));
}

/// What was deleted meanwhile stayed in the cache until a relist for another reason.
#[test]
fn a_list_in_which_something_was_unreadable_was_not_followed_by_another_one() {
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

/// Rule 4 of the contract, with the most impatient configuration there is.
#[test]
fn every_deadline_that_was_handled_is_followed_by_a_later_one() {
    let zero = Duration::ZERO;
    let config = ReflectorConfig {
        watch_timeout: Some((zero, zero)),
        watch_margin: zero,
        answer_timeout: Some(Duration::from_nanos(1)),
        backoff: Backoff { initial: zero, max: zero, probe: zero },
        ..Default::default()
    };
    let mut talk = talk(config);
    let _ = talk.says(|_| Input::Start);
    for _ in 0..100 {
        while talk.asks().is_some() {
            talk.head(200);
        }
        let deadline = talk.reflector.poll_timeout().unwrap();
        assert!(deadline > talk.now, "{deadline:?} at {:?}", talk.now);
        talk.now = deadline;
        let _ = talk.says(|_| Input::Timeout);
    }
}
