//! Objects as YAML.

use listwatch::text::is_printable;
use saphyr::{Mapping, Scalar, ScalarStyle, Yaml, YamlEmitter};
use serde_json::Value;
use std::fmt::Write as _;
use std::io::{self, Write};

/// Writes a value as a document, with every character escaped that could steer a terminal.
pub(super) fn write_yaml(out: &mut impl Write, value: &Value) -> io::Result<()> {
    let mut text = String::new();
    let mut emitter = YamlEmitter::new(&mut text);
    emitter.multiline(true);
    emitter.dump(&yaml(value)).map_err(io::Error::other)?;
    out.write_all(text.as_bytes())?;
    if text.ends_with('\n') { Ok(()) } else { out.write_all(b"\n") }
}

fn yaml(value: &Value) -> Yaml<'static> {
    match value {
        Value::Null => plain("null".to_owned()),
        Value::Bool(value) => Yaml::Value(Scalar::Boolean(*value)),
        Value::Number(number) => plain(number.to_string()),
        Value::String(text) => string(text),
        Value::Array(list) => Yaml::Sequence(list.iter().map(yaml).collect()),
        Value::Object(map) => {
            Yaml::Mapping(map.iter().map(|(name, value)| (string(name), yaml(value))).collect::<Mapping<'_>>())
        }
    }
}

fn plain(text: String) -> Yaml<'static> {
    Yaml::Representation(text.into(), ScalarStyle::Plain, None)
}

/// A string, quoted here where the emitter would leave a text as it is that steers a terminal, or that YAML 1.1 reads as
/// a number, a date or a boolean.
fn string(text: &str) -> Yaml<'static> {
    let steers = text.chars().any(|c| c != '\n' && !is_printable(c));
    let misread = text.starts_with(|c: char| c.is_ascii_digit() || c == '+') || matches!(text, "y" | "Y" | "n" | "N");
    if steers || (misread && !text.contains('\n')) {
        return Yaml::Representation(escaped(text).into(), ScalarStyle::DoubleQuoted, None);
    }
    Yaml::Value(Scalar::String(text.to_owned().into()))
}

/// The inside of a double-quoted scalar.
fn escaped(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut escaped, c| {
        let written = match c {
            '"' | '\\' => write!(escaped, "\\{c}"),
            '\n' => write!(escaped, "\\n"),
            c if is_printable(c) => write!(escaped, "{c}"),
            c => match u32::from(c) {
                code @ ..=0xffff => write!(escaped, "\\u{code:04x}"),
                code => write!(escaped, "\\U{code:08x}"),
            },
        };
        debug_assert!(written.is_ok(), "a String takes any text");
        escaped
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use saphyr::LoadableYamlNode;
    use serde_json::json;

    fn written(value: &Value) -> String {
        let mut out = Vec::new();
        write_yaml(&mut out, value).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn json_of(yaml: &Yaml<'_>) -> Value {
        match yaml {
            Yaml::Value(Scalar::Null) => Value::Null,
            Yaml::Value(Scalar::Boolean(value)) => json!(value),
            Yaml::Value(Scalar::Integer(value)) => json!(value),
            Yaml::Value(Scalar::FloatingPoint(value)) => json!(value.into_inner()),
            Yaml::Value(Scalar::String(text)) => json!(text),
            Yaml::Sequence(list) => list.iter().map(json_of).collect(),
            Yaml::Mapping(map) => Value::Object(
                map.iter().map(|(name, value)| (name.as_str().unwrap().to_owned(), json_of(value))).collect(),
            ),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_object_is_laid_out_as_kubectl_does() {
        let object =
            json!({ "data": { "a.conf": "x = 1\ny = 2\n" }, "list": [{ "a": 1, "b": null }, "c"], "on": "true" });
        let expected =
            "---\ndata:\n  a.conf: |\n    x = 1\n    y = 2\nlist:\n  - a: 1\n    b: null\n  - c\n\"on\": \"true\"\n";
        assert_eq!(written(&object), expected);
    }

    #[test]
    fn what_is_written_reads_the_same() {
        let texts = [
            "",
            " ",
            "a",
            "true",
            "null",
            "~",
            "1",
            "1.5",
            "1_000",
            "0o7",
            "2026-11-22",
            "12:30:00",
            "y",
            "on",
            "-",
            "- a",
            "a: b",
            "a #b",
            "\u{1b}[2J",
            "\u{202e}x",
            "\u{85}",
            "\u{e0041}",
            "x\ny",
            "x\n\n",
            "\n",
            " x\ny",
            "x\r\ny",
            "\ty\nx",
            "---\na",
            "\"q\"",
            "'q'",
            "\\",
            "größe",
            "\u{1f642}",
            "{}",
            "[a]",
            "*a",
            "&a",
            "!a",
            "%a",
            "@a",
            "`a",
        ];
        for text in texts {
            for value in [json!(text), json!({ text: text }), json!([text, [text], { "a": [text] }])] {
                let written = written(&value);
                let read = Yaml::load_from_str(&written).unwrap_or_else(|error| panic!("{written}: {error}"));
                assert_eq!((read.len(), json_of(&read[0])), (1, value), "{written}");
                assert!(written.chars().all(|c| c == '\n' || is_printable(c)), "{written:?}");
            }
        }
        for number in [json!(u64::MAX), json!(-1), json!(1.5), json!(1e300)] {
            assert_eq!(written(&number).trim_start_matches("---\n").trim(), number.to_string());
        }
    }
}
