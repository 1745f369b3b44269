//! The start from a state that was saved.

use super::*;
use crate::decode::{Decoder, ListMeta};

const HOUR: SavedAge = SavedAge::Known(Duration::from_secs(3600));
const GONE: &str = r#"{"kind":"Status","code":410}"#;

fn object(name: &str, uid: &str, version: u32, n: &str) -> ObjectHandle<Pod> {
    Decoder::default().item::<Pod>(pod(name, uid, version, n).as_bytes(), &ListMeta::default()).unwrap().into()
}

/// An informer that begins with two pods of version 7, an hour old.
fn restored(held: bool) -> Talk {
    let mut talk = talk(|_| {});
    talk.informer = Informer::new(Resource::new("/pods"), talk_config());
    let objects = [object("a", "1", 3, "0"), object("b", "2", 7, "0")];
    assert!(talk.informer.restore(Instant::ZERO, objects, "7", HOUR, held));
    talk.informer.start(Instant::ZERO);
    assert_eq!(talk.told(), ["initial a@3", "initial b@7", "synced"]);
    talk
}

fn talk_config() -> InformerConfig {
    let mut config = InformerConfig::default();
    config.reflector.watch_list = false;
    config.reflector.watch_timeout = None;
    config.reflector.reconnect_jitter = Duration::ZERO;
    config
}

#[test]
fn the_watch_goes_on_from_a_server_that_is_as_recent_and_no_list_is_read() {
    let mut talk = restored(false);
    assert_eq!(talk.status(), "restored from a state that was saved 60 min ago");
    assert_eq!(talk.asked(), "/pods?limit=1");
    talk.head(200);
    talk.sends(&list(9, &[pod("c", "3", 9, "0")]));
    talk.ends();
    assert_eq!(talk.told(), [""; 0], "the object of the list is not told");
    assert_eq!(talk.asked(), "/pods?watch=1&allowWatchBookmarks=true&resourceVersion=7");
    talk.head(200);
    assert_eq!(talk.status(), "restored from a state that was saved 60 min ago", "until it has caught up with 9");
    talk.sends(&event("ADDED", &pod("c", "3", 9, "0")));
    assert_eq!(talk.told(), ["added c@9"]);
    assert_eq!(talk.status(), "synced at version 9, last update 0 s ago");
    assert_eq!(talk.informer.saveable_version().map(|version| &**version), Some("9"));
}

#[test]
fn where_nothing_has_changed_the_state_is_current_with_the_answer() {
    let mut talk = restored(false);
    talk.answers(&list(7, &[pod("a", "1", 3, "0")]));
    assert_eq!(talk.status(), "synced at version 7, last update 0 s ago");
}

#[test]
fn without_a_server_the_cache_is_there_and_the_status_says_how_old_it_is() {
    let mut talk = restored(false);
    for _ in 0..5 {
        assert_eq!(talk.asked(), "/pods?limit=1");
        talk.breaks();
    }
    assert_eq!(talk.told().last().unwrap(), "failed Resume Resume");
    assert!(talk.informer.has_synced() && talk.informer.status(talk.now).is_synced());
    assert!(talk.status().ends_with("; the cache was saved 60 min ago"), "{}", talk.status());
    assert_eq!(talk.cache(), ["a@3", "b@7"]);
    assert!(talk.informer.saveable_version().is_none(), "it is saved");
    talk.answers(&list(8, &[]));
    assert!(talk.asked().ends_with("resourceVersion=7"));
}

#[test]
fn an_older_server_is_listed_and_what_it_lacks_is_deleted() {
    let mut talk = restored(false);
    talk.answers(&list(5, &[pod("a", "1", 3, "0")]));
    assert_eq!(talk.told(), ["failed Resume Relist"]);
    assert_eq!(talk.asked(), "/pods?limit=500");
    talk.head(200);
    talk.sends(&list(5, &[pod("a", "1", 3, "0")]));
    talk.ends();
    assert_eq!(talk.told(), ["vanished b@7", "updated a@3 a@3"]);
    assert!(talk.asked().ends_with("resourceVersion=5"));
    assert_eq!(talk.status(), "synced at version 5, last update 0 s ago");
}

/// A restored store counts on from an older revision, so one uid and version can be two states.
#[test]
fn an_object_of_an_older_server_with_the_same_version_and_other_contents_is_taken() {
    let mut talk = restored(false);
    talk.answers(&list(5, &[]));
    let _ = talk.told();
    talk.answers(&list(5, &[pod("a", "1", 3, "8")]));
    let _ = talk.told();
    assert_eq!(talk.informer.cache().get("a").unwrap().n, 8);
}

#[test]
fn after_a_410_only_differences_are_new() {
    let mut talk = restored(false);
    talk.answers(&list(20, &[]));
    assert!(talk.asked().contains("watch=1"));
    talk.head(200);
    talk.sends(&event("ERROR", GONE));
    assert_eq!(talk.told(), ["failed Watch Relist"]);
    let held = talk.informer.cache().get("a").cloned().unwrap();
    talk.answers(&list(20, &[pod("a", "1", 3, "0"), pod("c", "3", 19, "0")]));
    assert_eq!(talk.told(), ["vanished b@7", "updated a@3 a@3", "added c@19"]);
    assert!(held.ptr_eq(talk.informer.cache().get("a").unwrap()));
    assert_eq!(talk.informer.restored_age(talk.now), None);
}

#[test]
fn a_server_whose_answer_breaks_off_is_asked_again_and_then_listed() {
    let mut talk = restored(false);
    for told in ["failed Resume Resume", "failed Resume Relist"] {
        let _ = talk.asked();
        talk.head(200);
        talk.sends("<html>");
        talk.ends();
        assert_eq!(talk.told(), [told]);
    }
    assert_eq!(talk.asked(), "/pods?resourceVersion=7&resourceVersionMatch=NotOlderThan");
}

#[test]
fn a_held_state_waits_for_its_confirmation_behind_the_answer_or_before() {
    let mut talk = restored(true);
    talk.answers(&list(7, &[]));
    assert!(talk.informer.is_held() && talk.informer.poll_action().is_none());
    assert_eq!(talk.informer.poll_timeout(), None);
    talk.informer.confirm(talk.now, true);
    assert!(talk.asked().ends_with("resourceVersion=7"));

    let mut talk = restored(true);
    talk.informer.confirm(talk.now, true);
    talk.answers(&list(7, &[]));
    assert!(talk.asked().ends_with("resourceVersion=7"));
}

#[test]
fn a_state_of_another_cluster_is_listed_as_if_nothing_was_known() {
    let mut talk = restored(true);
    talk.answers(&list(900, &[]));
    talk.informer.confirm(talk.now, false);
    assert_eq!(talk.asked(), "/pods?limit=500");
    talk.head(200);
    // By chance, an object has the uid and the version of one that is saved.
    talk.sends(&list(5, &[pod("a", "1", 3, "8")]));
    talk.ends();
    assert_eq!(talk.told(), ["vanished b@7", "updated a@3 a@3"]);
    assert_eq!(talk.informer.cache().get("a").unwrap().n, 8);
    assert!(talk.asked().ends_with("resourceVersion=5"), "the version of the other cluster is forgotten");
}

#[test]
fn a_stop_before_the_answer_leads_to_the_same_question_again() {
    let mut talk = restored(false);
    let _ = talk.asked();
    talk.informer.stop(talk.now);
    talk.informer.start(talk.now);
    assert_eq!(talk.asked(), "/pods?limit=1");
}

#[test]
fn only_a_new_informer_takes_a_state_and_only_with_a_version_that_has_an_order() {
    let mut talk = talk(|_| {});
    assert!(!talk.informer.restore(talk.now, [], "7", HOUR, false), "it was started");
    let mut informer = Informer::<Pod>::new(Resource::new("/pods"), talk_config());
    for version in ["", "0", "00", "abc", "-1"] {
        assert!(!informer.restore(talk.now, [], version, HOUR, false), "{version}");
    }
    assert!(informer.restore(talk.now, [], "7", HOUR, false));
    assert!(!informer.restore(talk.now, [], "7", HOUR, false), "twice");
    informer.seed_unless_chosen(7);
    informer.start(talk.now);
    assert_eq!(informer.poll_event(), Some(Event::Synced), "an empty state is a state");
}

#[test]
fn a_seed_that_came_after_the_restored_state_does_not_lose_it() {
    let mut informer = Informer::<Pod>::new(Resource::new("/pods"), talk_config());
    assert!(informer.restore(Instant::ZERO, [object("a", "1", 3, "0")], "7", HOUR, false));
    informer.seed_unless_chosen(7);
    informer.start(Instant::ZERO);
    assert!(matches!(informer.poll_event(), Some(Event::Added { initial: true, .. })));
}

#[test]
fn a_version_is_not_saved_while_a_change_may_be_missing() {
    let saveable = |talk: &Talk| talk.informer.saveable_version().map(ToString::to_string);
    let mut talk = talk(|_| {});
    assert_eq!(saveable(&talk), None, "nothing is listed");
    talk.answers(&list(5, &[pod("a", "1", 3, "0")]));
    assert_eq!(saveable(&talk), None, "not all is told");
    let _ = talk.told();
    assert_eq!(saveable(&talk).as_deref(), Some("5"));
    let _ = talk.asked();
    talk.head(200);
    talk.sends(&event("MODIFIED", &pod("a", "1", 6, "0")));
    assert_eq!(saveable(&talk), None, "not all is told");
    let _ = talk.told();
    assert_eq!(saveable(&talk).as_deref(), Some("6"));
    talk.sends("{\"type\":\"DELETED\",\"object\":{}}\n");
    let _ = talk.told();
    assert_eq!(saveable(&talk), None, "nobody knows what was deleted");
    talk.ends();
    let _ = talk.told();
    assert_eq!(saveable(&talk), None, "a list is due");
    talk.answers(&list(8, &[]));
    let _ = talk.told();
    assert_eq!(saveable(&talk).as_deref(), Some("8"));
}

/// A pod whose `n` is no number.
fn odd_pod(name: &str, version: u32) -> String {
    pod(name, "9", version, "\"odd\"")
}

#[test]
fn a_state_that_was_saved_with_an_undecodable_object_is_listed_again() {
    let mut talk = restored_partial();
    talk.answers(&list(9, &[]));
    assert_eq!(talk.asked(), "/pods?resourceVersion=7&resourceVersionMatch=NotOlderThan");
    talk.head(200);
    talk.sends(&list(9, &[pod("a", "1", 3, "0"), pod("b", "2", 7, "0"), odd_pod("c", 5)]));
    talk.ends();
    assert_eq!(talk.told(), [r#"undecodable Some("c")"#, "updated a@3 a@3", "updated b@7 b@7"]);
    assert_eq!(talk.informer.saveable_version().map(|version| &**version), Some("9"));
    assert!(talk.informer.has_undecodable(), "the next start has to list too");

    let mut talk = restored_partial();
    talk.answers(&list(9, &[]));
    talk.answers(&list(9, &[pod("a", "1", 3, "0"), pod("b", "2", 7, "0"), pod("c", "9", 5, "1")]));
    assert_eq!(talk.told(), ["updated a@3 a@3", "updated b@7 b@7", "added c@5"]);
    assert!(!talk.informer.has_undecodable());
    assert!(talk.asked().ends_with("resourceVersion=9"));
    talk.head(200);
    talk.sends(&event("MODIFIED", &odd_pod("c", 10)));
    assert_eq!(talk.told(), [r#"undecodable Some("c")"#]);
    assert!(talk.informer.has_undecodable(), "the cache has its earlier state");
}

fn restored_partial() -> Talk {
    let mut talk = talk(|_| {});
    talk.informer = Informer::new(Resource::new("/pods"), talk_config());
    let objects = [object("a", "1", 3, "0"), object("b", "2", 7, "0")];
    assert!(talk.informer.restore(Instant::ZERO, objects, "7", HOUR, false));
    talk.informer.relist_restored();
    talk.informer.start(Instant::ZERO);
    assert_eq!(talk.told(), ["initial a@3", "initial b@7", "synced"]);
    talk
}

#[test]
fn a_list_of_one_object_that_does_not_end_is_given_up() {
    let mut talk = talk(|_| {});
    let mut config = talk_config();
    config.max_list_bytes = 10_000;
    talk.informer = Informer::new(Resource::new("/pods"), config);
    assert!(talk.informer.restore(Instant::ZERO, [], "7", HOUR, false));
    talk.informer.start(Instant::ZERO);
    assert_eq!((talk.told(), talk.asked().as_str()), (std::vec!["synced".into()], "/pods?limit=1"));
    talk.head(200);
    talk.sends(r#"{"metadata":{"resourceVersion":"9"},"items":["#);
    let item = pod("a", "1", 3, "0") + ",";
    let told = (0..400).find_map(|_| {
        talk.sends(&item);
        talk.told().pop()
    });
    assert_eq!(told.as_deref(), Some("failed Resume Relist"));
}
