use super::cursor::Reader;
use super::error::Error;
use crate::framing::ends_scalar;
use serde::de::{Unexpected, Visitor};

/// A number without fraction and exponent, in 64 bits.
#[derive(Clone, Copy, Debug)]
pub(super) enum Integer {
    Positive(u64),
    Negative(i64),
}

impl Integer {
    #[inline]
    pub(super) fn visit<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self {
            Self::Positive(value) => visitor.visit_u64(value),
            Self::Negative(value) => visitor.visit_i64(value),
        }
    }

    pub(super) fn unexpected(self) -> Unexpected<'static> {
        match self {
            Self::Positive(value) => Unexpected::Unsigned(value),
            Self::Negative(value) => Unexpected::Signed(value),
        }
    }
}

impl Reader<'_> {
    /// Reads the integer that comes next; `None` if there is none. A negative zero is none, as in serde_json.
    #[inline]
    pub(super) fn integer(&mut self) -> Option<Integer> {
        self.peek()?;
        let text = self.rest().as_bytes();
        let digits = text.strip_prefix(b"-").unwrap_or(text);
        let is_negative = digits.len() < text.len();
        let (digits, behind) = digits.split_at(digits.iter().take_while(|byte| byte.is_ascii_digit()).count());
        let is_integer = behind.first().is_none_or(|byte| ends_scalar(*byte));
        if !is_integer || matches!(digits, [] | [b'0', _, ..]) || (is_negative && digits == b"0") {
            return None;
        }
        let add = |value: u64, digit: &u8| value.checked_mul(10)?.checked_add((digit - b'0').into());
        let magnitude = digits.iter().try_fold(0, add)?;
        let integer = match is_negative {
            true => Integer::Negative(0_i64.checked_sub_unsigned(magnitude)?),
            false => Integer::Positive(magnitude),
        };
        self.skip(text.len() - behind.len());
        Some(integer)
    }
}
