#[cfg(not(feature = "alloc"))]
use crate::framing::CONCATENATED_JSON;
use crate::text::SharedText;
use crate::time::http_date;
use core::time::Duration;

/// The status of a response, and the headers that the machines use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResponseHead {
    /// The HTTP status code.
    pub status: u16,
    /// The delay that the server requests (`Retry-After`). A transport converts a date to a duration by the response's
    /// `Date`.
    pub retry_after: Option<Duration>,
    /// The media type, in lower case and without parameters.
    ///
    /// Without the feature `alloc`, a media type that the machines do not tell apart is `None`.
    pub content_type: Option<SharedText>,
}

impl ResponseHead {
    /// The limit of [`retry_after`](Self::retry_after): an hour. It replaces longer times.
    pub const MAX_RETRY_AFTER: Duration = Duration::from_secs(3600);

    /// Makes the head from the status and the headers. `header` is called with names in lower case.
    pub fn from_headers<'a>(status: u16, header: impl Fn(&str) -> Option<&'a str>) -> Self {
        Self {
            status,
            retry_after: header("retry-after").and_then(|value| retry_after(value, header("date"))),
            content_type: header("content-type").and_then(media_type),
        }
    }
}

/// The media type, in lower case and without parameters.
#[cfg(feature = "alloc")]
#[expect(clippy::unnecessary_wraps, reason = "without a heap there are few")]
fn media_type(value: &str) -> Option<SharedText> {
    Some(value.split(';').next().unwrap_or(value).trim().to_ascii_lowercase().into())
}

/// The media type without parameters, if it is one that the machines tell apart.
#[cfg(not(feature = "alloc"))]
fn media_type(value: &str) -> Option<SharedText> {
    let value = value.split(';').next().unwrap_or(value).trim();
    let known = ["application/json", CONCATENATED_JSON].into_iter().find(|known| known.eq_ignore_ascii_case(value));
    known.map(SharedText::constant)
}

/// The time to wait: seconds, or the time from the response's own date to another. The limit replaces a number of more
/// than 64 bits. A date that has passed by the server's clock is no wait. Without the response's date, a date counts for
/// nothing.
fn retry_after(value: &str, answered: Option<&str>) -> Option<Duration> {
    let value = value.trim();
    if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(value.parse().map_or(ResponseHead::MAX_RETRY_AFTER, Duration::from_secs));
    }
    let seconds = http_date(value)?.saturating_sub(http_date(answered?)?);
    Some(Duration::from_secs(seconds))
}

#[cfg(test)]
#[cfg(feature = "alloc")]
mod tests {
    use super::*;

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
    fn a_wait_of_more_seconds_than_64_bits_hold_was_no_wait() {
        assert_eq!(seconds("99999999999999999999", None), Some(3600));
        assert_eq!(seconds(&"9".repeat(1000), ANSWERED), Some(3600));
    }

    #[test]
    fn the_obsolete_forms_of_a_date_were_no_wait() {
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
