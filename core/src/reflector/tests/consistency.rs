//! How new a state is asked for, and what becomes of one that is older than what was seen.

use super::*;

const BACK: &str = "&resourceVersionMatch=NotOlderThan";

/// Lists only, asking for this.
fn asking(consistency: Consistency) -> Talk {
    talk(ReflectorConfig { consistency, watch_list: false, ..alone() })
}

fn too_large() -> Failure {
    let body = br#"{"code":504,"reason":"Timeout","details":{"causes":[{"reason":"ResourceVersionTooLarge"}]}}"#;
    Failure::Status(Status::read(504, body).into())
}

impl Talk {
    /// Starts, lists up to version 5, and watches.
    fn listed(mut self, asked: &str) -> Self {
        let _ = self.says(|_| Input::Start);
        assert_eq!(self.asks().as_deref(), Some(asked));
        assert_eq!(self.says(|id| list_end(id, "5", "")), Step::Commit);
        assert_eq!(self.asks().as_deref(), Some("?watch=1&resourceVersion=5"));
        self
    }

    /// What the watch leads to that fails like this.
    fn relists(&mut self, failure: Failure) -> String {
        let _ = self.says(|id| broken(id, failure));
        self.waits();
        self.asks().unwrap()
    }

    /// What the list leads to that ends with this version, where it is not believed.
    fn disbelieves(&mut self, version: &'static str) -> String {
        let before = self.reflector.last_version().map(String::from);
        assert_eq!(self.says(|id| list_end(id, version, "")), Step::Discard);
        assert_eq!(self.reflector.last_version(), before.as_deref());
        let failed = self.reflector.poll_failure().unwrap();
        assert_eq!(failed.failure.class(), FailureClass::BackInTime, "{}", failed.failure);
        self.waits();
        self.asks().unwrap()
    }
}

/// F1: the first list asks for "0", later ones for nothing older than what was seen.
#[test]
fn any_state_is_good_enough_at_first_and_later_nothing_older_than_what_was_seen() {
    let mut talk = asking(Consistency::Any).listed(&std::format!("?limit=500&resourceVersion=0{BACK}"));
    let _ = talk.says(|id| object(id, "9"));
    assert_eq!(talk.relists(status(410)), std::format!("?resourceVersion=9{BACK}"));
}

/// F1, but for the first list: a restart does not go back in time.
#[test]
fn the_most_recent_state_is_asked_for_at_first_and_later_nothing_older_than_what_was_seen() {
    let mut talk = asking(Consistency::NotOlderThan).listed("?limit=500");
    let _ = talk.says(|id| object(id, "9"));
    assert_eq!(talk.relists(status(410)), std::format!("?resourceVersion=9{BACK}"));
    assert_eq!(talk.says(|_| Input::Stop), Step::Discard);
    let _ = talk.says(|_| Input::Start);
    assert_eq!(talk.asks(), Some(std::format!("?resourceVersion=9{BACK}")), "nor does a restart of this one");
}

#[test]
fn the_most_recent_state_can_be_asked_for_always() {
    let mut talk = asking(Consistency::MostRecent).listed("?limit=500");
    assert_eq!(talk.relists(status(410)), "?limit=500");
}

#[test]
fn a_watch_list_asks_as_a_list_does() {
    for (consistency, first) in [(Consistency::Any, "&resourceVersion=0"), (Consistency::NotOlderThan, "")] {
        let mut talk = talk(ReflectorConfig { consistency, ..alone() });
        let _ = talk.says(|_| Input::Start);
        let asked = "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan";
        assert_eq!(talk.asks(), Some(std::format!("{asked}{first}")));
        let _ = talk.says(|id| bookmark(id, "8", true));
        assert_eq!(talk.relists(status(410)), std::format!("{asked}&resourceVersion=8"));
    }
}

/// The limit would keep a server from answering from memory; client-go drops it too, and remembers where pages came
/// nevertheless.
#[test]
fn a_list_that_may_come_from_memory_has_no_pages_unless_the_server_has_nothing_in_memory() {
    let mut talk = asking(Consistency::Any);
    let _ = talk.says(|_| Input::Start);
    let _ = talk.asks();
    assert_eq!(talk.says(|id| list_end(id, "5", "t1")), Step::Nothing);
    assert_eq!(talk.asks().as_deref(), Some("?limit=500&continue=t1"), "a token stands alone");
    assert_eq!(talk.says(|id| list_end(id, "5", "")), Step::Commit);
    let _ = talk.asks();
    assert_eq!(talk.relists(status(410)), std::format!("?limit=500&resourceVersion=5{BACK}"));
}

/// F2, and defect 5: what is then asked for has pages again.
#[test]
fn a_list_whose_version_is_gone_or_not_there_yet_asks_for_the_most_recent_state_once() {
    for failure in [status(410), too_large(), status(400)] {
        let mut talk = asking(Consistency::NotOlderThan).listed("?limit=500");
        assert_eq!(talk.relists(status(410)), std::format!("?resourceVersion=5{BACK}"), "a watch's 410 is none of it");
        assert_eq!(talk.fails(failure), Step::Discard);
        talk.waits();
        assert_eq!(talk.asks().as_deref(), Some("?limit=500"));
        assert_eq!(talk.says(|id| list_end(id, "7", "")), Step::Commit);
        let _ = talk.asks();
        assert_eq!(talk.relists(status(410)), std::format!("?resourceVersion=7{BACK}"), "cleared by the success");
    }
}

/// Defect 4: client-go asks again at once, and without an end.
#[test]
fn a_watch_list_whose_version_is_gone_waits_and_asks_for_the_most_recent_state() {
    let mut talk = talk(ReflectorConfig { consistency: Consistency::NotOlderThan, ..alone() });
    let _ = talk.says(|_| Input::Start);
    let first = talk.asks().unwrap();
    let _ = talk.says(|id| bookmark(id, "8", true));
    assert_ne!(talk.relists(status(410)), first);
    for _ in 0..20 {
        assert_eq!(talk.says(|id| broken(id, too_large())), Step::Discard);
        assert!(talk.waits() >= Duration::from_millis(800));
        assert_eq!(talk.asks().as_ref(), Some(&first));
    }
}

#[test]
fn a_list_that_is_older_than_what_was_seen_is_refused_and_the_most_recent_state_asked_for() {
    for consistency in [Consistency::Any, Consistency::NotOlderThan] {
        let mut talk = asking(consistency);
        let _ = talk.says(|_| Input::Start);
        let _ = talk.asks();
        let _ = talk.says(|id| list_end(id, "10", ""));
        let _ = talk.asks();
        let _ = talk.relists(status(410));
        assert_eq!(talk.disbelieves("9"), "?limit=500");
        assert_eq!(talk.says(|id| list_end(id, "11", "")), Step::Commit);
        assert_eq!(talk.reflector.last_version(), Some("11"));
    }
}

#[test]
fn a_watch_list_that_is_older_than_what_was_seen_is_refused_and_ended() {
    let mut talk = streams();
    let _ = talk.says(|_| Input::Start);
    let _ = talk.asks();
    let _ = talk.says(|id| bookmark(id, "10", true));
    let _ = talk.relists(status(410));
    let (refused, aborted) = (talk.id, talk.aborted.len());
    assert_eq!(talk.says(|id| object(id, "9")), Step::Stage);
    assert_eq!(talk.says(|id| bookmark(id, "9", true)), Step::Discard);
    assert_eq!(talk.reflector.last_version(), Some("10"));
    talk.waits();
    let _ = talk.asks();
    assert_eq!(talk.aborted[aborted..], [refused]);
    assert_eq!(talk.says(|id| bookmark(id, "10", true)), Step::Commit);
}

/// A restore of etcd: versions really went back.
#[test]
fn the_most_recent_state_that_is_older_twice_in_a_row_is_believed() {
    for consistency in [Consistency::Any, Consistency::NotOlderThan, Consistency::MostRecent] {
        let mut talk = asking(consistency);
        let _ = talk.says(|_| Input::Start);
        let _ = talk.asks();
        let _ = talk.says(|id| list_end(id, "1000", ""));
        let _ = talk.asks();
        let asked = talk.relists(status(410));
        if consistency != Consistency::MostRecent {
            assert!(asked.contains("resourceVersion=1000"), "{asked}");
            assert_eq!(talk.fails(too_large()), Step::Discard);
            talk.waits();
            assert_eq!(talk.asks().as_deref(), Some("?limit=500"));
        }
        let _ = talk.reflector.poll_failure();
        assert_eq!(talk.disbelieves("400"), "?limit=500");
        assert_eq!(talk.says(|id| list_end(id, "401", "")), Step::Commit);
        assert_eq!(talk.asks().as_deref(), Some("?watch=1&resourceVersion=401"));
    }
}

/// A replica that was asked for nothing older and answers with it proves nothing about the most recent state.
#[test]
fn an_answer_that_is_older_than_was_asked_for_does_not_help_to_believe_the_next_one() {
    let mut talk = asking(Consistency::NotOlderThan).listed("?limit=500");
    let _ = talk.relists(status(410));
    assert_eq!(talk.disbelieves("4"), "?limit=500");
    assert_eq!(talk.disbelieves("4"), "?limit=500");
    assert_eq!(talk.says(|id| list_end(id, "4", "")), Step::Commit);
}

#[test]
fn answers_that_are_older_now_and_then_are_never_believed() {
    let mut talk = asking(Consistency::MostRecent).listed("?limit=500");
    for _ in 0..10 {
        let _ = talk.relists(status(410));
        assert_eq!(talk.disbelieves("4"), "?limit=500");
        assert_eq!(talk.says(|id| list_end(id, "5", "")), Step::Commit);
        let _ = talk.asks();
    }
}

#[test]
fn versions_that_are_no_numbers_are_believed() {
    let mut talk = asking(Consistency::NotOlderThan).listed("?limit=500");
    for version in ["v9", "b", "a", ""] {
        let _ = talk.relists(status(410));
        assert_eq!(talk.says(|id| list_end(id, version, "")), Step::Commit, "{version}");
        let _ = talk.asks();
    }
}

/// A server that was restored answers a watch from its future with silence, up to its end, as a real one does
/// (`protocol` 15). client-go watches on for ever.
#[test]
fn watches_without_a_word_are_followed_by_relists_ever_less_often_but_never_by_none() {
    let mut talk = asking(Consistency::NotOlderThan).listed("?limit=500");
    talk.lives(HEALTHY);
    let _ = talk.says(|id| bookmark(id, "6", false));
    talk.now = talk.now + Duration::from_secs(300);
    let _ = talk.says(|id| closed(id, Ok(())));
    assert_eq!(talk.asks().as_deref(), Some("?watch=1&resourceVersion=6"), "this one had a word");
    let mut relists = Vec::new();
    for silent in 1..=64 {
        talk.lives(Duration::from_secs(300));
        let _ = talk.says(|id| closed(id, Ok(())));
        if let Some(report) = talk.reflector.poll_failure() {
            assert_eq!(report.failure, Failure::Silent);
            relists.push(silent);
            talk.waits();
            assert_eq!(talk.asks(), Some(std::format!("?resourceVersion=6{BACK}")));
            let _ = talk.says(|id| list_end(id, "6", ""));
        }
        let _ = talk.asks();
    }
    assert_eq!(relists, [1, 2, 4, 8, 16, 32, 48, 64], "a server that is merely quiet is left in peace");
}

/// Versions without an order: the last one counts.
#[test]
fn a_watch_whose_versions_are_no_numbers_goes_on_from_the_last_one() {
    let mut talk = asking(Consistency::NotOlderThan).listed("?limit=500");
    for version in ["v9", "v7"] {
        assert_eq!(talk.says(|id| object(id, version)), Step::Apply);
    }
    assert_eq!(talk.reflector.last_version(), Some("v7"));
}

/// A server that was restored, and goes on with the watch, sends bookmarks of its own history.
#[test]
fn a_watch_that_brings_bookmarks_of_the_past_alone_is_followed_by_a_relist() {
    let mut talk = asking(Consistency::NotOlderThan).listed("?limit=500");
    talk.head(200);
    for _ in 0..5 {
        talk.now = talk.now + Duration::from_secs(60);
        assert_eq!(talk.says(|_| Input::Timeout), Step::Nothing);
        assert_eq!(talk.says(|id| bookmark(id, "4", false)), Step::Nothing);
    }
    let _ = talk.says(|id| closed(id, Ok(())));
    assert_eq!(talk.reflector.poll_failure().map(|report| report.failure), Some(Failure::Silent));
    talk.waits();
    assert_eq!(talk.asks(), Some(std::format!("?resourceVersion=5{BACK}")));
}

fn outdated(id: RequestId) -> Input<'static> {
    Input::Response(id, Response::Outdated { version: "3", known: "5" })
}

#[test]
fn events_that_are_older_than_the_known_state_are_followed_by_one_relist() {
    let mut talk = asking(Consistency::NotOlderThan).listed("?limit=500");
    talk.head(200);
    for _ in 0..3 {
        let _ = talk.says(outdated);
    }
    assert_eq!(talk.reflector.phase(), Phase::Watching, "the watch goes on meanwhile");
    assert!(talk.waits_in_any_phase() < Duration::from_secs(2));
    let report = talk.reflector.poll_failure().unwrap();
    assert!(matches!(report.failure, Failure::BackInTime { .. }), "{report}");
    assert_eq!((report.operation, report.reaction), (Operation::Watch, Reaction::Relist));
    assert_eq!(talk.asks(), Some(std::format!("?resourceVersion=5{BACK}")));
}

#[test]
fn events_of_the_past_are_followed_by_a_relist_although_the_list_before_had_an_unreadable_item() {
    let mut talk = asking(Consistency::NotOlderThan);
    let _ = talk.says(|_| Input::Start);
    let _ = talk.asks();
    let _ = talk.says(|id| Input::Response(id, Response::Unreadable));
    let _ = talk.says(|id| list_end(id, "5", ""));
    let _ = talk.asks();
    talk.head(200);
    let _ = talk.says(outdated);
    assert!(talk.waits_in_any_phase() < Duration::from_secs(2));
    assert!(matches!(talk.reflector.poll_failure().unwrap().failure, Failure::BackInTime { .. }));
}

#[test]
fn relists_after_events_of_the_past_come_less_and_less_often() {
    let mut talk = asking(Consistency::NotOlderThan).listed("?limit=500");
    let mut waits = Vec::new();
    for _ in 0..12 {
        talk.head(200);
        let _ = talk.says(outdated);
        waits.push(talk.waits_in_any_phase());
        let _ = talk.asks();
        let _ = talk.says(|id| list_end(id, "5", ""));
        let _ = talk.asks();
    }
    assert!(waits[0] < Duration::from_secs(2) && waits[11] >= Duration::from_secs(30), "{waits:?}");
}

#[test]
fn a_watch_that_ends_before_its_relist_is_reported_then() {
    let mut talk = asking(Consistency::NotOlderThan).listed("?limit=500");
    talk.lives(HEALTHY);
    let _ = talk.says(outdated);
    let _ = talk.says(|id| closed(id, Ok(())));
    let report = talk.reflector.poll_failure().unwrap();
    assert!(matches!(report.failure, Failure::BackInTime { .. }), "{report}");
    assert_eq!(talk.waits(), report.retry_in);
    assert_eq!(talk.asks(), Some(std::format!("?resourceVersion=5{BACK}")));
}

/// Its other pages may have changed since that one.
#[test]
fn a_list_whose_pages_have_several_versions_has_that_of_the_oldest_page() {
    let mut talk = asking(Consistency::MostRecent);
    let _ = talk.says(|_| Input::Start);
    for (version, token) in [("8", "t1"), ("7", "t2"), ("10", "")] {
        let _ = talk.asks();
        let _ = talk.says(|id| list_end(id, version, token));
    }
    assert_eq!(talk.asks().as_deref(), Some("?watch=1&resourceVersion=7"));
}

#[test]
fn a_page_that_is_older_than_what_was_seen_ends_its_list() {
    let mut talk = asking(Consistency::MostRecent).listed("?limit=500");
    let _ = talk.relists(status(410));
    assert_eq!(talk.says(|id| list_end(id, "4", "t1")), Step::Discard);
    talk.waits();
    assert_eq!(talk.asks().as_deref(), Some("?limit=500"));
}

#[test]
fn a_list_with_an_item_of_the_past_is_believed_as_one_that_is_older() {
    let mut talk = asking(Consistency::MostRecent).listed("?limit=500");
    let _ = talk.relists(status(410));
    let _ = talk.says(outdated);
    assert_eq!(talk.disbelieves("9"), "?limit=500");
    assert!(!talk.reflector.versions().are_comparable(), "the next one is not compared");
    assert_eq!(talk.says(|id| list_end(id, "9", "")), Step::Commit);
}
