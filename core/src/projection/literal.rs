use super::field::{Misfit, Piece, Slot};

/// Reads a number or a word of JSON that arrives in any number of pieces.
#[derive(Clone, Copy, Debug)]
pub(super) struct Literal {
    part: LiteralPart,
    is_negative: bool,
    /// The digits of an integer, as a negative number; `None` where they do not fit.
    digits: Option<i64>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum LiteralPart {
    Begin,
    /// In a word, behind so many of its bytes.
    Word(&'static str, usize),
    Minus,
    Zero,
    Integer,
    Dot,
    Fraction,
    E,
    Sign,
    Exponent,
}

/// What was read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Scalar {
    Null,
    Bool(bool),
    /// An integer; `None` if it does not fit into 64 bits.
    Integer(Option<i64>),
    /// A number with a fraction or an exponent, or a negative zero.
    Float,
}

impl Scalar {
    /// What it is, for messages.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Integer(_) => "an integer",
            Self::Float => "a floating-point number",
        }
    }

    pub(super) fn put(self, slot: &mut dyn Slot) -> Result<(), Misfit> {
        match self {
            Self::Null => Ok(()),
            Self::Bool(value) => slot.take(Piece::Bool(value)),
            Self::Integer(Some(value)) => slot.take(Piece::Integer(value)),
            Self::Integer(None) => Err(Misfit::OutOfRange),
            Self::Float => slot.take(Piece::Other),
        }
    }
}

impl Literal {
    pub(super) const NEW: Self = Self { part: LiteralPart::Begin, is_negative: false, digits: Some(0) };

    /// Reads a byte; `None` if it does not belong here.
    pub(super) fn push(&mut self, byte: u8) -> Option<()> {
        use LiteralPart::*;
        self.part = match (self.part, byte) {
            (Begin, b'n') => Word("null", 1),
            (Begin, b't') => Word("true", 1),
            (Begin, b'f') => Word("false", 1),
            (Word(word, at), _) if word.as_bytes().get(at) == Some(&byte) => Word(word, at + 1),
            (Begin, b'-') => Minus,
            (Begin | Minus, b'0') => Zero,
            (Begin | Minus | Integer, b'0'..=b'9') => Integer,
            (Zero | Integer, b'.') => Dot,
            (Dot | Fraction, b'0'..=b'9') => Fraction,
            (Zero | Integer | Fraction, b'e' | b'E') => E,
            (E, b'+' | b'-') => Sign,
            (E | Sign | Exponent, b'0'..=b'9') => Exponent,
            _ => return None,
        };
        match self.part {
            Minus => self.is_negative = true,
            Integer => {
                let digit = i64::from(byte - b'0');
                self.digits = self.digits.and_then(|digits| digits.checked_mul(10)?.checked_sub(digit));
            }
            _ => {}
        }
        Some(())
    }

    /// What was read; `None` if it is unfinished.
    pub(super) fn scalar(&self) -> Option<Scalar> {
        Some(match self.part {
            LiteralPart::Word("null", 4) => Scalar::Null,
            LiteralPart::Word("true", 4) => Scalar::Bool(true),
            LiteralPart::Word("false", 5) => Scalar::Bool(false),
            LiteralPart::Zero if self.is_negative => Scalar::Float,
            LiteralPart::Zero | LiteralPart::Integer if self.is_negative => Scalar::Integer(self.digits),
            LiteralPart::Zero | LiteralPart::Integer => Scalar::Integer(self.digits.and_then(i64::checked_neg)),
            LiteralPart::Fraction | LiteralPart::Exponent => Scalar::Float,
            _ => return None,
        })
    }
}

#[cfg(all(test, feature = "json"))]
mod tests {
    use super::*;
    use serde_json::Value;

    fn read(text: &str) -> Option<Scalar> {
        let mut literal = Literal::NEW;
        text.bytes().try_for_each(|byte| literal.push(byte)).and_then(|()| literal.scalar())
    }

    fn expected(text: &str) -> Option<Scalar> {
        Some(match serde_json::from_str(text).ok()? {
            Value::Null => Scalar::Null,
            Value::Bool(value) => Scalar::Bool(value),
            Value::Number(number) if number.is_f64() && text.contains(['.', 'e', 'E']) || text == "-0" => Scalar::Float,
            Value::Number(number) => Scalar::Integer(number.as_i64()),
            _ => return None,
        })
    }

    #[test]
    fn numbers_and_words_are_those_of_serde_json() {
        let texts = [
            "null",
            "true",
            "false",
            "nul",
            "nulll",
            "True",
            "",
            "0",
            "-0",
            "7",
            "-12",
            "01",
            "-",
            "+1",
            "1.",
            ".5",
            "1.5",
            "1e3",
            "1E+3",
            "1e-3",
            "1e",
            "1e+",
            "0.0",
            "0e0",
            "1.5e2",
            "1.e2",
            "9223372036854775807",
            "1x",
            "--1",
            "1.2.3",
            "9223372036854775808",
            "-9223372036854775808",
            "-9223372036854775809",
            "99999999999999999999999",
            "NaN",
            "tfalse",
        ];
        for text in texts {
            assert_eq!(read(text), expected(text), "{text}");
        }
    }
}
