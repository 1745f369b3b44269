//! JSON as YAML, as `kubectl` takes it.

use core::fmt;
use serde_json::Value;

/// Writes an object or a list in blocks, and anything else in one line.
pub(super) fn write(f: &mut fmt::Formatter<'_>, value: &Value, depth: usize) -> fmt::Result {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            fields.iter().enumerate().try_for_each(|(place, (name, value))| {
                // The first field of an element stands behind its dash.
                indent(f, if place == 0 && depth > 0 { 0 } else { depth })?;
                write_text(f, name)?;
                f.write_str(":")?;
                write_below(f, value, depth + usize::from(!value.is_array()))
            })
        }
        Value::Array(elements) if !elements.is_empty() => elements.iter().enumerate().try_for_each(|(place, value)| {
            indent(f, if place == 0 { 0 } else { depth })?;
            f.write_str("- ")?;
            write(f, value, depth + 1)
        }),
        Value::String(text) => {
            write_text(f, text)?;
            f.write_str("\n")
        }
        value => writeln!(f, "{value}"),
    }
}

/// Writes what is behind the name of a field.
fn write_below(f: &mut fmt::Formatter<'_>, value: &Value, depth: usize) -> fmt::Result {
    let is_block = match value {
        Value::Object(fields) => !fields.is_empty(),
        Value::Array(elements) => !elements.is_empty(),
        _ => false,
    };
    f.write_str(if is_block { "\n" } else { " " })?;
    if is_block {
        indent(f, depth)?;
    }
    write(f, value, depth)
}

fn indent(f: &mut fmt::Formatter<'_>, depth: usize) -> fmt::Result {
    (0..depth).try_for_each(|_| f.write_str("  "))
}

/// Writes a text as it is, if no reader takes it for anything else; otherwise as JSON does, which YAML reads too.
fn write_text(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    const WORDS: [&str; 9] = ["y", "n", "yes", "no", "on", "off", "true", "false", "null"];
    let is_plain = text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b" -_./".contains(&byte))
        && !text.ends_with(' ')
        && !WORDS.iter().any(|word| word.eq_ignore_ascii_case(text));
    if is_plain { f.write_str(text) } else { write!(f, "{}", Value::from(text)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use serde_json::json;

    struct Yaml(Value);

    impl fmt::Display for Yaml {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write(f, &self.0, 0)
        }
    }

    #[test]
    fn json_is_written_in_blocks() {
        let value = json!({
            "a": { "b": [{ "c": 1, "d": [] }, [true, null], "Yes"], "e": {} },
            "x-y": "two\nlines",
            "~": "it is: so",
        });
        let expected = "a:\n  b:\n  - c: 1\n    d: []\n  - - true\n    - null\n  - \"Yes\"\n  e: {}\nx-y: \"two\\nlines\"\n\"~\": \"it is: so\"\n";
        assert_eq!(Yaml(value).to_string(), expected);
    }
}
