//! Events, items and deletions that are older than what the cache has.

use super::*;

impl Talk {
    /// What events lead to, before a list follows them within seconds.
    fn told_of_the_past(&mut self, events: &[String]) -> Vec<String> {
        self.sends(&events.concat());
        let told = self.told();
        assert!(self.informer.poll_timeout().is_some(), "{told:?}");
        told
    }

    /// The list that follows.
    fn relists(&mut self) {
        let before = self.now;
        assert!(!self.asked().contains("watch=1"), "the state is read again");
        assert!(self.now.saturating_since(before) < Duration::from_secs(60));
        assert_eq!(self.told(), ["failed Watch Relist"]);
    }
}

#[test]
fn an_older_event_does_not_take_an_object_back() {
    let mut talk = talk(|_| {}).watching(&[pod("a", "1", 1, "0")]);
    talk.sends(&event("MODIFIED", &pod("a", "1", 9, "9")));
    let _ = talk.told();
    let older = [event("MODIFIED", &pod("a", "1", 7, "7")), event("DELETED", &pod("a", "1", 8, "8"))];
    assert!(talk.told_of_the_past(&older).is_empty());
    assert_eq!((talk.cache(), talk.informer.received_version()), (Vec::from(["a@9".to_string()]), Some("9")));
    talk.relists();
}

#[test]
fn an_older_event_does_not_take_an_object_back_that_waits_in_the_queue() {
    let mut talk = talk(|_| {}).watching(&[pod("a", "1", 1, "0")]);
    let events = [event("MODIFIED", &pod("a", "1", 9, "9")), event("MODIFIED", &pod("a", "1", 7, "7"))];
    assert_eq!(talk.told_of_the_past(&events), ["updated a@1 a@9"]);
}

#[test]
fn the_late_deletion_of_an_earlier_object_does_not_delete_the_one_that_has_its_name_now() {
    let mut talk = talk(|_| {}).watching(&[pod("a", "1", 1, "0")]);
    let events = [event("ADDED", &pod("a", "2", 9, "9")), event("DELETED", &pod("a", "1", 8, "0"))];
    assert_eq!(talk.told_of_the_past(&events), ["recreated a@1 a@9"]);
    assert_eq!(talk.cache(), ["a@9"]);
}

/// An undecodable one may be late, too.
#[test]
fn the_late_deletion_of_an_object_that_cannot_be_decoded_deletes_nothing() {
    let mut talk = talk(|_| {}).watching(&[pod("a", "1", 1, "0")]);
    let events = [event("ADDED", &pod("a", "2", 9, "9")), event("DELETED", &pod("a", "1", 8, "\"eight\""))];
    assert_eq!(talk.told_of_the_past(&events), [r#"undecodable Some("a")"#, "recreated a@1 a@9"]);
    assert_eq!(talk.cache(), ["a@9"]);
}

#[test]
fn an_older_event_does_not_bring_a_deleted_object_back() {
    for taken in [false, true] {
        let mut talk = talk(|_| {}).watching(&[pod("a", "1", 1, "0")]);
        talk.sends(&event("DELETED", &pod("a", "1", 9, "0")));
        let told = if taken { talk.told() } else { Vec::new() };
        let older = talk.told_of_the_past(&[event("MODIFIED", &pod("a", "1", 7, "7"))]);
        assert_eq!([told, older].concat(), ["deleted a@9"], "{taken}");
        assert!(talk.cache().is_empty());
        talk.relists();
    }
}

/// It may be one that was overtaken, or of another history.
#[test]
fn the_creation_of_an_unknown_object_is_told_although_it_is_late() {
    let mut talk = talk(|_| {}).watching(&[pod("a", "1", 1, "0")]);
    talk.sends(&event("MODIFIED", &pod("a", "1", 9, "9")));
    assert_eq!(talk.told_of_the_past(&[event("ADDED", &pod("b", "2", 7, "7"))]), ["updated a@1 a@9", "added b@7"]);
    talk.relists();
}

/// Servers before 1.13 sent deletions with the object's last version.
#[test]
fn a_deletion_of_the_last_version_of_its_object_is_told_and_moves_nothing_back() {
    let mut talk = talk(|_| {}).watching(&[pod("a", "1", 1, "0"), pod("b", "2", 1, "0")]);
    talk.sends(&event("MODIFIED", &pod("b", "2", 9, "9")));
    talk.sends(&event("DELETED", &pod("a", "1", 1, "0")));
    assert_eq!(talk.told(), ["updated b@1 b@9", "deleted a@1"]);
    assert_eq!(talk.informer.received_version(), Some("9"));
}

/// The order of two objects is no order of the changes of one.
#[test]
fn an_event_that_is_newer_than_its_object_is_told_although_others_were_newer() {
    let mut talk = talk(|_| {}).watching(&[pod("a", "1", 1, "0"), pod("b", "2", 1, "0")]);
    talk.sends(&event("MODIFIED", &pod("b", "2", 9, "9")));
    talk.sends(&event("MODIFIED", &pod("a", "1", 5, "5")));
    assert_eq!(talk.told(), ["updated b@1 b@9", "updated a@1 a@5"]);
    assert_eq!(talk.informer.received_version(), Some("9"));
}

#[test]
fn what_has_no_order_is_told_as_it_comes() {
    let named = |version: &str| pod("a", "1", 0, "0").replace(r#"n":"0""#, &format!(r#"n":"{version}""#));
    let mut talk = talk(|_| {}).watching(&[named("v5")]);
    talk.sends(&event("MODIFIED", &named("v4")));
    assert_eq!(talk.told(), ["updated a@v5 a@v4"]);
    talk.sends(&event("DELETED", &named("v3")));
    assert_eq!(talk.told(), ["deleted a@v3"]);
}

#[test]
fn among_initial_events_an_older_one_takes_no_object_back() {
    let end = r#"{"metadata":{"resourceVersion":"9","annotations":{"k8s.io/initial-events-end":"true"}}}"#;
    let newer = pod("a", "1", 9, "9");
    for older in [event("MODIFIED", &pod("a", "1", 7, "7")), event("DELETED", &pod("a", "0", 8, "8"))] {
        for known in [false, true] {
            let mut talk = talk(|config| config.reflector.watch_list = true);
            if known {
                let _ = talk.asked();
                talk.head(200);
                talk.sends(&(event("ADDED", &newer) + &event("BOOKMARK", end)));
                talk.sends(&event("ERROR", r#"{"kind":"Status","code":410}"#));
            }
            assert!(talk.asked().contains("sendInitialEvents"));
            talk.head(200);
            talk.sends(&[event("ADDED", &newer), older.clone(), event("BOOKMARK", end)].concat());
            let _ = talk.told();
            talk.sends(&event("BOOKMARK", end));
            let _ = talk.told();
            assert_eq!(talk.cache(), ["a@9"], "{older} {known}");
        }
    }
}

/// A server's cache may hold an object's state of the past, and still name the present version.
#[test]
fn a_list_with_an_object_of_the_past_is_read_again_before_it_is_believed() {
    let mut talk = talk(|_| {}).watching(&[pod("a", "1", 1, "0")]);
    talk.sends(&event("MODIFIED", &pod("a", "1", 9, "9")));
    talk.sends(&event("ERROR", r#"{"kind":"Status","code":410}"#));
    let stale = list(10, &[pod("a", "1", 7, "7")]);
    for _ in 0..2 {
        talk.answers(&stale);
        let told = talk.told();
        assert_eq!(told.last().map(String::as_str), Some("failed List Relist"), "{told:?}");
        assert_eq!(talk.cache(), ["a@9"]);
    }
    talk.answers(&stale);
    assert_eq!(talk.told(), ["updated a@9 a@7"], "twice in a row it was the most recent state");
}

/// A server was restored, and goes on with the watch: its versions begin again.
#[test]
fn a_watch_that_goes_on_in_another_history_leads_to_the_state_of_that_history() {
    let mut talk = talk(|_| {}).watching(&[pod("a", "1", 1, "0")]);
    talk.sends(&event("MODIFIED", &pod("a", "1", 900, "9")));
    let _ = talk.told();
    assert_eq!(talk.told_of_the_past(&[event("ADDED", &pod("b", "2", 401, "4"))]), ["added b@401"]);
    let restored = list(402, &[pod("a", "1", 1, "0"), pod("b", "2", 401, "4")]);
    for _ in 0..3 {
        talk.answers(&restored);
        let _ = talk.told();
    }
    assert_eq!(
        (talk.cache(), talk.informer.received_version()),
        (["a@1", "b@401"].map(String::from).to_vec(), Some("402"))
    );
}

/// Its state of another history is kept until the server shows a better one.
#[test]
fn an_object_that_could_not_be_decoded_since_a_restore_is_not_newer_than_the_events_of_that_history() {
    for deletion in ["0", "\"nine\""] {
        let mut talk = talk(|_| {}).watching(&[pod("a", "1", 1, "0")]);
        talk.sends(&event("MODIFIED", &pod("a", "1", 900, "9")));
        talk.sends(&event("ERROR", r#"{"kind":"Status","code":410}"#));
        let _ = talk.told();
        for _ in 0..3 {
            talk.answers(&list(402, &[pod("a", "1", 300, "\"nine\"")]));
            let _ = talk.told();
        }
        assert_eq!((talk.cache(), talk.informer.received_version()), (Vec::from(["a@900".into()]), Some("402")));
        let _ = talk.asked();
        talk.head(200);
        let events = [event("DELETED", &pod("a", "1", 403, deletion)), event("ADDED", &pod("a", "2", 404, "4"))];
        talk.sends(&events.concat());
        let _ = talk.told();
        assert_eq!(talk.cache(), ["a@404"]);
    }
}
