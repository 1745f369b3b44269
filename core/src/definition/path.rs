//! Places in the objects of a schema, by the paths that columns, scales and selectable fields name (JSONPath).

use super::structural::{ANY, INT_OR_STRING};
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use serde_json::Value;

/// A step of a path.
#[derive(Debug, PartialEq)]
pub(super) enum Step {
    Field(String),
    /// One element of a list, or several: `[0]`, `[*]`, `[?(@.type=="Ready")]`.
    Elements,
}

/// What there is at a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Place<'s> {
    Schema(&'s Value),
    /// Metadata, of this type.
    Metadata(&'static str),
    /// The schema takes anything there.
    Anything,
}

impl Place<'_> {
    /// The type that a column of it has.
    pub(super) fn column_type(self) -> &'static str {
        match self {
            Self::Schema(schema) if schema["format"] == "date-time" => "date",
            Self::Schema(schema) => match schema["type"].as_str() {
                Some("integer") => "integer",
                Some("number") => "number",
                Some("boolean") => "boolean",
                _ => "string",
            },
            Self::Metadata(of) => of,
            Self::Anything => "string",
        }
    }
}

/// The steps of a path, such as `.spec.replicas`, or `.metadata.labels.example\.com/zone`.
///
/// # Errors
/// It is none.
pub(super) fn steps(path: &str) -> Result<Vec<Step>, String> {
    let mut steps = Vec::new();
    let mut rest = path;
    while let Some(first) = rest.chars().next() {
        let read = match first {
            '.' => field(&rest[1..]),
            '[' => bracket(rest),
            _ => None,
        };
        let (step, left) = read.ok_or_else(|| format!("`{path}` is no path; `.spec.replicas` is one"))?;
        steps.push(step);
        rest = left;
    }
    if steps.is_empty() { Err("the path is empty; `.spec.replicas` is one".to_owned()) } else { Ok(steps) }
}

/// A name up to the next `.` or `[`, in which a backslash takes the next character as it is.
fn field(text: &str) -> Option<(Step, &str)> {
    let (mut name, mut is_escaped) = (String::new(), false);
    let end = text.char_indices().find(|(_, letter)| {
        let ends = !is_escaped && matches!(letter, '.' | '[');
        is_escaped = *letter == '\\' && !is_escaped;
        if !ends && !is_escaped {
            name.push(*letter);
        }
        ends
    });
    let left = end.map_or("", |(at, _)| &text[at..]);
    (!name.is_empty()).then_some((Step::Field(name), left))
}

fn bracket(text: &str) -> Option<(Step, &str)> {
    let end = match text.starts_with("[?(") {
        true => text.find(")]")? + 1,
        false => text.find(']')?,
    };
    let (inside, left) = (text.get(1..end)?, &text[end + 1..]);
    let quoted = inside.strip_prefix('\'').and_then(|name| name.strip_suffix('\''));
    let step = quoted.map_or(Step::Elements, |name| Step::Field(name.to_owned()));
    (!inside.is_empty()).then_some((step, left))
}

/// The place at a path in the objects of a schema.
///
/// # Errors
/// Its schema has no such place.
pub(super) fn place<'s>(schema: &'s Value, path: &str) -> Result<Place<'s>, String> {
    let steps = steps(path)?;
    if steps.first() == Some(&Step::Field("metadata".to_owned())) {
        return metadata(&steps[1..]).ok_or_else(|| format!("`{path}` is no place in an object's metadata"));
    }
    let mut at = schema;
    for step in &steps {
        let found = match step {
            Step::Field(name) => at["properties"].get(name).or_else(|| at.get("additionalProperties")),
            Step::Elements => at.get("items"),
        };
        at = match found {
            Some(below) => below,
            None if at[ANY] == true || at[INT_OR_STRING] == true => return Ok(Place::Anything),
            None => return Err(format!("the type has no place `{path}`")),
        };
    }
    Ok(Place::Schema(at))
}

fn metadata(steps: &[Step]) -> Option<Place<'static>> {
    let Some(Step::Field(name)) = steps.first() else { return None };
    let of = match (name.as_str(), steps.len()) {
        ("creationTimestamp" | "deletionTimestamp", 1) => "date",
        ("generation", 1) => "integer",
        ("name" | "namespace" | "uid" | "resourceVersion" | "generateName", 1) => "string",
        ("labels" | "annotations" | "finalizers" | "ownerReferences", _) => "string",
        _ => return None,
    };
    Some(Place::Metadata(of))
}

/// The schema of a place, to change it. An empty path is the object.
pub(super) fn place_mut<'s>(schema: &'s mut Value, path: &str) -> Option<&'s mut Value> {
    let steps = if path.is_empty() { Vec::new() } else { steps(path).ok()? };
    steps.iter().try_fold(schema, |at, step| match step {
        Step::Field(name) if at["properties"].get(name).is_some() => at.get_mut("properties")?.get_mut(name),
        Step::Field(_) => at.get_mut("additionalProperties"),
        Step::Elements => at.get_mut("items"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_path_names_a_place_of_the_schema_or_none() {
        let condition = json!({ "type": "object", "properties": { "status": { "type": "string" } } });
        let schema = json!({ "type": "object", "properties": {
            "spec": { "type": "object", "properties": {
                "replicas": { "type": "integer" },
                "ratio": { "type": "number" },
                "on": { "type": "boolean" },
                "since": { "type": "string", "format": "date-time" },
                "a.b": { "type": "string" },
                "labels": { "type": "object", "additionalProperties": { "type": "integer" } },
                "any": { ANY: true },
            } },
            "status": { "type": "object", "properties": { "conditions": { "type": "array", "items": condition } } },
        } });
        for (path, of) in [
            (".spec.replicas", "integer"),
            (".spec.ratio", "number"),
            (".spec.on", "boolean"),
            (".spec.since", "date"),
            (r".spec.a\.b", "string"),
            (".spec['a.b']", "string"),
            (".spec.labels.some", "integer"),
            (".spec.any.thing", "string"),
            (r#".status.conditions[?(@.type=="Ready")].status"#, "string"),
            (".status.conditions[0].status", "string"),
            (".metadata.creationTimestamp", "date"),
            (r".metadata.labels.example\.com/zone", "string"),
        ] {
            assert_eq!(place(&schema, path).map(Place::column_type), Ok(of), "{path}");
        }
        for path in [
            "",
            "spec.replicas",
            ".spec.other",
            ".spec.replicas.more",
            ".status[0]",
            ".metadata.other",
            ".spec..a",
            ".spec[",
        ] {
            assert!(place(&schema, path).is_err(), "{path}");
        }
    }
}
