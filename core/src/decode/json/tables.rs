//! Tables: the cells that a server prints of each object, beside the object.

use super::super::answer::{Decode, Ending, Part};
use super::answers::{Content, Frames, unreadable};
use super::decoder::Decoder;
use super::list::ListMeta;
use super::metadata::DecodeOptions;
use super::reader::{Error, Text};
use crate::framing::Framing;
use crate::object::{Object, ObjectHandle};
use crate::request::Query;
use crate::transport::ResponseHead;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::marker::PhantomData;
use memchr::memmem;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;

/// Decodes `meta.k8s.io` Tables into [`Row`]s: each object, and the cells that `kubectl get` prints of it.
///
/// Use it with [`Resource::as_table`](crate::Resource::as_table). From a server that sends no Tables, it decodes objects
/// as [`Json`](super::Json) does, without cells. An event of a watch is copied once, without its Table, so it costs more
/// than an event of `Json`.
///
/// ```
/// use listwatch_core::cache::Indexer;
/// use listwatch_core::decode::{DecodeOptions, Raw, Tables};
/// use listwatch_core::informer::InformerIn;
/// use listwatch_core::storage::Heap;
/// use listwatch_core::{InformerConfig, Resource};
///
/// let pods = Resource::named("v1/pods")?.as_table();
/// let decoder = Tables::<Raw>::new(DecodeOptions::default());
/// let informer = InformerIn::<_, _, Heap>::with_decoder(pods, InformerConfig::default(), decoder, Indexer::default());
/// # Ok::<(), listwatch_core::request::ParseResourceError>(())
/// ```
#[derive(Debug)]
pub struct Tables<T> {
    frames: Frames,
    reader: Reader,
    target: PhantomData<fn() -> T>,
}

/// An object with the cells that a server prints of it (`metav1.TableRow`); [`Tables`] decodes it.
///
/// A server that has no Tables sends the object alone. Then there are no columns and no cells.
#[derive(Clone, Debug, PartialEq)]
pub struct Row<T> {
    /// The object, or its metadata if the resource requests no more.
    pub object: T,
    columns: Arc<[Column]>,
    /// The cells as JSON, parsed on demand; empty if there are none.
    cells: Box<str>,
}

/// A column of a Table (`metav1.TableColumnDefinition`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Column {
    /// The name, such as `Name` or `Ready`.
    pub name: String,
    /// The type as in OpenAPI, such as `string` or `integer`.
    pub r#type: String,
    /// The format as in OpenAPI, such as `name`, or empty.
    pub format: String,
    /// The importance: 0 is always shown; of a greater number, only where there is room (kubectl's `-o wide`).
    pub priority: i32,
}

impl<T> Row<T> {
    fn new(object: T, columns: Arc<[Column]>, cells: &str) -> Self {
        let cells = if columns.is_empty() { "" } else { cells };
        Self { object, columns, cells: cells.into() }
    }

    /// The columns at the time of the row. Rows of one answer share them. Empty if the server has no Tables.
    pub fn columns(&self) -> &Arc<[Column]> {
        &self.columns
    }

    /// The cells, one for each column: strings, numbers, booleans, null, or nested values. Empty if the server sent none,
    /// or not as many as there are columns.
    pub fn cells(&self) -> Vec<Value> {
        let cells: Vec<Value> = serde_json::from_str(&self.cells).unwrap_or_default();
        if cells.len() == self.columns.len() { cells } else { Vec::new() }
    }
}

/// The decoder of single frames, and the columns of the last Table that named them.
#[derive(Debug)]
struct Reader {
    decoder: Decoder,
    columns: Arc<[Column]>,
}

/// The bytes of the cells of a row, and of the definitions of the columns, at the most. Longer ones are left out.
const CELLS_LIMIT: usize = 64 * 1024;

impl<T> Tables<T> {
    /// A decoder of rows of `T` with these options.
    pub fn new(options: DecodeOptions) -> Self {
        let frames = Frames::new(Framing::Table, options.frame_limit);
        let reader = Reader { decoder: Decoder::new(options), columns: Arc::from([]) };
        Self { frames, reader, target: PhantomData }
    }
}

impl<T> Default for Tables<T> {
    fn default() -> Self {
        Self::new(DecodeOptions::default())
    }
}

impl<T: DeserializeOwned> Decode for Tables<T> {
    type Object = ObjectHandle<Row<T>>;

    fn keeps_managed_fields(&self) -> bool {
        self.reader.decoder.options().managed_fields
    }

    fn start(&mut self, query: Query, head: &ResponseHead) {
        self.frames.start(query, head);
    }

    fn space(&mut self) -> &mut [u8] {
        self.frames.space()
    }

    fn take(&mut self, len: usize) {
        self.frames.take(len);
    }

    fn next_part(&mut self) -> Option<Part<ObjectHandle<Row<T>>>> {
        let Self { frames, reader, .. } = self;
        frames.next_part(|content| match content {
            Content::Item(item, list) => Some(reader.decoder.item_part(item, list, without_cells)),
            Content::Row(row, list) => Some(reader.row(row, list)),
            Content::Event(event) => Some(reader.event(event)),
            Content::Field(b"columnDefinitions", value) => {
                reader.note_columns(core::str::from_utf8(value).unwrap_or_default());
                None
            }
            Content::Field(..) => None,
        })
    }

    fn finish(&mut self) -> Ending<'_> {
        self.frames.finish()
    }
}

impl Reader {
    fn row<T: DeserializeOwned>(&mut self, row: &[u8], list: &ListMeta) -> Part<ObjectHandle<Row<T>>> {
        let row = match RowText::read(row) {
            Ok(row) => row,
            Err(error) => return unreadable(format!("a row of a Table cannot be read: {error}").into()),
        };
        let Some(object) = row.object else { return unreadable("a row of a Table has no object".into()) };
        let Self { decoder, columns } = self;
        decoder.item_part(object.get().as_bytes(), list, |object| with_cells(object, columns, row.cells))
    }

    fn event<T: DeserializeOwned>(&mut self, frame: &[u8]) -> Part<ObjectHandle<Row<T>>> {
        let Some((event_type, table)) = table_of(frame) else {
            return self.decoder.event_part(frame, without_cells);
        };
        table.columns.into_iter().for_each(|columns| self.note_columns(columns.get()));
        let Some(RowText { cells, object }) = only_row(table.rows) else {
            return unreadable("an event has a Table of several rows, or of what is no row".into());
        };
        // A Table without a row is the version alone, as a bookmark has it.
        let metadata = table.metadata.map_or("{}", RawValue::get);
        let object = object.map_or_else(|| format!(r#"{{"metadata":{metadata}}}"#), |object| object.get().into());
        let event = format!(r#"{{"type":{event_type},"object":{object}}}"#);
        let Self { decoder, columns } = self;
        decoder.event_part(event.as_bytes(), |object| with_cells(object, columns, cells))
    }

    /// Remembers the columns, which servers name in the first Table of a watch alone. Of too many, none is known.
    fn note_columns(&mut self, json: &str) {
        if json.len() > CELLS_LIMIT {
            self.columns = Arc::from([]);
            return;
        }
        let columns: Vec<Column> = serde_json::from_str::<Option<_>>(json).ok().flatten().unwrap_or_default();
        if !columns.is_empty() && columns != *self.columns {
            self.columns = columns.into();
        }
    }
}

fn with_cells<T>(object: Object<T>, columns: &Arc<[Column]>, cells: Option<&RawValue>) -> Object<Row<T>> {
    let cells = cells.map(RawValue::get).filter(|cells| cells.len() <= CELLS_LIMIT);
    let Object { meta, value } = object;
    Object { meta, value: Row::new(value, Arc::clone(columns), cells.unwrap_or_default()) }
}

fn without_cells<T>(Object { meta, value }: Object<T>) -> Object<Row<T>> {
    Object { meta, value: Row::new(value, Arc::from([]), "") }
}

/// The type of an event as JSON, and its Table; `None` if the event has no Table.
fn table_of(frame: &[u8]) -> Option<(&str, TableText<'_>)> {
    // Most events of a server without Tables end here, before anything is parsed.
    memmem::find(frame, br#""Table""#)?;
    let EventText { r#type, object } = serde_json::from_slice(frame).ok()?;
    let table: TableText<'_> = serde_json::from_str(object.get()).ok()?;
    let group = table.api_version.as_str();
    let is_table = table.kind.as_str() == "Table" && group.starts_with("meta.k8s.io/");
    is_table.then_some((r#type.get(), table))
}

/// The row of an event's Table, an empty one if the Table has none; `None` if it has several.
fn only_row(rows: Option<&RawValue>) -> Option<RowText<'_>> {
    let Some(rows) = rows.map(RawValue::get).filter(|rows| serde_json::from_str::<[u8; 0]>(rows).is_err()) else {
        return Some(RowText::default());
    };
    serde_json::from_str(rows).ok().map(|(row,)| row)
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct EventText<'a> {
    r#type: &'a RawValue,
    object: &'a RawValue,
}

/// `metav1.Table`.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default, bound(deserialize = "'de: 'a"))]
struct TableText<'a> {
    kind: Text<'a>,
    api_version: Text<'a>,
    metadata: Option<&'a RawValue>,
    #[serde(rename = "columnDefinitions")]
    columns: Option<&'a RawValue>,
    rows: Option<&'a RawValue>,
}

/// `metav1.TableRow`.
#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct RowText<'a> {
    cells: Option<&'a RawValue>,
    object: Option<&'a RawValue>,
}

impl<'a> RowText<'a> {
    fn read(row: &'a [u8]) -> Result<Self, String> {
        let text = core::str::from_utf8(row).map_err(|error| error.to_string())?;
        serde_json::from_str(text).map_err(|error| Error::of_json(&error, text).describe(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::{EventType, MetadataOnly, Raw};
    use serde_json::{Value, json};
    use std::string::{String, ToString};
    use std::vec;

    /// The parts of an answer to `query`, one chunk of seven bytes after the other.
    fn parts<T: DeserializeOwned>(tables: &mut Tables<T>, query: Query, body: &str) -> Vec<Part<ObjectHandle<Row<T>>>> {
        tables.start(query, &ResponseHead { status: 200, ..ResponseHead::default() });
        let mut parts = Vec::new();
        for chunk in body.as_bytes().chunks(7) {
            tables.extend_from_slice(chunk);
            while let Some(part) = tables.next_part() {
                parts.push(part);
            }
        }
        parts
    }

    fn columns() -> Value {
        json!([{ "name": "Name", "type": "string", "format": "name", "priority": 0 }, { "name": "Age", "type": "string" }])
    }

    fn row(name: &str, age: &str) -> Value {
        json!({ "cells": [name, age], "object": { "kind": "Pod", "metadata": { "name": name, "resourceVersion": "7" } } })
    }

    fn table(columns: Value, rows: Value) -> Value {
        json!({ "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": { "resourceVersion": "9" },
            "columnDefinitions": columns, "rows": rows })
    }

    fn event(event_type: &str, object: Value) -> String {
        json!({ "type": event_type, "object": object }).to_string() + "\n"
    }

    fn names<T>(row: &Row<T>) -> Vec<&str> {
        row.columns().iter().map(|column| &*column.name).collect()
    }

    #[test]
    fn a_list_as_a_table_has_the_objects_and_their_cells() {
        let mut tables = Tables::<Raw>::default();
        let body = table(columns(), json!([row("a", "1s"), row("b", "2s")])).to_string();
        let parts = parts(&mut tables, Query::List, &body);
        let [Part::Item(a), Part::Item(b)] = &parts[..] else { panic!("{parts:?}") };
        assert_eq!((a.key().as_str(), a.cells()), ("a", vec![json!("a"), json!("1s")]));
        assert_eq!((b.meta().resource_version(), names(b)), ("7", vec!["Name", "Age"]));
        assert!(Arc::ptr_eq(a.columns(), b.columns()) && a.object.as_str().starts_with("{\"kind\":\"Pod\""));
        assert_eq!(tables.finish(), Ending::List { resource_version: "9", continue_token: "" });
    }

    #[test]
    fn the_columns_of_the_first_event_are_those_of_the_others() {
        let mut tables = Tables::<Raw>::default();
        let body = event("ADDED", table(columns(), json!([row("a", "1s")])))
            + &event("MODIFIED", table(Value::Null, json!([row("a", "2s")])))
            + &event("MODIFIED", table(json!([]), json!([row("a", "2s")])))
            + &event("DELETED", table(json!([{ "name": "Other" }]), json!([row("a", "3s")])));
        let parts = parts(&mut tables, Query::Watch, &body);
        let told = parts.iter().map(|part| match part {
            Part::Event(event_type, row) => (*event_type, names(row), row.cells()),
            other => panic!("{other:?}"),
        });
        let told: Vec<_> = told.collect();
        assert_eq!(told[0], (EventType::Added, vec!["Name", "Age"], vec![json!("a"), json!("1s")]));
        assert_eq!(told[1], (EventType::Modified, vec!["Name", "Age"], vec![json!("a"), json!("2s")]));
        assert_eq!(told[2], told[1], "no columns are no other columns");
        assert_eq!(told[3], (EventType::Deleted, vec!["Other"], vec![]), "not as many cells as columns");
    }

    #[test]
    fn bookmarks_and_errors_are_read_whether_they_come_in_a_table_or_not() {
        let end =
            json!({ "metadata": { "resourceVersion": "12", "annotations": { "k8s.io/initial-events-end": "true" } } });
        let status = json!({ "kind": "Status", "apiVersion": "v1", "code": 410, "reason": "Expired" });
        let body = event("BOOKMARK", table(Value::Null, json!([{ "cells": ["", ""], "object": end }])))
            + &event("BOOKMARK", table(Value::Null, json!([])))
            + &event("BOOKMARK", json!({ "kind": "Pod", "metadata": { "resourceVersion": "13" } }))
            + &event("ERROR", status);
        let parts = parts(&mut Tables::<Raw>::default(), Query::Watch, &body);
        let versions = parts.iter().filter_map(|part| match part {
            Part::Bookmark { version, initial_events_end } => Some((&**version, *initial_events_end)),
            _ => None,
        });
        assert_eq!(versions.collect::<Vec<_>>(), [("12", true), ("9", false), ("13", false)]);
        assert!(matches!(&parts[3], Part::Error(status) if status.code == 410), "{parts:?}");
    }

    #[test]
    fn a_server_without_tables_sends_objects_without_cells() {
        let mut tables = Tables::<MetadataOnly>::default();
        let pod =
            json!({ "kind": "Table", "apiVersion": "furniture.example/v1", "metadata": { "name": "a" }, "rows": 4 });
        let list = json!({ "kind": "PodList", "metadata": { "resourceVersion": "9" }, "items": [pod] }).to_string();
        for (query, body) in [(Query::List, list), (Query::Watch, event("ADDED", pod))] {
            match &parts(&mut tables, query, &body)[..] {
                [Part::Item(a) | Part::Event(_, a)] => {
                    assert!(a.key().name() == "a" && a.columns().is_empty() && a.cells().is_empty());
                }
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn what_is_no_row_of_one_object_is_undecodable_and_the_answer_goes_on() {
        let bad = [json!({ "cells": [] }), json!({ "cells": [], "object": null }), json!(7), json!({ "object": [] })];
        for bad in bad {
            let mut tables = Tables::<Raw>::default();
            let body = table(columns(), json!([bad, row("a", "1s")])).to_string();
            let listed = parts(&mut tables, Query::List, &body);
            assert!(matches!(&listed[..], [Part::Undecodable(_), Part::Item(_)]), "{bad}: {listed:?}");
            let body = event("ADDED", table(Value::Null, json!([bad])))
                + &event("ADDED", table(Value::Null, json!([row("a", "")])));
            let told = parts(&mut tables, Query::Watch, &body);
            assert!(matches!(&told[..], [Part::Undecodable(_), Part::Event(..)]), "{bad}: {told:?}");
        }
        let several = event("ADDED", table(columns(), json!([row("a", ""), row("b", "")])));
        let told = parts(&mut Tables::<Raw>::default(), Query::Watch, &several);
        assert!(
            matches!(&told[..], [Part::Undecodable(error)] if error.error.to_string().contains("several rows")),
            "{told:?}"
        );
    }

    #[test]
    fn a_row_that_is_a_long_text_is_not_quoted_whole() {
        let body = table(columns(), json!(["x".repeat(1 << 20)])).to_string();
        let told = parts(&mut Tables::<Raw>::default(), Query::List, &body);
        assert!(matches!(&told[..], [Part::Undecodable(error)] if error.error.to_string().len() < 1_000), "{told:?}");
    }

    /// Megabytes of cells, or of columns, take many times as much memory as their text.
    #[test]
    fn cells_and_columns_without_end_are_left_out() {
        let many = "x".repeat(CELLS_LIMIT);
        let mut tables = Tables::<Raw>::default();
        let row = json!({ "cells": [many, ""], "object": { "metadata": { "name": "a" } } });
        let parts_of = |tables: &mut Tables<Raw>, body: Value| parts(tables, Query::List, &body.to_string());
        let told = parts_of(&mut tables, table(columns(), json!([row])));
        assert!(matches!(&told[..], [Part::Item(a)] if a.cells().is_empty()), "{told:?}");
        let told =
            parts_of(&mut tables, table(json!([{ "name": many }]), json!([{ "cells": [1], "object": row["object"] }])));
        assert!(matches!(&told[..], [Part::Item(a)] if a.columns().is_empty()), "{told:?}");
    }
}
