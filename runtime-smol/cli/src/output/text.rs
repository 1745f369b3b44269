//! Text from outside, in tables and in JSON.

use listwatch::text::{Printable, is_printable};
use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};
use std::borrow::Cow;
use std::io::{self, Write};

/// The text as one cell of a table: control characters are escaped, and a long text is cut.
pub(crate) fn cell(text: &str) -> Cow<'_, str> {
    const SHORT: usize = 1024;
    match text.len() <= SHORT && text.chars().all(is_printable) {
        true => Cow::Borrowed(text),
        false => Cow::Owned(Printable::new(text).at_most(SHORT).to_string()),
    }
}

/// Writes a value as one line of JSON, with every character escaped that could steer a terminal.
pub(crate) fn write_json(out: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    let mut line = Vec::new();
    value.serialize(&mut Serializer::with_formatter(&mut line, Escaping))?;
    line.push(b'\n');
    out.write_all(&line)
}

/// Also escapes characters that JSON allows in a string, and that steer a terminal.
struct Escaping;

impl Formatter for Escaping {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, out: &mut W, fragment: &str) -> io::Result<()> {
        let mut rest = fragment;
        while let Some(at) = rest.find(|c| !is_printable(c)) {
            let (before, behind) = rest.split_at(at);
            out.write_all(before.as_bytes())?;
            let mut behind = behind.chars();
            for unit in behind.next().iter().flat_map(|c| c.encode_utf16(&mut [0; 2]).to_vec()) {
                write!(out, "\\u{unit:04x}")?;
            }
            rest = behind.as_str();
        }
        out.write_all(rest.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_steer_the_terminal() {
        assert_eq!(cell("a\u{1b}[2Jb\nc\u{202e}"), r"a\u001b[2Jb\nc\u202e");
        assert!(matches!(cell("größe"), Cow::Borrowed("größe")));
        assert_eq!(cell(&"x".repeat(5_000)).chars().count(), 1_025);
    }

    #[test]
    fn what_json_escapes_reads_the_same() {
        let text = "a\"\\\u{1b}\u{7f}\u{9b}\u{202e}\u{2028}\u{e0041}ö\u{1f642}";
        let mut line = Vec::new();
        write_json(&mut line, &text).unwrap();
        let line = String::from_utf8(line).unwrap();
        assert_eq!(line, "\"a\\\"\\\\\\u001b\\u007f\\u009b\\u202e\\u2028\\udb40\\udc41ö\u{1f642}\"\n");
        assert_eq!(serde_json::from_str::<String>(&line).unwrap(), text);
    }
}
