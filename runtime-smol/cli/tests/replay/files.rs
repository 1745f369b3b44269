//! Bare watch logs and lists, made from the bundled captures.

use crate::command::{bundled, replay};
use crate::notifications::Notifications;
use crate::replay::output::subject;
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

/// A ConfigMap.
fn map(name: &str, version: u64) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": name, "namespace": "d", "resourceVersion": version.to_string() } })
}

fn event(kind: &str, object: &Value) -> String {
    format!("{}\n", json!({ "type": kind, "object": object }))
}

const EXPIRED: &str = r#"{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","reason":"Expired","code":410}}
"#;

/// The events in short, without the cache.
fn events(content: impl AsRef<[u8]>, options: &str) -> Vec<String> {
    let output = replay(Scratch::new(content), &format!("--print events --format json {options}")).output();
    let events = output.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let events = events.filter(|event| event["event"].is_string());
    events
        .map(|event| format!("{} {} {}", text_of(&event, "event"), text_of(&event, "key"), text_of(&event, "rv")))
        .collect()
}

fn text_of<'e>(event: &'e Value, field: &str) -> &'e str {
    event[field].as_str().unwrap()
}

#[test]
fn what_follows_an_error_is_played_and_what_is_listed_again_without_an_object_deletes_it() {
    let added = |name: &str, version: u64| event("ADDED", &map(name, version));
    let behind =
        [EXPIRED, &added("a", 10), EXPIRED, EXPIRED, &added("b", 20), &event("MODIFIED", &map("b", 21))].concat();
    assert_eq!(events(&behind, ""), ["add d/a 10", "add d/b 20", "update d/b 21"]);
    let again = [&added("a", 10), &added("b", 20), EXPIRED, &added("b", 20), &added("c", 22)].concat();
    assert_eq!(events(&again, ""), ["add d/a 10", "add d/b 20", "delete d/a 10", "add d/c 22"]);
    let at_once = [added("a", 10), added("b", 20), added("b", 20), event("MODIFIED", &map("b", 30))].concat();
    for options in ["", "--type meta", "--chunk 7", "--speed 1"] {
        assert_eq!(
            events(&at_once, options),
            ["add d/a 10", "add d/b 20", "delete d/a 10", "update d/b 30"],
            "{options}"
        );
    }
}

#[test]
fn objects_and_lists_one_behind_the_other_are_played_by_their_differences() {
    let objects: String = [map("a", 5), map("b", 4), map("a", 6)].iter().map(pretty).collect();
    assert_eq!(events(&objects, ""), ["add d/a 5", "add d/b 4", "update d/a 6"]);
    let list = |items: Value| json!({ "apiVersion": "v1", "kind": "List", "items": items, "metadata": { "resourceVersion": "" } });
    let lists: String = [json!([map("a", 5)]), json!([map("a", 5), map("b", 7)]), json!([map("b", 8)])]
        .map(|it| pretty(&list(it)))
        .concat();
    assert_eq!(events(&lists, ""), ["add d/a 5", "add d/b 7", "delete d/a 5", "update d/b 8"]);
    let summary = replay(Scratch::new(lists), "--verbose").output();
    assert_eq!(subject(&summary, "requests")[2], "0 left over");
}

#[test]
fn objects_of_several_kinds_with_one_name_are_kept_apart() {
    let secret = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "a", "namespace": "d", "resourceVersion": "7" } });
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": [map("a", 5), secret] });
    let log = event("ADDED", &map("a", 5)) + &event("ADDED", &secret);
    for content in [list.to_string(), log] {
        let store = replay(Scratch::new(content), "--print store --format json").output();
        let expected = "{\"resource\":\"v1/configmaps\",\"store\":[\"d/a 5\"]}\n{\"resource\":\"v1/secrets\",\"store\":[\"d/a 7\"]}\n";
        assert_eq!(store, expected);
    }
}

#[test]
fn a_replay_reads_what_it_prints_for_programs() {
    let capture = bundled("pods-rollout.jsonl.gz");
    let printed = replay(&capture, EVENTS).output();
    let store = "--print store --format json";
    assert_eq!(replay(Scratch::new(printed), store).output(), replay(&capture, store).output());
}

#[test]
fn yaml_and_utf_16_are_played_as_the_json_that_they_stand_for() {
    let yaml = "apiVersion: v1\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: a, namespace: d, resourceVersion: \"5\"}\nkind: List\n";
    assert_eq!(events(yaml, ""), ["add d/a 5"]);
    let documents = "kind: ConfigMap\napiVersion: v1\nmetadata:\n  name: a\n  resourceVersion: '5'\n---\nkind: ConfigMap\napiVersion: v1\nmetadata:\n  name: a\n  resourceVersion: '6'\n";
    assert_eq!(events(documents, ""), ["add a 5", "update a 6"]);
    let log = event("ADDED", &map("a", 5)) + &event("MODIFIED", &map("a", 6));
    let units = "\u{feff}".encode_utf16().chain(log.encode_utf16());
    assert_eq!(events(units.flat_map(u16::to_le_bytes).collect::<Vec<u8>>(), ""), ["add d/a 5", "update d/a 6"]);
}

#[test]
fn what_is_no_recording_is_refused_by_its_name_with_a_remedy() {
    let page = r#"{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"9","continue":"x"},"items":[]}"#;
    let audit = r#"{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","verb":"create"}"#;
    let table = r#"{"kind":"Table","apiVersion":"meta.k8s.io/v1","rows":[]}"#;
    for (content, says) in [
        (page.to_owned(), "this is one page of a list, whose `continue` leads to the next one; save all of it by"),
        (
            audit.repeat(2),
            ":1: not an event of an audit log: `auditID`, `stage`, `verb` or `requestURI` is missing; correct",
        ),
        (
            table.to_owned(),
            "this is a Table; its rows are no objects; save whole objects, as with `-o json`, without `as=Table`",
        ),
    ] {
        let run = replay(Scratch::new(content), "");
        assert!(run.error(1).contains(says), "{run:?}");
    }
    let metadata = json!({ "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": { "name": "a", "resourceVersion": "5" } });
    let file = Scratch::new(event("ADDED", &metadata));
    let store = |options: &str| replay(&file, &format!("--print store --format json {options}")).output();
    assert_eq!(
        (store(""), store("--resource pods")),
        ("{\"store\":[\"a 5\"]}\n".into(), "{\"store\":[\"a 5\"]}\n".into())
    );
    assert!(subject(&replay(&file, "--resource po").output(), "cache") == ["1 object"]);
}
