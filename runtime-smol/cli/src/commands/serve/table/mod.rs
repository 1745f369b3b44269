//! Tables, as `kubectl get` asks for them (`Accept` with `as=Table`).

mod columns;
mod pod;

use super::date::RecordedDate;
use columns::{Column, columns};
use listwatch::decode;
use listwatch::time::WallTime;
use serde_json::{Map, Value, json};

/// How a client wants tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TableForm {
    version: &'static str,
    include: Include,
}

/// What is in each row beside its cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Include {
    Nothing,
    Metadata,
    Object,
}

/// Turns objects of one kind to tables.
#[derive(Clone)]
pub(super) struct Tables {
    form: TableForm,
    columns: &'static [Column],
    date: RecordedDate,
}

/// Turns the events of a watch to events of tables.
pub(super) struct TableEvents {
    tables: Tables,
    rest: Vec<u8>,
    has_columns: bool,
}

impl TableForm {
    /// The form that a request asks for; `None` if it does not ask for a table.
    pub(super) fn of(accept: &str, target: &str) -> Option<Self> {
        let version = accept.split(',').find_map(table_version)?;
        let query = target.split_once('?').map_or("", |(_, query)| query);
        let include = query.split('&').find_map(|pair| pair.strip_prefix("includeObject="));
        let include = match include {
            Some("None") => Include::Nothing,
            Some("Object") => Include::Object,
            _ => Include::Metadata,
        };
        Some(Self { version, include })
    }
}

/// The version of the table that one media type names.
fn table_version(clause: &str) -> Option<&'static str> {
    let mut parts = clause.split(';').map(str::trim);
    let is_json = parts.next() == Some("application/json");
    let parameters: Vec<&str> = parts.collect();
    let is_table = is_json && parameters.contains(&"as=Table") && parameters.contains(&"g=meta.k8s.io");
    let version = ["v1", "v1beta1"].into_iter().find(|version| parameters.contains(&&*format!("v={version}")));
    version.filter(|_| is_table)
}

impl Tables {
    /// Tables of a collection, such as `v1/pods`, with ages at a date.
    pub(super) fn new(form: TableForm, collection: &str, date: RecordedDate) -> Self {
        Self { form, columns: columns(collection), date }
    }

    /// The table of an object or of a list. Any other body is left as it is.
    pub(super) fn of(&self, body: &[u8]) -> Option<Vec<u8>> {
        let mut body: Value = serde_json::from_slice(body).ok()?;
        if !body.is_object() || (body["kind"] == "Status" && body["apiVersion"] == "v1") {
            return None;
        }
        let table = match body["items"].take() {
            Value::Array(items) => {
                let (kind, api_version) = (body["kind"].take(), body["apiVersion"].take());
                let kind = kind.as_str().and_then(|kind| kind.strip_suffix("List")).unwrap_or_default().to_owned();
                let typed = items.into_iter().map(|mut item| {
                    let fields = item.as_object_mut();
                    fields.into_iter().for_each(|fields| {
                        fields.entry("kind").or_insert_with(|| kind.clone().into());
                        fields.entry("apiVersion").or_insert_with(|| api_version.clone());
                    });
                    item
                });
                self.table(body["metadata"].take(), typed, true)
            }
            _ => {
                let version = json!({ "resourceVersion": body["metadata"]["resourceVersion"] });
                self.table(version, [body], true)
            }
        };
        Some(table.to_string().into_bytes())
    }

    fn table(&self, metadata: Value, objects: impl IntoIterator<Item = Value>, with_columns: bool) -> Value {
        let rows: Vec<Value> = objects.into_iter().map(|object| self.row(object)).collect();
        let columns: Option<Vec<Value>> = with_columns.then(|| self.columns.iter().map(definition).collect());
        let version = format!("meta.k8s.io/{}", self.form.version);
        let mut table = Map::new();
        table.insert("kind".into(), "Table".into());
        table.insert("apiVersion".into(), version.into());
        table.insert("metadata".into(), metadata);
        table.insert("columnDefinitions".into(), columns.into());
        table.insert("rows".into(), rows.into());
        table.into()
    }

    fn row(&self, object: Value) -> Value {
        let now = self.date.get();
        let cells: Vec<Value> = self.columns.iter().map(|column| (column.cell)(&object, now)).collect();
        match self.form.include {
            Include::Nothing => json!({ "cells": cells }),
            Include::Object => json!({ "cells": cells, "object": object }),
            Include::Metadata => {
                let version = format!("meta.k8s.io/{}", self.form.version);
                let metadata = &object["metadata"];
                let object = json!({ "kind": "PartialObjectMetadata", "apiVersion": version, "metadata": metadata });
                json!({ "cells": cells, "object": object })
            }
        }
    }
}

/// The columns of a collection, and the cells of one of its objects at a date.
pub(in crate::commands) fn cells_of(
    collection: &str,
    object: &Value,
    now: WallTime,
) -> (Vec<decode::Column>, Vec<Value>) {
    let named = |column: &Column| {
        let mut named = decode::Column::default();
        named.name = column.name.to_owned();
        named.format = if column.name == "Name" { "name".to_owned() } else { String::new() };
        named.priority = column.priority.into();
        named
    };
    columns(collection).iter().map(|column| (named(column), (column.cell)(object, now))).unzip()
}

fn definition(column: &Column) -> Value {
    let format = if column.name == "Name" { "name" } else { "" };
    let is_number = matches!(column.name, "Up-to-date" | "Available" | "Desired" | "Current" | "Data" | "Active");
    let kind = if is_number { "integer" } else { "string" };
    json!({ "name": column.name, "type": kind, "format": format, "description": "", "priority": column.priority })
}

impl TableEvents {
    pub(super) fn new(tables: Tables) -> Self {
        Self { tables, rest: Vec::new(), has_columns: false }
    }

    /// The events in these bytes, each as a table. Only the first table has its columns, as an API server sends them.
    pub(super) fn of(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.rest.extend_from_slice(bytes);
        let end = self.rest.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let lines: Vec<u8> = self.rest.drain(..end).collect();
        let mut events = Vec::new();
        for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            events.extend(self.event(line).unwrap_or_else(|| line.to_vec()));
            events.push(b'\n');
        }
        events
    }

    fn event(&mut self, line: &[u8]) -> Option<Vec<u8>> {
        let mut event: Value = serde_json::from_slice(line).ok()?;
        if !event.is_object() || event["type"] == "ERROR" {
            return None;
        }
        let object = event["object"].take();
        let version = json!({ "resourceVersion": object["metadata"]["resourceVersion"] });
        let with_columns = !std::mem::replace(&mut self.has_columns, true);
        // The row of a bookmark has the annotation that ends the initial events.
        event["object"] = self.tables.table(version, [object], with_columns);
        Some(event.to_string().into_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ACCEPT: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

    fn tables(target: &str) -> Tables {
        let form = TableForm::of(ACCEPT, target).unwrap();
        Tables::new(form, "v1/configmaps", RecordedDate::new("2026-11-22T10:00:00Z".parse().unwrap()))
    }

    fn config_map() -> Value {
        let metadata = json!({ "name": "a", "resourceVersion": "7", "creationTimestamp": "2026-11-22T09:59:00Z" });
        json!({ "kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata, "data": { "x": "1", "y": "2" } })
    }

    #[test]
    fn a_table_is_made_for_a_client_that_asks_for_one() {
        assert!(TableForm::of(ACCEPT, "/api/v1/pods").is_some_and(|form| form.include == Include::Metadata));
        for accept in ["", "application/json", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"] {
            assert_eq!(TableForm::of(accept, "/api/v1/pods?includeObject=Object"), None, "{accept}");
        }
    }

    #[test]
    fn each_row_has_its_cells_and_as_much_of_the_object_as_is_asked_for() {
        let list = json!({ "kind": "ConfigMapList", "apiVersion": "v1", "metadata": { "resourceVersion": "9" },
            "items": [config_map()] });
        for (target, kind) in [
            ("/api/v1/configmaps?limit=5&includeObject=Object", json!("ConfigMap")),
            ("/api/v1/configmaps", json!("PartialObjectMetadata")),
            ("/api/v1/configmaps?includeObject=None", Value::Null),
        ] {
            let table: Value =
                serde_json::from_slice(&tables(target).of(list.to_string().as_bytes()).unwrap()).unwrap();
            assert_eq!((&table["kind"], &table["metadata"]["resourceVersion"]), (&json!("Table"), &json!("9")));
            assert_eq!(table["rows"][0]["cells"], json!(["a", 2, "60s"]), "{target}");
            assert_eq!(table["rows"][0]["object"]["kind"], kind, "{target}");
        }
    }

    #[test]
    fn the_first_event_of_a_watch_has_the_columns_and_an_error_stays_as_it_is() {
        let mut events = TableEvents::new(tables("/api/v1/configmaps?watch=1"));
        let line = |kind: &str, object: Value| format!("{}\n", json!({ "type": kind, "object": object }));
        let error = line("ERROR", json!({ "kind": "Status", "code": 410 }));
        let bytes = [line("ADDED", config_map()), line("MODIFIED", config_map()), error.clone()].concat().into_bytes();
        let (head, tail) = bytes.split_at(30);
        let told = [events.of(head), events.of(tail)].concat();
        let told = String::from_utf8(told).unwrap();
        let told: Vec<&str> = told.split_inclusive('\n').collect();
        let columns = |line: &str| {
            let event: Value = serde_json::from_str(line).unwrap();
            event["object"]["columnDefinitions"].as_array().map(Vec::len)
        };
        assert_eq!((columns(told[0]), columns(told[1]), told[2]), (Some(3), None, error.as_str()));
    }

    /// The annotation ends the watch-list for its client.
    #[test]
    fn the_bookmark_of_a_table_has_a_row_with_its_annotations() {
        let mut events = TableEvents::new(tables("/api/v1/configmaps?watch=1&includeObject=Object"));
        let end =
            json!({ "metadata": { "resourceVersion": "9", "annotations": { "k8s.io/initial-events-end": "true" } } });
        let told = events.of(format!("{}\n", json!({ "type": "BOOKMARK", "object": end })).as_bytes());
        let told: Value = serde_json::from_slice(&told).unwrap();
        assert_eq!(told["object"]["rows"][0]["object"], end, "{told}");
    }
}
