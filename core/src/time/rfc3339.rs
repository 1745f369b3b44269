use super::civil::{days_from_civil, days_of_month};
use core::ops::RangeInclusive;

/// The microseconds from 1970 to a time by RFC 3339, section 5.6. None for any other text.
pub(super) fn micros(text: &str) -> Option<i64> {
    let mut rest = Rest::new(text.as_bytes());
    let days = rest.date()?;
    rest.one_of(b"Tt ")?;
    let seconds = rest.clock()?;
    let micros = rest.fraction()?;
    let ahead = rest.offset()?;
    rest.is_empty().then(|| (i64::from(days) * 86_400 + i64::from(seconds - ahead)) * 1_000_000 + micros)
}

/// The part of a text that is not read yet.
pub(super) struct Rest<'t>(&'t [u8]);

impl<'t> Rest<'t> {
    pub(super) fn new(text: &'t [u8]) -> Self {
        Self(text)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The days from 1970 to a date.
    fn date(&mut self) -> Option<i32> {
        let year = self.number(4, 0..=9_999)?;
        self.one_of(b"-")?;
        let month = self.number(2, 1..=12)?;
        self.one_of(b"-")?;
        let day = self.number(2, 1..=days_of_month(year, month))?;
        Some(days_from_civil(year, month, day))
    }

    /// The seconds from midnight to a time of day. A leap second is the one before it.
    pub(super) fn clock(&mut self) -> Option<i32> {
        let minutes = self.hours_and_minutes()?;
        self.one_of(b":")?;
        Some(minutes * 60 + self.number(2, 0..=60)?.min(59))
    }

    fn hours_and_minutes(&mut self) -> Option<i32> {
        let hours = self.number(2, 0..=23)?;
        self.one_of(b":")?;
        Some(hours * 60 + self.number(2, 0..=59)?)
    }

    /// The microseconds of a point and the digits after it; zero if there is no point.
    fn fraction(&mut self) -> Option<i64> {
        if self.one_of(b".").is_none() {
            return Some(0);
        }
        let digits = self.0.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (fraction, rest) = self.0.split_at(digits);
        self.0 = rest;
        let digit = |at| fraction.get(at).map_or(0, |byte| i64::from(byte - b'0'));
        (digits > 0).then(|| (0..6).fold(0, |micros, at| micros * 10 + digit(at)))
    }

    /// The seconds that the clock is ahead of UTC.
    fn offset(&mut self) -> Option<i32> {
        match self.one_of(b"Zz+-")? {
            b'+' => Some(self.hours_and_minutes()? * 60),
            b'-' => Some(self.hours_and_minutes()? * -60),
            _ => Some(0),
        }
    }

    /// The number of so many digits, if it lies in the range.
    fn number(&mut self, digits: usize, range: RangeInclusive<i32>) -> Option<i32> {
        let (number, rest) = self.0.split_at_checked(digits)?;
        self.0 = rest;
        let add = |number, byte: &u8| byte.is_ascii_digit().then(|| number * 10 + i32::from(byte - b'0'));
        number.iter().try_fold(0, add).filter(|number| range.contains(number))
    }

    /// The next byte, if it is one of these.
    fn one_of(&mut self, bytes: &[u8]) -> Option<u8> {
        let (first, rest) = self.0.split_first().filter(|(first, _)| bytes.contains(first))?;
        self.0 = rest;
        Some(*first)
    }
}
