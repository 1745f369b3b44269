//! The page for people: the JSON as one document, without scripts, images or links to elsewhere.

use core::fmt::{self, Display, Write as _};
use serde_json::{Map, Value};
use std::collections::BTreeSet;

const STYLE: &str = include_str!("page.css");

/// The most rows of a table that is shown without a click.
const UNFOLDED: usize = 20;

/// The fields that tell of trouble.
const TROUBLES: [&str; 4] = ["failure", "heldBackSeconds", "lastFailure", "waitsFor"];

/// The page of a snapshot.
pub(super) fn page(snapshot: &Value) -> String {
    let mut page = String::with_capacity(16 * 1024);
    write(&mut page, snapshot).expect("a string takes all text");
    page
}

fn write(page: &mut String, snapshot: &Value) -> fmt::Result {
    let (class, title) = if snapshot["ready"] == true { ("good", "ready") } else { ("bad", "not ready") };
    write!(
        page,
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width, initial-scale=1\"><title>listwatch: {title}</title><style>{STYLE}</style></head>\
         <body><header><h1>listwatch</h1> <span class=\"mark {class}\">{title}</span></header><main>"
    )?;
    shown(page, &snapshot["obstacles"])?;
    for (title, place) in [("Informers", "informers"), ("Controllers", "controllers")] {
        write!(page, "<h2>{title}</h2>")?;
        match snapshot[place].as_array() {
            Some(items) if !items.is_empty() => items.iter().try_for_each(|item| section(page, item))?,
            _ => page.push_str("<p>None.</p>"),
        }
    }
    page.push_str(
        "</main><footer><a href=\"?format=json\">JSON</a> <a href=\"/metrics\">metrics</a> <a \
         href=\"/readyz\">readiness</a></footer></body></html>\n",
    );
    Ok(())
}

/// An informer or a controller.
fn section(page: &mut String, item: &Value) -> fmt::Result {
    let Value::Object(fields) = item else { return Ok(()) };
    let text = |name| fields.get(name).and_then(Value::as_str);
    let state = text("state").or_else(|| text("lifecycle")).unwrap_or_default();
    let class = match state {
        "synced" | "running" => "good",
        "failing" | "stopped" | "failed" => "bad",
        _ => "busy",
    };
    let (name, state) = (Escaped(text("name").unwrap_or_default()), Escaped(words(state)));
    write!(page, "<section><h3>{name} <span class=\"mark {class}\">{state}</span></h3>")?;
    terms(page, fields.iter().filter(|(name, _)| !["name", "state", "lifecycle"].contains(&name.as_str())))?;
    page.push_str("</section>");
    Ok(())
}

/// The fields of an object that have a value.
fn terms<'v>(page: &mut String, fields: impl Iterator<Item = (&'v String, &'v Value)>) -> fmt::Result {
    page.push_str("<dl>");
    for (name, value) in fields.filter(|(_, value)| !is_empty(value)) {
        let class = if TROUBLES.contains(&name.as_str()) { " class=\"trouble\"" } else { "" };
        write!(page, "<div{class}><dt>{}</dt><dd>", Escaped(words(name)))?;
        shown(page, value)?;
        page.push_str("</dd></div>");
    }
    page.push_str("</dl>");
    Ok(())
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => value["count"] == 0 || fields.values().all(is_empty),
        value => value.is_null(),
    }
}

fn shown(page: &mut String, value: &Value) -> fmt::Result {
    match value {
        Value::Object(fields) => terms(page, fields.iter()),
        Value::Array(rows) if rows.first().is_some_and(Value::is_object) => table(page, rows),
        Value::Array(lines) => {
            page.push_str("<ul>");
            lines
                .iter()
                .try_for_each(|line| write!(page, "<li>{}</li>", Escaped(line.as_str().unwrap_or_default())))?;
            page.push_str("</ul>");
            Ok(())
        }
        Value::String(text) => write!(page, "{}", Escaped(text)),
        value => write!(page, "{value}"),
    }
}

/// A row for each object, and a column for each field that one of them has: the name first.
fn table(page: &mut String, rows: &[Value]) -> fmt::Result {
    let names: BTreeSet<_> = rows.iter().filter_map(Value::as_object).flat_map(Map::keys).collect();
    let mut names: Vec<_> = names.into_iter().collect();
    names.sort_by_key(|name| !["key", "source"].contains(&name.as_str()));
    let open = if rows.len() <= UNFOLDED { " open" } else { "" };
    write!(page, "<details{open}><summary>{} shown</summary><table><thead><tr>", rows.len())?;
    names.iter().try_for_each(|name| write!(page, "<th>{}</th>", Escaped(words(name))))?;
    page.push_str("</tr></thead><tbody>");
    for row in rows {
        page.push_str("<tr>");
        for name in &names {
            page.push_str("<td>");
            row.get(name).map_or(Ok(()), |value| shown(page, value))?;
            page.push_str("</td>");
        }
        page.push_str("</tr>");
    }
    page.push_str("</tbody></table></details>");
    Ok(())
}

/// A name of the JSON as words.
fn words(name: &str) -> String {
    let mut words = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() {
            words.push(' ');
        }
        words.push(c.to_ascii_lowercase());
    }
    words
}

/// A text in which no character means anything to a browser.
struct Escaped<T>(T);

impl<T: AsRef<str>> Display for Escaped<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_ref().chars().try_for_each(|c| match c {
            '&' => f.write_str("&amp;"),
            '<' => f.write_str("&lt;"),
            '>' => f.write_str("&gt;"),
            '"' => f.write_str("&quot;"),
            '\'' => f.write_str("&#39;"),
            c => f.write_char(c),
        })
    }
}
