//! Bodies that break off, are refusals, or are something else.

use super::*;

#[test]
fn a_list_that_breaks_off_tells_nobody_anything() {
    let mut talk = talk(|_| {});
    let whole = list(5, &[pod("a", "1", 3, "0"), pod("b", "2", 4, "0")]);
    for broken in [false, true] {
        let _ = talk.asked();
        talk.head(200);
        talk.sends(&whole[..whole.len() - 3]);
        if broken {
            talk.breaks();
        } else {
            talk.ends();
        }
        assert_eq!(talk.told(), ["failed List Relist"]);
    }
    talk.answers(&whole);
    assert_eq!(talk.told(), ["initial a@3", "initial b@4", "synced"]);
}

#[test]
fn a_list_with_all_its_brackets_is_whole_however_the_connection_ends() {
    let mut talk = talk(|_| {});
    let _ = talk.asked();
    talk.head(200);
    talk.sends(&list(5, &[pod("a", "1", 3, "0")]));
    talk.breaks();
    assert_eq!(talk.told(), ["initial a@3", "synced"]);
}

#[test]
fn an_answer_that_is_no_list_is_a_failure() {
    let mut talk = talk(|_| {});
    talk.answers("<html>Please log in</html>");
    assert_eq!(talk.told(), ["failed List Relist"]);
    assert!(talk.asked().starts_with("/pods?limit"));
}

#[test]
fn an_event_that_is_cut_off_is_dropped_and_comes_again() {
    let mut talk = talk(|_| {}).watching(&[]);
    let line = event("ADDED", &pod("a", "1", 6, "0"));
    talk.sends(&event("ADDED", &pod("b", "1", 5, "0")));
    talk.sends(&line[..line.len() - 2]);
    talk.breaks();
    assert_eq!(talk.told(), ["failed Watch Rewatch", "added b@5"]);
    assert!(talk.asked().ends_with("resourceVersion=5"));
}

#[test]
fn a_refusal_is_read_to_its_end() {
    let mut talk = talk(|_| {});
    let _ = talk.asked();
    talk.head(403);
    talk.sends(r#"{"kind":"Status","reason":"Forbidden","message":"pods is forbidden","code":403}"#);
    assert!(talk.told().is_empty());
    talk.ends();
    let Some(Event::Failed(failed)) = talk.informer.poll_event() else { panic!("no failure") };
    assert_eq!(failed.failure.to_string(), "status 403 Forbidden: pods is forbidden");
}

#[test]
fn a_refusal_of_two_megabytes_is_told_by_its_beginning() {
    let mut talk = talk(|_| {});
    let _ = talk.asked();
    talk.head(403);
    talk.sends(&format!(r#"{{"kind":"Status","message":"pods is forbidden{}""#, ", really".repeat(250_000)));
    talk.ends();
    let Some(Event::Failed(failed)) = talk.informer.poll_event() else { panic!("no failure") };
    let said = failed.failure.to_string();
    assert!(said.starts_with(r#"status 403: {"kind":"Status","message":"pods is forbidden, really"#), "{said}");
    assert!(said.len() < 300, "{said}");
}

/// A proxy's page, a status under 200, a table: nothing of it says that the objects are gone.
#[test]
fn a_body_that_is_no_list_leaves_the_cache_alone() {
    let status = r#"{"kind":"Status","status":"Failure","code":500}"#;
    let table = r#"{"kind":"Table","metadata":{"resourceVersion":"9"},"rows":[{}]}"#;
    for body in ["{}", status, table, r#"{"items":{}}"#, r#"{"metadata":{},"it\u0065ms":[]}"#] {
        let mut talk = talk(|_| {}).watching(&[pod("a", "1", 1, "0")]);
        talk.sends(&event("ERROR", r#"{"kind":"Status","code":410}"#));
        talk.answers(body);
        assert_eq!(talk.told(), ["failed Watch Relist", "failed List Relist"], "{body}");
        assert_eq!(talk.cache(), ["a@1"], "{body}");
    }
}

/// Go takes the last of them, which cannot be known before the end; and escapes make no other name of it.
#[test]
fn a_list_with_items_twice_is_a_failure() {
    let b = pod("b", "2", 8, "0");
    for items in [
        format!(r#""items":[],"items":[{b}]"#),
        format!(r#""items":[{b}],"items":[]"#),
        format!(r#""items":[{b}],"items":null"#),
        format!(r#""items":null,"items":[{b}]"#),
        format!(r#""items":[{b}],"it\u0065ms":[]"#),
        format!(r#""\u0069\u0074\u0065\u006D\u0073":[],"items":[{b}]"#),
    ] {
        let mut talk = talk(|_| {}).watching(&[pod("a", "1", 1, "0")]);
        talk.sends(&event("ERROR", r#"{"kind":"Status","code":410}"#));
        talk.answers(&format!(r#"{{"metadata":{{"resourceVersion":"9"}},{items}}}"#));
        assert_eq!(talk.told(), ["failed Watch Relist", "failed List Relist"], "{items}");
        assert_eq!(talk.cache(), ["a@1"], "{items}");
        talk.answers(&list(9, &[]));
        assert_eq!(talk.told(), ["vanished a@1"], "the next list is another one");
    }
    let mut talk = talk(|_| {});
    talk.answers(&format!(
        r#"{{"Items":[],"metadata":{{"resourceVersion":"9"}},"items":[{b}],"ITEMS":[],"it\"ems":1}}"#
    ));
    assert_eq!(talk.told(), ["initial b@8", "synced"], "case makes another name");
}

#[test]
fn a_watch_of_garbage_backs_off_and_lists_again() {
    let mut talk = talk(|_| {}).watching(&[]);
    talk.sends("<html>\nplease log in\n");
    let _ = talk.told();
    let before = talk.now;
    talk.ends();
    assert_eq!(talk.told(), ["failed Watch Relist"]);
    assert!(!talk.asked().contains("watch") && talk.now > before);
}

#[test]
fn an_error_event_with_odd_details_is_still_an_error() {
    for object in [r#"{"code":410,"reason":"Expired","details":null}"#, r#"{"code":"410"}"#, "null", "[]"] {
        let mut talk = talk(|_| {}).watching(&[]);
        talk.sends(&event("ERROR", object));
        assert_eq!(talk.told(), ["failed Watch Relist"], "{object}");
    }
}

/// A server may send its events in any layout, as client-go reads them.
#[test]
fn events_are_json_values_and_not_lines() {
    let [b, a, c] = [
        event("ADDED", &pod("b", "2", 2, "0")),
        event("MODIFIED", &pod("a", "1", 3, "1")),
        event("ADDED", &pod("c", "3", 4, "0")),
    ]
    .map(|line| line.trim_end().to_string());
    let on_lines = |event: &str| event.replace(',', ",\r\n ").replace('{', "{\n");
    for (body, piece) in [
        (format!("{b}{a}{c}"), 1000),
        (format!("{b} {a}\r\n\r\n\t{c}"), 1000),
        (on_lines(&b) + &on_lines(&a) + &c, 7),
        (format!("{b}\n{}\n{c}\n", on_lines(&a)), 1),
        (format!("{b}\n{}{c}", on_lines(&a)), 11),
    ] {
        let mut talk = talk(|_| {}).watching(&[pod("a", "1", 1, "0")]);
        body.as_bytes().chunks(piece).for_each(|piece| talk.sends(core::str::from_utf8(piece).unwrap()));
        assert_eq!(talk.told(), ["added b@2", "updated a@1 a@3", "added c@4"], "{body:?}");
    }
}

#[test]
fn an_event_is_told_as_soon_as_it_is_whole_though_its_line_is_not() {
    let mut talk = talk(|_| {}).watching(&[]);
    talk.sends(event("ADDED", &pod("a", "1", 2, "0")).trim_end());
    assert_eq!(talk.told(), ["added a@2"]);
    talk.sends(&(event("ADDED", &pod("b", "2", 3, "0")).trim_end().to_string() + "{\"type\""));
    assert_eq!(talk.told(), ["added b@3"]);
}

#[test]
fn events_of_one_line_may_be_longer_together_than_one_of_them_may_be() {
    let mut talk = talk(|config| config.decode.frame_limit = 200).watching(&[]);
    let events: String = (2..9).map(|n| event("ADDED", &pod(&format!("pod-{n}"), &n.to_string(), n, "0"))).collect();
    talk.sends(&(events.replace('\n', " ") + "\n"));
    assert_eq!(talk.told().len(), 7);
}

#[test]
fn an_event_that_breaks_off_does_not_swallow_those_behind_it() {
    for broken in
        [r#"{"type":"ADDED","object":{"metadata":{"name":"b"}"#, r#"{"type":"ADDED","object":{"metadata":{"na"#]
    {
        let mut talk = talk(|_| {}).watching(&[]);
        talk.sends(&format!("{broken}\n{}", event("ADDED", &pod("a", "1", 2, "0"))));
        assert_eq!(talk.told(), ["undecodable None", "added a@2"], "{broken}");
    }
}

/// Aggregated servers and proxies answer so.
#[test]
fn a_status_under_a_success_is_told_in_lists_watches_and_watch_lists() {
    let status = r#"{"message":"no leader","kind":"Status","status":"Failure","reason":"Down","code":503}"#;
    let said = |talk: &mut Talk, end: &str| {
        let _ = talk.asked();
        talk.head(200);
        talk.sends(&format!("{status}{end}"));
        talk.ends();
        let Some(Event::Failed(failed)) = talk.informer.poll_event() else { panic!("no failure, {end:?}") };
        failed.failure.to_string()
    };
    for end in ["", "\n"] {
        for streams in [false, true] {
            let mut talk = talk(|config| config.reflector.watch_list = streams);
            let said = said(&mut talk, end);
            assert!(said.ends_with("status 503 Down: no leader"), "{said}");
        }
        let mut watching = talk(|_| {}).watching(&[]);
        watching.sends(&format!("{status}{end}"));
        watching.ends();
        let Some(Event::Failed(failed)) = watching.informer.poll_event() else { panic!("no failure") };
        assert!(failed.failure.to_string().ends_with("status 503 Down: no leader"), "{}", failed.failure);
    }
}
