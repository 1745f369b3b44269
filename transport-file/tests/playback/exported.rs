//! Exported Events.

use crate::playback::support::file;
use listwatch_transport_file::{CaptureError, ExportSummary, ExportedEvents, History, HistoryChange};
use serde_json::{Value, json};
use std::fs;

/// An Event with these fields, whose name is its version.
fn event(version: u64, fields: &Value) -> Value {
    let mut event = json!({ "apiVersion": "v1", "kind": "Event", "action": "Binding", "type": "Normal",
        "metadata": { "name": version.to_string(), "namespace": "web", "resourceVersion": version.to_string() } });
    event.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    event
}

fn at(minute: u32) -> String {
    format!("2026-11-22T02:{minute:02}:00Z")
}

/// The summary of a file, and its states: their seconds, versions and names.
fn told(content: &str) -> Result<Option<(ExportSummary, Vec<String>)>, CaptureError> {
    let path = file(content);
    let capture = path.with_extension("jsonl");
    let _may_be_left = fs::remove_file(&capture);
    let Some(events) = ExportedEvents::open(&path)? else { return Ok(None) };
    let Some(summary) = events.write_capture(&capture)? else { return Ok(None) };
    let mut history = History::from_file(&capture)?;
    let words = |object: &Value| {
        let metadata = &object["metadata"];
        format!("{} {}", metadata["name"].as_str().unwrap(), metadata["resourceVersion"].as_str().unwrap())
    };
    let mut told = Vec::new();
    for step in history.by_ref() {
        match &step.change {
            HistoryChange::Added(object) => told.push(format!("@{} added {}", step.at.as_secs(), words(object))),
            HistoryChange::Modified(object) => told.push(format!("@{} modified {}", step.at.as_secs(), words(object))),
            HistoryChange::Relisted { changed, .. } => assert!(changed.is_empty()),
            HistoryChange::Reached(_) => {}
            other => panic!("{other:?}"),
        }
    }
    assert!(history.error().is_none(), "{:?}", history.error());
    fs::remove_file(&capture).unwrap();
    assert!(!path.with_extension("jsonl.states").exists());
    Ok(Some((summary, told)))
}

fn list(events: &[Value]) -> String {
    json!({ "apiVersion": "v1", "items": events, "kind": "List" }).to_string()
}

fn lines(events: &[Value]) -> String {
    events.iter().map(|event| serde_json::to_string_pretty(event).unwrap() + "\n").collect()
}

#[test]
fn events_come_at_the_times_of_their_last_occurrences_in_their_order() {
    let series = json!({ "apiVersion": "events.k8s.io/v1", "eventTime": at(1), "series": { "count": 4, "lastObservedTime": at(6) } });
    let events = [
        event(17, &json!({ "lastTimestamp": at(5), "firstTimestamp": at(0), "count": 7, "type": "Warning" })),
        event(13, &json!({ "eventTime": "2026-11-22T02:03:00.500000Z", "lastTimestamp": null })),
        event(19, &series),
        event(12, &json!({ "firstTimestamp": at(2), "lastTimestamp": null, "eventTime": null })),
    ];
    let expected = ["@0 added 12 12", "@60 added 13 13", "@180 added 17 17", "@240 added 19 19"];
    for file in [list(&events), lines(&events)] {
        let (summary, told) = told(&file).unwrap().unwrap();
        assert_eq!(told, expected);
        assert_eq!((summary.events, summary.warnings, summary.occurrences), (4, 1, 13));
        let text = "4 Events (1 warning) that occurred 13 times, from 2026-11-22T02:02:00Z to 2026-11-22T02:06:00Z";
        assert_eq!(summary.to_string(), text);
    }
}

#[test]
fn what_a_log_tells_again_is_left_out_and_deletions_are_counted() {
    let first = event(10, &json!({ "lastTimestamp": at(1), "count": 1 }));
    let mut again = event(12, &json!({ "lastTimestamp": at(3), "count": 2 }));
    again["metadata"]["name"] = "10".into();
    let deleted = event(9, &json!({ "lastTimestamp": at(0) }));
    let told_by = |kind: &str, object: &Value| format!("{}\n", json!({ "type": kind, "object": object }));
    let log = [
        told_by("ADDED", &first),
        told_by("MODIFIED", &again),
        told_by("ADDED", &again),
        told_by("ERROR", &json!({ "kind": "Status", "code": 410 })),
        told_by("ADDED", &first),
        told_by("DELETED", &again),
        told_by("DELETED", &deleted),
        "no JSON\n".to_owned(),
    ];
    let (summary, told) = told(&log.concat()).unwrap().unwrap();
    assert_eq!(told, ["@0 added 9 9", "@60 added 10 10", "@180 modified 10 12"]);
    assert_eq!((summary.deletions, summary.occurrences, summary.unreadable), (2, 3, 1));
    assert!(
        summary.to_string().ends_with(
            "; left out: deletions, which a server makes after an hour: 2; left out: what cannot be read: 1"
        )
    );
}

#[test]
fn a_version_that_comes_behind_a_later_one_gets_the_next() {
    let events = [
        event(20, &json!({ "lastTimestamp": at(1) })),
        event(11, &json!({ "lastTimestamp": at(2) })),
        event(30, &json!({})),
    ];
    let (summary, told) = told(&list(&events)).unwrap().unwrap();
    assert_eq!(told, ["@0 added 20 20", "@60 added 11 21", "@60 added 30 30"]);
    assert_eq!((summary.reordered, summary.undated), (1, 1));
}

#[test]
fn a_file_with_other_objects_stays_as_it_is_and_one_that_breaks_off_is_told_up_to_there() {
    let pod = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "a", "resourceVersion": "5" } });
    let events = [event(7, &json!({ "lastTimestamp": at(1) })), pod, event(8, &json!({}))];
    for file in [list(&events), lines(&events), list(&events[1..2]), list(&[])] {
        assert!(told(&file).unwrap().is_none(), "{file}");
    }
    let whole = list(&[event(7, &json!({ "lastTimestamp": at(1) })), event(8, &json!({ "lastTimestamp": at(2) }))]);
    let (summary, told) = told(&whole[..whole.len() - 60]).unwrap().unwrap();
    assert_eq!(told, ["@0 added 7 7"]);
    assert!(summary.fault.unwrap().to_string().contains("the file ends within the list"));
}
