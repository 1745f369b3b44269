//! Dates as RFC 3339 and HTTP write them.
//!
//! The calendar is the Gregorian one, for every year: Howard Hinnant, "`chrono`-Compatible Low-Level Date Algorithms".
//! Days are counted in eras of 400 years that begin on the first of March, so that the leap day is the last of its year.

use core::ops::RangeInclusive;
use core::time::Duration;

const DAYS_OF_ERA: i64 = 146_097;

/// The days from the first of March of the year 0 to the first of January 1970.
const TO_1970: i64 = 719_468;

/// The days from 1970 to a date, of a year of at most six digits. A division of 64 bits would take 1 KB of a device's flash.
pub(super) fn days_from_civil(year: i32, month: i32, day: i32) -> i32 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * DAYS_OF_ERA as i32 + day_of_era - TO_1970 as i32
}

/// Year, month and day of a number of days from 1970.
pub(super) fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + TO_1970;
    let (era, day_of_era) = (days.div_euclid(DAYS_OF_ERA), days.rem_euclid(DAYS_OF_ERA));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    (year, month, day)
}

/// How many days a month has.
pub(super) fn days_of_month(year: i32, month: i32) -> i32 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

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
struct Rest<'t>(&'t [u8]);

impl<'t> Rest<'t> {
    fn new(text: &'t [u8]) -> Self {
        Self(text)
    }

    fn is_empty(&self) -> bool {
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
    fn clock(&mut self) -> Option<i32> {
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

/// An hour, which replaces a number of seconds that no 64 bits hold.
pub(crate) const MAX_RETRY_AFTER: Duration = Duration::from_secs(3600);

const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// The time to wait by a `Retry-After` header: seconds, or the time from the response's own date to another. An hour
/// replaces a number of more than 64 bits. A date that has passed by the server's clock is no wait. Without the
/// response's date, a date counts for nothing.
///
/// ```
/// use core::time::Duration;
/// use listwatch_core::time::retry_after;
///
/// assert_eq!(retry_after("7", None), Some(Duration::from_secs(7)));
/// let (until, answered) = ("Fri, 20 Nov 2026 10:44:07 GMT", "Fri, 20 Nov 2026 10:43:37 GMT");
/// assert_eq!(retry_after(until, Some(answered)), Some(Duration::from_secs(30)));
/// ```
pub fn retry_after(value: &str, answered: Option<&str>) -> Option<Duration> {
    let value = value.trim_ascii();
    if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(value.parse().map_or(MAX_RETRY_AFTER, Duration::from_secs));
    }
    let seconds = http_date(value)?.saturating_sub(http_date(answered?)?);
    Some(Duration::from_secs(seconds))
}

/// The seconds from 1970 to a date in one of the three forms of HTTP (RFC 9110, section 5.6.7): that which it prefers,
/// such as `Sun, 06 Nov 1994 08:49:37 GMT`, that of RFC 850, and that of C's `asctime`. None for any other text, and
/// before 1970. The name of the day is not compared.
fn http_date(text: &str) -> Option<u64> {
    let words = text.trim_ascii().as_bytes().split(|byte| matches!(byte, b' ' | b'-'));
    let mut words = words.filter(|word| !word.is_empty()).skip(1);
    let mut next = || words.next();
    let (first, second, third, fourth) = (next()?, next()?, next()?, next()?);
    let (day, month, year, clock, zone) = match month(first) {
        Some(month) => (second, month, fourth, third, None),
        None => (first, month(second)?, third, fourth, Some(&b"GMT"[..])),
    };
    let year = year_of(year)?;
    let day = number(day).filter(|day| (1..=days_of_month(year, month)).contains(day))?;
    let seconds = i64::from(days_from_civil(year, month, day)) * 86_400 + i64::from(seconds_of(clock)?);
    u64::try_from(seconds).ok().filter(|_| next() == zone && next().is_none())
}

fn month(name: &[u8]) -> Option<i32> {
    MONTHS.iter().zip(1..).find_map(|(month, number)| name.eq_ignore_ascii_case(month.as_bytes()).then_some(number))
}

/// The year of four digits, or of two: 1970 to 2069, which is how POSIX reads these since 1970.
fn year_of(text: &[u8]) -> Option<i32> {
    match (text.len(), number(text)?) {
        (4, year) => Some(year),
        (2, year) => Some(if year < 70 { 2000 + year } else { 1900 + year }),
        _ => None,
    }
}

/// The number of at most four digits.
fn number(text: &[u8]) -> Option<i32> {
    let append = |number: i32, byte: &u8| byte.is_ascii_digit().then(|| number * 10 + i32::from(byte - b'0'));
    if matches!(text.len(), 1..=4) { text.iter().try_fold(0, append) } else { None }
}

/// The seconds from midnight to `08:49:37`.
fn seconds_of(clock: &[u8]) -> Option<i32> {
    let mut rest = Rest::new(clock);
    rest.clock().filter(|_| rest.is_empty())
}

#[cfg(test)]
#[cfg(feature = "alloc")]
mod tests {
    use super::*;
    use jiff::civil::date;
    use std::format;

    #[test]
    fn every_day_is_read_in_each_form_as_jiff_wrote_it() {
        let mut day = date(1970, 1, 1);
        for days in 0..365 * 150 {
            let seconds = days * 86_400 + days % 86_400;
            let time = day.at(0, 0, 0, 0) + jiff::SignedDuration::from_secs(seconds % 86_400);
            let has_short_year = day.year() < 2070;
            for (form, is_read) in [
                ("%a, %d %b %Y %H:%M:%S GMT", true),
                ("%a %b %e %H:%M:%S %Y", true),
                ("%A, %d-%b-%y %H:%M:%S GMT", has_short_year),
            ] {
                if is_read {
                    let text = format!("{}", time.strftime(form));
                    assert_eq!(http_date(&text), u64::try_from(seconds).ok(), "{text}");
                }
            }
            day = day.tomorrow().unwrap();
        }
    }

    #[test]
    fn a_text_that_is_almost_a_date_is_none() {
        assert_eq!(http_date(" Thu, 01 Jan 1970 00:00:09 GMT\t"), Some(9));
        for text in [
            "Thu, 01 Jan 1970 00:00:09",
            "Thu, 01 Jan 1970 00:00:09 GMT GMT",
            "Thu Jan  1 00:00:09 1970 GMT",
            "01 Jan 1970 00:00:09 GMT",
            "Wed, 31 Dec 1969 23:59:59 GMT",
            "Thu, 32 Jan 1970 00:00:09 GMT",
            "Thu, 00 Jan 1970 00:00:09 GMT",
            "Thu, +1 Jan 1970 00:00:09 GMT",
            "Thu, 01 Jan 01970 00:00:09 GMT",
            "Thu, 01 Jan 1970 24:00:00 GMT",
            "Thu, 01 Jan 1970 00:00:61 GMT",
            "Thu, 01 Jan 1970 00:00:09.5 GMT",
            "Mon, 29 Feb 2100 00:00:00 GMT",
        ] {
            assert_eq!(http_date(text), None, "{text}");
        }
    }

    const ANSWERED: Option<&str> = Some("Fri, 20 Nov 2026 10:43:37 GMT");

    fn seconds(value: &str, answered: Option<&str>) -> Option<u64> {
        retry_after(value, answered).map(|wait| wait.as_secs())
    }

    #[test]
    fn a_wait_is_given_in_seconds_or_as_a_date() {
        assert_eq!(seconds("7", None), Some(7));
        assert_eq!(seconds("Fri, 20 Nov 2026 10:44:07 GMT", ANSWERED), Some(30));
        assert_eq!(seconds("Tue, 01 Dec 2026 10:43:37 GMT", ANSWERED), Some(11 * 86_400));
        assert_eq!(seconds("Fri, 20 Nov 2026 10:43:00 GMT", ANSWERED), Some(0));
    }

    #[test]
    fn a_wait_of_more_seconds_than_64_bits_hold_is_an_hour() {
        assert_eq!(seconds("99999999999999999999", None), Some(3600));
        assert_eq!(seconds(&"9".repeat(1000), ANSWERED), Some(3600));
    }

    #[test]
    fn a_wait_is_read_from_the_obsolete_forms_of_a_date() {
        assert_eq!(seconds("Friday, 20-Nov-26 10:44:07 GMT", ANSWERED), Some(30));
        assert_eq!(seconds("Fri Nov 20 10:44:07 2026", ANSWERED), Some(30));
        assert_eq!(http_date("Sunday, 06-Nov-94 08:49:37 GMT"), Some(784_111_777));
        assert_eq!(http_date("Sun Nov  6 08:49:37 1994"), Some(784_111_777));
    }

    #[test]
    fn what_says_nothing_is_no_wait() {
        assert_eq!(seconds("Fri, 20 Nov 2026 10:44:07 GMT", None), None);
        for nonsense in ["", "soon", "-1", "+1", "1.5", "Fri, 20 Nov 2026 10:44 GMT", "Fri, 20 Now 2026 10:44:07 GMT"] {
            assert_eq!(seconds(nonsense, ANSWERED), None, "{nonsense}");
        }
        for nonsense in ["Fri, 20 Nov 2026 10:44:07 CET", "Fri, 20 Nov 1 10:44:07 GMT", "Fri, 99 Nov 2026 10:44:07 GMT"]
        {
            assert_eq!(seconds(nonsense, ANSWERED), None, "{nonsense}");
        }
    }

    #[test]
    fn dates_count_from_1970_over_leap_years() {
        assert_eq!(http_date("Thu, 01 Jan 1970 00:00:00 GMT"), Some(0));
        assert_eq!(http_date("Sun, 06 Nov 1994 08:49:37 GMT"), Some(784_111_777));
        assert_eq!(http_date("Fri, 20 Nov 2026 10:43:07 GMT"), Some(1_795_171_387));
        assert_eq!(http_date("Thu, 29 Feb 2024 23:59:59 GMT"), Some(1_709_251_199));
        assert_eq!(http_date("soon"), None);
        assert_eq!(http_date("Tue, 29 Feb 2000 00:00:00 GMT"), Some(951_782_400));
        assert_eq!(http_date("Wed, 01 Mar 2000 00:00:00 GMT"), Some(951_868_800));
        assert_eq!(http_date("Fri, 31 Dec 9999 23:59:59 GMT"), Some(253_402_300_799));
    }
}
