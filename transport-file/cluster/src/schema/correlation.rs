//! Which value an update replaces (apiserver `cel/common` `CorrelatedObject`).

use super::structural::{ListType, Schema, keys_of};
use serde_json::Value;

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

    /// The element that an element replaces: in a list of keys, the one with the same keys.
    pub(super) fn element(self, element: &Value) -> Option<&'o Value> {
        old_element(self.schema.list_type(), self.value?, element)
    }
}

/// The element of an old list that has the same keys; `None` where elements have no keys.
pub(super) fn old_element<'o>(list_type: ListType<'_>, old: &'o Value, element: &Value) -> Option<&'o Value> {
    let ListType::Map(keys) = list_type else { return None };
    let wanted = keys_of(keys, element);
    old.as_array()?.iter().find(|old| keys_of(keys, old) == wanted)
}

/// Whether a value is the old one. Elements with keys may have another order.
pub(super) fn is_same(schema: &Schema, value: &Value, old: &Value) -> bool {
    match (value, old) {
        (Value::Array(elements), Value::Array(before)) => {
            let ListType::Map(_) = schema.list_type() else { return value == old };
            let is_same_element = |element: &Value| {
                let old = old_element(schema.list_type(), old, element);
                old.zip(schema.element()).is_some_and(|(old, schema)| is_same(schema, element, old))
            };
            elements.len() == before.len() && elements.iter().all(is_same_element)
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
