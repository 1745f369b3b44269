//! Saved YAML and audit logs, as the files that the readers of recordings take.

use super::audit::capture_of;
use crate::error::CommandError;
use listwatch::file::CaptureError;
use saphyr::Scalar;
use saphyr_parser::{Event, Parser, ScalarStyle};
use serde_json::Value;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// The deepest nesting of a document.
const MOST_LEVELS: usize = 100;
/// The bytes in which the first field of a document begins.
const HEAD: usize = 4096;

/// A file that is read: the one that was named, or the JSON of its YAML or the capture of its audit log, which go with this.
pub(super) struct Input {
    named: PathBuf,
    converted: Option<PathBuf>,
}

impl Input {
    /// Converts an audit log, a folder of them, or a file of YAML whose documents have kinds. Any other file stays as it is,
    /// and so does YAML that cannot be converted: its reader says what it is.
    pub(super) fn of(named: &Path) -> Result<Self, CommandError> {
        let plain = || Self { named: named.into(), converted: None };
        if let Some(capture) = capture_of(named)? {
            return Ok(Self { named: named.into(), converted: Some(capture) });
        }
        let Some(text) = yaml_of(named) else { return Ok(plain()) };
        let mut json = Vec::new();
        if to_json(&text, &mut json).is_none() {
            return Ok(plain());
        }
        let mut input = plain();
        let (path, file) = temporary().map_err(CommandError::NoRoom)?;
        input.converted = Some(path);
        write(&json, file, named).map_err(CommandError::NoRoom)?;
        Ok(input)
    }

    /// The file to read.
    pub(super) fn path(&self) -> &Path {
        self.converted.as_deref().unwrap_or(&self.named)
    }

    /// An error of the file that was named.
    pub(super) fn error(&self, error: CaptureError) -> CaptureError {
        error.of_file(&self.named)
    }
}

impl Drop for Input {
    fn drop(&mut self) {
        let _may_be_gone = self.converted.as_ref().map(std::fs::remove_file);
    }
}

/// The text of a file that begins as YAML does.
fn yaml_of(path: &Path) -> Option<String> {
    // Opening a pipe blocks until another process writes to it.
    let mut file = path.metadata().is_ok_and(|file| file.is_file()).then(|| File::open(path).ok())??;
    let mut head = vec![0; HEAD];
    let len = file.read(&mut head).ok()?;
    let begin = str::from_utf8(&head[..len]).map_or_else(|error| &head[..error.valid_up_to()], str::as_bytes);
    let begin = str::from_utf8(begin).ok()?.trim_start_matches('\u{feff}');
    let first = begin.lines().map(str::trim_end).find(|line| !line.is_empty() && !line.starts_with('#'))?;
    let names = ["---", "apiVersion:", "items:", "kind:", "metadata:"];
    let is_yaml = names.iter().any(|name| first.starts_with(name));
    is_yaml.then(|| std::fs::read_to_string(path).ok()).flatten()
}

/// A new file that only its owner may read.
fn temporary() -> std::io::Result<(PathBuf, File)> {
    static FILES: AtomicU32 = AtomicU32::new(0);
    let number = FILES.fetch_add(1, Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("listwatch-yaml-{}-{number}.json", std::process::id()));
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(&path).map(|file| (path, file))
}

/// Writes the JSON, as old as the file that it comes from: that may be the only date of its objects.
fn write(json: &[u8], mut file: File, named: &Path) -> std::io::Result<()> {
    file.write_all(json)?;
    file.set_modified(named.metadata()?.modified()?)
}

/// Writes each document as a line of JSON; `None` if the text is none, or a document has no kind.
fn to_json(text: &str, out: &mut Vec<u8>) -> Option<()> {
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
