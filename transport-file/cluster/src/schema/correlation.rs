//! Which value an update replaces (apiserver `cel/common` `CorrelatedObject`).

use super::structural::{ListType, Schema, keys_of};
use serde_json::Value;
use std::collections::HashMap;

/// A value before an update, if there is one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Old<'o> {
    pub(super) schema: &'o Schema,
    pub(super) value: Option<&'o Value>,
}

impl<'o> Old<'o> {
    /// The value that a field had.
    pub(super) fn field(self, name: &str) -> Option<&'o Value> {
        self.value?.get(name).filter(|_| self.schema.field(name).is_some())
    }

    /// The elements of the list.
    pub(super) fn elements(self) -> OldElements<'o> {
        OldElements::of(self.schema.list_type(), self.value)
    }
}

/// The elements of a list before an update, by the values of their keys; none where elements have no keys.
#[derive(Debug)]
pub(super) struct OldElements<'o> {
    keys: &'o [String],
    by_keys: HashMap<Vec<&'o Value>, &'o Value>,
}

impl<'o> OldElements<'o> {
    fn of(list_type: ListType<'o>, old: Option<&'o Value>) -> Self {
        let (keys, list) = match (list_type, old) {
            (ListType::Map(keys), Some(Value::Array(list))) => (keys, list.as_slice()),
            _ => Default::default(),
        };
        let mut by_keys = HashMap::new();
        for old in list {
            by_keys.entry(keys_of(keys, old)).or_insert(old);
        }
        Self { keys, by_keys }
    }

    /// The element that an element replaces: the first with the same keys.
    pub(super) fn before(&self, element: &Value) -> Option<&'o Value> {
        if self.by_keys.is_empty() {
            return None;
        }
        self.by_keys.get(&keys_of(self.keys, element)).copied()
    }
}

/// Whether a value is the old one. Elements with keys may have another order.
pub(super) fn is_same(schema: &Schema, value: &Value, old: &Value) -> bool {
    match (value, old) {
        (Value::Array(elements), Value::Array(before)) => {
            let ListType::Map(_) = schema.list_type() else { return value == old };
            if elements.len() != before.len() {
                return false;
            }
            let before = Old { schema, value: Some(old) }.elements();
            elements.iter().all(|element| {
                let old = before.before(element);
                old.zip(schema.element()).is_some_and(|(old, schema)| is_same(schema, element, old))
            })
        }
        (Value::Object(fields), Value::Object(before)) => {
            let is_same_field = |(name, value): (&String, &Value)| {
                before.get(name).zip(schema.field(name)).is_some_and(|(old, schema)| is_same(schema, value, old))
            };
            fields.len() == before.len() && fields.iter().all(is_same_field)
        }
        _ => value == old,
    }
}
