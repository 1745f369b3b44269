//! The kinds of files, told apart by their first bytes.

use crate::playback::support::{Ending, Player, exchange, file, gzip, refusal, text};
use listwatch_core::request::{Request, RequestId};
use listwatch_core::{Instant, ListerWatcher};
use listwatch_transport_file::{CaptureErrorKind, Chunks, Playback, PlaybackConfig};

const PODS: &str = "/api/v1/pods";
const WATCH: &str = "/api/v1/pods?watch=1";
const KUBECTL_LIST: &str = "{\n    \"apiVersion\": \"v1\",\n    \"items\": null,\n    \"kind\": \"List\",\n    \"metadata\": {\n        \"resourceVersion\": \"\"\n    }\n}\n";
const KUBECTL_WATCH: &str =
    "{\n    \"type\": \"ADDED\",\n    \"object\": {}\n}\n{\n    \"type\": \"DELETED\",\n    \"object\": {}\n}\n";

/// The same bytes as they are, zipped, and zipped in two members.
fn packings(bytes: &str) -> [Vec<u8>; 3] {
    let (front, back) = bytes.as_bytes().split_at(bytes.len() / 2);
    [bytes.into(), gzip(bytes), [gzip(front), gzip(back)].concat()]
}

#[test]
fn a_list_is_one_answer_with_the_bytes_of_the_file() {
    let from_server = r#"{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[]}"#;
    let metadata_first = r#"{"metadata":{"resourceVersion":"7"},"kind":"PodList","items":[]}"#;
    for list in [KUBECTL_LIST, from_server, metadata_first, r#"{"items":[],"metadata":{}}"#] {
        for bytes in packings(list) {
            let mut player = Player::new(file(bytes));
            assert_eq!(player.playback.resource(), None);
            assert_eq!(player.ask("/api/v1/pods?watch=1&sendInitialEvents=true").status(), Some(422));
            let played = player.ask("/apis/any/v1/things?limit=5");
            assert_eq!((played.text(), &played.ending), (list, &Ending::End));
            assert_eq!(played.head.unwrap().content_type.as_deref(), Some("application/json"));
            assert!(!player.playback.is_complete());
            assert_eq!(player.ask(WATCH).ending, Ending::Over);
            let summary = player.playback.summary();
            assert_eq!((summary.lists.answered, summary.file_bytes_played), (1, summary.file_bytes));
        }
    }
}

#[test]
fn a_list_whose_objects_are_all_of_other_kinds_is_refused() {
    const SHARES: &str = "/apis/demo.example.com/v1/namespaces/web/shares";
    let map = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{}}"#;
    let by_kubectl = |items: &[&str]| format!(r#"{{"apiVersion":"v1","items":[{}],"kind":"List"}}"#, items.join(","));
    let by_server = r#"{"kind":"ConfigMapList","apiVersion":"v1","items":[{"metadata":{}}]}"#.to_owned();
    let items_first = r#"{"items":[{"metadata":{}}],"kind":"ConfigMapList","apiVersion":"v1"}"#.to_owned();
    let maps = [by_kubectl(&[map, map]), by_server, items_first];
    for list in &maps {
        for (path, name) in [(SHARES, "shares.demo.example.com"), ("/api/v1/secrets", "secrets")] {
            let mut player = Player::new(file(list));
            assert_eq!(player.ask(path).ending, Ending::Over, "{list}");
            let error = player.playback.error().unwrap();
            let message = format!("has ConfigMap objects, and none of {name}; give a file that has them");
            assert_eq!((error.kind(), error.message()), (CaptureErrorKind::NothingToPlay, &*message));
        }
    }
    let unknown = by_kubectl(&[r#"{"metadata":{}}"#]);
    let plays = maps.iter().map(|list| (list, "/api/v1/configmaps"));
    for (list, path) in plays.chain([(&unknown, SHARES), (&maps[0], "/x")]) {
        let mut player = Player::new(file(list));
        assert_eq!(player.ask(path).text(), list, "{path}");
    }
}

#[test]
fn a_file_of_several_kinds_has_the_objects_of_each_for_its_resource() {
    let object = |kind: &str, version: u32| {
        let metadata = format!(r#"{{"name":"a","resourceVersion":"{version}"}}"#);
        format!(r#"{{"apiVersion":"v1","kind":"{kind}","metadata":{metadata}}}"#)
    };
    let [map, secret] = [object("ConfigMap", 1), object("Secret", 2)];
    let list = format!(r#"{{"apiVersion":"v1","items":[{map},{secret}],"kind":"List"}}"#);
    let log = format!("{{\"type\":\"ADDED\",\"object\":{map}}}\n{{\"type\":\"ADDED\",\"object\":{secret}}}\n");
    for (path, own) in [("/api/v1/configmaps", &map), ("/api/v1/secrets", &secret)] {
        let mut player = Player::new(file(&list));
        let names: Vec<String> = player.playback.resources().iter().map(ToString::to_string).collect();
        assert_eq!(names, ["/api/v1/configmaps", "/api/v1/secrets"]);
        let listed: serde_json::Value = serde_json::from_slice(&player.ask(path).body).unwrap();
        assert_eq!(listed["items"], serde_json::from_str::<serde_json::Value>(&format!("[{own}]")).unwrap());
        let mut player = Player::new(file(&log));
        player.ask(path);
        let told = format!("{{\"type\":\"ADDED\",\"object\":{own}}}\n");
        assert_eq!(player.ask(&format!("{path}?watch=1")).text(), told);
    }
}

#[test]
fn a_log_goes_on_where_a_watch_of_it_was_given_up() {
    let event = |name: &str, version: u32| {
        let metadata = format!(r#"{{"name":"{name}","resourceVersion":"{version}"}}"#);
        format!(r#"{{"type":"ADDED","object":{{"metadata":{metadata}}}}}"#) + "\n"
    };
    let [a, b] = [event("a", 1), event("b", 2)];
    let mut playback = Playback::from_file(file(format!("{a}{b}"))).unwrap();
    let mut told = Vec::new();
    for (number, target, most) in [(1, PODS, 9), (2, WATCH, 2), (3, PODS, 9), (4, WATCH, 9)] {
        use core::task::{Context, Poll, Waker};
        use listwatch_core::transport::{Incoming, ReadContext};
        playback.open(RequestId(number), &Request::parse(target));
        let (mut cx, mut buf, mut body) = (Context::from_waker(Waker::noop()), [0; 1000], Vec::new());
        for _ in 0..most {
            let context = ReadContext { cx: &mut cx, now: Instant::ZERO, max_wait: None };
            match playback.poll_read(context, &mut buf) {
                Poll::Ready(Incoming::Head { .. }) => {}
                Poll::Ready(Incoming::Data { len, .. }) => body.extend_from_slice(&buf[..len]),
                _ => break,
            }
        }
        told.push(String::from_utf8(body).unwrap());
    }
    assert_eq!((&told[1], &told[3]), (&a, &b));
    assert!(told[2].contains("\"a\"") && !told[2].contains("\"b\""), "{}", told[2]);
}

#[test]
fn a_saved_page_has_no_next_one() {
    let page = r#"{"kind":"PodList","metadata":{"continue":"x"},"items":[]}"#;
    let mut player = Player::new(file(page));
    assert_eq!(player.ask("/api/v1/pods?limit=5&continue=x").ending, Ending::Over);
    assert_eq!(player.playback.summary().lists.left, 1);
    let mut player = Player::new(file(page));
    assert_eq!(player.ask("/api/v1/pods?limit=5").text(), page);
    assert_eq!(player.ask("/api/v1/pods?limit=5&continue=x").ending, Ending::Over);
}

#[test]
fn a_watch_log_is_an_empty_list_and_a_watch_with_the_bytes_of_the_file() {
    let lines = "{\"type\":\"ADDED\",\"object\":{}}\n{\"type\":\"DELETED\",\"object\":{}}\n";
    for log in [KUBECTL_WATCH, lines, "{\"object\":{},\"type\":\"ADDED\"}\n"] {
        for bytes in packings(log) {
            let mut player = Player::new(file(bytes));
            let list: serde_json::Value = serde_json::from_slice(&player.ask(PODS).body).unwrap();
            assert_eq!(list["items"].as_array().map(Vec::len), Some(0));
            let played = player.ask(WATCH);
            assert_eq!((played.text(), &played.ending), (log, &Ending::End));
            assert_eq!(played.head.unwrap().content_type.as_deref(), Some("application/json"));
            assert_eq!(player.ask(WATCH).ending, Ending::Over);
        }
    }
}

#[test]
fn a_log_with_thousands_of_errors_is_played_in_a_few_times_its_length() {
    let event = |version: u32| {
        let metadata = format!(r#"{{"name":"{version}","resourceVersion":"{version}"}}"#);
        format!(r#"{{"type":"ADDED","object":{{"metadata":{metadata}}}}}"#) + "\n"
    };
    let error = "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410}}\n";
    let all_behind: String = (1..2000).map(event).chain((1..2000).map(|_| error.to_owned())).collect();
    let between: String = (1..2000).map(|version| event(version) + error).collect();
    for log in [all_behind, between] {
        let mut player = Player::new(file(&log));
        let (mut told, mut errors) = (0, 0);
        while !player.playback.is_complete() {
            let (list, watch) = (player.ask(PODS), player.ask(WATCH));
            told += list.body.len() + watch.body.len();
            errors += watch.text().matches("ERROR").count() as u64;
        }
        let summary = player.playback.summary();
        assert!(told < 40 * log.len(), "{told} bytes of {}", log.len());
        assert_eq!(errors + summary.passed_errors, 1999);
        assert!(errors >= 16 && summary.passed_errors > 1000, "{errors}");
    }
}

#[test]
fn a_watch_log_goes_on_with_a_new_watch_behind_each_error() {
    let event = |kind: &str, name: &str, version: u32| {
        let metadata = format!(r#"{{"name":"{name}","resourceVersion":"{version}"}}"#);
        format!(r#"{{"type":"{kind}","object":{{"metadata":{metadata}}}}}"#) + "\n"
    };
    let error = "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410}}\n";
    let first = [&event("ADDED", "a", 1), &event("ADDED", "b", 2), &event("MODIFIED", "a", 3), error].concat();
    let second = [&event("DELETED", "b", 4), &event("ADDED", "c", 5), error].concat();
    let pretty = |log: &str| {
        let values = serde_json::Deserializer::from_str(log).into_iter::<serde_json::Value>();
        values.map(|event| serde_json::to_string_pretty(&event.unwrap()).unwrap() + "\n").collect::<String>()
    };
    for (first, second) in [(first.clone(), second.clone()), (pretty(&first), pretty(&second))] {
        for bytes in packings(&format!("{first}{second}")) {
            let mut player = Player::new(file(bytes));
            player.ask(PODS);
            assert_eq!(player.ask(WATCH).text(), first);
            let summary = player.playback.summary();
            assert_eq!((summary.watches.answered, summary.watches.left, summary.lists.left), (1, 1, 0));
            let list: serde_json::Value = serde_json::from_slice(&player.ask(PODS).body).unwrap();
            assert_eq!(list["metadata"]["resourceVersion"], "3");
            let names: Vec<_> =
                list["items"].as_array().unwrap().iter().map(|it| it["metadata"]["name"].clone()).collect();
            assert_eq!(names, ["b", "a"]);
            let played = player.ask(WATCH);
            assert_eq!((played.text(), &played.ending), (&*second, &Ending::End));
            // Nothing is behind the last error.
            assert_eq!(player.ask(PODS).ending, Ending::Over);
            assert_eq!(player.playback.summary().watches.left, 0);
        }
    }
}

#[test]
fn a_capture_may_begin_with_its_version_and_have_blank_lines() {
    let lines = exchange(0, 1, PODS, "l");
    let start = r#"{"capture":1,"started":"2026-11-20T10:41:52Z"}"#.to_owned();
    let with_start = text(&[&[start], &lines[..]].concat());
    for bytes in [text(&lines), with_start.replace('\n', "\r\n"), with_start.replace('\n', "\n\n")] {
        for bytes in packings(&bytes) {
            assert_eq!(Player::new(file(bytes)).ask(PODS).text(), "l");
        }
    }
}

#[test]
fn a_byte_order_mark_and_white_space_in_front_do_no_harm() {
    let capture = text(&exchange(0, 1, PODS, "l"));
    assert_eq!(Player::new(file(format!("\u{feff}\n  {capture}"))).ask(PODS).text(), "l");
    assert_eq!(Player::new(file(format!("\u{feff}{KUBECTL_LIST}"))).ask(PODS).text(), KUBECTL_LIST);
    let blank = " \n".repeat(100_000);
    assert_eq!(Player::new(file(format!("{blank}{KUBECTL_LIST}"))).ask(PODS).text().trim_start(), KUBECTL_LIST);
    let mut player = Player::new(file(format!("\u{feff} {KUBECTL_WATCH}")));
    assert_eq!(player.ask(WATCH).text().trim_start(), KUBECTL_WATCH);
}

#[test]
fn a_list_comes_in_chunks_too() {
    let mut player = Player::with_config(file(KUBECTL_LIST), PlaybackConfig::new().chunks(Chunks::AtMost(1)));
    let played = player.ask(PODS);
    assert_eq!((played.text(), played.chunks.len()), (KUBECTL_LIST, KUBECTL_LIST.len()));
}

#[test]
fn what_cannot_be_played_is_said_with_what_can() {
    let advice = "give a capture, the output of `kubectl get --watch --output-watch-events -o json`, or that of \
                  `kubectl get -o json`";
    for (bytes, found) in [
        ("apiVersion: v1\n", "this is no JSON object: it begins with 'a'"),
        ("\u{0}x", "this is no JSON object: it begins with the byte 0x00"),
        ("[{}]", "this is a JSON array"),
        ("{\"foo\":1}", "this is JSON of an unknown shape: its first key is \"foo\""),
        ("{}", "this is JSON of an unknown shape: its first object has no key"),
        (
            "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"spec\":{}}",
            "this is a single object of kind \"Pod\", and no list",
        ),
        ("{\"metadata\":{}}", "this is a single object, and no list"),
    ] {
        let (error, message) = refusal(bytes);
        assert_eq!((error.kind(), error.line()), (CaptureErrorKind::Unrecognized, None));
        assert_eq!(message, format!(": {found}; {advice}"));
    }
    for empty in ["", " \n\n", "\u{feff}"] {
        let (error, message) = refusal(empty);
        assert_eq!((error.kind(), message), (CaptureErrorKind::Empty, format!(": the file is empty; {advice}")));
    }
}

#[test]
fn a_playback_may_go_to_another_thread() {
    fn is_send<T: Send + 'static>() {}
    is_send::<Playback>();
}
