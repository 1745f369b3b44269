use core::fmt::{self, Write};

/// Text in a path or a query.
pub(crate) struct PercentEncoded<'a>(pub(crate) &'a str);

impl fmt::Display for PercentEncoded<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for byte in self.0.bytes() {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => f.write_char(byte.into())?,
                _ => write!(f, "%{byte:02X}")?,
            }
        }
        Ok(())
    }
}
