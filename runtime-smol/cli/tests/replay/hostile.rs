//! Recordings that are made to do harm.

use crate::command::{Run, command, replay, run};
use crate::inert::{HOSTILE, UNTOLD, assert_none, trouble};
use crate::replay::output::subject;
use listwatch_tests::scratch::Scratch;
use serde_json::{Value, json};
use std::path::Path;

/// How everything can be printed.
const OUTPUTS: [&str; 5] =
    ["", "--print events", "--print events --format json", "--print store", "--print store --format json"];

const LIST: &str = "/api/v1/pods";
const WATCH: &str = "/api/v1/pods?watch=1";

/// A request and its answer, as lines of a capture.
fn exchange(id: usize, path: &str, status: u16, body: &str, end: &str) -> String {
    let records = [
        json!({ "t": id, "id": id, "request": { "method": "GET", "path": path, "headers": {} } }),
        json!({ "t": id, "id": id, "response": { "status": status, "headers": { "content-type": "application/json" } } }),
        json!({ "t": id, "id": id, "data": body }),
        json!({ "t": id, "id": id, "end": end }),
    ];
    records.map(|record| format!("{record}\n")).concat()
}

/// A list of a good object and of these.
fn list(items: &[Value]) -> String {
    let good = json!({ "metadata": { "name": "good", "resourceVersion": "1" } });
    let items: Vec<&Value> = [&good].into_iter().chain(items).collect();
    json!({ "kind": "PodList", "metadata": { "resourceVersion": "9" }, "items": items }).to_string()
}

fn refusal(code: u16, reason: &str, message: &str) -> String {
    json!({ "kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": message }).to_string()
}

/// A list, and a watch that brings this.
fn watched(event: &Value) -> String {
    exchange(1, LIST, 200, &list(&[]), "eof") + &exchange(2, WATCH, 200, &format!("{event}\n"), "eof")
}

fn recordings() -> Vec<(&'static str, String)> {
    let metadata = json!({ "name": HOSTILE, "namespace": HOSTILE, "resourceVersion": HOSTILE, "uid": "1" });
    let object = json!({ "metadata": metadata });
    let refused = exchange(1, LIST, 403, &refusal(403, HOSTILE, HOSTILE), "eof");
    let error = json!({ "type": "ERROR", "object": { "kind": "Status", "code": 410, "reason": HOSTILE } });
    let bad = json!({ "metadata": { "name": HOSTILE, "labels": 7 } });
    vec![
        ("a name, namespace and version", exchange(1, LIST, 200, &list(std::slice::from_ref(&object)), "eof")),
        ("a watched object", watched(&json!({ "type": "ADDED", "object": object }))),
        ("a reason", refused.clone() + &exchange(2, LIST, 200, &list(&[]), "eof")),
        ("a reason of the only list", refused),
        ("a reason of an event", watched(&error)),
        ("the key of an object that cannot be decoded", exchange(1, LIST, 200, &list(&[bad]), "eof")),
        ("the type of an event", watched(&json!({ "type": HOSTILE, "object": { "metadata": { "name": "a" } } }))),
    ]
}

#[test]
fn text_of_a_recording_never_reaches_the_terminal_raw() {
    let mut troubles = Vec::new();
    for (field, content) in recordings() {
        let file = Scratch::new(content);
        // Objects are told where objects are printed, and failures in the summary and on standard error.
        let is_object = field.contains("name") || field == "a watched object";
        let outputs = OUTPUTS.iter().filter(|output| output.is_empty() != is_object);
        let outputs: Vec<&&str> = if field.contains("decoded") { OUTPUTS.iter().collect() } else { outputs.collect() };
        for output in outputs {
            let run = replay(&file, output);
            troubles.extend(trouble(&run, &format!("{field} {output}")));
        }
    }
    assert_none(troubles);
}

#[test]
fn a_file_name_never_reaches_the_terminal_raw() {
    let bad = json!({ "metadata": { "labels": 7 } });
    let contents = [None, Some(list(&[bad])), Some(list(&[]) + "garbled"), Some(String::new())];
    let runs = contents.iter().map(|content| {
        let file = Scratch::path(HOSTILE);
        content.iter().for_each(|content| std::fs::write(&file, content).unwrap());
        (content, replay(&file, ""))
    });
    assert_none(runs.filter_map(|(content, run)| trouble(&run, &format!("a file with {content:?}"))));
}

fn run_with(arguments: &[&str]) -> Run {
    run(command(arguments))
}

#[test]
fn an_argument_never_reaches_the_terminal_raw() {
    let file = Scratch::new(list(&[]));
    let path = file.as_ref().to_str().unwrap();
    let index = format!("label:{HOSTILE}");
    let cases: [&[&str]; 15] = [
        &[HOSTILE],
        &["replay", path, HOSTILE],
        &["replay", path, &format!("--{HOSTILE}")],
        &["replay", path, "--speed", HOSTILE],
        &["replay", path, "--type", HOSTILE],
        &["replay", path, "--index", &index],
        &["replay", path, "--workers", HOSTILE],
        &["watch", "v1/pods", "-n", HOSTILE],
        &["watch", "v1/pods", "--for", HOSTILE],
        &["watch", "v1/pods", &format!("--{HOSTILE}=x")],
        &["completions", HOSTILE],
        &["new", HOSTILE],
        &["new", "shop", "--kind", HOSTILE],
        &["new", "shop", "--group", HOSTILE],
        &["new", "shop", "--listwatch", HOSTILE],
    ];
    assert_none(cases.iter().filter_map(|arguments| trouble(&run_with(arguments), &format!("{arguments:?}"))));
}

/// Programs read the original text.
#[test]
fn json_that_is_escaped_is_the_same_json() {
    let (_, content) = recordings().swap_remove(0);
    let file = Scratch::new(content);
    let lines = replay(&file, "--print events --format json").output();
    let told: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(told[1]["key"], format!("{HOSTILE}/{HOSTILE}"));
    assert_eq!(told[1]["rv"], HOSTILE);
    assert_eq!(told[2]["store"][0], format!("{HOSTILE}/{HOSTILE} {HOSTILE}"));
    assert!(lines.contains(r"\u001b") && lines.contains(r"\u202e") && lines.is_ascii(), "{lines}");
}

/// A recording decides how many there are, and how long they are.
#[test]
fn a_summary_tells_the_first_reasons_cut_and_counts_the_others() {
    let refused = |id: usize| {
        let reason = format!("Reason{id:02}{}", "x".repeat(20_000));
        exchange(id, LIST, 403, &refusal(403, &reason, ""), "eof")
    };
    let refused: String = (1..=50).map(refused).collect();
    let again = exchange(51, LIST, 403, &refusal(403, &format!("Reason01{}", "x".repeat(20_000)), ""), "eof");
    let file = Scratch::new(refused + &again + &exchange(52, LIST, 200, &list(&[]), "eof"));
    let summary = replay(&file, "").output();
    assert!(summary.len() < 4_000, "{} bytes were printed", summary.len());
    let relists = subject(&summary, "relists");
    assert_eq!(relists.len(), 17, "{relists:?}");
    assert!(relists[0].starts_with("2 after 403 Reason01xxx") && relists[0].ends_with("x… in the list"), "{relists:?}");
    assert_eq!(relists[16], "34 after others");
}

#[test]
fn the_text_of_an_object_that_cannot_be_decoded_is_cut() {
    let long = "x".repeat(1 << 20);
    for bad in [
        json!({ "metadata": { "name": long, "labels": 7 } }),
        json!({ "metadata": { "name": "a", "labels": long } }),
        json!({ "metadata": { "name": "a", "namespace": long, "labels": long } }),
    ] {
        let run = replay(Scratch::new(list(&[bad])), "");
        assert_eq!((run.status, run.stderr.lines().count()), (Some(0), 1), "{}", run.stderr.len());
        assert!(run.stderr.len() < 2_000 && run.stderr.contains('…'), "{} bytes", run.stderr.len());
    }
    let kind = format!("{{\"type\":\"{long}\",\"object\":{{\"metadata\":{{\"name\":\"a\"}}}}}}\n");
    let run =
        replay(Scratch::new(exchange(1, LIST, 200, &list(&[]), "eof") + &exchange(2, WATCH, 200, &kind, "eof")), "");
    assert!(run.stderr.len() < 2_000 && run.stderr.contains('…'), "{} bytes", run.stderr.len());
}

#[test]
fn a_bad_line_of_a_recording_is_told_cut_and_escaped() {
    let lines = [
        json!({ "capture": HOSTILE }).to_string(),
        json!({ "t": HOSTILE, "id": 1 }).to_string(),
        json!({ "t": 1, "id": 1, (HOSTILE): 1 }).to_string(),
        format!("{HOSTILE}\n"),
        exchange(1, HOSTILE, 200, "{}", HOSTILE),
        json!({ "t": 1, "id": 1, "x".repeat(1 << 20): 1 }).to_string(),
    ];
    let runs = lines.iter().map(|line| replay(Scratch::new(exchange(9, LIST, 200, "{}", "eof") + line), ""));
    for run in runs {
        assert_none(trouble(&run, UNTOLD));
        assert!(run.stderr.len() < 6_000, "{} bytes", run.stderr.len());
    }
}

#[test]
fn a_path_that_is_no_text_is_escaped() {
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt;
        let path = std::ffi::OsStr::from_bytes(b"/none/\xff\x1b[2J\x9b31m\xe2\x80\xae");
        let run = replay(Path::new(path), "");
        assert!(run.error(1).contains(r"\u001b[2J") && run.stderr.contains(r"\u202e"), "{}", run.stderr);
    }
}

/// Its first state comes in a watch-list, of which one object is over the limit of a frame.
#[test]
fn a_recording_without_a_state_tells_why_an_object_is_not_decoded() {
    let long = json!({ "metadata": { "name": "long", "resourceVersion": "1" }, "data": "x".repeat(9 << 20) });
    let body = format!("{}\n", json!({ "type": "ADDED", "object": long }));
    let path = format!("{WATCH}&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan");
    let file = Scratch::new(exchange(1, &path, 200, &body, "eof"));
    let run = replay(&file, "");
    let reason = "an object could not be decoded: longer than the limit of 8388608 bytes);";
    let last = run.stderr.lines().last().unwrap_or_default();
    assert!(run.status == Some(1) && last.contains(reason), "{}", run.stderr);
}
