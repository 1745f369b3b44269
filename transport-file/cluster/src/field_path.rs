//! Paths of fields: to each field of an object, and to each element of a list that has keys.

use crate::kinds::{FieldType, ListKey, ObjectType, Shape};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
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

    /// The step of the same sort that leads to an element of a list.
    pub(super) fn same_sort(&self, element: &Value) -> Option<Self> {
        match self {
            Self::Field(_) => None,
            Self::Key(keys, _) => Self::keyed(keys, element),
            Self::Element(_) => Some(Self::Element(element.to_string())),
        }
    }
}

/// The value of an element that a list has more than once.
const TWICE: &Value = &Value::Null;

/// The fields without fields of their own, and their values. Those that name the object are nobody's.
pub(super) fn leaves<'v>(of: ObjectType<'_>, object: &'v Value) -> BTreeMap<Path, &'v Value> {
    let mut found = BTreeMap::new();
    for (field, value) in object.as_object().into_iter().flatten() {
        match field.as_str() {
            "apiVersion" | "kind" => {}
            "metadata" => {
                let of = of.field(field).map_or(ObjectType::UNKNOWN, FieldType::object_type);
                let metadata = value.as_object().into_iter().flatten();
                let settable = ["annotations", "finalizers", "generateName", "labels", "ownerReferences"];
                for (field, value) in metadata.filter(|(field, _)| settable.contains(&field.as_str())) {
                    let path = ["metadata", field].map(|name| Step::Field(name.to_owned()));
                    collect(of.field(field), value, &mut path.to_vec(), &mut found);
                }
            }
            _ => collect(of.field(field), value, &mut vec![Step::Field(field.clone())], &mut found),
        }
    }
    found
}

/// Collects the leaves of a field.
fn collect<'v>(field: Option<&FieldType>, value: &'v Value, path: &mut Path, found: &mut BTreeMap<Path, &'v Value>) {
    let of = field.map_or(ObjectType::UNKNOWN, FieldType::object_type);
    match (field.map_or(&Shape::Plain, |field| &field.shape), value) {
        (Shape::Plain, Value::Object(fields)) if !fields.is_empty() => collect_fields(of, fields, path, found),
        (Shape::Set, Value::Array(list)) => {
            for element in list {
                path.push(Step::Element(element.to_string()));
                add_element(path, element, found);
                path.pop();
            }
        }
        (Shape::Keyed(keys), Value::Array(list)) => match list.iter().map(|it| Step::keyed(keys, it)).collect() {
            None => drop(found.insert(path.clone(), value)),
            Some::<Vec<Step>>(steps) => {
                for (step, element) in steps.into_iter().zip(list) {
                    path.push(step);
                    if field.is_some_and(FieldType::has_atomic_elements) {
                        add_element(path, element, found);
                    } else {
                        element.as_object().into_iter().for_each(|fields| collect_fields(of, fields, path, found));
                    }
                    path.pop();
                }
            }
        },
        _ => drop(found.insert(path.clone(), value)),
    }
}

fn add_element<'v>(path: &Path, element: &'v Value, found: &mut BTreeMap<Path, &'v Value>) {
    found.entry(path.clone()).and_modify(|known| *known = TWICE).or_insert(element);
}

fn collect_fields<'v>(
    of: ObjectType<'_>,
    fields: &'v Map<String, Value>,
    path: &mut Path,
    found: &mut BTreeMap<Path, &'v Value>,
) {
    for (field, value) in fields {
        path.push(Step::Field(field.clone()));
        collect(of.field(field), value, path, found);
        path.pop();
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
