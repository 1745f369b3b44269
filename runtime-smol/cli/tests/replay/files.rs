//! Bare watch logs and lists, made from the bundled captures.

use crate::command::{bundled, replay};
use crate::notifications::Notifications;
use crate::zipped::gzip;
use listwatch_tests::scratch::{Scratch, gunzip};
use serde::Serialize;
use serde_json::ser::{PrettyFormatter, Serializer};
use serde_json::{Value, json};
use std::collections::BTreeMap;

const EVENTS: &str = "--print events --format json";

/// The bodies of all lists, or of all watches, of a capture.
fn bodies(name: &str, watches: bool) -> Vec<String> {
    let mut bodies = BTreeMap::<u64, String>::new();
    for line in gunzip(&bundled(&format!("{name}.jsonl.gz"))).lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        let Some(id) = record["id"].as_u64() else { continue };
        if let Some(path) = record["request"]["path"].as_str()
            && path.contains("watch=") == watches
        {
            bodies.insert(id, String::new());
        }
        if let (Some(body), Some(data)) = (bodies.get_mut(&id), record["data"].as_str()) {
            body.push_str(data);
        }
    }
    bodies.into_values().collect()
}

/// The changes that all watches of a capture told, without bookmarks, errors, and what was cut off.
fn changes(name: &str) -> Vec<Value> {
    let bodies = bodies(name, true);
    let events = bodies.iter().flat_map(|body| body.lines()).filter_map(|line| serde_json::from_str(line).ok());
    let changes: Vec<Value> = events.filter(|event: &Value| event["object"]["metadata"]["name"].is_string()).collect();
    assert!(changes.len() > 50, "{}", changes.len());
    changes
}

fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object["metadata"][field].as_str().unwrap_or_default()
}

fn key(object: &Value) -> String {
    format!("{}/{}", text(object, "namespace"), text(object, "name"))
}

fn store(versions: &BTreeMap<String, String>) -> Value {
    json!({ "store": versions.iter().map(|(key, version)| format!("{key} {version}")).collect::<Vec<_>>() })
}

/// The notifications of these changes after an empty list.
fn told_of(changes: &[Value]) -> Notifications {
    let (mut versions, mut told) = (BTreeMap::new(), Vec::new());
    for change in changes {
        let (key, rv) = (key(&change["object"]), text(&change["object"], "resourceVersion").to_owned());
        let old = if change["type"] == "DELETED" {
            let old = versions.remove(&key);
            let gone = json!({ "event": "delete", "key": key, "rv": rv, "final_state_unknown": false });
            told.extend(old.map(|_: String| gone));
            continue;
        } else {
            versions.insert(key.clone(), rv.clone())
        };
        told.push(match old {
            Some(old) => json!({ "event": "update", "key": key, "rv": rv, "old_rv": old }),
            None => json!({ "event": "add", "key": key, "rv": rv, "initial": false }),
        });
    }
    Notifications::from_parts(told, store(&versions))
}

/// As kubectl prints it.
fn pretty(value: &Value) -> String {
    let mut text = Vec::new();
    value.serialize(&mut Serializer::with_formatter(&mut text, PrettyFormatter::with_indent(b"    "))).unwrap();
    String::from_utf8(text).unwrap() + "\n"
}

#[track_caller]
fn plays(content: &str, expected: &Notifications) {
    for bytes in [content.as_bytes().to_vec(), gzip(content)] {
        let file = Scratch::new(bytes);
        for options in ["", "--type meta", "--type value --chunk 100", "--speed 1"] {
            let told = Notifications::read(&replay(&file, &format!("{EVENTS} {options}")).output());
            told.assert_same(expected, options);
        }
    }
}

#[test]
fn a_watch_log_of_one_event_a_line_is_told_event_by_event() {
    for name in ["gap", "chaos"] {
        let changes = changes(name);
        let log: String = changes.iter().map(|change| format!("{change}\n")).collect();
        plays(&log, &told_of(&changes));
    }
}

#[test]
fn a_watch_log_as_kubectl_prints_it_is_told_event_by_event() {
    for name in ["gap", "chaos"] {
        let changes = changes(name);
        plays(&changes.iter().map(pretty).collect::<String>(), &told_of(&changes));
    }
}

/// The last list of a capture: it has no pages.
fn last_list() -> String {
    bodies("pods-rollout", false).pop().unwrap()
}

/// Its items, and their notifications.
fn listed() -> (Vec<Value>, Notifications) {
    let mut list: Value = serde_json::from_str(&last_list()).unwrap();
    let Value::Array(items) = list["items"].take() else { panic!("no list") };
    assert!(items.len() > 20, "{}", items.len());
    let version = |item: &Value| text(item, "resourceVersion").to_owned();
    let add = |item: &Value| json!({ "event": "add", "key": key(item), "rv": version(item), "initial": true });
    let versions = items.iter().map(|item| (key(item), version(item))).collect();
    let told = Notifications::from_parts(items.iter().map(add), store(&versions));
    (items, told)
}

/// Its metadata come last, and its version is empty.
#[test]
fn a_list_as_kubectl_prints_it_is_told_as_the_initial_state() {
    let (items, told) = listed();
    let list = json!({ "apiVersion": "v1", "items": items, "kind": "List", "metadata": { "resourceVersion": "" } });
    plays(&pretty(&list), &told);
    plays(&list.to_string(), &told);
}

#[test]
fn a_list_as_the_server_sent_it_is_told_as_the_initial_state() {
    let (items, told) = listed();
    let items = Value::from(items);
    let front = r#"{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"77"},"items":"#;
    plays(&format!("{front}{items}}}\n"), &told);
    plays(&last_list(), &told);
}

#[test]
fn a_list_of_nothing_is_an_empty_state() {
    let nothing = Notifications::from_parts([], json!({ "store": [] }));
    let list = json!({ "apiVersion": "v1", "items": null, "kind": "List", "metadata": { "resourceVersion": "" } });
    plays(&pretty(&list), &nothing);
    plays(&list.to_string().replace("null", "[]"), &nothing);
}
