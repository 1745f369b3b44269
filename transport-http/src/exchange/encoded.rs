use core::fmt::{self, Write};

/// A path and a query, in which bytes that a URL must not have are written as `%XX`. A `%` stays as it is.
pub(super) struct Encoded<T>(pub(super) T);

struct Encoder<'a, 'b>(&'a mut fmt::Formatter<'b>);

impl<T: fmt::Display> fmt::Display for Encoded<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(Encoder(f), "{}", self.0)
    }
}

impl Write for Encoder<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.bytes().try_for_each(|byte| match is_allowed(byte) {
            true => self.0.write_char(byte.into()),
            false => self.write_escape(byte),
        })
    }
}

impl Encoder<'_, '_> {
    fn write_escape(&mut self, byte: u8) -> fmt::Result {
        let digit = |value: u8| char::from(b"0123456789ABCDEF"[usize::from(value & 15)]);
        ['%', digit(byte >> 4), digit(byte)].into_iter().try_for_each(|c| self.0.write_char(c))
    }
}

/// Whether a byte may stand in a path or a query (RFC 3986, sections 3.3 and 3.4), or begins an escape.
fn is_allowed(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@/?%".contains(&byte)
}
