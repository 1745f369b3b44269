//! The path of a field, as `listwatch_core::projection::Path` has it in a constant.

use serde_json::Value;
use std::str::FromStr;

/// The most steps of a path.
const MAX_STEPS: usize = 8;

/// The most bytes of a path.
const MAX_LEN: usize = 255;

/// A field of objects, such as `status.conditions[type=Ready].status`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FieldPath {
    text: String,
    steps: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq)]
enum Step {
    Member(String),
    Element(u32),
    /// The first element whose member `name` is `value`.
    Where {
        name: String,
        value: String,
    },
}

impl FieldPath {
    /// The path as it was given.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// The value in an object, found as a projection finds it.
    pub(crate) fn find<'v>(&self, object: &'v Value) -> Option<&'v Value> {
        self.steps.iter().try_fold(object, |value, step| match step {
            Step::Member(name) => value.as_object()?.get(name),
            Step::Element(place) => value.as_array()?.get(*place as usize),
            Step::Where { name, value: wanted } => value.as_array()?.iter().find(|element| {
                let member = element.as_object().and_then(|element| element.get(name));
                member.is_some_and(|member| is_written(member, wanted))
            }),
        })
    }

    /// The name of the last member, with the word of the condition before it.
    pub(crate) fn name(&self) -> String {
        match &self.steps[..] {
            [.., Step::Where { value, .. }, Step::Member(name)] => format!("{value}_{name}"),
            [.., Step::Member(name)] | [.., Step::Member(name), Step::Element(_)] => name.clone(),
            _ => self.text.clone(),
        }
    }
}

/// Whether a value is this string, or a number or a word that is written so.
fn is_written(value: &Value, text: &str) -> bool {
    match value {
        Value::String(string) => string == text,
        Value::Array(_) | Value::Object(_) => false,
        other => format!("{other}") == text,
    }
}

impl FromStr for FieldPath {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (mut steps, mut rest) = (Vec::new(), text);
        loop {
            let (step, behind) =
                if rest.starts_with('[') && !steps.is_empty() { bracket(rest)? } else { member(rest)? };
            let is_where = matches!(step, Step::Where { .. });
            steps.push(step);
            if behind.is_empty() {
                break;
            }
            rest = match behind.strip_prefix('.') {
                Some(name) if !name.starts_with('[') => name,
                None if behind.starts_with('[') && !is_where => behind,
                _ => return Err("a dot and a name, or a bracket, must follow; after a condition a dot"),
            };
        }
        match &steps[..] {
            [.., Step::Where { .. }] => Err("a path ends with a field, and not with a condition"),
            [_] if matches!(text, "kind" | "apiVersion") => Err("the items of a list have no kind and no apiVersion"),
            steps if steps.len() > MAX_STEPS => Err("a path has 8 steps at the most"),
            _ if text.len() > MAX_LEN => Err("a path has 255 bytes at the most"),
            _ => Ok(Self { text: text.to_owned(), steps }),
        }
    }
}

/// The name that `text` begins with, up to a dot or a bracket.
fn member(text: &str) -> Result<(Step, &str), &'static str> {
    let (name, behind) = text.split_at(text.find(['.', '[']).unwrap_or(text.len()));
    match name {
        "" => Err("a name of the path is empty"),
        name if name.contains([']', '=', '\'']) => Err("a name with such a character stands in brackets and quotes"),
        name => Ok((Step::Member(name.to_owned()), behind)),
    }
}

/// The pair of brackets that `text` begins with.
fn bracket(text: &str) -> Result<(Step, &str), &'static str> {
    let inside = &text[1..];
    let (step, behind) = if inside.starts_with('\'') {
        let (name, behind) = quoted(inside)?;
        (Step::Member(name.to_owned()), behind)
    } else {
        let (word, behind) = inside.split_at(inside.find(['=', ']']).unwrap_or(inside.len()));
        match behind.strip_prefix('=') {
            _ if word.is_empty() => return Err("a bracket of the path is empty"),
            Some(value) => {
                let (value, behind) = condition(value)?;
                (Step::Where { name: word.to_owned(), value: value.to_owned() }, behind)
            }
            None => (Step::Element(place(word)?), behind),
        }
    };
    behind.strip_prefix(']').map(|behind| (step, behind)).ok_or("a bracket of the path is not closed")
}

fn condition(text: &str) -> Result<(&str, &str), &'static str> {
    if text.starts_with('\'') {
        return quoted(text);
    }
    let (value, behind) = text.split_at(text.find(']').unwrap_or(text.len()));
    if value.is_empty() { Err("the value of a condition is empty") } else { Ok((value, behind)) }
}

/// What stands in the quotes that `text` begins with.
fn quoted(text: &str) -> Result<(&str, &str), &'static str> {
    let quoted = text[1..].split_once('\'').filter(|(quoted, _)| !quoted.is_empty());
    quoted.ok_or("a quotation in the path is empty, or has no end")
}

fn place(text: &str) -> Result<u32, &'static str> {
    let number = text.parse::<u16>().ok().filter(|_| !text.starts_with('+'));
    number.map(u32::from).ok_or("in brackets stands the place of an element, a condition, or a name in quotes")
}

#[cfg(test)]
mod tests {
    use super::*;
    use listwatch_core::projection::Path;
    use serde_json::json;

    #[test]
    fn a_field_path_is_accepted_exactly_where_core_accepts_it() {
        for text in [
            "spec.nodeName",
            "metadata.labels['example.com/zone']",
            "spec.containers[0].image",
            "status.conditions[type=Ready].status",
            "metadata.ownerReferences[controller=true].name",
            "a[b='c]d'].e",
            "a[0][1]",
            "a['b']['c'].d",
            "a.b.c.d.e.f.g.h",
            "data.kind",
            "kind",
            "apiVersion",
            "",
            ".",
            "a.",
            "a..b",
            "[0]",
            "a[]",
            "a[0",
            "a[+1]",
            "a[x]",
            "a[b=]",
            "a[b=c]",
            "a[b=c][0]",
            "a[b=c]d",
            "a[0]b",
            "a.[0]",
            "a['']",
            "a['b",
            "a=b",
            "a'b",
            "a[0]..b",
            "a.b.c.d.e.f.g.h.i",
        ] {
            let core = std::panic::catch_unwind(|| Path::new(text)).is_ok();
            assert_eq!(text.parse::<FieldPath>().is_ok(), core, "{text}");
        }
    }

    #[test]
    fn a_value_is_found_by_members_places_and_conditions() {
        let object = json!({ "a": [{ "t": "x", "v": 1 }, { "t": "y", "on": true, "v": 2 }], "b": { "c.d": "e" } });
        let find = |path: &str| path.parse::<FieldPath>().unwrap().find(&object).cloned();
        assert_eq!(find("a[0].v"), Some(json!(1)));
        assert_eq!(find("a[t=y].v"), Some(json!(2)));
        assert_eq!(find("a[on=true].v"), Some(json!(2)));
        assert_eq!(find("b['c.d']"), Some(json!("e")));
        assert_eq!((find("a[t=z].v"), find("a[2].v"), find("b.c"), find("a.v")), (None, None, None, None));
    }
}
