#[cfg(feature = "alloc")]
use alloc::{string::String, vec::Vec};
use core::fmt::{self, Write};

/// Decodes the `%XX` and `+` of a query; invalid escapes stay as they are. Bytes that are no UTF-8 become U+FFFD.
#[cfg(feature = "alloc")]
pub fn percent_decode(text: &str) -> String {
    String::from_utf8_lossy(&percent_decode_bytes(text)).into_owned()
}

/// Decodes the `%XX` and `+` of a query to bytes, of any encoding; invalid escapes stay as they are.
///
/// ```
/// use listwatch_core::request::percent_decode_bytes;
///
/// assert_eq!(percent_decode_bytes("a%20b+c%FF%"), b"a b c\xff%");
/// ```
#[cfg(feature = "alloc")]
pub fn percent_decode_bytes(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [byte, after @ ..] = rest {
        let escaped = if *byte == b'%' { escaped(after) } else { None };
        bytes.push(escaped.unwrap_or(if *byte == b'+' { b' ' } else { *byte }));
        rest = if escaped.is_some() { &after[2..] } else { after };
    }
    bytes
}

/// The byte that the two digits behind a percent sign encode.
#[cfg(feature = "alloc")]
fn escaped(after: &[u8]) -> Option<u8> {
    let [high, low, ..] = after else { return None };
    let digit = |byte: u8| char::from(byte).to_digit(16);
    u8::try_from(digit(*high)? * 16 + digit(*low)?).ok()
}

/// The hexadecimal digit of the last four bits.
fn digit(byte: u8) -> char {
    char::from(b"0123456789ABCDEF"[usize::from(byte & 15)])
}

/// Text in a path or a query.
pub(crate) struct PercentEncoded<'a>(pub(crate) &'a str);

impl fmt::Display for PercentEncoded<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for byte in self.0.bytes() {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => f.write_char(byte.into())?,
                _ => ['%', digit(byte >> 4), digit(byte)].into_iter().try_for_each(|c| f.write_char(c))?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[cfg(feature = "alloc")]
mod tests {
    use super::*;

    #[test]
    fn a_percent_sign_that_encodes_nothing_stays() {
        assert_eq!(percent_decode("100%"), "100%");
        assert_eq!(percent_decode("%zz%2"), "%zz%2");
        assert_eq!(percent_decode("%"), "%");
    }

    #[test]
    fn a_sign_behind_a_percent_sign_is_no_digit() {
        assert_eq!(percent_decode("%+f"), "% f");
        assert_eq!(percent_decode_bytes("%+0%2b"), b"% 0+");
    }

    #[test]
    fn bytes_that_are_no_text_are_kept_as_bytes_alone() {
        assert_eq!(percent_decode_bytes("%C3%BC%ff"), b"\xc3\xbc\xff");
        assert_eq!(percent_decode("%C3%BC%ff"), "ü\u{fffd}");
    }
}
