//! A server that answers with Tables, or without them.

use crate::watch::server::{Answer, Server, refusal};
use serde_json::{Value, json};
use std::io::{Read, Write};

/// An object with its cells.
pub(crate) type Row = (Value, Value);

/// How a server takes the wish for a Table.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Tables {
    Sent,
    /// Objects are sent instead.
    Unknown,
    /// The request is refused with 406, unless objects will do.
    Refused,
}

/// Name, Ready, Age, and a column for wide tables.
pub(crate) fn columns() -> Value {
    json!([
        { "name": "Name", "type": "string", "format": "name", "priority": 0 },
        { "name": "Ready", "type": "string", "format": "", "priority": 0 },
        { "name": "Age", "type": "string", "format": "", "priority": 0 },
        { "name": "Node", "type": "string", "format": "", "priority": 1 },
    ])
}

/// A pod in the namespace `n`, created long ago, with its cells.
pub(crate) fn pod(name: &str, version: &str, ready: &str) -> Row {
    let metadata = json!({ "name": name, "namespace": "n", "uid": name, "resourceVersion": version,
        "creationTimestamp": "2001-01-01T00:00:00Z" });
    let pod = json!({ "kind": "Pod", "apiVersion": "v1", "metadata": metadata, "status": { "ready": ready } });
    (pod, json!([name, ready, "5d", "node-1"]))
}

pub(crate) fn table(columns: Value, rows: &[Row]) -> Value {
    let rows: Vec<Value> = rows.iter().map(|(object, cells)| json!({ "cells": cells, "object": object })).collect();
    json!({ "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": { "resourceVersion": "9" },
        "columnDefinitions": columns, "rows": rows })
}

/// A server that lists these objects, and then tells these events, of any resource.
pub(crate) fn server(tables: Tables, listed: Vec<Row>, events: Vec<(&'static str, Row)>) -> Server {
    Server::of(move |path| {
        let as_table = path.contains("includeObject=");
        match path.contains("watch=") {
            _ if as_table && tables == Tables::Refused => refusal(406, "NotAcceptable", "only JSON will be served"),
            true => {
                let as_table = as_table && tables == Tables::Sent;
                stream(events.iter().map(|(event_type, row)| {
                    let object = if as_table { table(Value::Null, std::slice::from_ref(row)) } else { row.0.clone() };
                    json!({ "type": event_type, "object": object })
                }))
            }
            false if as_table && tables == Tables::Sent => Answer::json(200, table(columns(), &listed).to_string()),
            false => {
                let items: Vec<&Value> = listed.iter().map(|(object, _)| object).collect();
                let list = json!({ "kind": "PodList", "apiVersion": "v1", "metadata": { "resourceVersion": "9" },
                    "items": items });
                Answer::json(200, list.to_string())
            }
        }
    })
}

/// A watch that tells these events, and then nothing.
pub(crate) fn stream(events: impl Iterator<Item = Value>) -> Answer {
    let events: String = events.map(|event| format!("{event}\n")).collect();
    Answer::Stream(Box::new(move |mut connection| {
        let _gone = match events.len() {
            0 => Ok(()),
            length => connection.write_all(format!("{length:x}\r\n{events}\r\n").as_bytes()),
        };
        let _until_it_goes_away = connection.read(&mut [0]);
    }))
}
