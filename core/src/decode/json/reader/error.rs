use crate::framing::{Scanner, is_space};
use crate::text::Printable;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use core::fmt::{self, Write};
use serde::de::{self, Expected, Unexpected};

/// How many characters of an error's text, and of a string in it, are kept.
const QUOTED: usize = 512;

/// How many steps of a path are told.
const DEEPEST: usize = 32;

/// The reason that a text cannot be read.
#[derive(Debug)]
pub(in crate::decode) struct Error(Box<Cause>);

#[derive(Debug)]
struct Cause {
    message: String,
    /// The address behind the byte that shows the error, once it is known.
    address: Option<usize>,
}

impl Error {
    pub(super) fn new(message: &str, address: usize) -> Self {
        Self(Box::new(Cause { message: message.into(), address: Some(address) }))
    }

    /// What serde_json says of `text`.
    pub(in crate::decode) fn of_json(error: &serde_json::Error, text: &str) -> Self {
        let (whole, place) = (error.to_string(), format!(" at line {} column {}", error.line(), error.column()));
        let message = whole.strip_suffix(&place).map_or(&*whole, |message| message);
        let lines_before = text.split_inclusive('\n').take(error.line().saturating_sub(1));
        let offset = lines_before.map(str::len).sum::<usize>() + error.column();
        Self::new(message, text.as_ptr().addr() + offset)
    }

    /// Places it at this address, unless its place is known.
    #[cold]
    pub(super) fn place(&mut self, address: usize) {
        self.0.address.get_or_insert(address);
    }

    /// The path of the field of `text` that shows the error, and what is wrong with it; `None` if it is of no field. A path
    /// begins behind `within`.
    pub(in crate::decode) fn field(&self, text: &str, within: &str) -> Option<[String; 2]> {
        let path = path(text, self.before(text)?.len());
        let inside = path.strip_prefix(within).unwrap_or(&path).trim_matches('.');
        let cut = |text: &str| Printable::new(text).at_most(QUOTED).to_string();
        (!inside.is_empty()).then(|| [cut(inside), cut(&self.0.message)])
    }

    /// The error as one printable line, with its place in `text` at the end. A message may quote most of the text, and is
    /// cut.
    pub(in crate::decode) fn describe(&self, text: &str) -> String {
        let message = Printable::new(&self.0.message).at_most(QUOTED);
        let Some(before) = self.before(text) else { return message.to_string() };
        let line_start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        format!("{message} at line {line} column {}", before.len() - line_start)
    }

    /// The text up to the byte that shows the error, if the place is known.
    fn before<'t>(&self, text: &'t str) -> Option<&'t [u8]> {
        let offset = self.0.address.and_then(|address| address.checked_sub(text.as_ptr().addr()));
        text.as_bytes().get(..offset?)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl core::error::Error for Error {}

impl de::Error for Error {
    #[cold]
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(Box::new(Cause { message: message.to_string(), address: None }))
    }

    #[cold]
    fn invalid_type(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::custom(format_args!("invalid type: {}, expected {expected}", Found(unexpected)))
    }

    #[cold]
    fn invalid_value(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::custom(format_args!("invalid value: {}, expected {expected}", Found(unexpected)))
    }
}

/// The path of the value of a JSON text that has this place in it, or ends there: `.spec.containers[0]`.
fn path(text: &str, place: usize) -> String {
    let bytes = text.as_bytes();
    let skip = |at: usize, mark: u8| at + bytes.iter().skip(at).take_while(|b| is_space(**b) || **b == mark).count();
    let end = |at: usize| Some(at + Scanner::default().end_of_value(bytes.get(at..)?)?);
    let (mut path, mut bracket, mut at, mut number, mut depth) = (String::new(), b' ', 0, 0_usize, 0);
    loop {
        let name = skip(at, b',');
        let value = if bracket == b'{' { end(name).map_or(name, |end| skip(end, b':')) } else { name };
        if value > place || depth > DEEPEST || matches!(bytes.get(name), None | Some(b'}' | b']')) {
            return path;
        }
        if let Some(end) = end(value).filter(|end| *end < place) {
            (at, number) = (end, number + 1);
            continue;
        }
        match (bracket, text.get(name..value).unwrap_or_default().trim_matches(['"', ':', ' '])) {
            (b'{', name) if name.contains(['.', '/']) => path += &format!("[\"{name}\"]"),
            (b'{', name) => path += &format!(".{name}"),
            (b'[', _) => path += &format!("[{number}]"),
            // The text itself.
            _ if depth == 0 => {}
            _ => return path,
        }
        bracket = bytes.get(value).copied().unwrap_or_default();
        (at, number, depth) = (value + 1, 0, depth + 1);
    }
}

/// What a text has where a type expects something else, in serde_json's words. serde's own [`Display`](fmt::Display)
/// prints fractions and quotes strings by tables, which are 20 KB of firmware.
struct Found<'a>(Unexpected<'a>);

impl fmt::Display for Found<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Unexpected::Bool(value) => write!(f, "boolean `{value}`"),
            Unexpected::Unsigned(value) => write!(f, "integer `{value}`"),
            Unexpected::Signed(value) => write!(f, "integer `{value}`"),
            // Firmware has no words for it.
            Unexpected::Float(value) if cfg!(feature = "std") => write!(f, "floating point `{value:?}`"),
            Unexpected::Float(_) => f.write_str("floating point number"),
            Unexpected::Char(value) => write!(f, "character `{value}`"),
            Unexpected::Str(value) => quoted(f, value),
            Unexpected::Unit => f.write_str("null"),
            Unexpected::Seq => f.write_str("sequence"),
            Unexpected::Map => f.write_str("map"),
            Unexpected::Other(other) => f.write_str(other),
            _ => f.write_str("another value"),
        }
    }
}

fn quoted(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_str("string \"")?;
    for c in text.chars().take(QUOTED) {
        if matches!(c, '"' | '\\') {
            f.write_char('\\')?;
        }
        f.write_char(c)?;
    }
    f.write_char('"')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_that_of_the_last_value_before_the_cut() {
        for (text, expected) in [
            (r#"{"spec":{"replicas":"three""#, ".spec.replicas"),
            (r#"{"a":1,"spec":{"containers":[{"name":"x"},{"image":{"#, ".spec.containers[1].image"),
            (r#"{"spec":{"a":[1,2],"b":{}}"#, ".spec"),
            (r#"{"metadata":{"labels":{"a.b/c":{"#, r#".metadata.labels["a.b/c"]"#),
            (r#"{"a":"\\\"},{\\","b":["],[",7"#, ".b[1]"),
            ("[[1,2],[", "[1]"),
            ("}]],,\"", ""),
            ("", ""),
        ] {
            assert_eq!(path(text, text.len()), expected, "{text}");
        }
        let deep = r#"{"a":["#.repeat(100_000);
        assert_eq!(path(&deep, deep.len()), ".a[0]".repeat(DEEPEST / 2));
        let whole = r#"{ "a" : [ 1, {"b": {"c":2} }, 3 ] }"#;
        for (behind, expected) in
            [("1", ".a[0]"), ("{\"b\": ", ".a[1].b"), ("2", ".a[1].b.c"), ("3", ".a[2]"), ("] }", "")]
        {
            assert_eq!(path(whole, whole.find(behind).unwrap() + behind.len()), expected, "{behind}");
        }
    }
}
