//! Finds the end of a JSON value, without decoding it.

use super::block::Block;

/// Finds the end of one JSON value that arrives in any number of pieces.
///
/// It needs no earlier bytes, and no memory for nested brackets. It checks nothing: brackets are counted whatever their
/// shape, and the text between them may be anything. A decoder checks that.
///
/// It takes 64 bytes at a time. Each comparison of a block gives a mask of 64 bits. The masks tell which quotation marks
/// are escaped, what lies in strings, and how many brackets outside of strings open and close.
///
/// ```
/// use listwatch_core::framing::Scanner;
///
/// let mut scanner = Scanner::default();
/// assert_eq!(scanner.end_of_value(br#"{"a":["}"#), None);
/// assert_eq!(scanner.end_of_value(br#""]},{"#), Some(3));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Scanner {
    kind: ValueKind,
    depth: u64,
    /// Whether a string goes on behind the last byte.
    in_string: bool,
    /// Whether the last byte escapes the next one.
    escaping: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum ValueKind {
    /// Before the value.
    #[default]
    Before,
    String,
    Brackets,
    /// In a number or a word, which ends before the first byte that does not belong to it.
    Scalar,
}

impl Scanner {
    /// How many of `bytes` belong to the value; `None` if it does not end within them. After an end, the next call begins
    /// with the first byte of another value.
    pub fn end_of_value(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut at = 0;
        if self.kind == ValueKind::Before {
            at = self.begin(*bytes.first()?);
        }
        let end = match self.kind {
            ValueKind::Scalar => bytes[at..].iter().position(|byte| ends_scalar(*byte)).map(|len| at + len),
            ValueKind::String | ValueKind::Brackets => self.end_of_blocks(bytes, at),
            ValueKind::Before => Some(at),
        };
        if end.is_some() {
            *self = Self::default();
        }
        end
    }

    /// Whether the bytes so far end in a string.
    pub(crate) fn is_in_string(&self) -> bool {
        self.in_string
    }

    pub(crate) const NEW: Self = Self { kind: ValueKind::Before, depth: 0, in_string: false, escaping: false };

    /// A scanner in the middle of a value: behind this many brackets that are open, or in a scalar where none is. The
    /// last byte was `in_string`, and `escaping` the next one.
    #[cfg(feature = "fixed")]
    pub(crate) fn amid(depth: u64, in_string: bool, escaping: bool) -> Self {
        let kind = if depth == 0 { ValueKind::Scalar } else { ValueKind::Brackets };
        Self { kind, depth, in_string, escaping }
    }

    /// Returns how many bytes were read. A closing bracket is a value of its own.
    fn begin(&mut self, byte: u8) -> usize {
        match byte {
            b'"' => (self.kind, self.in_string) = (ValueKind::String, true),
            b'{' | b'[' => (self.kind, self.depth) = (ValueKind::Brackets, 1),
            b'}' | b']' => {}
            _ => self.kind = ValueKind::Scalar,
        }
        1
    }

    fn end_of_blocks(&mut self, bytes: &[u8], mut at: usize) -> Option<usize> {
        while at < bytes.len() {
            let block = Block::first_of(&bytes[at..]);
            let quotes = self.quotes(block, bytes.len() - at);
            let end = if self.kind == ValueKind::String { first(quotes) } else { self.count_brackets(block, quotes) };
            if let Some(end) = end {
                return Some(at + end + 1);
            }
            at += Block::LEN;
        }
        None
    }

    /// The quotation marks of a block of `len` bytes or more that are not escaped.
    #[inline]
    fn quotes(&mut self, block: Block, len: usize) -> u64 {
        let escaped = self.escaped(block.equal(b'\\'), len);
        block.equal(b'"') & !escaped
    }

    /// The bytes that are escaped, where a block has these backslashes and `len` bytes or more. Of a row of backslashes,
    /// each second one is escaped; a subtraction finds them by its carry, as in simdjson.
    #[inline]
    fn escaped(&mut self, backslashes: u64, len: usize) -> u64 {
        const ODD: u64 = u64::MAX / 3 * 2;
        let carried = u64::from(self.escaping);
        if backslashes == 0 {
            self.escaping = false;
            return carried;
        }
        let escaping = backslashes & !carried;
        let codes = ((escaping << 1) | ODD).wrapping_sub(escaping) ^ ODD;
        let last = len.min(Block::LEN) - 1;
        self.escaping = (codes & backslashes) >> last & 1 == 1;
        codes ^ (backslashes | carried)
    }

    /// Counts the brackets of a block with these quotation marks; returns the place of the last one of the value.
    #[inline]
    fn count_brackets(&mut self, block: Block, quotes: u64) -> Option<usize> {
        /// Tells a bracket from a brace.
        const SHAPE: u8 = b'[' ^ b'{';
        let strings = self.strings(quotes);
        let opening = block.equal_with(SHAPE, b'{') & !strings;
        let closing = block.equal_with(SHAPE, b'}') & !strings;
        let closed = u64::from(closing.count_ones());
        if self.depth <= closed
            && let Some(end) = self.last_bracket(opening, closing)
        {
            return Some(end);
        }
        self.depth = self.depth + u64::from(opening.count_ones()) - closed;
        None
    }

    /// The bytes in strings, where a block has these quotation marks.
    #[inline]
    fn strings(&mut self, quotes: u64) -> u64 {
        let strings = parities(quotes) ^ u64::from(self.in_string).wrapping_neg();
        self.in_string = strings >> (u64::BITS - 1) == 1;
        strings
    }

    fn last_bracket(&self, opening: u64, closing: u64) -> Option<usize> {
        let (mut depth, mut brackets) = (self.depth, opening | closing);
        while let Some(at) = first(brackets) {
            brackets &= brackets - 1;
            depth = if opening >> at & 1 == 1 { depth + 1 } else { depth - 1 };
            if depth == 0 {
                return Some(at);
            }
        }
        None
    }
}

/// Sets each bit to the parity of the bits up to it.
#[inline]
fn parities(bits: u64) -> u64 {
    [1, 2, 4, 8, 16, 32].into_iter().fold(bits, |bits, by| bits ^ (bits << by))
}

/// The place of the lowest bit.
#[inline]
fn first(bits: u64) -> Option<usize> {
    (bits != 0).then(|| bits.trailing_zeros() as usize)
}

/// White space as JSON has it.
pub(crate) const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

pub(crate) const fn ends_scalar(byte: u8) -> bool {
    is_space(byte) || matches!(byte, b',' | b']' | b'}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    /// The value at the beginning of `text`, however it is cut into two pieces.
    fn value(text: &str) -> Option<&str> {
        let ends: Vec<Option<usize>> = (0..=text.len())
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

    #[test]
    fn brackets_are_counted_whatever_their_number() {
        let deep = ["[".repeat(100_000), "]".repeat(100_000)].concat();
        assert_eq!(Scanner::default().end_of_value(deep.as_bytes()), Some(deep.len()));
        assert_eq!(Scanner::default().end_of_value(&deep.as_bytes()[1..]), Some(deep.len() - 2));
        assert_eq!(Scanner::default().end_of_value(&deep.as_bytes()[..deep.len() - 1]), None);
    }

    /// Byte by byte.
    fn naive(text: &[u8]) -> Option<usize> {
        let (mut depth, mut in_string, mut escaped) = (0_u64, false, false);
        for (at, byte) in text.iter().enumerate() {
            let escapes = core::mem::take(&mut escaped);
            match byte {
                b'\\' => escaped = !escapes,
                b'"' if escapes => {}
                b'"' => in_string = !in_string,
                b'{' | b'[' if !in_string => depth += 1,
                b'}' | b']' if !in_string => depth -= 1,
                _ => {}
            }
            if depth == 0 && !in_string {
                return Some(at + 1);
            }
        }
        None
    }

    #[test]
    fn any_text_is_scanned_by_blocks_as_it_is_by_bytes() {
        let mut state = 7_u64;
        let mut random = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as usize % below
        };
        let mut ended = 0;
        for round in 0..4000 {
            let mut text = if round % 4 == 0 { b"\"".to_vec() } else { b"[[{[{[".to_vec() };
            text.extend((0..500).map(|_| b"\"\\{}[]{}:,a \x7f\xff\x02Z|~\xdb\xfb\\\\"[random(22)]));
            let (expected, mut scanner) = (naive(&text), Scanner::default());
            assert_eq!(scanner.end_of_value(&text), expected);
            let (mut scanner, mut rest, mut found) = (Scanner::default(), &text[..], None);
            while found.is_none() && !rest.is_empty() {
                let (piece, behind) = rest.split_at(rest.len().min(1 + random(150)));
                found = scanner.end_of_value(piece).map(|len| text.len() - rest.len() + len);
                rest = behind;
            }
            assert_eq!(found, expected);
            ended += usize::from(expected.is_some());
        }
        assert!((400..3600).contains(&ended), "{ended}");
    }
}
