//! Back-pressure, and the limits of queue and list.

use super::*;

#[test]
fn a_full_queue_stops_the_reading_and_loses_nothing() {
    let mut talk = talk(|config| config.queue_limit = 2).watching(&[]);
    let lines: String = (0..9).map(|n| event("ADDED", &pod(&format!("p{n}"), "1", n + 2, "0"))).collect();
    talk.sends(&lines);
    talk.ends();
    assert_eq!((talk.informer.queued(), talk.informer.wants_input()), (2, false));
    assert_eq!(talk.informer.phase(), Phase::Watching);
    assert!(talk.informer.poll_action().is_none(), "the answer is over when all of it has been read");
    let told = talk.told();
    assert_eq!((told.len(), told.last().map(String::as_str)), (9, Some("added p8@10")));
    assert!(talk.asked().ends_with("resourceVersion=10"));
}

/// Ten thousand of them may come to 80 GB.
#[test]
fn a_queue_of_large_objects_is_full_by_its_bytes() {
    let large = |n: u32| {
        let metadata = format!(r#"{{"name":"p{n}","uid":"1","resourceVersion":"{}"}}"#, n + 2);
        event("ADDED", &format!(r#"{{"metadata":{metadata},"n":0,"text":"{}"}}"#, "x".repeat(1000)))
    };
    let mut talk = talk(|config| config.queue_bytes = 2500).watching(&[]);
    talk.sends(&(0..9).map(large).collect::<String>());
    talk.ends();
    assert_eq!((talk.informer.queued(), talk.informer.wants_input()), (3, false));
    let _ = talk.informer.poll_event();
    assert_eq!(talk.informer.queued(), 3, "there is room for one more");
    let told = talk.told();
    assert_eq!((told.len(), told.last().map(String::as_str)), (8, Some("added p8@10")), "nothing is lost");
    assert!(talk.asked().ends_with("resourceVersion=10"));
}

#[test]
fn an_object_larger_than_the_queue_comes_through_by_itself() {
    for queue_bytes in [0, 1, 100] {
        let mut talk = talk(|config| config.queue_bytes = queue_bytes).watching(&[pod("a", "1", 1, "0")]);
        talk.sends(&(2..5).map(|version| event("MODIFIED", &pod("a", "1", version, "0"))).collect::<String>());
        assert_eq!(talk.informer.queued(), if queue_bytes == 100 { 2 } else { 1 });
        assert_eq!(talk.told(), ["updated a@1 a@2", "updated a@2 a@3", "updated a@3 a@4"]);
        talk.sends(&event("DELETED", &pod("a", "1", 5, "0")));
        assert_eq!(talk.told(), ["deleted a@5"]);
    }
}

#[test]
fn who_does_not_read_does_not_call_the_server_silent() {
    let mut talk = talk(|config| {
        config.queue_limit = 1;
        config.reflector.watch_timeout = Some((Duration::from_secs(10), Duration::from_secs(10)));
    })
    .watching(&[]);
    let lines: String = (0..3).map(|n| event("ADDED", &pod(&format!("p{n}"), "1", n + 2, "0"))).collect();
    talk.sends(&lines);
    assert_eq!(talk.informer.poll_timeout(), None);
    talk.now = talk.now + Duration::from_secs(3600);
    talk.informer.handle_timeout(talk.now);
    assert_eq!(talk.told(), ["added p0@2", "added p1@3", "added p2@4"]);
    talk.informer.handle_timeout(talk.now);
    assert_eq!(talk.informer.phase(), Phase::Watching);
    assert!(talk.informer.poll_timeout().unwrap() > talk.now, "the silence begins now");
}

/// No time was told to the informer while events waited, as under a driver that is polled only when somebody wants one.
#[test]
fn a_reader_that_comes_back_after_an_hour_does_not_call_the_server_silent() {
    let mut talk = talk(|config| {
        config.queue_limit = 1;
        config.reflector.watch_list = true;
        config.reflector.answer_timeout = Some(Duration::from_secs(60));
    });
    let _ = talk.asked();
    talk.head(200);
    talk.sends(&event("ADDED", r#"{"metadata":{"name":"a","resourceVersion":"1"},"n":"x"}"#));
    assert!(!talk.informer.wants_input(), "an object that could not be decoded is to be taken first");
    talk.now = talk.now + Duration::from_secs(3600);
    assert_eq!(talk.told(), [r#"undecodable Some("a")"#]);
    talk.informer.handle_timeout(talk.now);
    assert_eq!(talk.informer.phase(), Phase::Listing);
    assert_eq!(talk.informer.poll_timeout(), Some(talk.now + Duration::from_secs(60)), "the silence begins now");
}

#[test]
fn an_answer_that_came_while_a_failure_waited_to_be_taken_is_not_given_up() {
    let mut talk = talk(|config| {
        config.reflector.watch_list = true;
        config.reflector.answer_timeout = Some(Duration::from_secs(60));
    });
    let _ = talk.asked();
    talk.head(422);
    talk.ends();
    assert!(matches!(talk.informer.poll_action(), Some(Action::Open(..))), "a list is asked for at once");
    talk.now = talk.now + Duration::from_secs(3600);
    assert_eq!(talk.told().len(), 1);
    talk.informer.handle_timeout(talk.now);
    assert_eq!(talk.informer.phase(), Phase::Listing);
    assert_eq!(talk.informer.poll_timeout(), Some(talk.now + Duration::from_secs(60)), "the silence begins now");
}

/// How many items a list without an end has when it is given up.
fn endless(talk: &mut Talk, n: &str) -> usize {
    let _ = talk.asked();
    talk.head(200);
    talk.sends(r#"{"metadata":{"resourceVersion":"9"},"items":["#);
    let items = (0..1000).map(|item| format!("{},", pod(&format!("pod-{item}"), "2", 3, n)));
    let staged = items.take_while(|item| {
        talk.sends(item);
        !talk.told().contains(&"failed List Relist".into())
    });
    staged.count()
}

/// Without a limit, tiny items take 1.7 GB in five seconds.
#[test]
fn an_endless_list_is_given_up() {
    let mut talk = talk(|config| config.max_list_bytes = 100_000).watching(&[pod("kept", "1", 2, "0")]);
    talk.sends(&event("ERROR", r#"{"code":410}"#));
    assert_eq!(talk.told(), ["failed Watch Relist"]);
    let staged = endless(&mut talk, "0");
    assert!((100..200).contains(&staged), "{staged} items");
    assert_eq!(talk.informer.cache().len(), 1, "nothing is taken for deleted");
}

#[test]
fn an_endless_list_of_undecodable_items_is_given_up() {
    let mut talk = talk(|config| config.max_list_bytes = 100_000);
    let staged = endless(&mut talk, r#""bad""#);
    assert!((100..200).contains(&staged), "{staged} items");
}

/// White space, and an item over the limit of a frame, belong to no item that is staged.
#[test]
fn a_list_of_endless_white_space_is_given_up() {
    for watch_list in [false, true] {
        for (begins, goes_on) in [("", "\n"), ("{\"items\":[", " "), ("{\"items\":[\"", "x")] {
            let mut talk = talk(|config| {
                config.max_list_bytes = 10_000;
                config.decode.frame_limit = 100;
                config.reflector.watch_list = watch_list;
            });
            let _ = talk.asked();
            talk.head(200);
            talk.sends(begins);
            let is_given_up = (0..20).any(|_| {
                talk.sends(&goes_on.repeat(1000));
                talk.told().iter().any(|told| told.starts_with("failed"))
            });
            assert!(is_given_up, "{goes_on:?} without an end, with watch_list: {watch_list}");
        }
    }
}

#[test]
fn a_queue_of_no_length_holds_one() {
    let mut talk = talk(|config| config.queue_limit = 0).watching(&[]);
    talk.sends(&event("ADDED", &pod("a", "1", 2, "0")));
    assert_eq!(talk.told(), ["added a@2"]);
}
