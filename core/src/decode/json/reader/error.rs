use crate::text::Printable;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use core::fmt::{self, Write};
use serde::de::{self, Expected, Unexpected};

/// How many characters of an error's text, and of a string in it, are kept.
const QUOTED: usize = 512;

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

    /// The error as one printable line, with its place in `text` at the end. A message may quote most of the text, and is
    /// cut.
    pub(in crate::decode) fn describe(&self, text: &str) -> String {
        let message = Printable::new(&self.0.message).at_most(QUOTED);
        let offset = self.0.address.and_then(|address| address.checked_sub(text.as_ptr().addr()));
        let Some(before) = offset.and_then(|offset| text.as_bytes().get(..offset)) else { return message.to_string() };
        let line_start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        format!("{message} at line {line} column {}", before.len() - line_start)
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

/// What a text has where a type expects something else, in serde_json's words. serde's own [`Display`](fmt::Display)
/// prints fractions and quotes strings by tables, which are 20 KB of firmware.
struct Found<'a>(Unexpected<'a>);

impl fmt::Display for Found<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Unexpected::Bool(value) => write!(f, "boolean `{value}`"),
            Unexpected::Unsigned(value) => write!(f, "integer `{value}`"),
            Unexpected::Signed(value) => write!(f, "integer `{value}`"),
            Unexpected::Float(value) => fraction(f, value),
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

#[cfg(feature = "std")]
fn fraction(f: &mut fmt::Formatter<'_>, value: f64) -> fmt::Result {
    write!(f, "floating point `{value:?}`")
}

#[cfg(not(feature = "std"))]
fn fraction(f: &mut fmt::Formatter<'_>, _: f64) -> fmt::Result {
    f.write_str("floating point number")
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
