//! `-o custom-columns=…`, as kubectl has it: headers, and JSONPath expressions of the kinds that columns need.

use serde_json::Value;

/// What stands for a value that is not there.
const NONE: &str = "<none>";

/// Columns of a table, by their headers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CustomColumns(Vec<(String, Vec<Step>)>);

#[derive(Clone, Debug, PartialEq)]
enum Step {
    Member(String),
    /// An element by its place; from the end if that is negative.
    Element(i64),
    /// All elements of a list, or all values of a map.
    All,
    /// The elements in which the path leads to the value, or to another one.
    Where {
        path: Vec<Self>,
        value: String,
        is_equal: bool,
    },
}

impl CustomColumns {
    pub(crate) fn headers(&self) -> Vec<String> {
        self.0.iter().map(|(header, _)| header.clone()).collect()
    }

    /// The cells of an object.
    pub(crate) fn cells(&self, object: &Value) -> Vec<String> {
        self.0.iter().map(|(_, path)| text(&found(vec![object], path))).collect()
    }

    /// Reads the value behind `custom-columns=`.
    pub(super) fn parse(text: &str) -> Result<Self, &'static str> {
        let column = |text: &str| {
            let (header, path) = text.split_once(':').ok_or("each column is HEADER:PATH")?;
            let path = path.strip_prefix('{').and_then(|path| path.strip_suffix('}')).unwrap_or(path);
            Ok((header.to_owned(), steps(path)?))
        };
        text.split(',').map(column).collect::<Result<_, _>>().map(Self)
    }
}

fn found<'v>(values: Vec<&'v Value>, path: &[Step]) -> Vec<&'v Value> {
    path.iter().fold(values, |values, step| values.into_iter().flat_map(|value| behind(value, step)).collect())
}

/// The values behind one step.
fn behind<'v>(value: &'v Value, step: &Step) -> Vec<&'v Value> {
    match (step, value) {
        (Step::Member(name), Value::Object(members)) => members.get(name).into_iter().collect(),
        (Step::Element(place), Value::Array(items)) => {
            let place = if *place < 0 { *place + items.len() as i64 } else { *place };
            usize::try_from(place).ok().and_then(|place| items.get(place)).into_iter().collect()
        }
        (Step::All, Value::Array(items)) => items.iter().collect(),
        (Step::All, Value::Object(members)) => members.values().collect(),
        (Step::Where { path, value, is_equal }, Value::Array(items)) => {
            let is_it = |item: &&Value| found(vec![*item], path).iter().any(|found| shown(found) == *value);
            items.iter().filter(|item| is_it(item) == *is_equal).collect()
        }
        _ => Vec::new(),
    }
}

fn text(values: &[&Value]) -> String {
    let texts: Vec<String> = values.iter().map(|value| shown(value)).collect();
    if texts.is_empty() { NONE.to_owned() } else { texts.join(",") }
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => NONE.to_owned(),
        other => other.to_string(),
    }
}

fn steps(path: &str) -> Result<Vec<Step>, &'static str> {
    let (mut steps, mut rest) = (Vec::new(), path);
    while !rest.is_empty() {
        let (step, behind) = match rest.strip_prefix('[') {
            Some(inside) => bracket(inside)?,
            None => member(rest.strip_prefix('.').unwrap_or(rest))?,
        };
        steps.push(step);
        rest = behind;
    }
    if steps.is_empty() { Err("a column has no path; one with a path is NAME:.metadata.name") } else { Ok(steps) }
}

/// A name, in which `\.` is a dot.
fn member(text: &str) -> Result<(Step, &str), &'static str> {
    let (mut name, mut letters) = (String::new(), text.char_indices());
    let end = loop {
        match letters.next() {
            Some((_, '\\')) => name.extend(letters.next().map(|(_, letter)| letter)),
            Some((at, '.' | '[')) => break at,
            Some((_, letter)) => name.push(letter),
            None => break text.len(),
        }
    };
    let step = if name == "*" { Step::All } else { Step::Member(name) };
    match &step {
        Step::Member(name) if name.is_empty() => Err("a name in the path of a column is empty"),
        Step::Member(name) if name.contains(['{', '}']) => {
            Err("braces stand around the whole path of a column, once or not at all")
        }
        _ => Ok((step, &text[end..])),
    }
}

/// What is between brackets: a place, `*`, a name in quotes or a condition.
fn bracket(text: &str) -> Result<(Step, &str), &'static str> {
    const OPEN: &str = "a bracket in the path of a column is not closed";
    if let Some(condition) = text.strip_prefix("?(") {
        let (condition, behind) = condition.split_once(")]").ok_or(OPEN)?;
        return Ok((of_condition(condition)?, behind));
    }
    let (inside, behind) = text.split_once(']').ok_or(OPEN)?;
    let step = match (inside, unquoted(inside), inside.parse()) {
        ("*", ..) => Step::All,
        // kubectl wants its dots escaped.
        (_, Some(name), _) => Step::Member(name.replace(r"\.", ".")),
        (_, None, Ok(place)) => Step::Element(place),
        _ => return Err("in brackets stands a place, `*`, a name in quotes, or a condition"),
    };
    Ok((step, behind))
}

/// `@.type=="Ready"`.
fn of_condition(text: &str) -> Result<Step, &'static str> {
    const FORM: &str = "a condition has the form ?(@.type==\"Ready\")";
    let (path, value, is_equal) = match (text.split_once("=="), text.split_once("!=")) {
        (Some((path, value)), _) => (path, value, true),
        (None, Some((path, value))) => (path, value, false),
        _ => return Err(FORM),
    };
    let path = steps(path.trim().strip_prefix('@').ok_or(FORM)?)?;
    let value = value.trim();
    Ok(Step::Where { path, value: unquoted(value).unwrap_or(value).to_owned(), is_equal })
}

fn unquoted(text: &str) -> Option<&str> {
    let between = |quote| text.strip_prefix(quote)?.strip_suffix(quote);
    between('\'').or_else(|| between('"'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_column_has_what_its_path_leads_to() {
        let pod = json!({
            "metadata": { "name": "web", "labels": { "app.kubernetes.io/name": "shop" } },
            "spec": { "containers": [{ "image": "a:1" }, { "image": "b:2", "ports": [80, 81] }], "paused": true },
            "status": { "conditions": [{ "type": "Ready", "status": "True" }, { "type": "Other", "status": "False" }] },
        });
        for (path, expected) in [
            (".metadata.name", "web"),
            ("metadata.name", "web"),
            ("{.metadata.name}", "web"),
            (r".metadata.labels.app\.kubernetes\.io/name", "shop"),
            (".metadata.labels['app.kubernetes.io/name']", "shop"),
            (r".metadata.labels['app\.kubernetes\.io/name']", "shop"),
            (".spec.containers[*].image", "a:1,b:2"),
            (".spec.containers[1].ports", "[80,81]"),
            (".spec.containers[-1].image", "b:2"),
            (".spec.paused", "true"),
            (r#".status.conditions[?(@.type=="Ready")].status"#, "True"),
            (".status.conditions[?(@.type!='Ready')].status", "False"),
            (".spec.nodeName", "<none>"),
            (".spec.containers[7].image", "<none>"),
        ] {
            let columns = CustomColumns::parse(&format!("A:{path},B:.metadata.name")).unwrap();
            assert_eq!(columns.headers(), ["A", "B"]);
            assert_eq!(columns.cells(&pod), [expected, "web"], "{path}");
        }
    }

    #[test]
    fn columns_that_are_none_are_refused() {
        for text in [
            "",
            "NAME",
            "NAME:",
            "A:.a[",
            "A:.a[x]",
            "A:.a[?(b)]",
            "A:..a",
            "A:.a,",
            "A:{.a",
            "A:{{.a}}",
            "A:{range .a}{end}",
        ] {
            assert!(CustomColumns::parse(text).is_err(), "{text}");
        }
    }
}
