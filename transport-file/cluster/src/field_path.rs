//! Paths of fields: to each field of an object, and to each element of a list that has keys.

use crate::kinds::{ListKey, Shape};
use serde_json::Value;
use std::sync::Arc;

/// The path of a field, or of an element of a list that has keys.
pub(super) type Path = Vec<Step>;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Step {
    Field(String),
    /// The element of a list whose keys have these values, as JSON.
    Key(Arc<[ListKey]>, Vec<String>),
    /// The element of a set, as JSON.
    Element(String),
}

impl Step {
    /// How many bytes it has.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Field(name) | Self::Element(name) => name.len(),
            Self::Key(_, values) => values.iter().map(String::len).sum(),
        }
    }

    /// The step to an element of a list with keys, if it has all of them.
    pub(super) fn keyed(keys: &Arc<[ListKey]>, element: &Value) -> Option<Self> {
        let fields = element.as_object()?;
        let value = |(key, default): &ListKey| {
            let given = fields.get(&**key).filter(|value| !value.is_null()).map(Value::to_string);
            given.or_else(|| default.clone())
        };
        keys.iter().map(value).collect::<Option<_>>().map(|values| Self::Key(Arc::clone(keys), values))
    }

    /// The step to an element of a list of this shape, if it can be told apart.
    pub(super) fn to(shape: &Shape, element: &Value) -> Option<Self> {
        match shape {
            Shape::Set => Some(Self::Element(element.to_string())),
            Shape::Keyed(keys) => Self::keyed(keys, element),
            Shape::Plain | Shape::Atomic | Shape::Patched(_) => None,
        }
    }
}

/// A path as messages have it: `.spec.containers[name="web"].image`.
pub(super) fn text(path: &[Step]) -> String {
    path.iter()
        .map(|step| match step {
            Step::Field(field) => format!(".{field}"),
            Step::Key(keys, values) => {
                let keys = keys.iter().zip(values);
                let mut keys: Vec<String> = keys.map(|((key, _), value)| format!("{key}={value}")).collect();
                keys.sort_unstable();
                format!("[{}]", keys.join(","))
            }
            Step::Element(value) => format!("[={value}]"),
        })
        .collect()
}
