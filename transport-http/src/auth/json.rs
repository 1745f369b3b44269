//! Text as JSON strings contain it: any character may be an escape.

/// The longest escape in bytes: that of a character that takes two UTF-16 code units.
const LONGEST: usize = 12;

/// The beginning of a text.
pub(super) enum Unit {
    /// The first bytes of `utf8`, so many, stand in so many bytes of the text.
    Whole { utf8: [u8; 4], len: usize, written: usize },
    /// The text ends within an escape.
    Cut,
    /// No escape that JSON has.
    Invalid,
}

impl Unit {
    /// A byte that stands for itself.
    pub(super) fn plain(text: &[u8]) -> Self {
        text.first().map_or(Self::Cut, |byte| Self::Whole { utf8: [*byte, 0, 0, 0], len: 1, written: 1 })
    }

    /// The first escape (RFC 8259, section 7), or a byte that stands for itself.
    pub(super) fn of_json(text: &[u8]) -> Self {
        let [b'\\', letters @ ..] = text else { return Self::plain(text) };
        match letters.first() {
            None => Self::Cut,
            Some(b'u') => Self::of_code_units(text),
            Some(letter @ (b'"' | b'\\' | b'/')) => Self::of_char((*letter).into(), 2),
            Some(b'b') => Self::of_char('\u{8}', 2),
            Some(b'f') => Self::of_char('\u{c}', 2),
            Some(b'n') => Self::of_char('\n', 2),
            Some(b'r') => Self::of_char('\r', 2),
            Some(b't') => Self::of_char('\t', 2),
            Some(_) => Self::Invalid,
        }
    }

    /// One escape `\uXXXX`, or two of a surrogate pair.
    fn of_code_units(text: &[u8]) -> Self {
        let units = [code_unit(text), text.get(LONGEST / 2..).and_then(code_unit)];
        match char::decode_utf16(units.into_iter().map_while(|unit| unit)).next() {
            Some(Ok(character)) => Self::of_char(character, LONGEST / 2 * character.len_utf16()),
            _ if text.len() < LONGEST => Self::Cut,
            _ => Self::Invalid,
        }
    }

    fn of_char(character: char, written: usize) -> Self {
        let mut utf8 = [0; 4];
        let len = character.encode_utf8(&mut utf8).len();
        Self::Whole { utf8, len, written }
    }
}

/// The number in `\uXXXX`.
fn code_unit(text: &[u8]) -> Option<u16> {
    let digits = text.strip_prefix(b"\\u")?.get(..4)?;
    let value = digits.iter().try_fold(0, |value, digit| Some(value * 16 + char::from(*digit).to_digit(16)?))?;
    value.try_into().ok()
}
