//! A part of the objects: what the cache has of it, and which requests there are.

use super::*;

/// The pods whose uid is one of these.
fn only(uids: &'static [&'static str]) -> Selection {
    let keeps = move |meta: &crate::object::Meta| meta.uid().is_some_and(|uid| uids.contains(&&*uid.to_string()));
    Selection::new(Resource::new("/pods").with_shard_selector("s"), keeps)
}

fn pods(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| pod(name, name, 1, "0")).collect()
}

#[test]
fn others_are_dropped_as_they_are_decoded_in_lists_and_watches() {
    let mut talk = talk(|_| {}).watching(&pods(&["a", "b", "c"]));
    talk.informer.select(talk.now, only(&["a", "d"]));
    assert_eq!(talk.asked(), "/pods?shardSelector=s&limit=500", "the most recent state");
    talk.head(200);
    talk.sends(&list(5, &pods(&["a", "b", "c", "d"])));
    assert_eq!(talk.informer.lists(), 1, "until the list is complete");
    talk.ends();
    assert_eq!(talk.told(), ["vanished b@1", "vanished c@1", "updated a@1 a@1", "added d@1"]);
    assert!(talk.informer.is_drained() && talk.informer.lists() == 2);
    assert_eq!(talk.asked(), "/pods?shardSelector=s&watch=1&allowWatchBookmarks=true&resourceVersion=5");
    talk.head(200);
    talk.sends(&event("ADDED", &pod("x", "x", 6, "0")));
    talk.sends(&event("MODIFIED", &pod("b", "b", 7, "0")));
    talk.sends(&event("DELETED", &pod("c", "c", 8, "0")));
    assert!(talk.told().is_empty());
    assert_eq!(talk.informer.received_version(), Some("8"), "the next watch goes on from there");
    talk.sends(&event("MODIFIED", &pod("a", "a", 9, "0")));
    // Under its name, another object may be another one's.
    talk.sends(&event("MODIFIED", &pod("d", "e", 10, "0")));
    assert_eq!(talk.told(), ["updated a@1 a@9", "deleted d@10"]);
    assert_eq!(talk.cache(), ["a@9"]);
}

#[test]
fn the_initial_events_of_others_do_not_count_as_its_changes() {
    let mut talk = talk(|config| config.reflector.watch_list = true);
    talk.informer.select(talk.now, only(&["a"]));
    assert!(talk.asked().contains("shardSelector=s") && talk.informer.poll_timeout().is_none());
    talk.head(200);
    ["a", "b"].iter().for_each(|name| talk.sends(&event("ADDED", &pod(name, name, 1, "0"))));
    assert_eq!(talk.informer.poll_timeout(), None, "no bookmark is due");
}

#[test]
fn what_is_narrower_needs_no_list_and_leaves_no_other_object() {
    for order in [Order::Arrival, Order::ByKey] {
        let mut talk = talk(|config| config.order = order).watching(&pods(&["a", "b", "c"]));
        // One that is queued, and one that is to come.
        talk.sends(&event("ADDED", &pod("d", "d", 4, "0")));
        talk.informer.narrow(talk.now, only(&["a", "e"]));
        talk.sends(&event("ADDED", &pod("f", "f", 5, "0")));
        talk.sends(&event("ADDED", &pod("e", "e", 6, "0")));
        let told = talk.told();
        assert!(["vanished b@1", "vanished c@1", "added e@6"].iter().all(|it| told.contains(&(*it).to_string())));
        assert_eq!(talk.cache(), ["a@1", "e@6"], "{told:?}");
        assert_eq!((talk.informer.poll_action(), talk.informer.lists()), (None, 1));
    }
}

#[test]
fn a_list_that_is_being_read_is_read_anew_where_less_is_kept() {
    let mut talk = talk(|_| {});
    let _ = talk.asked();
    talk.head(200);
    talk.sends(&list(5, &pods(&["a", "b"]))[..150]);
    talk.informer.narrow(talk.now, only(&["b"]));
    talk.answers(&list(6, &pods(&["a", "b"])));
    assert_eq!((talk.told(), talk.cache()), (vec!["initial b@1".into(), "synced".into()], vec!["b@1".into()]));
}

#[test]
fn no_object_is_listed_by_a_page_of_one() {
    let mut talk = talk(|config| config.reflector.watch_list = true);
    talk.informer.select(talk.now, Selection::none(Resource::new("/pods")));
    assert_eq!(talk.asked(), "/pods?limit=1");
    talk.head(200);
    talk.sends(r#"{"metadata":{"resourceVersion":"5","continue":"x"},"items":[{"metadata":{"name":"a"},"n":0}]}"#);
    talk.ends();
    assert_eq!(talk.told(), ["synced"]);
    assert_eq!(talk.asked(), "/pods?watch=1&allowWatchBookmarks=true&resourceVersion=5");
    talk.head(200);
    talk.sends(&event("ADDED", &pod("b", "b", 6, "0")));
    assert!(talk.told().is_empty() && talk.cache().is_empty());
    talk.informer.select(talk.now, only(&["b"]));
    assert!(talk.asked().contains("sendInitialEvents=true"));
}

#[test]
fn another_part_waits_for_the_delay_of_a_failure() {
    let mut talk = talk(|_| {}).watching(&pods(&["a"]));
    talk.breaks();
    let _ = talk.told();
    let due = talk.informer.poll_timeout();
    talk.informer.select(talk.now, only(&["a", "b"]));
    assert_eq!((talk.informer.poll_action(), talk.informer.poll_timeout()), (None, due));
    assert!(talk.asked().contains("limit=500"), "a list follows in place of the watch");
}
