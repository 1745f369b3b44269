//! Arbitrary bytes, and arbitrary writes, converted as an audit log.

use super::capture::File;
use super::rest;
use arbitrary::{Arbitrary, Unstructured};
use listwatch_transport_file::{AuditLog, CaptureErrorKind, History, HistoryChange};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fs;

/// A write of one of a few objects.
#[derive(Clone, Copy, Debug, Arbitrary)]
struct Write {
    verb: Verb,
    name: u8,
    version: u8,
    second: u8,
    status: bool,
    deleting: bool,
    held: bool,
    body: Body,
}

#[derive(Clone, Copy, Debug, Arbitrary)]
enum Verb {
    Create,
    Update,
    Delete,
    DeleteCollection,
    Evict,
    Get,
    List,
    Received,
}

#[derive(Clone, Copy, Debug, Arbitrary)]
enum Body {
    Object,
    Status,
    None,
}

/// Converts the file that `data` holds behind a byte, or the writes that it stands for.
///
/// # Panics
/// If the capture is none, or its history is not in order for each object.
pub fn run(data: &[u8]) {
    let Some((how, bytes)) = data.split_first() else { return };
    if how % 2 == 0 {
        return convert(bytes);
    }
    let events = rest::<Write>(&mut Unstructured::new(bytes)).into_iter().map(|write| format!("{}\n", event(write)));
    convert(events.collect::<String>().as_bytes());
}

fn convert(bytes: &[u8]) {
    let file = File::new(bytes);
    let Ok(log) = AuditLog::open([&file.0]) else { return };
    let path = file.0.with_extension("jsonl");
    let converted = log.write_capture(&path).map(|summary| summary.to_string());
    let history = History::from_file(&path);
    match history {
        _ if converted.is_err() => {}
        Ok(history) => assert_in_order(history),
        Err(error) => assert_eq!(error.kind(), CaptureErrorKind::NothingToPlay, "{error}"),
    }
    // The history reads it up to here.
    drop(fs::remove_file(&path));
}

/// Each state of an object has a later version than the one before, and is of an object that is there.
fn assert_in_order(mut history: History) {
    let mut newest = HashMap::<(String, Value), u64>::new();
    for step in &mut history {
        let place = |object: &Value| (step.resource.collection.clone(), object["metadata"]["name"].clone());
        let version = step.change.version();
        let before = match &step.change {
            HistoryChange::Added(object) | HistoryChange::Modified(object) => newest.insert(place(object), version),
            HistoryChange::Deleted(object) => {
                let before = newest.remove(&place(object));
                assert!(before.is_some(), "{step:?} of an object that is not there");
                before
            }
            HistoryChange::Relisted { changed, .. } => {
                newest.extend(changed.iter().map(|object| (place(object), 0)));
                None
            }
            HistoryChange::Reached(_) => None,
        };
        let is_added = matches!(step.change, HistoryChange::Added(_));
        assert!(!is_added || before.is_none(), "{step:?} of an object that is there");
        assert!(before.is_none_or(|before| before < version), "{step:?} behind {before:?}");
    }
    assert!(history.error().is_none(), "{:?}", history.error());
}

fn event(write: Write) -> Value {
    let Write { verb, name, version, second, status, deleting, held, body } = write;
    let (name, collection) = (format!("o{}", name % 4), "/api/v1/namespaces/n/pods");
    let own = format!("{collection}/{name}");
    let (verb, stage, path) = match verb {
        Verb::Create => ("create", "ResponseComplete", collection.to_owned()),
        Verb::Update => ("update", "ResponseComplete", own),
        Verb::Delete => ("delete", "ResponseComplete", own),
        Verb::DeleteCollection => ("deletecollection", "ResponseComplete", collection.to_owned()),
        Verb::Evict => ("create", "ResponseComplete", format!("{own}/eviction")),
        Verb::Get => ("get", "ResponseComplete", own),
        Verb::List => ("list", "ResponseComplete", collection.to_owned()),
        Verb::Received => ("patch", "RequestReceived", own),
    };
    // A name has several objects, one behind the other.
    let uid = format!("{name}-{}", version / 64);
    let mut metadata = json!({ "name": name, "namespace": "n", "uid": uid, "resourceVersion": version.to_string() });
    metadata["deletionTimestamp"] = if deleting { json!("2026-11-22T02:00:00Z") } else { Value::Null };
    metadata["finalizers"] = if held { json!(["x"]) } else { Value::Null };
    let object = json!({ "kind": "Pod", "apiVersion": "v1", "metadata": metadata });
    let response = match body {
        Body::Object if verb == "list" || verb == "deletecollection" => {
            json!({ "kind": "PodList", "apiVersion": "v1", "items": [object] })
        }
        Body::Object => object,
        Body::Status => json!({ "kind": "Status", "apiVersion": "v1" }),
        Body::None => Value::Null,
    };
    json!({
        "kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "RequestResponse", "auditID": second.to_string(),
        "stage": stage, "requestURI": path, "verb": verb, "responseStatus": { "code": if status { 404 } else { 200 } },
        "responseObject": response, "stageTimestamp": format!("2026-11-22T02:00:{:02}Z", second % 60),
    })
}
