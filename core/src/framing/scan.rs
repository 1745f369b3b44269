//! Finds the end of a JSON value, without decoding it.

use memchr::memchr2;

/// Scans one value that arrives in any number of pieces. It needs no earlier bytes. It does not check the text between
/// the brackets, as the decoder does that.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Scanner {
    depth: u32,
    place: Place,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Place {
    /// Before the value.
    #[default]
    Before,
    /// Between brackets, outside of strings.
    Structure,
    String,
    /// Behind a backslash.
    Escape,
    /// In a number or a word, which ends before the first byte that does not belong to it.
    Scalar,
}

impl Scanner {
    /// How many of `bytes` belong to the value; `None` where it does not end within them. Then the next call scans a
    /// new value.
    pub(crate) fn end_of_value(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut at = 0;
        while at < bytes.len() {
            at = match self.place {
                Place::String => self.skip_string(bytes, at),
                Place::Escape => {
                    self.place = Place::String;
                    at + 1
                }
                Place::Scalar if ends_scalar(bytes[at]) => {
                    *self = Self::default();
                    return Some(at);
                }
                Place::Scalar => at + 1,
                Place::Before | Place::Structure => self.step(bytes[at], at),
            };
            if self.depth == 0 && self.place == Place::Structure {
                *self = Self::default();
                return Some(at);
            }
        }
        None
    }

    fn step(&mut self, byte: u8, at: usize) -> usize {
        match byte {
            b'"' => self.place = Place::String,
            b'{' | b'[' => {
                self.depth = self.depth.saturating_add(1);
                self.place = Place::Structure;
            }
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                self.place = Place::Structure;
            }
            _ if self.place == Place::Before => self.place = Place::Scalar,
            _ => {}
        }
        at + 1
    }

    fn skip_string(&mut self, bytes: &[u8], at: usize) -> usize {
        let Some(found) = memchr2(b'"', b'\\', &bytes[at..]) else { return bytes.len() };
        self.place = if bytes[at + found] == b'"' { Place::Structure } else { Place::Escape };
        at + found + 1
    }
}

/// White space as JSON has it.
pub(crate) const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

const fn ends_scalar(byte: u8) -> bool {
    is_space(byte) || matches!(byte, b',' | b']' | b'}')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The value at the beginning of `text`, however it is cut into two pieces.
    fn value(text: &str) -> Option<&str> {
        let ends: std::vec::Vec<Option<usize>> = (0..=text.len())
            .map(|cut| {
                let (mut scanner, (head, tail)) = (Scanner::default(), text.as_bytes().split_at(cut));
                scanner.end_of_value(head).or_else(|| scanner.end_of_value(tail).map(|end| cut + end))
            })
            .collect();
        assert!(ends.windows(2).all(|pair| pair[0] == pair[1]), "{text}: {ends:?}");
        ends[0].map(|end| &text[..end])
    }

    #[test]
    fn a_value_ends_with_its_last_bracket_however_it_is_cut() {
        assert_eq!(value(r#"{"a":{"b":[1,2]}} {"#), Some(r#"{"a":{"b":[1,2]}}"#));
        assert_eq!(value(r#"{"a":"}\"]\\"}x"#), Some(r#"{"a":"}\"]\\"}"#));
        assert_eq!(value(r#""}{",1"#), Some(r#""}{""#));
        assert_eq!(value("-1.5e3,"), Some("-1.5e3"));
        assert_eq!(value("null}"), Some("null"));
    }

    #[test]
    fn an_unfinished_value_has_no_end() {
        assert_eq!(value(r#"{"a":"}"#), None);
        assert_eq!(value("12"), None);
    }
}
