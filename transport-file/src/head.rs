//! Status and headers of a recorded answer.

use crate::format::ResponseRecord;
use core::time::Duration;
use listwatch_core::Head;

pub(crate) fn head(response: &ResponseRecord<'_>) -> Head {
    let header = |name: &str| {
        let found = response.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.0.trim())
    };
    let content_type = header("content-type").and_then(|value| value.split(';').next());
    Head {
        status: response.status,
        retry_after: header("retry-after").and_then(|value| retry_after(value, header("date"))),
        content_type: content_type.map(|value| value.trim().to_ascii_lowercase().into()),
    }
}

/// A number of seconds, or a date that is taken against the one of the answer (RFC 9110, 10.2.3).
fn retry_after(value: &str, date: Option<&str>) -> Option<Duration> {
    let seconds = value.parse().ok().or_else(|| Some(unix_seconds(value)?.saturating_sub(unix_seconds(date?)?)));
    seconds.map(Duration::from_secs)
}

/// Seconds since 1970 of a date such as `Fri, 20 Nov 2026 10:43:07 GMT`.
fn unix_seconds(date: &str) -> Option<u64> {
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let mut words = date.split_ascii_whitespace().skip(1);
    let day: u64 = words.next()?.parse().ok()?;
    let name = words.next()?;
    let month = MONTHS.iter().position(|month| *month == name)? as u64;
    let year: u64 = words.next()?.parse().ok()?;
    let mut clock = words.next()?.split(':').map(|part| part.parse::<u64>().ok());
    let (hours, minutes, seconds) = (clock.next()??, clock.next()??, clock.next()??);
    // Years begin in March here, so that the leap day is the last of its year.
    let (year, month) = if month < 2 { (year.checked_sub(1)?, month + 10) } else { (year, month - 2) };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day;
    let since_1970 = days.checked_sub(719_469)?;
    Some(((since_1970 * 24 + hours) * 60 + minutes) * 60 + seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_count_from_1970() {
        assert_eq!(unix_seconds("Thu, 01 Jan 1970 00:00:00 GMT"), Some(0));
        assert_eq!(unix_seconds("Fri, 20 Nov 2026 10:43:07 GMT"), Some(1_795_171_387));
        assert_eq!(unix_seconds("Thu, 29 Feb 2024 23:59:59 GMT"), Some(1_709_251_199));
        assert_eq!(unix_seconds("soon"), None);
    }

    #[test]
    fn a_date_to_retry_after_is_taken_against_the_answers_own() {
        let date = Some("Fri, 20 Nov 2026 10:43:07 GMT");
        assert_eq!(retry_after("Fri, 20 Nov 2026 10:44:00 GMT", date), Some(Duration::from_secs(53)));
        assert_eq!(retry_after("Fri, 20 Nov 2026 10:00:00 GMT", date), Some(Duration::ZERO));
        assert_eq!(retry_after("7", None), Some(Duration::from_secs(7)));
        assert_eq!(retry_after("Fri, 20 Nov 2026 10:44:00 GMT", None), None);
    }

    #[test]
    fn header_names_are_read_in_any_case_and_media_types_without_parameters() {
        let line = br#"{"t":1,"id":1,"response":{"status":503,"headers":{"Content-Type":"Text/Plain; charset=utf-8","Retry-After":"1"}}}"#;
        let Ok(crate::format::Line::Record(record)) = crate::format::Line::parse(line) else { panic!() };
        let crate::format::What::Response(response) = record.what else { panic!() };
        let head = head(&response);
        assert_eq!(head.content_type.as_deref(), Some("text/plain"));
        assert_eq!((head.status, head.retry_after), (503, Some(Duration::from_secs(1))));
    }
}
