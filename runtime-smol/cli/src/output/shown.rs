//! What the printer reads of an object.

use listwatch::decode::{Column, MetadataOnly, Raw, Row};
use serde_json::Value;

/// A decoded type whose objects can be printed.
pub(crate) trait Shown {
    /// The whole object; `Null` if the type has no more than metadata. A text says why it cannot be shown.
    fn json(&self) -> Value;

    /// The server's columns; none if it sent no Table.
    fn columns(&self) -> &[Column] {
        &[]
    }

    /// The server's cells, one for each column, or none.
    fn cells(&self) -> Vec<Value> {
        Vec::new()
    }
}

impl Shown for Raw {
    fn json(&self) -> Value {
        // The text quotes nothing of the object: no type but JSON is expected.
        self.decode().unwrap_or_else(|error| format!("cannot be shown: {error}").into())
    }
}

impl Shown for Value {
    fn json(&self) -> Value {
        self.clone()
    }
}

impl Shown for MetadataOnly {
    fn json(&self) -> Value {
        Value::Null
    }
}

impl<T: Shown> Shown for Row<T> {
    fn json(&self) -> Value {
        self.object.json()
    }

    fn columns(&self) -> &[Column] {
        self.columns()
    }

    fn cells(&self) -> Vec<Value> {
        self.cells()
    }
}
