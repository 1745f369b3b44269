use core::time::Duration;
use listwatch_core::time::WallTime;
use std::time::SystemTime;

/// Parses a date by RFC 3339, such as `2026-11-20T10:43:37Z`. Returns `None` for any other text and for dates before
/// 1970. Plugins write the last second of the year 9999 for "never": whatever its offset, it is the last time there is.
pub(super) fn parse(text: &str) -> Option<SystemTime> {
    let since_epoch = text.parse::<WallTime>().ok()?.as_unix_micros();
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_micros(since_epoch.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(text: &str) -> Option<u64> {
        parse(text).map(|time| time.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs())
    }

    #[test]
    fn dates_are_read_with_and_without_fraction_and_offset() {
        for (text, expected) in [
            ("1970-01-01T00:00:00Z", 0),
            ("2024-02-29T23:59:59Z", 1_709_251_199),
            ("2000-03-01T00:00:00Z", 951_868_800),
            ("2026-11-20T10:43:07Z", 1_795_171_387),
            ("2026-11-20T10:43:07.123456Z", 1_795_171_387),
            ("2026-11-20T10:43:07.1234567890123Z", 1_795_171_387),
            ("2026-11-20 10:43:07z", 1_795_171_387),
            ("2016-12-31T23:59:60Z", 1_483_228_799),
            ("2026-11-20T12:43:07+02:00", 1_795_171_387),
            ("2026-11-20t09:13:07-01:30", 1_795_171_387),
            ("9999-12-31T23:59:59Z", 253_402_300_799),
            ("9999-12-31T23:59:59-10:00", 253_402_300_799),
        ] {
            assert_eq!(seconds(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn forms_that_rfc_3339_does_not_have_were_dates() {
        for text in [
            "+002026-11-20T10:43Z",
            "+002026-11-20T10:43:07Z",
            "2026-11-20T10:43:07+25:59",
            "2026-11-20T10:43:07-24:00",
            "2026-11-20T10:43:07+25:59:59",
            "2026-11-20T10:43:07+02",
            "2026-11-20T10:43:07+0200",
            "2026-11-20T10:43:07Z[UTC]",
            "2026-11-20T10:43:07,5Z",
            "2026-11-20T10:43:07.Z",
            "20261120T10:43:07Z",
            "2026-11-20T10:43:07+02:60",
        ] {
            assert_eq!(seconds(text), None, "{text}");
        }
        assert_eq!(seconds("2026-11-20T10:43:07+23:59"), Some(1_795_171_387 - (23 * 60 + 59) * 60));
        assert_eq!(seconds("2026-11-20T10:43:07-00:00"), Some(1_795_171_387));
    }

    #[test]
    fn what_is_no_date_is_none() {
        for text in ["", "soon", "2026-11-20", "2026-13-20T10:43:07Z", "2026-00-20T10:43:07Z", "2026-11-20T10:43:07"] {
            assert_eq!(seconds(text), None, "{text}");
        }
        for text in [
            "2026-11-20T10:43:07+99:00",
            "1960-11-20T10:43:07Z",
            "2026-11-20T10:43Z",
            "2026-11-20T10:43:07+",
            "2026-02-30T10:43:07Z",
            "99999-11-20T10:43:07Z",
        ] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }
}
