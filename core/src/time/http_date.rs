use super::civil::{days_from_civil, days_of_month};
use super::rfc3339::Rest;

const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// The seconds from 1970 to a date in one of the three forms of HTTP (RFC 9110, section 5.6.7): that which it prefers,
/// such as `Sun, 06 Nov 1994 08:49:37 GMT`, that of RFC 850, and that of C's `asctime`. None for any other text, and
/// before 1970. The name of the day is not compared.
pub(crate) fn http_date(text: &str) -> Option<u64> {
    let mut words = text.trim().split([' ', '-']).filter(|word| !word.is_empty()).skip(1);
    let mut next = || words.next();
    let (first, second, third, fourth) = (next()?, next()?, next()?, next()?);
    let (day, month, year, clock, zone) = match month(first) {
        Some(month) => (second, month, fourth, third, None),
        None => (first, month(second)?, third, fourth, Some("GMT")),
    };
    let year = year_of(year)?;
    let day = number(day).filter(|day| (1..=days_of_month(year, month)).contains(day))?;
    let seconds = days_from_civil(year, month, day) * 86_400 + seconds_of(clock)?;
    u64::try_from(seconds).ok().filter(|_| next() == zone && next().is_none())
}

fn month(name: &str) -> Option<i64> {
    MONTHS.iter().zip(1..).find_map(|(month, number)| month.eq_ignore_ascii_case(name).then_some(number))
}

/// The year of four digits, or of two: 1970 to 2069, which is how POSIX reads these since 1970.
fn year_of(text: &str) -> Option<i64> {
    match (text.len(), number(text)?) {
        (4, year) => Some(year),
        (2, year) => Some(if year < 70 { 2000 + year } else { 1900 + year }),
        _ => None,
    }
}

/// The number of at most four digits.
fn number(text: &str) -> Option<i64> {
    let is_number = text.len() <= 4 && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok())?
}

/// The seconds from midnight to `08:49:37`.
fn seconds_of(clock: &str) -> Option<i64> {
    let mut rest = Rest::new(clock);
    rest.clock().filter(|_| rest.is_empty())
}

#[cfg(test)]
#[cfg(feature = "alloc")]
mod tests {
    use super::*;
    use alloc::format;
    use jiff::civil::date;

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
}
