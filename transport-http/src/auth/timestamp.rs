use jiff::SignedDuration;
use jiff::civil::DateTime;
use jiff::fmt::temporal::Pieces;
use std::borrow::Cow;
use std::time::SystemTime;

/// The point from which [`SystemTime`] counts.
const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);

/// The limit of an offset.
const DAY: SignedDuration = SignedDuration::from_hours(24);

/// The digits of a fraction of a second that count.
const NANOSECONDS: usize = 9;

/// Parses a date by RFC 3339, such as `2026-11-20T10:43:37Z`. Returns `None` for any other text and for dates before
/// 1970.
///
/// The offset is applied here, because a [`Timestamp`](jiff::Timestamp) ends a day before the year 9999. Plugins write
/// the last second of that year for "never".
pub(super) fn parse(text: &str) -> Option<SystemTime> {
    let text = cut_fraction(text);
    let pieces = Pieces::parse(&*text).ok().filter(|_| has_form(&text))?;
    let clock = pieces.date().to_datetime(pieces.time()?);
    let offset = SignedDuration::from_secs(pieces.to_numeric_offset()?.seconds().into());
    if offset.abs() >= DAY {
        return None;
    }
    let since_epoch = clock.duration_since(EPOCH) - offset;
    SystemTime::UNIX_EPOCH.checked_add(since_epoch.try_into().ok()?)
}

/// Whether the text has the form of RFC 3339, section 5.6. jiff takes other forms too, such as times without seconds,
/// years of six digits, and offsets with seconds.
fn has_form(text: &str) -> bool {
    let shape = text.replace(|c: char| c.is_ascii_digit(), "0").to_ascii_uppercase();
    let clock = ["0000-00-00T00:00:00", "0000-00-00 00:00:00"].into_iter().find_map(|it| shape.strip_prefix(it));
    let offset = clock.map(|rest| match rest.strip_prefix(".0") {
        Some(fraction) => fraction.trim_start_matches('0'),
        None => rest,
    });
    matches!(offset, Some("Z" | "+00:00" | "-00:00"))
}

/// Drops digits below the nanosecond, which RFC 3339 allows and jiff refuses.
fn cut_fraction(text: &str) -> Cow<'_, str> {
    let Some((clock, rest)) = text.split_once('.') else { return text.into() };
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    if digits <= NANOSECONDS {
        return text.into();
    }
    format!("{clock}.{}{}", &rest[..NANOSECONDS], &rest[digits..]).into()
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
            ("9999-12-31T23:59:59-10:00", 253_402_336_799),
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
