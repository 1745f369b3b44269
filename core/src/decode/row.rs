//! A row of a `meta.k8s.io` Table.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use serde::Deserialize;
use serde_json::Value;

/// An object with the cells that a server prints of it (`metav1.TableRow`); [`Tables`](super::Tables) decodes it.
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
    pub(super) fn new(object: T, columns: Arc<[Column]>, cells: &str) -> Self {
        let cells = if columns.is_empty() { "" } else { cells };
        Self { object, columns, cells: cells.into() }
    }

    /// The columns at the time of the row. Rows of one answer share them. Empty if the server has no Tables.
    #[must_use]
    pub fn columns(&self) -> &Arc<[Column]> {
        &self.columns
    }

    /// The cells, one for each column: strings, numbers, booleans, null, or nested values. Empty if the server sent none,
    /// or not as many as there are columns.
    #[must_use]
    pub fn cells(&self) -> Vec<Value> {
        let cells: Vec<Value> = serde_json::from_str(&self.cells).unwrap_or_default();
        if cells.len() == self.columns.len() { cells } else { Vec::new() }
    }
}
