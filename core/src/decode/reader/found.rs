use core::fmt::{self, Write};
use serde::de::Unexpected;

/// How many characters of a string are quoted.
const QUOTED: usize = 512;

/// What a text has where a type expects something else, in serde_json's words. serde's own [`Display`](fmt::Display)
/// prints fractions and quotes strings by tables, which are 20 KB of firmware.
pub(super) struct Found<'a>(pub(super) Unexpected<'a>);

impl fmt::Display for Found<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Unexpected::Bool(value) => write!(f, "boolean `{value}`"),
            Unexpected::Unsigned(value) => write!(f, "integer `{value}`"),
            Unexpected::Signed(value) => write!(f, "integer `{value}`"),
            Unexpected::Float(value) => fraction(f, value),
            Unexpected::Char(value) => write!(f, "character `{value}`"),
            Unexpected::Str(value) => quoted(f, value),
            Unexpected::Bytes(_) => f.write_str("byte array"),
            Unexpected::Unit => f.write_str("null"),
            Unexpected::Option => f.write_str("Option value"),
            Unexpected::NewtypeStruct => f.write_str("newtype struct"),
            Unexpected::Seq => f.write_str("sequence"),
            Unexpected::Map => f.write_str("map"),
            Unexpected::Enum => f.write_str("enum"),
            Unexpected::UnitVariant => f.write_str("unit variant"),
            Unexpected::NewtypeVariant => f.write_str("newtype variant"),
            Unexpected::TupleVariant => f.write_str("tuple variant"),
            Unexpected::StructVariant => f.write_str("struct variant"),
            Unexpected::Other(other) => f.write_str(other),
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
