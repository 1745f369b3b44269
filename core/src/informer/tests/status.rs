//! The status, and the applied version.

use super::*;

#[test]
fn the_status_says_what_is_going_on_from_the_start_to_the_stop() {
    let mut talk = talk(|_| {});
    let second = Duration::from_secs(1);
    assert_eq!(talk.status(), "listing for 0 s, 0 items so far");
    let _ = talk.asked();
    talk.head(200);
    talk.now = talk.now + second;
    talk.sends(&list(7, &[pod("a", "1", 3, "0"), pod("b", "2", 4, "0")]));
    assert_eq!(talk.status(), "listing for 1 s, 2 items so far");
    assert_eq!(talk.informer.poll_synced(talk.now), Poll::Pending);
    talk.ends();
    assert_eq!(talk.status(), "listed; 2 events are queued");
    let _ = talk.told();
    assert_eq!(talk.status(), "synced at version 7, last update 0 s ago");
    assert_eq!(talk.informer.poll_synced(talk.now), Poll::Ready(Ok(())));
    let _ = talk.asked();
    talk.head(200);
    talk.now = talk.now + 180 * second;
    assert_eq!(talk.status(), "synced at version 7, last update 3 min ago (a bookmark is overdue)");
    talk.sends(&event("MODIFIED", &pod("a", "1", 9, "1")));
    assert_eq!(talk.status(), "synced at version 7 of 9, last update 0 s ago");
    let _ = talk.told();
    talk.breaks();
    assert_eq!(talk.informer.poll_event().map(|event| show(&event)).as_deref(), Some("failed Watch Rewatch"));
    let failing = talk.status();
    assert!(failing.starts_with("failing: unreachable, 1 attempt, next in "), "{failing}");
    assert!(failing.ends_with("; the cache may be old"), "{failing}");
    let _ = talk.asked();
    assert!(talk.status().contains("trying again now"), "{}", talk.status());
    talk.head(200);
    assert!(talk.status().starts_with("synced at version 9"), "{}", talk.status());
    talk.sends(&event("ERROR", r#"{"code":410}"#));
    let _ = talk.told();
    assert!(talk.status().starts_with("failing: expired (status 410), 2 attempts"), "{}", talk.status());
    let again = list(10, &[]);
    let _ = talk.asked();
    talk.head(200);
    assert_eq!(talk.status(), "listing again for 0 s, 0 items so far");
    talk.sends(&again);
    talk.ends();
    let _ = talk.told();
    assert_eq!(talk.status(), "synced at version 10, last update 0 s ago", "before its watch is answered");
    talk.informer.stop(talk.now);
    assert_eq!(talk.status(), "stopped");
}

#[test]
fn an_informer_that_is_stopped_while_requests_fail_is_stopped_and_not_failing() {
    let mut talk = talk(|_| {});
    let _ = talk.asked();
    talk.head(500);
    talk.ends();
    assert!(talk.status().starts_with("failing"), "{}", talk.status());
    talk.informer.stop(talk.now);
    assert_eq!(talk.status(), "stopped");
}

/// controller-runtime #1653: a resource that may not be listed must not keep everybody waiting in silence.
#[test]
fn who_waits_for_the_first_state_is_told_when_waiting_does_not_help() {
    for (status, told) in [(401, true), (403, true), (404, true), (500, false), (429, false)] {
        let mut talk = talk(|_| {});
        let _ = talk.asked();
        talk.head(status);
        talk.ends();
        match talk.informer.poll_synced(talk.now) {
            Poll::Ready(Err(InformerStatus::Failing { status: Some(said), attempts: 1, synced: false, .. })) => {
                assert!(told && said == status, "{said}");
            }
            other => assert!(!told && other == Poll::Pending, "{status}: {other:?}"),
        }
        talk.answers(&list(7, &[]));
        let _ = talk.told();
        assert_eq!(talk.informer.poll_synced(talk.now), Poll::Ready(Ok(())), "it was helped");
    }
}

/// It is exact in both orders, although changes wait all the time.
#[test]
fn the_applied_version_is_that_of_the_last_taken_change() {
    for order in [Order::Arrival, Order::ByKey] {
        let mut talk = talk(|config| config.order = order).watching(&[]);
        assert_eq!(talk.informer.applied_version(), Some("1"));
        let mut taken = 0;
        for version in 2..40 {
            talk.sends(&event("MODIFIED", &pod(&format!("pod-{version}"), "1", version, "0")));
            // Three come, two are taken: the queue grows, and is never empty.
            if version % 3 != 0 {
                taken += usize::from(talk.informer.poll_event().is_some());
            }
            let applied: usize = talk.informer.applied_version().unwrap().parse().unwrap();
            assert_eq!(applied, taken + 1, "{order:?}");
        }
        assert!(talk.informer.queued() > 0);
        let _ = talk.told();
        assert_eq!(talk.informer.applied_version(), Some("39"));
    }
}

/// By key, newer deltas of a key overtake older ones of others: it stays before the oldest one that waits.
#[test]
fn by_key_the_applied_version_waits_for_what_was_overtaken() {
    let mut talk = talk(|config| config.order = Order::ByKey).watching(&[]);
    for (name, version) in [("a", 2), ("b", 3), ("a", 4), ("c", 5), ("b", 6)] {
        talk.sends(&event("MODIFIED", &pod(name, "1", version, "0")));
    }
    let mut applied = Vec::new();
    while let Some(event) = talk.informer.poll_event() {
        applied.push((show(&event), talk.informer.applied_version().map(String::from)));
    }
    let told: Vec<_> = applied.iter().map(|(event, version)| (&**event, version.as_deref().unwrap())).collect();
    let expected = [
        ("added a@2", "2"),
        ("updated a@2 a@4", "2"),
        ("added b@3", "4"),
        ("updated b@3 b@6", "4"),
        ("added c@5", "6"),
    ];
    assert_eq!(told, expected);
}

#[test]
fn a_bookmark_moves_the_applied_version_once_everything_before_it_was_taken() {
    let bookmark = |version: u32| event("BOOKMARK", &format!(r#"{{"metadata":{{"resourceVersion":"{version}"}}}}"#));
    let mut talk = talk(|_| {}).watching(&[]);
    talk.sends(&bookmark(3));
    assert_eq!(talk.informer.applied_version(), Some("3"), "nothing is before it");
    talk.sends(&event("ADDED", &pod("a", "1", 4, "0")));
    talk.sends(&bookmark(6));
    talk.sends(&bookmark(7));
    talk.sends(&event("ADDED", &pod("b", "1", 8, "0")));
    assert_eq!(talk.informer.applied_version(), Some("3"));
    assert!(talk.informer.poll_event().is_some());
    assert_eq!(talk.informer.applied_version(), Some("7"));
    assert!(talk.informer.poll_event().is_some());
    assert_eq!(talk.informer.applied_version(), Some("8"));
}

#[test]
fn a_relist_is_applied_when_all_of_it_was_taken() {
    for order in [Order::Arrival, Order::ByKey] {
        let mut talk = talk(|config| config.order = order).watching(&[pod("a", "1", 1, "0"), pod("b", "2", 1, "0")]);
        talk.sends(&event("ADDED", &pod("c", "3", 5, "0")));
        talk.sends(&event("ERROR", r#"{"kind":"Status","code":410}"#));
        assert!(matches!(talk.informer.poll_event(), Some(Event::Failed(_))));
        talk.now = talk.informer.poll_timeout().unwrap();
        talk.informer.handle_timeout(talk.now);
        while let Some(action) = talk.informer.poll_action() {
            talk.id = if let Action::Open(id, _) = action { id } else { talk.id };
        }
        talk.head(200);
        talk.sends(&list(9, &[pod("b", "2", 1, "0"), pod("d", "4", 8, "0")]));
        talk.ends();
        let mut applied = Vec::new();
        while talk.informer.poll_event().is_some() {
            applied.push(talk.informer.applied_version().unwrap().to_string());
        }
        // Of c its addition and its deletion, of a its deletion, and two items.
        assert_eq!(applied, ["5", "5", "5", "5", "9"], "{order:?}");
    }
}
