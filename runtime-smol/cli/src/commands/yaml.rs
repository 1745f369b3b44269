//! Saved YAML, as the JSON that the readers of recordings take.

use crate::error::CommandError;
use saphyr::Scalar;
use saphyr_parser::{Event, Parser, ScalarStyle};
use serde_json::Value;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The deepest nesting of a document.
const MOST_LEVELS: usize = 100;
/// The bytes in which the first field of a document begins.
const HEAD: usize = 4096;
/// The most bytes of a file, which is in memory.
const MOST_BYTES: u64 = 512 * 1024 * 1024;

/// The text of a file that begins as YAML does.
///
/// # Errors
/// It is too long.
pub(super) fn yaml_of(path: &Path) -> Result<Option<String>, CommandError> {
    let Some(file) = yaml_at(path) else { return Ok(None) };
    if file.metadata().is_ok_and(|file| file.len() > MOST_BYTES) {
        let why = format!("YAML of more than {} MiB; save it as JSON, by `-o json`", MOST_BYTES >> 20);
        return Err(CommandError::Unfit(path.into(), why));
    }
    Ok(std::fs::read_to_string(path).ok())
}

/// A file that begins as YAML does.
fn yaml_at(path: &Path) -> Option<File> {
    // Opening a pipe blocks until another process writes to it.
    let mut file = path.metadata().is_ok_and(|file| file.is_file()).then(|| File::open(path).ok())??;
    let mut head = vec![0; HEAD];
    let len = file.read(&mut head).ok()?;
    let begin = str::from_utf8(&head[..len]).map_or_else(|error| &head[..error.valid_up_to()], str::as_bytes);
    let begin = str::from_utf8(begin).ok()?.trim_start_matches('\u{feff}');
    let first = begin.lines().map(str::trim_end).find(|line| !line.is_empty() && !line.starts_with('#'))?;
    let names = ["---", "apiVersion:", "items:", "kind:", "metadata:"];
    let is_yaml = names.iter().any(|name| first.starts_with(name));
    is_yaml.then_some(file)
}

/// Writes each document as a line of JSON; `None` if the text is none, or a document has no kind.
pub(super) fn to_json(text: &str, out: &mut Vec<u8>) -> Option<()> {
    let (mut open, mut has_kind, mut documents) = (Vec::<Collection>::new(), false, 0);
    for event in Parser::new_from_str(text.trim_start_matches('\u{feff}')) {
        let (event, _) = event.ok()?;
        let expects_key = matches!(open.last(), Some(Collection { is_map: true, expects_value: false, .. }));
        match event {
            Event::Scalar(text, style, _, _) => {
                has_kind |= open.len() == 1 && expects_key && text == "kind";
                begin_value(&mut open, out);
                let value = if style == ScalarStyle::Plain && !expects_key { plain(&text) } else { (*text).into() };
                serde_json::to_writer(&mut *out, &value).ok()?;
            }
            Event::MappingStart(..) | Event::SequenceStart(..) if expects_key || open.len() == MOST_LEVELS => {
                return None;
            }
            Event::MappingStart(..) | Event::SequenceStart(..) => {
                let is_map = matches!(event, Event::MappingStart(..));
                begin_value(&mut open, out);
                out.push(if is_map { b'{' } else { b'[' });
                open.push(Collection { is_map, is_empty: true, expects_value: false });
            }
            Event::MappingEnd | Event::SequenceEnd => {
                out.push(if open.pop()?.is_map { b'}' } else { b']' });
                if open.is_empty() {
                    out.push(b'\n');
                    documents += 1;
                    if !std::mem::take(&mut has_kind) {
                        return None;
                    }
                }
            }
            Event::Alias(_) => return None,
            _ => {}
        }
    }
    (documents > 0).then_some(())
}

/// A list or a map whose end has not come.
struct Collection {
    is_map: bool,
    is_empty: bool,
    /// Whether a key of the map has no value yet.
    expects_value: bool,
}

/// Writes what stands before a value or a key.
fn begin_value(open: &mut [Collection], out: &mut Vec<u8>) {
    let Some(Collection { is_map, is_empty, expects_value }) = open.last_mut() else { return };
    if std::mem::take(expects_value) {
        out.push(b':');
        return;
    }
    *expects_value = *is_map;
    if !std::mem::take(is_empty) {
        out.push(b',');
    }
}

/// The value of a scalar without quotes.
fn plain(text: &str) -> Value {
    match Scalar::parse_from_cow(text.into()) {
        Scalar::Null => Value::Null,
        Scalar::Boolean(value) => value.into(),
        Scalar::Integer(value) => value.into(),
        Scalar::FloatingPoint(value) => serde_json::Number::from_f64(*value).map_or_else(|| text.into(), Value::Number),
        Scalar::String(text) => (*text).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Option<String> {
        let mut out = Vec::new();
        to_json(text, &mut out)?;
        Some(String::from_utf8(out).unwrap())
    }

    #[test]
    fn each_document_is_a_line_of_json_with_the_types_of_yaml() {
        let text = "# a list\nkind: List\nitems:\n- kind: Pod\n  metadata: {name: a, \"resourceVersion\": \"5\"}\n  x: [1, 2.5, true, null, ~, '1', [], {}]\n---\nkind: B\nb: |\n  c\n";
        let expected = concat!(
            r#"{"kind":"List","items":[{"kind":"Pod","metadata":{"name":"a","resourceVersion":"5"},"#,
            r#""x":[1,2.5,true,null,null,"1",[],{}]}]}"#,
            "\n",
            r#"{"kind":"B","b":"c\n"}"#,
            "\n"
        );
        assert_eq!(json(text).as_deref(), Some(expected));
    }

    #[test]
    fn what_has_no_kind_or_is_too_deep_is_left_as_it_is() {
        let deep = format!("kind: A\nx: {}1{}\n", "[".repeat(MOST_LEVELS), "]".repeat(MOST_LEVELS));
        for text in ["apiVersion: v1\nitems: []\n", "kind: A\nx: &a 1\ny: *a\n", "kind: [\n", "", &deep] {
            assert_eq!(json(text), None, "{text}");
        }
    }
}
